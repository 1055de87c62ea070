import { beforeEach, describe, expect, test } from "vitest";
import { noLosses } from "../../../../src/bridge/audio-report.ts";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import type { Sessions } from "../../../../src/control/sessions/sessions.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeRelay } from "../../../support/fake-relay.ts";
import type { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { createSessions, EMPTY_UPDATE, playersInto } from "../../../support/session-builders.ts";

const CLIENT = {
  userId: "1",
  clientName: undefined,
  dialect: V4_PROTOCOL,
  owner: undefined,
  account: "address test",
};
const LEFT = { waitMs: 60_000, messages: [] };

let clock: FakeClock;
let sessions: Sessions;
let relay: FakeRelay;
let players: FakeSessionPlayer[];

beforeEach(() => {
  clock = new FakeClock();
  players = [];
  relay = new FakeRelay();
  sessions = createSessions({ clock, createPlayer: playersInto(players) });
});

async function addPlayer(session: Session, guildId = "7"): Promise<FakeSessionPlayer> {
  await session.updatePlayer(guildId, EMPTY_UPDATE, { isReplacing: true });
  return players.at(-1)!; // made just now
}

function resumable(): Session {
  const socket = new FakeSocket();
  const session = sessions.open(socket, CLIENT);
  session.configure({ resuming: true, timeout: 60 });
  session.socketClosed(socket);
  return session;
}

describe("a remote session", () => {
  test("passes events on with ascending numbers, player updates and counted frames without one, and nothing else", async () => {
    const session = sessions.openRemote("s", CLIENT, relay);
    const player = await addPlayer(session);

    player.say(1);
    player.sendPlayerUpdate();
    player.say(2);
    clock.advance(60_000);

    expect(relay.pushed.map(({ topic, number }) => [topic, number])).toEqual([
      ["7 TrackStuckEvent", 1],
      ["playerUpdate", undefined],
      ["7 TrackStuckEvent", 2],
      ["frames", undefined],
    ]);
  });

  test("is found by requests and by what counts players, and is none of this machine's", async () => {
    const session = sessions.openRemote("s", CLIENT, relay);
    await addPlayer(session);

    expect(sessions.connected("s")).toBe(session);
    expect(sessions.stats().players).toBe(1);
    expect(sessions.own("s")).toBeUndefined();
    expect([session.isConnected, session.isWaiting, session.isRemote]).toEqual([false, false, true]);
    expect(session.isLasting).toBe(true);
  });

  test("is none of the sessions that a key may have", () => {
    const limited = createSessions({
      clock,
      createPlayer: playersInto(players),
      limitsOf: () => ({ ...UNLIMITED, sessions: 1 }),
    });
    limited.openRemote("s", { ...CLIENT, owner: "key" }, relay);

    expect(limited.makeSpaceFor({ owner: "key", account: "key key" })).toBe("available");
  });

  test("outlives a key that this machine has lost: the machine of its client decides", () => {
    sessions.openRemote("s", { ...CLIENT, owner: "key" }, relay);

    sessions.endUnowned(() => false);

    expect(sessions.get("s")?.isRemote).toBe(true);
  });

  test("that becomes waiting keeps its players, and has what waited elsewhere before what was not taken here", async () => {
    const session = sessions.openRemote("s", CLIENT, relay);
    const player = await addPlayer(session);
    player.say(3);
    const messages = [{ topic: "a", text: '{"op":"event","thresholdMs":2}', number: 5 }];

    sessions.openWaiting("s", CLIENT, {
      settings: { resuming: true, timeout: 60 },
      left: { waitMs: 60_000, messages },
    });
    const socket = new FakeSocket();
    session.resume(socket);

    expect(relay.isClosed).toBe(true);
    expect(session.players.get("7")).toBe(player);
    expect(player.isDestroyed).toBe(false);
    expect(socket.said).toEqual([2, 3]);
    expect(socket.ops).toEqual(["ready", "event", "event", "playerUpdate"]);
  });

  test("ends when it is dropped, with its players and its relay", async () => {
    const session = sessions.openRemote("s", CLIENT, relay);
    const player = await addPlayer(session);

    session.drop();
    await session.playersGone();

    expect([relay.isClosed, player.isDestroyed, sessions.get("s")]).toEqual([true, true, undefined]);
  });
});

describe("a session that becomes remote", () => {
  test("goes on without its client: its timeout passes, its player stays", async () => {
    const socket = new FakeSocket();
    const session = sessions.open(socket, CLIENT);
    session.configure({ resuming: true, timeout: 60 });
    const player = await addPlayer(session);
    session.socketClosed(socket);
    player.say(1);

    session.becomeRemote(relay);
    player.say(2);
    clock.advance(600_000);

    expect(relay.said).toEqual([2]);
    expect(player.isDestroyed).toBe(false);
    expect(sessions.get(session.id)?.isRemote).toBe(true);
  });

  test("cannot do so while its client is here", () => {
    const session = sessions.open(new FakeSocket(), CLIENT);

    expect(() => session.becomeRemote(relay)).toThrow("waiting");
    expect(() => session.becomeWaiting({}, LEFT)).toThrow("remote");
  });
});

describe("messages of other machines", () => {
  const event = (number: number, thresholdMs = number) => ({
    ...{ machineId: "m", number },
    topic: "7 TrackStuckEvent",
    text: JSON.stringify({ op: "event", thresholdMs }),
  });

  test("reach the client once each, in order", () => {
    const socket = new FakeSocket();
    const session = sessions.open(socket, CLIENT);

    for (const message of [event(1), event(2), event(1), event(2), event(3)]) session.receive(message);
    session.receive({ ...event(1), machineId: "other" });

    expect(socket.said).toEqual([1, 2, 3, 1]);
  });

  test("say what frames were sent there, which count as those of its own players for as long as they are new", async () => {
    clock = new FakeClock({ epochMs: 60_000_000 });
    const socket = new FakeSocket();
    sessions = createSessions({ clock, createPlayer: playersInto(players) });
    const session = sessions.open(socket, CLIENT);
    const player = await addPlayer(session);
    player.isPlaying = true;
    player.frames = { minute: 1000, isWholeMinute: true, sentFrames: 3000, lostFrames: noLosses() };
    const counted = (minute: number) => JSON.stringify({ minute, count: 1, sent: 2000, lost: 1000 });

    session.receive({ machineId: "m", topic: "frames", text: counted(1000) });
    session.receive({ machineId: "old", topic: "frames", text: counted(998) });
    session.receive({ machineId: "odd", topic: "frames", text: "{}" });
    clock.advance(60_000);

    expect(socket.received.at(-1).frameStats).toEqual({ sent: 2500, nulled: 500, deficit: 0 });
  });

  test("wait for a client that is away, but for where players are", () => {
    const session = resumable();

    session.receive(event(1));
    session.receive({ machineId: "m", topic: "playerUpdate", text: '{"op":"playerUpdate"}' });
    session.receive(event(1));
    const socket = new FakeSocket();
    session.resume(socket);

    expect(socket.ops).toEqual(["ready", "event"]);
  });

  test("that waited already when the session was opened are not taken again", () => {
    const left = { waitMs: 60_000, messages: [{ ...event(4), number: 1, from: { machineId: "m", number: 4 } }] };
    const session = sessions.openWaiting("s", CLIENT, { settings: { resuming: true }, left });

    session.receive(event(3));
    session.receive(event(4));
    session.receive(event(5));
    const socket = new FakeSocket();
    session.resume(socket);

    expect(socket.said).toEqual([4, 5]);
  });
});
