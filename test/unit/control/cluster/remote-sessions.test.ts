import { beforeEach, describe, expect, test } from "vitest";
import { LEASE_MS } from "../../../../src/cluster/lease-times.ts";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import { MESSAGES, PLAYERS } from "../../../../src/control/cluster/player-calls.ts";
import { RemoteSessions } from "../../../../src/control/cluster/remote-sessions.ts";
import type { SessionHome } from "../../../../src/control/cluster/session-directory.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import { NodeError } from "../../../../src/errors.ts";
import { pause } from "../../../../src/lib/pause.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { ClusterWorld, TestMachine } from "../../../support/clustered-machine.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import type { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { untilSettled } from "../../../support/until-settled.ts";

const INFO = { userId: "1", clientName: "bot/1", owner: null, account: "address test" };
const PLAYER = JSON.stringify({ volume: 33, isPaused: false, filters: {} });
const AWAY = { code: "cluster-away" };
const IDLE_MS = 60_000;

let world: ClusterWorld;
/** Has the session. */
let a: TestMachine;
/** Has players of it. */
let b: TestMachine;
let session: Session;
/** Requests about players that b was asked to carry out. */
let requests: string[];

beforeEach(async () => {
  world = new ClusterWorld();
  a = await new TestMachine(world, "a").start();
  b = await new TestMachine(world, "b").start();
  session = await a.open();
  requests = [];
  b.cluster.onPlayerCall(async (request) => {
    requests.push(request);
    return `answer to ${request}`;
  });
});

function epoch(id = session.id): number {
  return world.nats.records.get(`owner/${id}`)?.revision ?? 0;
}

/** Calls b, as the machine that has the session does; the answer comes when time passes. */
function send(fields: object, { from = a, id = session.id, timeoutMs = 5000 } = {}): Promise<string> {
  const isOpening = "request" in fields || "guildIds" in fields;
  const about = isOpening ? { session: { ...INFO, id } } : { sessionId: id };
  const text = JSON.stringify({ epoch: epoch(id), ...about, ...fields });
  const answer = from.opened.link.call(b.id, PLAYERS, text, { timeoutMs });
  // Tests look at it later.
  answer.catch(() => undefined);
  return answer;
}

function call(fields: object, options: { from?: TestMachine; id?: string } = {}): Promise<string> {
  return world.within(send(fields, options));
}

function request(text: string, fields: object = {}, options: { from?: TestMachine; id?: string } = {}) {
  return call({ kind: "request", guildId: "7", request: text, ...fields }, options);
}

async function ensure(guildIds: readonly string[], fields: object = {}): Promise<readonly string[]> {
  return JSON.parse(await call({ kind: "ensure", guildIds, ...fields })).missing;
}

async function holds(guildId = "7"): Promise<boolean> {
  return JSON.parse(await call({ kind: "holds", guildId })).holds;
}

/** What a machine that has died has written. */
function store(records: Readonly<Record<string, string>>): void {
  const changes = Object.entries(records).map(([key, value]) => ({ key, value }));
  world.nats.write(changes, undefined, a.bucket);
}

function remote(): Session | undefined {
  const found = b.sessions.get(session.id);
  return found?.isRemote === true ? found : undefined;
}

function playerAtB(guildId = "7"): FakeSessionPlayer | undefined {
  return b.sessions.get(session.id)?.players.get(guildId) as FakeSessionPlayer | undefined;
}

/** A player of guild 7 at b. */
async function playAtB(): Promise<FakeSessionPlayer> {
  await request("open");
  const player = await remote()?.updatePlayer("7", EMPTY_UPDATE, { isReplacing: true });
  (player as FakeSessionPlayer | undefined)?.onChanged();
  await world.pass(50);
  return player as FakeSessionPlayer;
}

/** Existing records of the session of that kind. */
function stored(kind: string): readonly string[] {
  const records = [...world.nats.records.values()].filter(({ value }) => value !== undefined);
  return records.map(({ key }) => key).filter((key) => key.startsWith(`${kind}/${session.id}`));
}

/** Calls of `machine` of that kind arrive, and their answers are lost. */
function loseAnswers({ opened: { link } }: TestMachine, kind: string): { end: () => void; readonly count: number } {
  const original = link.call.bind(link);
  let count = 0;
  link.call = async (machineId, asked, text, options) => {
    const answer = await original(machineId, asked, text, options);
    if (asked !== kind) return answer;
    count++;
    throw new NodeError("cluster-away", "the answer was lost");
  };
  return {
    end: () => {
      link.call = original;
    },
    get count() {
      return count;
    },
  };
}

describe("a request about a player", () => {
  test("is answered where the player is to be, with the session opened there for its client", async () => {
    expect(await request("make it")).toBe("answer to make it");

    expect(requests).toEqual(["make it"]);
    const { userId, clientName, owner, account, dialect } = remote() ?? {};
    expect({ userId, clientName, owner, account, dialect }).toEqual({
      ...{ userId: "1", clientName: "bot/1", owner: undefined, account: "address test" },
      dialect: V4_PROTOCOL,
    });
    const opened = remote();
    await request("again");
    expect(remote()).toBe(opened);
    expect(opened?.relayedFrom).toBe(b.id);
  });

  test("that fails fails for the machine that has passed it on", async () => {
    b.cluster.onPlayerCall(() => Promise.reject(new NodeError("player-busy", "too many updates")));
    await expect(request("make it")).rejects.toMatchObject({ code: "player-busy" });
  });

  test.each([
    ["no JSON", "{"],
    ["another call", JSON.stringify({ kind: "dance" })],
    ["an id that is none", { id: "../x" }],
    ["a guild that is none", { guildId: "x/y" }],
    ["more than it may say", { more: 1 }],
  ])("is refused when it is %s", async (_what, wrong) => {
    const id = session.id;
    const fields = { kind: "request", epoch: epoch(), session: { ...INFO, id }, guildId: "7", request: "x" };
    const text = (): string => {
      if (typeof wrong === "string") return wrong;
      return JSON.stringify("id" in wrong ? { ...fields, session: { ...INFO, ...wrong } } : { ...fields, ...wrong });
    };
    const answer = world.within(a.opened.link.call(b.id, PLAYERS, text(), { timeoutMs: 5000 }));
    await expect(answer).rejects.toMatchObject({ code: "internal" });
    expect(requests).toEqual([]);
    expect(b.sessions.all()).toEqual([]);
  });

  test("is refused while the machine stops", async () => {
    await request("open");
    b.sessions.disconnect();
    await expect(request("late")).rejects.toMatchObject(AWAY);
    expect(requests).toEqual(["open"]);
  });

  test("finds no session for which there is no memory", async () => {
    b.sessions.openRemote = () => {
      throw new NodeError("memory-exhausted", "no");
    };
    await expect(request("make it")).rejects.toMatchObject({ code: "memory-exhausted" });
    Reflect.deleteProperty(b.sessions, "openRemote");
    expect(await request("make it")).toBe("answer to make it");
    expect(remote()).toBeDefined();
  });
});

describe("a machine that does not have the session", () => {
  test("is refused when it had it once", async () => {
    const before = epoch();
    const c = await new TestMachine(world, "c").start();
    await request("first");
    session.configure({ resuming: true, timeout: 600 });
    session.disconnect();
    await c.bring(session.id);

    await expect(request("late", { epoch: before })).rejects.toMatchObject(AWAY);
    await expect(call({ kind: "holds", guildId: "7", epoch: before })).rejects.toMatchObject(AWAY);
    await expect(call({ kind: "sendUpdates", epoch: before })).rejects.toMatchObject(AWAY);
    await expect(ensure(["7"], { epoch: before })).rejects.toMatchObject(AWAY);
    expect(requests).toEqual(["first"]);
    expect(await request("its new machine", {}, { from: c })).toBe("answer to its new machine");
  });

  test("is refused as soon as the next one has called, though the records say it later", async () => {
    const before = epoch();
    b.bucket.transit = () => ({ requestMs: 0, answerMs: 0, watchMs: 10_000 });
    const c = await new TestMachine(world, "c").start();
    store({ [`owner/${session.id}`]: JSON.stringify({ machine: c.id }) });
    await request("new", {}, { from: c });
    await expect(request("old", { epoch: before })).rejects.toMatchObject(AWAY);
    expect(requests).toEqual(["new"]);
  });

  test("is refused when it had the session before, lost it, and has it again", async () => {
    const before = epoch();
    store({ [`owner/${session.id}`]: JSON.stringify({ machine: a.id }) });
    await world.pass(50);
    await expect(request("late", { epoch: before })).rejects.toMatchObject(AWAY);
    expect(await request("now")).toBe("answer to now");
  });

  test("is refused with the revision of another one", async () => {
    const c = await new TestMachine(world, "c").start();
    await expect(request("false", {}, { from: c })).rejects.toMatchObject(AWAY);
    expect(requests).toEqual([]);
  });

  test("is refused when the session has ended", async () => {
    const before = epoch();
    await request("open");
    session.destroy();
    await world.pass(500);
    expect(remote()).toBeUndefined();

    await expect(request("late", { epoch: before })).rejects.toMatchObject(AWAY);
    expect(b.sessions.get(session.id)).toBeUndefined();
  });

  test("is refused where the session is", async () => {
    const own = await b.open();
    const { id } = own;
    await expect(request("false", { epoch: epoch(id) + 1000 }, { id })).rejects.toMatchObject(AWAY);
    expect(own.isConnected).toBe(true);
    expect(requests).toEqual([]);
  });
});

describe("players that are to be there", () => {
  test("are made again from their records, and no others", async () => {
    store({
      [`player/${session.id}/7`]: PLAYER,
      [`player/${session.id}/8`]: PLAYER,
      [`kept/${session.id}/7/6c`]: "1",
      [`kept/${session.id}/9/6c`]: "2",
    });

    expect(await ensure(["7", "9", "10"])).toEqual(["10"]);

    await world.pass(50);
    expect([...(remote()?.players.keys() ?? [])]).toEqual(["7"]);
    expect([playerAtB()?.intent.volume, playerAtB()?.isHeld]).toEqual([33, false]);
    expect([...(remote()?.kept.list() ?? [])].map(({ guildId, json }) => `${guildId} ${json}`)).toEqual(["7 1", "9 2"]);
  });

  test("are missing where they cannot be made again, once nothing is stored of them", async () => {
    store({ [`player/${session.id}/7`]: "no player", [`player/${session.id}/8`]: PLAYER });
    await request("open");
    const opened = remote();
    if (opened !== undefined)
      opened.restorePlayer = () => {
        throw new NodeError("memory-exhausted", "no");
      };
    let onRemovable = (): void => undefined;
    const removable = new Promise<void>((resolve) => {
      onRemovable = resolve;
    });
    const write = b.bucket.write.bind(b.bucket);
    b.bucket.write = async (changes, options) => {
      if (changes.some(({ value }) => value === undefined)) await removable;
      return await write(changes, options);
    };
    let isAnswered = false;
    const answer = send({ kind: "ensure", guildIds: ["7", "8"] }).then((text) => {
      isAnswered = true;
      return JSON.parse(text);
    });
    await world.pass(500);
    expect(isAnswered).toBe(false);
    onRemovable();
    expect(await world.within(answer)).toEqual({ missing: ["7", "8"] });
    expect(stored("player")).toEqual([]);
  });

  test("are made once by calls that come at once, and stay as they are", async () => {
    store({ [`player/${session.id}/7`]: PLAYER });
    b.bucket.transit = () => ({ requestMs: 20, answerMs: 20 });

    expect(await Promise.all([ensure(["7"]), ensure(["7", "8"])])).toEqual([[], ["8"]]);

    const player = playerAtB();
    expect(b.players).toEqual([player]);
    store({ [`player/${session.id}/7`]: JSON.stringify({ volume: 44, isPaused: false, filters: {} }) });
    expect(await ensure(["7"])).toEqual([]);
    expect(playerAtB()).toBe(player);
    expect(player?.intent.volume).toBe(33);
  });

  test("are not made by a request before they are made again", async () => {
    store({ [`player/${session.id}/7`]: PLAYER });
    let found: FakeSessionPlayer | undefined;
    b.cluster.onPlayerCall(async () => {
      found = playerAtB();
      return "";
    });
    b.bucket.transit = () => ({ requestMs: 20, answerMs: 20 });
    await Promise.all([ensure(["7"]), ensure([]), request("change it")]);
    expect(found?.intent.volume).toBe(33);
  });

  test("do not come back once they were destroyed there, though that is not stored yet", async () => {
    await playAtB();
    expect(stored("player")).toEqual([`player/${session.id}/7`]);
    b.bucket.transit = () => ({ requestMs: 100, answerMs: 0 });
    void remote()?.destroyPlayer("7");
    expect(await ensure(["7"])).toEqual(["7"]);
    expect(playerAtB()).toBeUndefined();
  });

  test("are made after the one before has ended", async () => {
    let onEnd = (): void => undefined;
    const player = await playAtB();
    player.goodbye = new Promise((resolve) => {
      onEnd = resolve;
    });
    void remote()?.destroyPlayer("7");
    await world.pass(100);
    store({ [`player/${session.id}/7`]: PLAYER });
    const ensured = ensure(["7"]);
    await world.pass(1000);
    expect(b.players).toEqual([player]);
    onEnd();
    await ensured;
    expect(playerAtB()?.intent.volume).toBe(33);
  });

  test.each([
    ["has lost the session", async () => store({ [`owner/${session.id}`]: JSON.stringify({ machine: "c" }) })],
    ["has ended the session", async () => session.destroy()],
    ["finds the machine stopping", async () => b.sessions.disconnect()],
    ["finds that all sessions were dropped there", async () => remote()?.drop()],
  ])("are not made for a machine that meanwhile %s", async (_what, happen) => {
    store({ [`player/${session.id}/7`]: PLAYER });
    await request("open");
    b.bucket.transit = () => ({ requestMs: 100, answerMs: 100, watchMs: 0 });
    const ensured = send({ kind: "ensure", guildIds: ["7"] });
    await world.pass(50);
    const late = send({ kind: "request", guildId: "7", request: "late" });
    await world.pass(150);
    // The records are being read.
    await happen();
    await world.pass(500);
    await expect(ensured).rejects.toMatchObject(AWAY);
    await expect(late).rejects.toMatchObject(AWAY);
    expect(b.players).toEqual([]);
    expect(requests).toEqual(["open"]);
  });

  test("are read once the record is there that the call names", async () => {
    const asked: object[] = [];
    const read = b.bucket.read.bind(b.bucket);
    b.bucket.read = (patterns, ...more: readonly object[]) => {
      asked.push(...more);
      return read(patterns);
    };
    const atLeast = { key: `place/${session.id}/7`, revision: 1_000_000 };
    await ensure(["7"], { atLeast });
    await ensure(["8"]);
    expect(asked).toMatchObject([{ atLeast }, { atLeast: { key: `owner/${session.id}`, revision: epoch() } }]);
  });
});

describe("whether there is anything of a guild", () => {
  test("is so while there is a player, or a value that is kept", async () => {
    expect(await holds()).toBe(false);
    await playAtB();
    expect([await holds("7"), await holds("8")]).toEqual([true, false]);
    remote()?.kept.set("8", "plugin", "1");
    expect(await holds("8")).toBe(true);
  });

  test("is not denied before the player has ended, and no record of it is left", async () => {
    let onEnd = (): void => undefined;
    const player = await playAtB();
    player.goodbye = new Promise((resolve) => {
      onEnd = resolve;
    });
    b.bucket.transit = () => ({ requestMs: 300, answerMs: 0 });
    void remote()?.destroyPlayer("7");
    let recordsThen: readonly string[] | undefined;
    const answer = holds().then((isHeld) => {
      recordsThen = stored("player");
      return isHeld;
    });
    await world.pass(2000);
    expect(recordsThen).toBeUndefined();
    onEnd();
    expect(await answer).toBe(false);
    expect(recordsThen).toEqual([]);
  });

  test("is not denied while a request may make it, also one that still waits for others of the session", async () => {
    store({ [`player/${session.id}/8`]: PLAYER });
    const { readSession } = b.opened.store;
    b.opened.store.readSession = async (...args) => {
      await pause(world.clock, 1000);
      return await readSession.apply(b.opened.store, args);
    };
    const making = send({ kind: "ensure", guildIds: ["8"] });
    const answer = send({ kind: "request", guildId: "7", request: "make" });
    await world.pass(100);

    expect(await holds()).toBe(true);
    expect(requests).toEqual([]);
    expect(JSON.parse(await world.within(making))).toEqual({ missing: [] });
    expect(await world.within(answer)).toBe("answer to make");
    expect(await holds()).toBe(false);
  });

  test("is not denied while its records cannot be removed", async () => {
    const player = await playAtB();
    world.nats.isFull = true;
    player.onChanged();
    await world.pass(100);
    expect(await holds()).toBe(true);
    void remote()?.destroyPlayer("7");
    await expect(holds()).rejects.toMatchObject(AWAY);
    world.nats.isFull = false;
    await world.pass(35_000);
    expect(await holds()).toBe(false);
  });
});

describe("a client that is back", () => {
  test("is sent where the players are", async () => {
    const player = await playAtB();
    const before = (session.connection?.isResumed ?? false) ? 1 : 0;
    let count = before;
    player.sendPlayerUpdate = () => {
      count++;
    };
    expect(await call({ kind: "sendUpdates" })).toBe("");
    expect(count).toBe(before + 1);
  });
});

describe("a remote session", () => {
  test("without anything of use ends after a minute", async () => {
    await request("open");
    await world.pass(IDLE_MS - 15_000);
    await request("again");
    await world.pass(IDLE_MS - 1000);
    expect(remote()).toBeDefined();
    await world.pass(12_000);
    expect(remote()).toBeUndefined();
    expect(await request("once more")).toBe("answer to once more");
  });

  test("with a player, a kept value or an event stays, and ends a minute after the last of them", async () => {
    await playAtB();
    await world.pass(2 * IDLE_MS);
    expect(remote()).toBeDefined();
    remote()?.kept.set("9", "plugin", "1");
    await remote()?.destroyPlayer("7");
    await world.pass(2 * IDLE_MS);
    expect(remote()).toBeDefined();
    const lost = loseAnswers(b, MESSAGES);
    remote()?.send({ op: "event", type: "WebSocketClosedEvent", guildId: "9", code: 1, reason: "", byRemote: true });
    remote()?.kept.drop("9");
    await world.pass(2 * IDLE_MS);
    expect(remote()).toBeDefined();
    lost.end();
    await world.pass(IDLE_MS + 15_000);
    expect(remote()).toBeUndefined();
    expect([...stored("player"), ...stored("kept"), ...stored("relay")]).toEqual([]);
  });

  test("does not end while a request about it is carried out", async () => {
    let onDone = (_answer: string): void => undefined;
    b.cluster.onPlayerCall(
      () =>
        new Promise((resolve) => {
          onDone = resolve;
        }),
    );
    void send({ kind: "request", guildId: "7", request: "slow" }, { timeoutMs: 10 * IDLE_MS });
    await world.pass(2 * IDLE_MS);
    expect(remote()).toBeDefined();
    onDone("");
    await world.pass(IDLE_MS + 15_000);
    expect(remote()).toBeUndefined();
  });

  test("ends with its owner record, and leaves no record", async () => {
    const player = await playAtB();
    player.say(1);
    world.nats.write([{ key: `owner/${session.id}`, value: undefined }], undefined, a.bucket);
    await world.pass(500);
    expect(remote()).toBeUndefined();
    expect(player.isDestroyed).toBe(true);
    expect([...stored("player"), ...stored("relay")]).toEqual([]);
  });

  test("ends when it is found out that there is no owner record any more", async () => {
    const player = await playAtB();
    world.nats.records.delete(`owner/${session.id}`);
    await b.bring(session.id);
    expect(player.isDestroyed).toBe(false);
    await world.pass(11_000);
    expect(player.isDestroyed).toBe(true);
    expect(remote()).toBeUndefined();
  });

  test("stays while its owner record is there, or cannot be read", async () => {
    const player = await playAtB();
    const record = world.nats.records.get(`owner/${session.id}`);
    world.nats.records.delete(`owner/${session.id}`);
    await b.bring(session.id);
    b.bucket.get = () => Promise.reject(new NodeError("cluster-away", "no answer"));
    await world.pass(15_000);
    expect(player.isDestroyed).toBe(false);
    Reflect.deleteProperty(b.bucket, "get");
    if (record !== undefined) world.nats.records.set(record.key, record);
    await world.pass(15_000);
    expect(player.isDestroyed).toBe(false);
    expect(remote()).toBeDefined();
  });

  test("ends with the id of its machine, which answers under its next one", async () => {
    const player = await playAtB();
    const { id } = b;
    b.bucket.cut();
    await world.pass(LEASE_MS + 1000);
    expect(player.isDestroyed).toBe(true);
    expect(remote()).toBeUndefined();
    b.bucket.restore();
    await world.pass(3000);
    expect(b.id).not.toBe(id);
    const text = JSON.stringify({ kind: "holds", sessionId: session.id, epoch: epoch(), guildId: "7" });
    await expect(a.opened.link.call(id, PLAYERS, text, { timeoutMs: 1000 })).rejects.toMatchObject({
      code: "machine-gone",
    });
    expect(await request("again")).toBe("answer to again");
    expect(remote()?.relayedFrom).toBe(b.id);
  });
});

describe("a session whose machine says that it has ended", () => {
  test("has left no record when that is answered, and does not come back by a call that is late", async () => {
    const player = await playAtB();
    player.say(1);
    b.bucket.transit = () => ({ requestMs: 200, answerMs: 0 });
    let recordsThen: readonly string[] | undefined;
    await call({ kind: "end" }).then(() => {
      recordsThen = [...stored("player"), ...stored("relay")];
    });
    expect(recordsThen).toEqual([]);
    expect([player.isGone, remote()]).toEqual([true, undefined]);
    await expect(request("late")).rejects.toMatchObject(AWAY);
    expect(await call({ kind: "end" })).toBe("");
  });

  test("has not ended while that cannot be stored", async () => {
    await playAtB();
    world.nats.isFull = true;
    await expect(call({ kind: "end" })).rejects.toMatchObject(AWAY);
  });
});

describe("events of a remote session", () => {
  test("reach the client once though answers are lost, and their records are gone then", async () => {
    const socket = new FakeSocket();
    session = await a.open(socket);
    const player = await playAtB();
    const lost = loseAnswers(b, MESSAGES);
    for (let count = 1; count <= 5; count++) player.say(count);
    await world.pass(5000);
    expect(lost.count).toBeGreaterThan(2);
    expect(stored("relay")).toHaveLength(5);
    expect(socket.said).toEqual([1, 2, 3, 4, 5]);
    lost.end();
    await world.pass(3000);
    expect(socket.said).toEqual([1, 2, 3, 4, 5]);
    expect(stored("relay")).toEqual([]);
  });

  test("reach the client once when the session moves before its machine could say that it has them", async () => {
    const c = await new TestMachine(world, "c").start();
    const socket = new FakeSocket();
    session = await a.open(socket);
    session.configure({ resuming: true, timeout: 600 });
    const player = await playAtB();
    socket.break();
    session.socketClosed(socket);
    const lost = loseAnswers(b, MESSAGES);
    player.say(1);
    player.say(2);
    await world.pass(500);
    expect(stored("message")).toHaveLength(2);

    const brought = await c.bring(session.id);
    lost.end();
    player.say(3);
    await world.pass(5000);
    const next = new FakeSocket();
    brought?.resume(next);
    player.say(4);
    await world.pass(500);

    expect(next.said).toEqual([1, 2, 3, 4]);
    expect(stored("relay")).toEqual([]);
    expect(player.isDestroyed).toBe(false);
  });
});

test("a machine has at most 20,000 remote sessions", async () => {
  const sessionsMax = 20_000;
  const homes = new Map<string, SessionHome>();
  let handler: ((request: string, from: string) => Promise<string>) | undefined;
  const unused = (): never => {
    throw new Error("not used here");
  };
  const remotes = new RemoteSessions({
    ...{ clock: new FakeClock(), logger: silentLogger, dialectOf: () => V4_PROTOCOL },
    bucket: { write: unused, get: unused },
    store: { readSession: unused },
    link: {
      call: unused,
      serve: (_id, _kind, serving) => {
        handler = serving;
        return () => undefined;
      },
    },
    membership: {
      ...{ self: b.opened.membership.self, guard: undefined, isNatsAway: false, status: { kind: "joined" } },
      ...{ isAlive: () => true, isCaughtUp: true, machines: [], clockOffsetMs: 0, onFenced: unused },
    },
    directory: { homes, isComplete: true, learn: (id, home) => homes.set(id, home), forget: unused },
    sessions: { get: () => undefined, own: () => undefined, openRemote: () => session, isClosed: false },
    state: {
      ...{ adoptPlayers: unused, isStoring: true },
      flushed: () => Promise.resolve(),
    },
    releases: { release: unused },
  });
  remotes.onPlayerCall(async () => "");
  remotes.onJoined("b");
  const ask = (id: string): Promise<string> | undefined => {
    const fields = { kind: "request", epoch: 1, session: { ...INFO, id }, guildId: "7", request: "" };
    return handler?.(JSON.stringify(fields), "a");
  };
  for (let count = 0; count < sessionsMax; count++) await ask(`s${count}`);
  await expect(ask("last")).rejects.toMatchObject({ code: "memory-exhausted" });
  expect(await ask("s1")).toBe("");
  remotes.close();
  await untilSettled();
});
