import { beforeEach, describe, expect, test } from "vitest";
import { noLosses } from "../../../../src/bridge/audio-report.ts";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import { SOCKET_BACKLOG_MAX_BYTES } from "../../../../src/control/sessions/outbox.ts";
import { QUEUE_COUNT_MAX } from "../../../../src/control/sessions/resume-queue.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import type { CreatePlayer, SessionPlayer } from "../../../../src/control/sessions/session-player.ts";
import type { Sessions } from "../../../../src/control/sessions/sessions.ts";
import { NodeError } from "../../../../src/errors.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { createSessions, EMPTY_UPDATE, playersInto } from "../../../support/session-builders.ts";

let clock: FakeClock;
let sessions: Sessions;
let socket: FakeSocket;
let session: Session;
let players: FakeSessionPlayer[];

beforeEach(() => {
  clock = new FakeClock();
  players = [];
  sessions = createSessions({ clock, createPlayer: playersInto(players) });
  socket = new FakeSocket();
  session = sessions.open(socket, {
    userId: "1",
    clientName: undefined,
    dialect: V4_PROTOCOL,
    owner: undefined,
    account: "address test",
  });
});

/** The guild's player, after an update that is carried out. */
function playerOf(owner: Session, guildId: string): Promise<SessionPlayer> {
  return owner.updatePlayer(guildId, EMPTY_UPDATE, { isReplacing: true });
}

async function addPlayer(guildId = "7"): Promise<FakeSessionPlayer> {
  await playerOf(session, guildId);
  return players.at(-1)!; // made just now
}

function lose(lost: FakeSocket): void {
  lost.break();
  session.socketClosed(lost);
}

function resume(): FakeSocket {
  const next = new FakeSocket();
  session.resume(next);
  return next;
}

describe("a connected session", () => {
  test("a connected session sends ready first, then stats", () => {
    expect(socket.received).toMatchObject([
      { op: "ready", resumed: false, sessionId: expect.stringMatching(/^[a-z0-9]{16}$/) },
      { op: "stats", frameStats: null, players: 0, playingPlayers: 0, uptime: 5 },
    ]);
  });

  test("a connected session is reported when it opens", () => {
    let openedCount = 0;
    sessions = createSessions({ clock, createPlayer: playersInto(players), onOpened: () => openedCount++ });
    sessions.open(new FakeSocket(), {
      userId: "1",
      clientName: undefined,
      dialect: V4_PROTOCOL,
      owner: undefined,
      account: "address test",
    });
    expect(openedCount).toBe(1);
  });

  test("a connected session sends stats every 60 s", () => {
    clock.advance(59_999);
    expect(socket.received).toHaveLength(2);
    clock.advance(1);
    expect(socket.ops).toEqual(["ready", "stats", "stats"]);
    clock.advance(60_000);
    expect(socket.received).toHaveLength(4);
  });

  test("frame counts are averaged over players that played throughout the last whole minute", async () => {
    const lostFrames = { ...noLosses(), inputStarved: 5, decoderLate: 2, workerLate: 1, voiceNotReady: 0 };
    const epochMs = clock.epochMs() + 60_000;
    const minute = Math.floor(epochMs / 60_000) - 1;
    const add = async (guildId: string, frames: { sentFrames: number; isWholeMinute: boolean; minute?: number }) => {
      const player = await addPlayer(guildId);
      player.isPlaying = true;
      player.frames = { minute, lostFrames, ...frames };
      return player;
    };
    await add("1", { sentFrames: 2990, isWholeMinute: true });
    await add("2", { sentFrames: 2981, isWholeMinute: true });
    await add("3", { sentFrames: 10, isWholeMinute: false });
    await add("4", { sentFrames: 10, isWholeMinute: true, minute: minute - 1 });
    (await add("5", { sentFrames: 10, isWholeMinute: true })).isPlaying = false;
    clock.advance(60_000);
    expect(socket.received.at(-1)).toMatchObject({
      frameStats: { sent: 2985, nulled: 8, deficit: 6 },
      players: 5,
      playingPlayers: 4,
    });
  });

  test("a deficit below zero is cut towards zero", async () => {
    const player = await addPlayer();
    player.isPlaying = true;
    const minute = Math.floor((clock.epochMs() + 60_000) / 60_000) - 1;
    const lostFrames = noLosses();
    player.frames = { minute, lostFrames, sentFrames: 3001, isWholeMinute: true };
    clock.advance(60_000);
    expect(socket.received.at(-1).frameStats).toEqual({ sent: 3001, nulled: 0, deficit: -1 });
  });

  test("a connected session sends the messages of its players", async () => {
    const player = await addPlayer();
    player.say(1);
    player.sendPlayerUpdate();
    player.say(2);
    expect(socket.ops.slice(2)).toEqual(["event", "playerUpdate", "event"]);
    expect(socket.said).toEqual([1, 2]);
  });
});

describe("a session whose socket is lost", () => {
  test("a session without resuming ends when its socket is lost", async () => {
    const player = await addPlayer();
    lose(socket);
    expect(player.isDestroyed).toBe(true);
    expect(sessions.get(session.id)).toBeUndefined();
    expect(clock.pendingCount).toBe(0);
  });

  test.each([0, -5])("a session with a timeout of %d ends when its socket is lost", (timeout) => {
    session.configure({ resuming: true, timeout });
    lose(socket);
    expect(sessions.get(session.id)).toBeUndefined();
  });

  test("a session waits for its client as long as requested, and is hidden from REST and stats meanwhile", async () => {
    session.configure({ resuming: true, timeout: 10 });
    const player = await addPlayer();
    lose(socket);
    expect(sessions.connected(session.id)).toBeUndefined();
    expect(sessions.get(session.id)).toBe(session);
    expect(sessions.stats()).toMatchObject({ players: 0 });
    clock.advance(9_999);
    expect(player.isDestroyed).toBe(false);
    clock.advance(1);
    expect(player.isDestroyed).toBe(true);
    expect(sessions.get(session.id)).toBeUndefined();
    expect(clock.pendingCount).toBe(0);
  });

  test("a timeout beyond every timer does not end it at once", () => {
    session.configure({ resuming: true, timeout: 2n ** 63n - 1n });
    lose(socket);
    clock.advance(72 * 60 * 60 * 1000);
    expect(session.isWaiting).toBe(true);
  });

  test("the close of a socket that was replaced means nothing", () => {
    session.configure({ resuming: true });
    lose(socket);
    resume();
    session.socketClosed(socket);
    expect(session.isConnected).toBe(true);
  });
});

describe("resuming", () => {
  beforeEach(() => session.configure({ resuming: true, timeout: 60 }));

  test("a resumed session sends ready, then the buffered messages in order, then one update per player", async () => {
    const player = await addPlayer("7");
    await addPlayer("8");
    lose(socket);
    player.say(1);
    player.sendPlayerUpdate();
    player.say(2);
    clock.advance(59_000);
    const next = resume();
    expect(next.received[0]).toEqual({ op: "ready", resumed: true, sessionId: session.id });
    expect(next.said).toEqual([1, 2]);
    expect(next.ops).toEqual(["ready", "event", "event", "playerUpdate", "playerUpdate"]);
    expect(next.received.slice(3).map(({ guildId }) => guildId)).toEqual(["7", "8"]);
  });

  test("a session says when its connection was opened, and whether that resumed it", () => {
    const startMs = clock.epochMs();
    expect(session.connection).toEqual({ sinceEpochMs: startMs, isResumed: false, origin: undefined });
    lose(socket);
    clock.advance(3000);
    expect(session.connection?.sinceEpochMs).toBe(startMs);
    resume();
    expect(session.connection).toMatchObject({ sinceEpochMs: startMs + 3000, isResumed: true });
  });

  test("stats that are due while the client is away are buffered too, and continue afterwards", () => {
    session.configure({ timeout: 600 });
    lose(socket);
    clock.advance(120_000);
    const next = resume();
    expect(next.ops).toEqual(["ready", "stats", "stats"]);
    clock.advance(60_000);
    expect(next.ops).toEqual(["ready", "stats", "stats", "stats"]);
  });

  test("a resumed session keeps settings, user and players, and stops the timer", async () => {
    const player = await addPlayer();
    lose(socket);
    resume();
    clock.advance(1_000_000);
    expect(player.isDestroyed).toBe(false);
    expect(session).toMatchObject({ resuming: true, timeout: 60, userId: "1", isConnected: true });
  });

  test("only a waiting session can be resumed", () => {
    expect(() => session.resume(new FakeSocket())).toThrow("only a waiting session");
  });

  // The socket may break after any number of messages has got through, on the first connection and on each next one.
  test.each(Array.from({ length: 8 }, (_, point) => point))(
    "nothing is lost or doubled when it breaks after %d",
    async (point) => {
      const player = await addPlayer();
      const received: number[] = [];
      let current = socket;
      current.stall();
      for (let message = 0; message < 40; message++) {
        player.say(message);
        if (message % 5 !== point % 5) continue;
        current.flow(point);
        lose(current);
        received.push(...current.said);
        player.say(1000 + message);
        current = new FakeSocket();
        current.stall();
        session.resume(current);
      }
      current.flow();
      received.push(...current.said);
      const expected = Array.from({ length: 40 }, (_, message) =>
        message % 5 === point % 5 ? [message, 1000 + message] : [message],
      );
      expect(received).toEqual(expected.flat());
    },
  );

  test("a queue that is full keeps the newest of each player and type, and the newer half of the rest", async () => {
    const [first, second] = [await addPlayer("1"), await addPlayer("2")];
    lose(socket);
    second.say(-1);
    for (let message = 0; message < QUEUE_COUNT_MAX * 2; message++) first.say(message);
    const next = resume();
    expect(next.received.length).toBeLessThanOrEqual(QUEUE_COUNT_MAX + 3);
    expect(next.said[0]).toBe(-1);
    const last = QUEUE_COUNT_MAX * 2 - 1;
    expect(next.said.slice(-QUEUE_COUNT_MAX / 2)).toEqual(
      Array.from({ length: QUEUE_COUNT_MAX / 2 }, (_, index) => last - QUEUE_COUNT_MAX / 2 + 1 + index),
    );
    expect(next.ops.slice(-2)).toEqual(["playerUpdate", "playerUpdate"]);
  });
});

describe("a session without a socket", () => {
  const CLIENT = {
    userId: "1",
    clientName: "bot/1.0",
    dialect: V4_PROTOCOL,
    owner: undefined,
    account: "address test",
  };
  const SETTINGS = { resuming: true, timeout: 10, resumeKey: "x" };
  const NOTHING = { waitMs: 10_000, messages: [] };
  const LEFT = { settings: SETTINGS, left: NOTHING };

  beforeEach(() => {
    session = sessions.openWaiting("a1b2c3d4e5f6g7h8", CLIENT, LEFT);
  });

  test("a session without a socket waits with its id and settings, and is hidden from REST and stats", async () => {
    await addPlayer();
    expect(session).toMatchObject({ id: "a1b2c3d4e5f6g7h8", ...CLIENT, ...SETTINGS, isWaiting: true });
    expect(sessions.get(session.id)).toBe(session);
    expect(sessions.withResumeKey("x", CLIENT)).toBe(session);
    expect(sessions.connected(session.id)).toBeUndefined();
    expect(sessions.stats()).toMatchObject({ players: 0 });
  });

  test("a session without a socket ends with its players after its timeout", async () => {
    const player = await addPlayer();
    clock.advance(9_999);
    expect(player.isDestroyed).toBe(false);
    clock.advance(1);
    expect(player.isDestroyed).toBe(true);
    expect(sessions.get(session.id)).toBeUndefined();
  });

  test("a session without a socket buffers messages as after the loss of one", async () => {
    session.configure({ timeout: 600 });
    const player = await addPlayer();
    player.say(1);
    player.sendPlayerUpdate();
    player.say(2);
    const next = resume();
    expect(next.received[0]).toEqual({ op: "ready", resumed: true, sessionId: "a1b2c3d4e5f6g7h8" });
    expect(next.ops).toEqual(["ready", "event", "event", "playerUpdate"]);
    expect(next.said).toEqual([1, 2]);
    clock.advance(60_000);
    expect(next.ops.at(-1)).toBe("stats");
    expect(session.isConnected).toBe(true);
  });

  test("a session without a socket bounds its messages as after the loss of one", async () => {
    const [first, second] = [await addPlayer("1"), await addPlayer("2")];
    second.say(-1);
    for (let message = 0; message < QUEUE_COUNT_MAX * 2; message++) first.say(message);
    const next = resume();
    expect(next.received.length).toBeLessThanOrEqual(QUEUE_COUNT_MAX + 3);
    expect([next.said[0], next.said.at(-1)]).toEqual([-1, QUEUE_COUNT_MAX * 2 - 1]);
    expect(session.memory.usedBytes).toBe(0);
  });

  test("a session without a socket takes the buffered messages from its memory", async () => {
    const player = await addPlayer();
    session.memory.take(session.memory.limitBytes - session.memory.usedBytes - 2000, "the test");
    for (let message = 0; message < 100; message++) player.say(message);
    expect(session.memory.usedBytes).toBeLessThanOrEqual(session.memory.limitBytes);
    const { said } = resume();
    expect(said.length).toBeLessThan(10);
    expect(said.at(-1)).toBe(99);
  });

  test("a session that began without a socket waits again when its new one is lost, and may be closed", async () => {
    const next = resume();
    clock.advance(1_000_000);
    lose(next);
    expect(session.isWaiting).toBe(true);
    session.close(1001);
    expect(sessions.get(session.id)).toBeUndefined();
  });

  test("a session without a socket ends another under its resume key, and counts as a waiting one", () => {
    const later = sessions.openWaiting("second", CLIENT, LEFT);
    expect([session.isWaiting, later.isWaiting]).toEqual([false, true]);
    const many = Array.from({ length: 1200 }, (_, index) =>
      sessions.openWaiting(
        `many${index}`,
        { ...CLIENT, userId: "3" },
        { settings: { resuming: true, timeout: 60 }, left: NOTHING },
      ),
    );
    expect(many.filter(({ isWaiting }) => isWaiting)).toHaveLength(999);
    expect([later.isWaiting, many[0]?.isWaiting, many.at(-1)?.isWaiting]).toEqual([true, false, true]);
  });

  test("a session without a socket needs an id that no other session has", () => {
    expect(() => sessions.openWaiting(session.id, CLIENT, LEFT)).toThrow("there is a session");
  });

  test("a session without a socket ends immediately when the node is closed", async () => {
    await sessions.close();
    expect(sessions.openWaiting("late", CLIENT, LEFT).isWaiting).toBe(false);
    expect(sessions.all()).toEqual([]);
  });
});

describe("a client that does not read", () => {
  test("a client that does not read is disconnected at the bound, and gets everything when it resumes", async () => {
    session.configure({ resuming: true });
    const player = await addPlayer();
    socket.stall();
    let count = 0;
    while (!socket.isTerminated && count < 1_000_000) player.say(count++);
    expect(count).toBeLessThan(SOCKET_BACKLOG_MAX_BYTES / 100);
    expect(session.isWaiting).toBe(true);
    expect(resume().said.at(-1)).toBe(count - 1);
  });

  test("a client that does not read loses its session without resuming", async () => {
    const player = await addPlayer();
    socket.stall();
    for (let count = 0; count < SOCKET_BACKLOG_MAX_BYTES / 100 && !socket.isTerminated; count++) player.say(count);
    expect(socket.isTerminated).toBe(true);
    expect(player.isDestroyed).toBe(true);
  });
});

describe("players of a session", () => {
  test("players that end together end in batches, and the end waits for all", async () => {
    for (let guild = 1; guild <= 5000; guild++) await addPlayer(String(guild));
    const endedCount = () => players.filter(({ isDestroyed }) => isDestroyed).length;
    lose(socket);
    expect(endedCount()).toBeLessThanOrEqual(20);
    expect(sessions.stats().players).toBe(0);
    let isGone = false;
    const closed = sessions.close().then(() => (isGone = true));
    let before = endedCount();
    for (let batch = 0; batch < 1000 && endedCount() < 5000; batch++) {
      clock.advance(5);
      expect(endedCount() - before).toBeLessThanOrEqual(20);
      before = endedCount();
      expect(isGone).toBe(false);
    }
    await closed;
    expect(endedCount()).toBe(5000);
    expect(clock.pendingCount).toBe(0);
  });

  test("the players of a session are at most 10,000, and a destroyed one frees its place", async () => {
    for (let guild = 1; guild <= 10_000; guild++) await playerOf(session, String(guild));
    await expect(playerOf(session, "0")).rejects.toMatchObject({ code: "players-exhausted" });
    expect(await playerOf(session, "5")).toBe(players[4]);
    await session.destroyPlayer("5");
    await expect(playerOf(session, "0")).resolves.toBeDefined();
  });

  test("the players of all sessions together are at most 20,000, including those being destroyed", async () => {
    const open = (index: number) =>
      sessions.open(new FakeSocket(), {
        userId: "1",
        clientName: undefined,
        dialect: V4_PROTOCOL,
        owner: undefined,
        account: `address ${index}`,
      });
    const opened = Array.from({ length: 40 }, (_, index) => open(index));
    for (let guild = 1; guild <= 500; guild++) {
      for (const each of opened) await playerOf(each, String(guild));
    }
    const late = open(40);
    await expect(playerOf(late, "1")).rejects.toMatchObject({ code: "players-exhausted" });
    opened[0]!.destroy();
    await opened[0]!.destroyPlayer("1");
    clock.advance(5 * 500);
    await opened[0]!.playersGone();
    await expect(playerOf(late, "1")).resolves.toBeDefined();
  });

  test("players are created once per guild", async () => {
    expect(await playerOf(session, "1")).toBe(await playerOf(session, "1"));
    expect(players).toHaveLength(1);
  });

  test("a new player waits until the old one of its guild is destroyed", async () => {
    const player = await addPlayer();
    let leave: () => void = () => undefined;
    player.goodbye = new Promise((resolve) => {
      leave = resolve;
    });
    const destroyed = session.destroyPlayer("7");
    expect(session.players.has("7")).toBe(false);
    const next = playerOf(session, "7");
    await Promise.resolve();
    expect(players).toHaveLength(1);
    leave();
    await destroyed;
    expect(await next).toBe(players[1]);
  });

  describe("refused updates", () => {
    const refusal = new NodeError("load-no-matches", "nothing found");
    let refuse: () => void;

    /** Opens a session whose first player refuses its updates when `refuse` is called. */
    beforeEach(() => {
      const outcomes = [
        new Promise<void>((_resolve, reject) => {
          refuse = () => reject(refusal);
        }),
      ];
      const createPlayer: CreatePlayer = (owner) => {
        const player = new FakeSessionPlayer(owner);
        player.outcome = outcomes.shift() ?? player.outcome;
        players.push(player);
        return player;
      };
      session = createSessions({ clock, createPlayer }).open(socket, {
        userId: "1",
        clientName: undefined,
        dialect: V4_PROTOCOL,
        owner: undefined,
        account: "address test",
      });
    });

    test("a player made for a refused update is destroyed again", async () => {
      const update = playerOf(session, "7");
      refuse();
      await expect(update).rejects.toBe(refusal);
      expect(session.players.size).toBe(0);
      expect(players[0]?.isDestroyed).toBe(true);
    });

    test("a player stays after a refused update when an earlier one was carried out", async () => {
      const update = playerOf(session, "7");
      players[0]!.isUnused = false;
      refuse();
      await expect(update).rejects.toBe(refusal);
      expect(session.players.get("7")).toBe(players[0]);
    });

    test("a refused update of a destroyed player does not affect the next player of its guild", async () => {
      const update = playerOf(session, "7");
      await session.destroyPlayer("7");
      const next = await playerOf(session, "7");
      refuse();
      await expect(update).rejects.toBe(refusal);
      expect(session.players.get("7")).toBe(next);
    });
  });

  test("destroying one that is not there does nothing", async () => {
    await expect(session.destroyPlayer("9")).resolves.toBeUndefined();
  });

  test("a player whose destruction fails blocks no other", async () => {
    const player = await addPlayer();
    player.goodbye = Promise.reject(new Error("no"));
    await expect(session.destroyPlayer("7")).resolves.toBeUndefined();
    await expect(playerOf(session, "7")).resolves.not.toBe(player);
  });

  test("no player is created once the session has ended", async () => {
    lose(socket);
    await expect(playerOf(session, "1")).rejects.toMatchObject({ code: "player-destroyed" });
  });
});

describe("closing the node", () => {
  test("closing the node closes sockets with 1001, ends waiting sessions and waits for the players", async () => {
    const player = await addPlayer();
    const other = sessions.open(new FakeSocket(), {
      userId: "2",
      clientName: undefined,
      dialect: V4_PROTOCOL,
      owner: undefined,
      account: "address test",
    });
    other.configure({ resuming: true });
    await sessions.close();
    expect(socket.closedWith).toBe(1001);
    expect(player.isDestroyed).toBe(true);
    expect(sessions.get(other.id)).toBeUndefined();
    expect(clock.pendingCount).toBe(0);
  });

  test("a session that opens too late is closed too", async () => {
    await sessions.close();
    const late = new FakeSocket();
    sessions.open(late, {
      userId: "3",
      clientName: undefined,
      dialect: V4_PROTOCOL,
      owner: undefined,
      account: "address test",
    });
    expect(late.closedWith).toBe(1001);
    expect(clock.pendingCount).toBe(0);
  });
});
