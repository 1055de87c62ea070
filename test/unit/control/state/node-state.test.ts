import { beforeEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import type { PlayerIntent } from "../../../../src/control/players/player-intent.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import type { Sessions } from "../../../../src/control/sessions/sessions.ts";
import { NodeState } from "../../../../src/control/state/node-state.ts";
import type { FilterSettings } from "../../../../src/filters/filter-settings.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { createTrack } from "../../../../src/track/track.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { MemoryStateStore } from "../../../support/memory-state-store.ts";
import { createSessions, EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { untilSettled } from "../../../support/until-settled.ts";

const IDLE: PlayerIntent = { track: undefined, volume: 100, filters: {}, isPaused: false, voice: undefined };
const CLIENT = {
  userId: "1",
  clientName: "bot/1",
  dialect: V4_PROTOCOL,
  owner: undefined,
  account: "address test",
};

type RestoreOptions = Parameters<NodeState["restore"]>[0];

/** A node's sessions and state on a store that outlives it. */
class Process {
  readonly players: FakeSessionPlayer[] = [];
  readonly state: NodeState;
  readonly sessions: Sessions;
  readonly clock: FakeClock;
  readonly lines: { readonly message: string; readonly fields: object }[] = [];
  /** Of the updates of players that are made from now on. */
  outcome = Promise.resolve();

  constructor(store: MemoryStateStore, clock: FakeClock) {
    this.clock = clock;
    const opened = { kind: "open", store, setAside: undefined } as const;
    const logger = createLogger((_level, message, fields) => this.lines.push({ message, fields }));
    this.state = new NodeState({ opened, clock, logger });
    this.sessions = createSessions({
      clock,
      recorder: this.state.recorder,
      createPlayer: (owner) => {
        const player = new FakeSessionPlayer(owner);
        player.outcome = this.outcome;
        this.players.push(player);
        return player;
      },
    });
  }

  restore(options: Partial<RestoreOptions> = {}): Promise<void> {
    const { sessions } = this;
    const all = {
      isKnownOwner: () => true,
      allowedFilters: (_owner: unknown, filters: FilterSettings) => filters,
      onSession: () => undefined,
    };
    return this.state.restore({ sessions, dialectOf: () => V4_PROTOCOL, ...all, ...options });
  }

  open(socket = new FakeSocket(), client: { readonly owner?: string } = {}): Session {
    return this.sessions.open(socket, { ...CLIENT, ...client });
  }

  async playerOf(session: Session, guildId: string): Promise<FakeSessionPlayer> {
    await session.updatePlayer(guildId, EMPTY_UPDATE, { isReplacing: true });
    const player = session.players.get(guildId) as FakeSessionPlayer; // made above
    player.onChanged();
    return player;
  }

  /** All that is marked gets into the store. */
  async flow(): Promise<void> {
    // Twice without a write: one that ends schedules the next.
    for (let idleCount = 0; idleCount < 2; ) {
      const { length } = store.batches;
      this.clock.advance(0);
      await untilSettled();
      idleCount = store.batches.length > length ? 0 : idleCount + 1;
    }
  }
}

let clock: FakeClock;
let store: MemoryStateStore;
let first: Process;

beforeEach(async () => {
  clock = new FakeClock();
  store = new MemoryStateStore();
  first = new Process(store, clock);
  await first.restore();
});

/** The process is gone, as after a `kill -9`, and another one starts. */
async function restarted(options?: Partial<RestoreOptions>): Promise<Process> {
  const next = new Process(store, clock);
  await next.restore(options);
  return next;
}

/** Timers of no delay fire, and what waits for promises is done. */
async function nextIteration(): Promise<void> {
  clock.advance(0);
  await untilSettled();
}

function playing(title: string, change: Partial<PlayerIntent> = {}): PlayerIntent {
  const info = {
    ...{ identifier: title, isSeekable: true, author: "", length: 60_000, isStream: false, position: 0, title },
    ...{ uri: null, sourceName: "http", artworkUrl: null, isrc: null },
  };
  const track = createTrack(info, { kind: "probe", probeInfo: "mp3" });
  const credentials = { token: "t", endpoint: "e", sessionId: "s", channelId: "81384788765712384" };
  return {
    ...IDLE,
    track: { track, positionMs: 5, epochMs: 7, rate: 1, endMs: undefined },
    voice: { credentials, isClosed: false },
    ...change,
  };
}

describe("a session that may resume", () => {
  test("comes back with its settings, players, values of plugins and messages", async () => {
    const socket = new FakeSocket();
    const session = first.open(socket, { owner: "music" });
    session.configure({ resuming: true, timeout: 120, resumeKey: "mine" });
    const player = await first.playerOf(session, "7");
    player.intent = playing("song", { volume: 70, filters: { volume: 0.5 } });
    player.onChanged();
    session.kept.set("7", "a/plugin", '{"a":1}');
    socket.break();
    session.socketClosed(socket);
    player.say(1);
    player.say(2);
    await first.flow();

    const next = await restarted();
    const restored = next.sessions.get(session.id);
    expect(restored).toMatchObject({ ...CLIENT, owner: "music", isWaiting: true, timeout: 120, resumeKey: "mine" });
    expect(next.players[0]).toMatchObject({ guildId: "7", isHeld: true, intent: player.intent });
    expect(restored?.kept.get("7", "a/plugin")).toBe('{"a":1}');
    const again = new FakeSocket();
    restored?.resume(again);
    expect(again.said).toEqual([1, 2]);
    expect(next.state.report()).toMatchObject({ sessions: 1, restored: { sessions: 1, players: 1 } });
  });

  test("that turns resuming off is not stored any more, and with it nothing that belongs to it", async () => {
    const session = first.open();
    session.configure({ resuming: true });
    await first.playerOf(session, "7");
    session.kept.set("7", "plugin", "1");
    await first.flow();
    expect(store.records.size).toBe(3);
    session.configure({ resuming: false });
    await first.flow();
    expect(store.records.size).toBe(0);
  });

  test("that turns resuming off and on at once is stored as it is then", async () => {
    const session = first.open();
    session.configure({ resuming: true });
    const player = await first.playerOf(session, "7");
    player.intent = playing("song");
    await first.playerOf(session, "8");
    await first.flow();
    session.configure({ resuming: false });
    await session.destroyPlayer("8");
    session.configure({ resuming: true });
    await first.flow();
    expect([...store.records.keys()].toSorted()).toEqual([
      `player/${session.id}/7`,
      `session/${session.id}`,
      `track/${session.id}/7`,
    ]);
  });

  test("gets messages once: those that were sent are gone, those that the socket did not take are not", async () => {
    const socket = new FakeSocket();
    const session = first.open(socket);
    session.configure({ resuming: true });
    const player = await first.playerOf(session, "7");
    socket.break();
    session.socketClosed(socket);
    for (const number of [1, 2, 3]) player.say(number);
    const again = new FakeSocket();
    session.resume(again);
    again.stall();
    for (const number of [4, 5]) player.say(number);
    again.break();
    session.socketClosed(again);
    player.say(6);
    await first.flow();
    const next = await restarted();
    const last = new FakeSocket();
    next.sessions.get(session.id)?.resume(last);
    expect([...again.said, ...last.said]).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("waits for what was left of its timeout, for half a minute at least, and its whole timeout if its client was there", async () => {
    const socket = new FakeSocket();
    const [gone, there] = [first.open(socket), first.open()];
    for (const session of [gone, there]) session.configure({ resuming: true, timeout: 100 });
    const short = first.open();
    short.configure({ resuming: true, timeout: 1 });
    socket.break();
    gone.socketClosed(socket);
    clock.advance(60_000);
    await first.flow();
    const next = await restarted();
    const waitMs = [gone, there, short].map(({ id }) => next.sessions.get(id)?.waitMs);
    expect(waitMs).toEqual([40_000, 100_000, 30_000]);
  });

  test("that ends is gone from the store", async () => {
    const session = first.open();
    session.configure({ resuming: true, timeout: 10 });
    await first.playerOf(session, "7");
    await first.flow();
    session.destroy();
    await first.flow();
    expect(store.records.size).toBe(0);
  });

  test("of a key that does not exist any more is not restored, and is gone from the store", async () => {
    const session = first.open(new FakeSocket(), { owner: "old" });
    session.configure({ resuming: true });
    await first.playerOf(session, "7");
    await first.flow();
    const next = await restarted({ isKnownOwner: (owner) => owner !== "old" });
    await next.flow();
    expect(next.sessions.all()).toEqual([]);
    expect(store.records.size).toBe(0);
  });
});

describe("events of a session that may resume", () => {
  async function listening(): Promise<{ socket: FakeSocket; player: FakeSessionPlayer; session: Session }> {
    const socket = new FakeSocket();
    const session = first.open(socket);
    session.configure({ resuming: true });
    const player = await first.playerOf(session, "7");
    await first.flow();
    return { socket, player, session };
  }

  test("reach the client when what they are about is stored, before the answer does", async () => {
    const { socket, player } = await listening();
    store.hold();
    player.onChanged();
    player.say(1);
    let isAnswered = false;
    void first.state.written()?.then(() => {
      isAnswered = true;
      expect(socket.said).toEqual([1]);
    });
    clock.advance(0);
    await untilSettled();
    expect(socket.said).toEqual([]);
    store.release();
    await first.flow();
    expect(socket.said).toEqual([1]);
    expect(isAnswered).toBe(true);
    expect([...store.records.keys()].filter((key) => key.startsWith("message"))).toEqual([]);
  });

  test("that are stored and not sent when the process ends come once, after the restart", async () => {
    const { socket, player, session } = await listening();
    player.say(1);
    await first.flow();
    socket.stall();
    player.say(2);
    await first.flow();
    socket.break();
    const next = await restarted();
    const again = new FakeSocket();
    next.sessions.get(session.id)?.resume(again);
    expect([...socket.said, ...again.said]).toEqual([1, 2]);
  });

  test("that are not stored when the process ends were not sent either", async () => {
    const { socket, player } = await listening();
    store.hold();
    player.onChanged();
    player.say(1);
    clock.advance(0);
    await untilSettled();
    expect(socket.said).toEqual([]);
  });

  test("are sent at once while writing fails", async () => {
    const { socket, player } = await listening();
    store.failure = "state-unwritable";
    player.onChanged();
    await first.flow();
    player.say(1);
    expect(socket.said).toEqual([1]);
  });
});

test("a session that waits for ever comes back", async () => {
  const socket = new FakeSocket();
  const session = first.open(socket);
  session.configure({ resuming: true, timeout: 2n ** 63n - 1n });
  socket.break();
  session.socketClosed(socket);
  await first.flow();
  expect((await restarted()).sessions.get(session.id)?.timeout).toBe(2n ** 63n - 1n);
});

test("statistics that wait for a client are not stored", async () => {
  const socket = new FakeSocket();
  const session = first.open(socket);
  session.configure({ resuming: true, timeout: 3600 });
  socket.break();
  session.socketClosed(socket);
  clock.advance(600_000);
  await first.flow();
  expect(session.waitingMessages).toHaveLength(10);
  expect([...store.records.keys()]).toEqual([`session/${session.id}`]);
});

test("of two sessions under one resume key the one whose client was there is restored", async () => {
  const V3 = { ...V4_PROTOCOL, version: "3" as const };
  for (let round = 0; round < 10; round++) {
    const process = await restarted();
    for (const { id } of process.sessions.all()) process.sessions.get(id)?.destroy();
    const socket = new FakeSocket();
    const settings = { resuming: true, resumeKey: "Lavalink" };
    const stale = process.sessions.open(socket, { ...CLIENT, dialect: V3 });
    stale.configure(settings);
    socket.break();
    stale.socketClosed(socket);
    const live = process.sessions.open(new FakeSocket(), { ...CLIENT, dialect: V3 });
    live.configure(settings);
    await process.flow();
    expect((await restarted()).sessions.all().map(({ id }) => id)).toEqual([live.id]);
  }
});

test("messages beyond the bound of a queue are removed when it is restored", async () => {
  const socket = new FakeSocket();
  const session = first.open(socket);
  session.configure({ resuming: true });
  socket.break();
  session.socketClosed(socket);
  await first.flow();
  for (let number = 1; number <= 2500; number++) {
    store.records.set(`message/${session.id}/${String(number).padStart(12, "0")}`, '{"topic":"a","text":"1"}');
  }
  const next = await restarted();
  await next.flow();
  const left = next.sessions.get(session.id)?.waitingMessages.length ?? 0;
  expect(left).toBeLessThan(2500);
  expect(store.records.size).toBe(1 + left);
});

test("sessions that come and go while writing fails leave nothing to be written", async () => {
  store.failure = "state-unwritable";
  first.open().configure({ resuming: true });
  await first.flow();
  for (let count = 0; count < 50; count++) {
    const session = first.open();
    session.configure({ resuming: true });
    await first.playerOf(session, "7");
    session.destroy();
  }
  store.failure = undefined;
  const { length } = store.batches;
  clock.advance(5000);
  await first.flow();
  expect(store.batches.slice(length).flat()).toHaveLength(1);
});

test("a session that may not resume, or would not wait, is not stored", async () => {
  const [plain, impatient] = [first.open(), first.open()];
  impatient.configure({ resuming: true, timeout: 0 });
  await first.playerOf(plain, "7");
  await first.playerOf(impatient, "7");
  await first.flow();
  expect(store.records.size).toBe(0);
});

describe("players", () => {
  async function lasting(): Promise<Session> {
    const session = first.open();
    session.configure({ resuming: true });
    await first.flow();
    return session;
  }

  test("a track is written again only when it has changed", async () => {
    const session = await lasting();
    const player = await first.playerOf(session, "7");
    player.intent = playing("song");
    player.onChanged();
    await first.flow();
    player.intent = { ...player.intent, volume: 20 };
    player.onChanged();
    await first.flow();
    expect(store.batches.at(-1)?.map(({ key }) => key)).toEqual([`player/${session.id}/7`]);
    player.intent = playing("next");
    player.onChanged();
    await first.flow();
    expect((await restarted()).players[0]?.intent).toEqual(player.intent);
  });

  test("the position of each player that plays is written once in ten seconds, and of no other", async () => {
    const session = await lasting();
    for (const guildId of ["13", "14", "15"]) {
      const player = await first.playerOf(session, guildId);
      player.intent = playing("song");
      player.isPlaying = guildId !== "15";
    }
    await first.flow();
    const before = store.batches.length;
    for (let second = 0; second < 100; second++) {
      clock.advance(1000);
      await first.flow();
    }
    const keys = store.batches
      .slice(before)
      .flat()
      .map(({ key }) => key);
    for (const [guildId, count] of [
      ["13", 10],
      ["14", 10],
      ["15", 0],
    ] as const) {
      expect(keys.filter((key) => key === `player/${session.id}/${guildId}`)).toHaveLength(count);
    }
    expect(keys).toHaveLength(20);
  });

  test("one whose first update is refused is not stored", async () => {
    const session = await lasting();
    first.outcome = Promise.reject(new Error("refused"));
    await expect(first.playerOf(session, "7")).rejects.toThrow("refused");
    await first.flow();
    expect([...store.records.keys()]).toEqual([`session/${session.id}`]);
  });

  test("those that sounded begin first, some at a time", async () => {
    const session = await lasting();
    for (let index = 0; index < 40; index++) {
      const player = await first.playerOf(session, `${index}`);
      player.intent = playing("song", { isPaused: index % 2 === 0 });
      player.onChanged();
    }
    await first.flow();
    const next = await restarted();
    let release = (): void => undefined;
    const beginning = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const player of next.players) player.beginning = beginning;
    const begun = next.state.begin();
    await nextIteration();
    const begunNow = next.players.filter(({ isHeld }) => !isHeld);
    expect(begunNow).toHaveLength(32);
    expect(begunNow.filter(({ intent }) => !intent.isPaused)).toHaveLength(20);
    release();
    await untilSettled();
    await nextIteration();
    await begun;
    expect(next.players.filter(({ isHeld }) => isHeld)).toHaveLength(0);
  });

  test("those that begin at once let other work of the thread run in between", async () => {
    const session = await lasting();
    for (let index = 0; index < 80; index++) await first.playerOf(session, `${index}`);
    await first.flow();
    const next = await restarted();
    void next.state.begin();
    const begun: number[] = [];
    for (let iteration = 0; iteration < 4; iteration++) {
      begun.push(next.players.filter(({ isHeld }) => !isHeld).length);
      await nextIteration();
    }
    expect(begun).toEqual([0, 32, 64, 80]);
  });

  test("none gets filters that are not allowed any more, and one line of the log says so", async () => {
    const session = first.open(new FakeSocket(), { owner: "music" });
    session.configure({ resuming: true });
    const tremolo = { frequency: 2, depth: 0.5 };
    const given = [{ volume: 0.5, tremolo }, { tremolo }, { volume: 0.5 }, {}];
    for (const [index, filters] of given.entries()) {
      const player = await first.playerOf(session, `${index}`);
      player.intent = playing("song", { filters });
      player.onChanged();
    }
    await first.flow();
    const owners = new Set<string | undefined>();
    const next = await restarted({
      allowedFilters: (owner, filters) => {
        owners.add(owner);
        const { tremolo: given, ...others } = filters;
        return given === undefined ? filters : others;
      },
    });
    expect(next.players.map(({ intent }) => intent)).toEqual(
      [{ volume: 0.5 }, {}, { volume: 0.5 }, {}].map((filters) => playing("song", { filters })),
    );
    expect(next.lines.filter(({ message }) => message.includes("filters"))).toEqual([
      { message: "state: players were restored without filters that are not allowed any more", fields: { players: 2 } },
    ]);
    expect(owners).toEqual(new Set(["music"]));
  });

  test("none begins after the node was closed", async () => {
    const session = await lasting();
    await first.playerOf(session, "7");
    await first.flow();
    const next = await restarted();
    await next.state.close();
    const begun = next.state.begin();
    await nextIteration();
    await begun;
    expect(next.players[0]?.isHeld).toBe(true);
  });
});

test("sessions that are closed with the node are restored as they were", async () => {
  const session = first.open();
  session.configure({ resuming: true });
  const player = await first.playerOf(session, "7");
  player.isPlaying = true;
  player.intent = playing("song");
  first.state.freeze();
  await first.sessions.close();
  await first.state.close();
  expect(store.isClosed).toBe(true);
  const next = await restarted();
  expect(next.sessions.get(session.id)?.isWaiting).toBe(true);
  expect(next.players[0]?.intent).toEqual(player.intent);
});

describe("what cannot be read", () => {
  const PLAYER = '{"volume":100,"isPaused":false,"filters":{}}';

  test.each([
    ["a record of another kind", "other/x", "1", { sessions: 1, players: 1 }],
    ["no JSON", "session/x", "{", { sessions: 0, players: 0 }],
    ["a session with too little", "session/x", "{}", { sessions: 0, players: 0 }],
    ["a player that is none", "player/x/7", "{}", { sessions: 1, players: 0 }],
    ["a player without its track", "player/x/7", `${PLAYER.slice(0, -1)},"track":{"positionMs":1}}`, { players: 0 }],
    ["a message without a number", "message/x/y", '{"topic":"a","text":"b"}', { sessions: 1, players: 1 }],
    ["a value that is no JSON", "kept/x/7/00", "{", { sessions: 1, players: 1 }],
  ])("%s is left out and removed; the rest is restored", async (_, key, value, rest) => {
    const session = first.open();
    session.configure({ resuming: true });
    await first.playerOf(session, "9");
    await first.flow();
    store.records.set("session/x", store.records.get(`session/${session.id}`) ?? "");
    store.records.set("player/x/7", PLAYER);
    const before = [...store.records.keys()];
    store.records.set(key, value);
    const next = await restarted();
    const { sessions = 1, players = 1 } = rest as { sessions?: number; players?: number };
    expect(next.state.report().restored).toEqual({ sessions: 1 + sessions, players: 1 + players });
    await next.flow();
    expect([...store.records.keys()].toSorted()).toEqual(
      before.filter((name) => name !== key && (sessions === 1 || !/^[a-z]+\/x(\/|$)/.test(name))).toSorted(),
    );
  });

  test("records of a session that has ended are removed", async () => {
    store.records.set("message/x/000000000001", '{"topic":"a","text":"b"}');
    const next = await restarted();
    await next.flow();
    expect(store.records.size).toBe(0);
  });
});

test("a track that a full store refused is written with its player once there is room", async () => {
  const session = first.open();
  session.configure({ resuming: true });
  const player = await first.playerOf(session, "7");
  await first.flow();
  store.failure = "state-full";
  player.intent = playing("song");
  player.onChanged();
  clock.advance(0);
  await untilSettled();
  store.failure = undefined;
  clock.advance(5000);
  player.onChanged();
  await first.flow();
  expect((await restarted()).players[0]?.intent).toEqual(player.intent);
});

test("a player whose track is too large for the store is not restored, rather than with the track before", async () => {
  const session = first.open();
  session.configure({ resuming: true });
  const player = await first.playerOf(session, "7");
  player.intent = playing("song");
  player.onChanged();
  await first.flow();
  const large = playing("large").track;
  const track = large && { ...large, track: { ...large.track, userData: { a: "x".repeat(9 * 1024 * 1024) } } };
  player.intent = { ...player.intent, track };
  player.onChanged();
  await first.flow();
  player.onChanged();
  await first.flow();
  expect((await restarted()).players).toEqual([]);
  player.intent = playing("next");
  player.onChanged();
  await first.flow();
  expect((await restarted()).players[0]?.intent).toEqual(player.intent);
});

test("a store that lost all its records gets all of them again", async () => {
  const session = first.open();
  session.configure({ resuming: true });
  const player = await first.playerOf(session, "7");
  player.intent = playing("song");
  session.kept.set("7", "plugin", "1");
  await first.flow();
  const before = new Map(store.records);
  store.failure = "state-damaged";
  session.configure({ timeout: 60 });
  clock.advance(0);
  await untilSettled();
  store.failure = undefined;
  clock.advance(5000);
  await first.flow();
  expect(new Map([...store.records].toSorted())).toEqual(new Map([...before].toSorted()));
});

test("whatever happens in whatever order, after a restart all is as it was", async () => {
  const seed = fuzzSeed();
  const random = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!; // none is empty
  let current = first;
  const sockets = new Map<string, FakeSocket>();
  const guilds = ["1", "2", "3"];
  const step = async (): Promise<void> => {
    const all = current.sessions.all();
    if (all.length === 0 || random() < 0.1) {
      const socket = new FakeSocket();
      sockets.set(current.open(socket).id, socket);
      return;
    }
    const session = pick(all);
    const guildId = pick(guilds);
    const actions: (() => unknown)[] = [
      () => session.configure({ resuming: random() < 0.7, timeout: pick([0, 60]) }),
      () => session.kept.set(guildId, "plugin", pick([undefined, "1", "2"])),
      () => session.destroyPlayer(guildId),
      async () => {
        const player = await current.playerOf(session, guildId);
        player.intent = playing(pick(["a", "b"]), {
          volume: Math.floor(random() * 100),
          ...pick([{}, { track: undefined }]),
        });
        player.onChanged();
      },
      () => (session.players.get(guildId) as FakeSessionPlayer | undefined)?.say(Math.floor(random() * 1000)),
      () => {
        const socket = sockets.get(session.id);
        if (!session.isConnected || socket === undefined) return;
        socket.break();
        session.socketClosed(socket);
      },
      () => {
        if (!session.isWaiting) return;
        const socket = new FakeSocket();
        sockets.set(session.id, socket);
        session.resume(socket);
      },
      () => random() < 0.2 && session.destroy(),
      () => clock.advance(Math.floor(random() * 2)),
    ];
    await pick(actions)();
  };
  const told = (process: Process) =>
    process.sessions
      .all()
      .filter(({ isLasting }) => isLasting)
      .map((session) => ({
        id: session.id,
        timeout: session.timeout,
        kept: [...session.kept.list()].toSorted((a, b) => a.guildId.localeCompare(b.guildId)),
        messages: session.waitingMessages,
        players: Array.from(session.players.values(), (player) => ({
          guildId: player.guildId,
          ...player.snapshot(),
        })).toSorted((a, b) => a.guildId.localeCompare(b.guildId)),
      }))
      .toSorted((a, b) => a.id.localeCompare(b.id));
  for (let life = 0; life < 40; life++) {
    for (let count = Math.floor(random() * 40); count > 0; count--) await step();
    await current.flow();
    const before = told(current);
    current = await restarted();
    expect(told(current), `seed ${seed}, life ${life}`).toEqual(before);
  }
});
