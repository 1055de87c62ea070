import { beforeEach, describe, expect, test } from "vitest";
import { ClusterStore } from "../../../../src/cluster/cluster-store.ts";
import { DEAD_MS, LEASE_MS } from "../../../../src/cluster/lease-times.ts";
import { CONTRACT_VERSION } from "../../../../src/cluster/machine.ts";
import { Membership } from "../../../../src/cluster/membership.ts";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import { NodeCluster, type OpenedCluster } from "../../../../src/control/cluster/node-cluster.ts";
import { closeSessions } from "../../../../src/control/cluster/node-storage.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import type { Sessions } from "../../../../src/control/sessions/sessions.ts";
import { NodeState } from "../../../../src/control/state/node-state.ts";
import type { Clock } from "../../../../src/lib/clock.ts";
import { systemRandom } from "../../../../src/lib/random.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { createTrack } from "../../../../src/track/track.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { type MemoryBucket, MemoryNats } from "../../../support/memory-bucket.ts";
import { MemoryLinks } from "../../../support/memory-links.ts";
import { createSessions, EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { untilSettled } from "../../../support/until-settled.ts";

const CLIENT = { userId: "1", clientName: "bot/1", dialect: V4_PROTOCOL, owner: undefined, account: "address test" };
const ASKING = { userId: "1", owner: undefined, version: "4" } as const;

const SONG = createTrack(
  {
    ...{
      identifier: "song",
      isSeekable: true,
      author: "",
      length: 60_000,
      isStream: false,
      position: 0,
      title: "song",
    },
    ...{ uri: null, sourceName: "http", artworkUrl: null, isrc: null },
  },
  { kind: "probe", probeInfo: "mp3" },
);

let clock: FakeClock;
let nats: MemoryNats;
let links: MemoryLinks;

/** A machine with sessions and fake players, in a cluster in memory. */
class TestMachine {
  readonly bucket: MemoryBucket;
  readonly players: FakeSessionPlayer[] = [];
  readonly sessions: Sessions;
  readonly state: NodeState;
  readonly cluster: NodeCluster;
  readonly opened: OpenedCluster;
  readonly lines: string[] = [];
  /** Clients that do not answer a ping. */
  readonly silent = new Set<Session>();

  constructor(name: string, { aheadMs = 0 }: { readonly aheadMs?: number } = {}) {
    const bucket = nats.connect();
    const clock = wrongBy(aheadMs);
    this.bucket = bucket;
    const logger = createLogger((_level, message) => this.lines.push(message));
    const link = links.of(bucket, () => this.id);
    const opened: OpenedCluster = {
      bucket,
      link,
      membership: new Membership({
        ...{ bucket, link, clock, logger, random: systemRandom },
        self: { name, region: undefined, version: "1", contract: CONTRACT_VERSION },
        onJoined: (id) => opened.handlers?.onJoined(id),
        onLost: (reason) => opened.handlers?.onLost(reason),
        onMachines: () => opened.handlers?.onMachines(),
      }),
      get store(): ClusterStore {
        return store;
      },
      handlers: undefined,
    };
    const store = new ClusterStore({ bucket, membership: opened.membership, clock });
    this.opened = opened;
    this.state = new NodeState({
      opened: { kind: "open", store, setAside: undefined },
      shared: { offsetMs: () => opened.membership.clockOffsetMs },
      clock,
      logger,
    });
    this.sessions = createSessions({
      clock,
      recorder: this.state.recorder,
      onEvent: (event) => this.cluster.onEvent(event),
      createPlayer: (owner) => {
        const player = new FakeSessionPlayer(owner);
        this.players.push(player);
        return player;
      },
    });
    this.cluster = new NodeCluster({
      ...{ opened, sessions: this.sessions, state: this.state, clock, logger },
      endSilent: async (session) => {
        if (this.silent.has(session)) session.disconnect();
      },
    });
  }

  get id(): string {
    return this.opened.membership.self?.id ?? "nobody";
  }

  async start(): Promise<this> {
    await this.state.restore({
      sessions: this.sessions,
      dialectOf: () => V4_PROTOCOL,
      isKnownOwner: () => true,
      allowedFilters: (_owner, filters) => filters,
      onSession: () => undefined,
    });
    void this.state.begin();
    this.cluster.start();
    await pass(100);
    return this;
  }

  /** As the end point does for a new client. */
  async open(socket = new FakeSocket()): Promise<Session> {
    return this.sessions.open(socket, CLIENT, await within(this.cluster.reserve()));
  }

  /** A session that would wait for its client, with a player of guild 7. */
  async openLasting(socket = new FakeSocket()): Promise<Session> {
    const session = await this.open(socket);
    session.configure({ resuming: true, timeout: 600 });
    await session.updatePlayer("7", EMPTY_UPDATE, { isReplacing: true });
    playerOf(session).onChanged();
    await pass(100);
    return session;
  }

  /** As the end point does for a client that returns. */
  async bring(sessionId: string): Promise<Session | undefined> {
    await within(this.cluster.bring({ sessionId }, ASKING) ?? Promise.resolve());
    return this.sessions.get(sessionId);
  }

  /** The process is gone, with its connection. */
  kill(): void {
    this.bucket.cut();
    for (const key of links.handlers.keys()) if (key.startsWith(this.id)) links.handlers.delete(key);
  }
}

function wrongBy(aheadMs: number): Clock {
  return {
    now: () => clock.now(),
    epochMs: () => clock.epochMs() + aheadMs,
    after: (delayMs, callback) => clock.after(delayMs, callback),
  };
}

function playerOf(session: Session | undefined): FakeSessionPlayer {
  return session?.players.get("7") as FakeSessionPlayer; // made by openLasting
}

/** Time passes in small steps, and what waits for promises is done in each. */
async function pass(ms: number): Promise<void> {
  const stepMs = 10;
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    clock.advance(stepMs);
    await untilSettled();
  }
}

/** What `promise` gives, while time passes. */
async function within<T>(promise: Promise<T>, msMax = 2 * DEAD_MS): Promise<T> {
  let isOver = false;
  const settle = (): void => {
    isOver = true;
  };
  promise.then(settle, settle);
  await untilSettled();
  for (let passedMs = 0; !isOver && passedMs < msMax; passedMs += 10) await pass(10);
  return await promise;
}

beforeEach(() => {
  clock = new FakeClock();
  nats = new MemoryNats(clock);
  links = new MemoryLinks();
});

describe("a session of another machine", () => {
  test("is known there before its client is", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();

    const session = await a.open();

    expect(await b.cluster.elsewhere(session.id)).toBe(a.id);
    expect(a.cluster.elsewhere(session.id)).toBeUndefined();
    expect(await b.cluster.elsewhere("nobodys")).toBeUndefined();
  });

  test("comes to the machine of its returning client, with its player and what waited", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    playerOf(session).intent = { ...playerOf(session).intent, volume: 55 };
    playerOf(session).onChanged();
    socket.break();
    session.socketClosed(socket);
    playerOf(session).say(1);

    const brought = await b.bring(session.id);

    expect(brought?.isWaiting).toBe(true);
    expect(playerOf(brought).intent.volume).toBe(55);
    expect(a.players[0]?.isDestroyed).toBe(true);
    expect(a.sessions.get(session.id)).toBeUndefined();
    const next = new FakeSocket();
    brought?.resume(next);
    await pass(20);
    expect(next.said).toEqual([1]);
    expect(await a.cluster.elsewhere(session.id)).toBe(b.id);
    expect([a.cluster.report().counts.given, b.cluster.report().counts.taken]).toEqual([1, 1]);
  });

  test("is where it would be by now, and waits as long as it would, whatever the clocks of both say", async () => {
    const hourMs = 3_600_000;
    const a = await new TestMachine("a", { aheadMs: hourMs }).start();
    const b = await new TestMachine("b", { aheadMs: -hourMs }).start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    const player = playerOf(session);
    const track = { track: SONG, positionMs: 5, epochMs: clock.epochMs() + hourMs, rate: 1, endMs: undefined };
    player.intent = { ...player.intent, track };
    player.onChanged();
    session.socketClosed(socket);

    const brought = await b.bring(session.id);

    const restored = playerOf(brought).intent.track;
    expect(restored?.epochMs).toBeCloseTo(track.epochMs - 2 * hourMs, -2);
    expect(brought?.waitMs).toBeGreaterThan(590_000);
    expect(brought?.waitMs).toBeLessThan(610_000);
    expect(a.lines.filter((line) => line.includes("clocks"))).toHaveLength(1);
  });

  test("stays where its client is still there", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();
    const session = await a.openLasting();

    expect(await b.bring(session.id)).toBeUndefined();
    expect(session.isConnected).toBe(true);

    a.silent.add(session);
    expect(await b.bring(session.id)).toBeDefined();
  });

  test("does not come for another user", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    session.socketClosed(socket);

    await within(b.cluster.bring({ sessionId: session.id }, { ...ASKING, userId: "2" }) ?? Promise.resolve());

    expect(b.sessions.get(session.id)).toBeUndefined();
    expect(session.isWaiting).toBe(true);
  });

  test("is asked for once by two of its clients that come at once", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();
    const c = await new TestMachine("c").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    session.socketClosed(socket);

    const found = await Promise.all([b.bring(session.id), c.bring(session.id)]);

    const alive = [b, c].filter((machine) => machine.sessions.get(session.id) !== undefined);
    expect(alive).toHaveLength(1);
    expect(found.filter((one) => one !== undefined).length).toBeGreaterThan(0);
    const playing = [b, c].flatMap(({ players }) => players).filter(({ isDestroyed }) => !isDestroyed);
    expect(playing).toHaveLength(1);
  });
});

describe("sessions of a machine that dies", () => {
  test("are taken over by the others, each by one", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();
    const c = await new TestMachine("c").start();
    const ids: string[] = [];
    for (let count = 0; count < 12; count++) ids.push((await a.openLasting()).id);
    a.kill();

    await pass(DEAD_MS + 4000);

    const homes = ids.map((id) => [b, c].filter(({ sessions }) => sessions.get(id) !== undefined).length);
    expect(homes).toEqual(ids.map(() => 1));
    expect(b.sessions.all().length).toBeGreaterThan(0);
    expect(c.sessions.all().length).toBeGreaterThan(0);
    expect([...b.players, ...c.players].every(({ isHeld }) => !isHeld)).toBe(true);
    // The dead one was only cut off, and has ended all before.
    expect(a.players.every(({ isDestroyed }) => isDestroyed)).toBe(true);
  });

  test("come at once to a client that returns elsewhere, when the machine is declared dead", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();
    const session = await a.openLasting();
    a.kill();

    const brought = await b.bring(session.id);

    expect(brought?.isWaiting).toBe(true);
  });

  test("end when they do not resume", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();
    const session = await a.open();
    a.kill();

    await pass(2 * DEAD_MS);

    expect(b.sessions.all()).toEqual([]);
    expect(nats.value(`owner/${session.id}`)).toBeUndefined();
  });

  test("wait for a machine when there was none, and come to the first", async () => {
    const a = await new TestMachine("a").start();
    const session = await a.openLasting();
    await closeSessions({ state: a.state, sessions: a.sessions, cluster: a.cluster });

    const b = await new TestMachine("b").start();
    await pass(2000);

    expect(b.sessions.get(session.id)?.isWaiting).toBe(true);
  });
});

describe("a machine that leaves", () => {
  test("ends its players before another has them, within a second", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);

    await within(closeSessions({ state: a.state, sessions: a.sessions, cluster: a.cluster }));
    expect(a.players[0]?.isDestroyed).toBe(true);
    await pass(1000);

    expect(socket.isTerminated).toBe(true);
    expect(b.sessions.get(session.id)?.isWaiting).toBe(true);
  });
});

describe("a machine that is cut off", () => {
  test("ends its sessions before others take them, and has those that nobody took when it is back", async () => {
    const a = await new TestMachine("a").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    a.bucket.cut();

    await pass(LEASE_MS + 1000);
    expect(socket.isTerminated).toBe(true);
    expect(a.sessions.all()).toEqual([]);
    expect(a.players[0]?.isDestroyed).toBe(true);

    a.bucket.restore();
    await pass(DEAD_MS + 4000);
    expect(a.sessions.get(session.id)?.isWaiting).toBe(true);
    expect(a.cluster.lives).toBe(1);
  });

  test("writes nothing of its sessions once they are another's", async () => {
    const a = await new TestMachine("a").start();
    const b = await new TestMachine("b").start();
    const session = await a.openLasting();
    const before = playerOf(session);
    a.bucket.cut({ isNoticed: false });
    before.intent = { ...before.intent, volume: 1 };
    before.onChanged();
    await pass(DEAD_MS + 4000);
    const after = playerOf(b.sessions.get(session.id));
    after.intent = { ...after.intent, volume: 99 };
    after.onChanged();
    await pass(100);

    a.bucket.restore();
    await pass(5000);

    expect(nats.value(`player/${session.id}/7`)).toContain('"volume":99');
    expect(b.sessions.get(session.id)?.isWaiting).toBe(true);
    expect(a.sessions.get(session.id)).toBeUndefined();
  });
});

describe("while NATS is away for all", () => {
  test("sessions stay, and new ones and others are refused with the reason", async () => {
    const a = await new TestMachine("a").start();
    const session = await a.openLasting();
    nats.goAway();
    await pass(3 * DEAD_MS);

    expect(session.isConnected).toBe(true);
    expect(a.cluster.elsewhere(session.id)).toBeUndefined();
    await expect(within(a.cluster.reserve())).rejects.toThrow(/cannot be reached/);
    await expect(within(Promise.resolve(a.cluster.elsewhere("abc")))).rejects.toThrow(/cannot be reached/);

    nats.comeBack();
    await pass(5000);
    expect(session.isConnected).toBe(true);
    expect(await a.open()).toBeDefined();
  });
});

describe("a session that ends", () => {
  test("leaves no record", async () => {
    const a = await new TestMachine("a").start();
    const session = await a.openLasting();
    session.destroy();

    await pass(500);

    const left = [...nats.records.values()].filter(({ key, value }) => key.includes(session.id) && value !== undefined);
    expect(left).toEqual([]);
  });

  test("is not opened again while its records are being removed", async () => {
    const a = await new TestMachine("a").start();
    const session = await a.openLasting();
    session.destroy();

    await pass(5000);

    expect(a.sessions.all()).toEqual([]);
    expect(a.cluster.report().counts.adopted).toBe(0);
  });
});
