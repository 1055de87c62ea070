import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DEAD_MS, LEASE_MS } from "../../../../src/cluster/lease-times.ts";
import { FormerLife } from "../../../../src/control/cluster/former-life.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import { NodeError } from "../../../../src/errors.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { createTrack } from "../../../../src/track/track.ts";
import { ASKING, CLIENT, ClusterWorld, playerOf, TestMachine } from "../../../support/clustered-machine.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { untilSettled } from "../../../support/until-settled.ts";

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

let world: ClusterWorld;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tonearm-cluster-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(() => {
  world = new ClusterWorld();
});

describe("a session of another machine", () => {
  test("is known there before its client is", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();

    const session = await a.open();

    expect(await b.cluster.elsewhere(session.id)).toBe(a.id);
    expect(a.cluster.elsewhere(session.id)).toBeUndefined();
    expect(await b.cluster.elsewhere("nobodys")).toBeUndefined();
  });

  test("comes to the machine of its returning client with what waited, and its player stays", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    playerOf(session).intent = { ...playerOf(session).intent, volume: 55 };
    playerOf(session).onChanged();
    socket.break();
    session.socketClosed(socket);
    playerOf(session).say(1);

    const brought = await b.bring(session.id);

    expect(brought?.isWaiting).toBe(true);
    expect([b.players.length, a.players[0]?.isDestroyed, session.isRemote]).toEqual([0, false, true]);
    expect(world.nats.value(`player/${session.id}/7`)).toContain('"volume":55');
    const next = new FakeSocket();
    brought?.resume(next);
    await world.pass(20);
    expect(next.said).toEqual([1]);
    expect(await a.cluster.elsewhere(session.id)).toBe(b.id);
    expect([a.cluster.report().counts.given, b.cluster.report().counts.taken]).toEqual([1, 1]);
  });

  test("is where it would be by now, and waits as long as it would, whatever the clocks of both say", async () => {
    const hourMs = 3_600_000;
    const a = await new TestMachine(world, "a", { aheadMs: hourMs }).start();
    const b = await new TestMachine(world, "b", { aheadMs: -hourMs }).start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    const player = playerOf(session);
    const track = { track: SONG, positionMs: 5, epochMs: world.clock.epochMs() + hourMs, rate: 1, endMs: undefined };
    player.intent = { ...player.intent, track };
    player.onChanged();
    session.socketClosed(socket);
    await world.pass(100);

    a.kill();
    await world.pass(DEAD_MS + 2000);

    const brought = b.sessions.own(session.id);
    const restored = playerOf(brought).intent.track;
    expect(restored?.epochMs).toBeCloseTo(track.epochMs - 2 * hourMs, -2);
    expect(brought?.waitMs).toBeGreaterThan(570_000);
    expect(brought?.waitMs).toBeLessThan(610_000);
    expect(a.lines.filter((line) => line.includes("clocks"))).toHaveLength(1);
  });

  test("stays where its client is still there", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const session = await a.openLasting();

    expect(await b.bring(session.id)).toBeUndefined();
    expect(session.isConnected).toBe(true);

    a.silent.add(session);
    expect(await b.bring(session.id)).toBeDefined();
  });

  test("does not come for another user", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    session.socketClosed(socket);

    await world.within(b.cluster.bring({ sessionId: session.id }, { ...ASKING, userId: "2" }) ?? Promise.resolve());

    expect(b.sessions.get(session.id)).toBeUndefined();
    expect(session.isWaiting).toBe(true);
  });

  test("is asked for once by two of its clients that come at once", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const c = await new TestMachine(world, "c").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    session.socketClosed(socket);

    const found = await Promise.all([b.bring(session.id), c.bring(session.id)]);

    const alive = [b, c].filter((machine) => machine.sessions.own(session.id) !== undefined);
    expect(alive).toHaveLength(1);
    expect(found.filter((one) => one !== undefined).length).toBeGreaterThan(0);
    const playing = [a, b, c].flatMap(({ players }) => players).filter(({ isDestroyed }) => !isDestroyed);
    expect(playing).toHaveLength(1);
  });
});

describe("a session that moves", () => {
  /** A session on `a` whose client is away. */
  async function waiting(a: TestMachine): Promise<Session> {
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    session.socketClosed(socket);
    await world.pass(100);
    return session;
  }

  function slow(machine: TestMachine, requestMs: number): void {
    machine.bucket.transit = () => ({ requestMs, answerMs: 1 });
  }

  test("is opened once where it is noticed before the answer to the claim comes", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const session = await waiting(a);
    slow(a, 300);

    const brought = await b.bring(session.id);
    brought?.destroy();
    await world.pass(1000);

    expect(brought).toBeDefined();
    expect(b.errors).toEqual([]);
    expect(b.sessions.all()).toEqual([]);
  });

  test("is at one machine, though it is given by a write that comes late", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const session = await waiting(a);
    const { write } = a.bucket;
    let lateWrite = (): void => undefined;
    a.bucket.write = async (changes, options) => {
      if (changes[0]?.key !== `owner/${session.id}`) return await write.call(a.bucket, changes, options);
      a.bucket.write = write;
      lateWrite = () => void write.call(a.bucket, changes, options).catch(() => undefined);
      throw new NodeError("cluster-away", "no answer");
    };
    const client = b.cluster.bring({ sessionId: session.id }, ASKING);
    client?.catch(() => undefined);
    await untilSettled();
    b.kill();
    await world.pass(2000);
    b.bucket.restore();

    lateWrite();
    await world.pass(5000);

    const homes = [a, b].filter(({ sessions }) => sessions.own(session.id) !== undefined);
    expect(homes).toHaveLength(1);
    expect([...a.players, ...b.players].filter(({ isDestroyed }) => !isDestroyed)).toHaveLength(1);
    expect(world.nats.value(`owner/${session.id}`)).toContain(homes[0]?.id);
  });

  test("stays where it is when what is left of it cannot be stored", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const session = await waiting(a);
    const { write } = a.bucket;
    a.bucket.write = async (changes, options) => {
      if (changes.some(({ key }) => key.startsWith("player/"))) throw new NodeError("state-full", "no room");
      return await write.call(a.bucket, changes, options);
    };
    playerOf(session).intent = { ...playerOf(session).intent, volume: 55 };
    playerOf(session).onChanged();
    await world.pass(100);

    await expect(world.within(Promise.resolve(b.bring(session.id)), 60_000)).rejects.toThrow("does not answer");

    expect(a.sessions.get(session.id)).toBe(session);
    expect(playerOf(session).intent.volume).toBe(55);
  });

  test("is given to no machine that is not known to live", async () => {
    const a = await new TestMachine(world, "a").start();
    const stranger = new TestMachine(world, "b");
    const session = await waiting(a);
    const request = JSON.stringify({ sessionId: session.id, ...ASKING, owner: null });

    const answer = await world.within(stranger.opened.link.call(a.id, "claim", request, { timeoutMs: 5000 }));

    expect(JSON.parse(answer)).toEqual({ kind: "unknown" });
    expect(session.isWaiting).toBe(true);
  });

  test("counts no longer as what its former machine has stored", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const session = await waiting(a);
    expect(a.opened.store.recordCount).toBe(2);

    await b.bring(session.id);

    // The player is still there.
    expect(a.opened.store.recordCount).toBe(1);
  });
});

describe("machines of one role", () => {
  test("sessions of a machine that dies are taken over by gateways, not by machines that only play", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b", { roles: ["audio"] }).start();
    const c = await new TestMachine(world, "c", { roles: ["gateway"] }).start();
    for (let count = 0; count < 12; count++) await a.openLasting();
    a.kill();

    await world.pass(DEAD_MS + 4000);

    expect([b.sessions.all().length, c.sessions.all().length]).toEqual([0, 12]);
  });

  test("all say how many players are on each", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = new TestMachine(world, "b", { roles: ["audio"] });
    b.load = { ...b.load, players: 5 };
    await b.start();

    const machines = a.cluster.report().machines.map(({ name, roles, players }) => ({ name, roles, players }));

    expect(machines).toEqual([
      { name: "a", roles: ["gateway", "audio"], players: 0 },
      { name: "b", roles: ["audio"], players: 5 },
    ]);
  });
});

describe("sessions of a machine that dies", () => {
  test("are taken over by the others, each by one", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const c = await new TestMachine(world, "c").start();
    const ids: string[] = [];
    for (let count = 0; count < 12; count++) ids.push((await a.openLasting()).id);
    a.kill();

    await world.pass(DEAD_MS + 4000);

    const homes = ids.map((id) => [b, c].filter(({ sessions }) => sessions.get(id) !== undefined).length);
    expect(homes).toEqual(ids.map(() => 1));
    expect(b.sessions.all().length).toBeGreaterThan(0);
    expect(c.sessions.all().length).toBeGreaterThan(0);
    expect([...b.players, ...c.players].every(({ isHeld }) => !isHeld)).toBe(true);
    // The dead one was only cut off, and has ended all before.
    expect(a.players.every(({ isDestroyed }) => isDestroyed)).toBe(true);
  });

  test("come at once to a client that returns elsewhere, when the machine is declared dead", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const session = await a.openLasting();
    a.kill();

    const brought = await b.bring(session.id);

    expect(brought?.isWaiting).toBe(true);
  });

  test("are asked for ever less often, as long as nothing changes", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const session = await a.openLasting();
    a.kill();
    const { get } = b.bucket;
    const asked: string[] = [];
    b.bucket.get = async (key) => {
      asked.push(key);
      return await get.call(b.bucket, key);
    };

    await b.bring(session.id);

    expect(asked.filter((key) => key.startsWith("owner/")).length).toBeLessThan(15);
  });

  test("are taken over at once when it is started again in its folder", async () => {
    const settings = { isEnabled: true, path: folder, key: undefined };
    const life = await FormerLife.open({ settings, clock: world.clock, logger: silentLogger });
    const a = await new TestMachine(world, "a", { formerLife: life }).start();
    const session = await a.openLasting();
    a.kill();
    await life.close(); // as the system does

    const next = await FormerLife.open({ settings, clock: world.clock, logger: silentLogger });
    expect(next.ids).toEqual([a.id]);
    const again = await new TestMachine(world, "a", { formerLife: next }).start();
    await world.pass(500);

    expect(again.sessions.get(session.id)?.isWaiting).toBe(true);
    await next.close();
  });

  test("end when they do not resume", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const session = await a.open();
    a.kill();

    await world.pass(2 * DEAD_MS);

    expect(b.sessions.all()).toEqual([]);
    expect(world.nats.value(`owner/${session.id}`)).toBeUndefined();
  });

  test("wait for a machine when there was none, and come to the first", async () => {
    const a = await new TestMachine(world, "a").start();
    const session = await a.openLasting();
    await a.close();

    const b = await new TestMachine(world, "b").start();
    await world.pass(2000);

    expect(b.sessions.get(session.id)?.isWaiting).toBe(true);
  });
});

describe("a machine that leaves", () => {
  test("ends its players before another has them, within a second", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);

    await world.within(a.close());
    expect(a.players[0]?.isDestroyed).toBe(true);
    await world.pass(1000);

    expect(socket.isTerminated).toBe(true);
    expect(b.sessions.get(session.id)?.isWaiting).toBe(true);
  });
});

describe("a machine that is cut off", () => {
  test("ends its sessions before others take them, and has those that nobody took when it is back", async () => {
    const a = await new TestMachine(world, "a").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    a.bucket.cut();

    await world.pass(LEASE_MS + 1000);
    expect(socket.isTerminated).toBe(true);
    expect(a.sessions.all()).toEqual([]);
    expect(a.players[0]?.isDestroyed).toBe(true);

    a.bucket.restore();
    await world.pass(DEAD_MS + 4000);
    expect(a.sessions.get(session.id)?.isWaiting).toBe(true);
    expect(a.cluster.lives).toBe(1);
  });

  test("has them again only when their players have ended, and keeps them then", async () => {
    const a = await new TestMachine(world, "a").start();
    const session = await a.openLasting();
    const [player] = a.players;
    let leave = (): void => undefined;
    if (player !== undefined) {
      player.goodbye = new Promise((resolve) => {
        leave = resolve;
      });
    }
    a.bucket.cut();
    await world.pass(LEASE_MS + 1000);
    a.bucket.restore();
    await world.pass(2000);
    expect(a.id).not.toBe("nobody");
    expect(a.sessions.all()).toEqual([]);

    leave();
    await world.pass(2000);

    expect(a.sessions.get(session.id)?.isWaiting).toBe(true);
    expect(world.nats.value(`owner/${session.id}`)).toContain(a.id);
  });

  test("writes nothing of its sessions once they are another's", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const session = await a.openLasting();
    const before = playerOf(session);
    a.bucket.cut({ isNoticed: false });
    before.intent = { ...before.intent, volume: 1 };
    before.onChanged();
    await world.pass(DEAD_MS + 4000);
    const after = playerOf(b.sessions.get(session.id));
    after.intent = { ...after.intent, volume: 99 };
    after.onChanged();
    await world.pass(100);

    a.bucket.restore();
    await world.pass(5000);

    expect(world.nats.value(`player/${session.id}/7`)).toContain('"volume":99');
    expect(b.sessions.get(session.id)?.isWaiting).toBe(true);
    expect(a.sessions.get(session.id)).toBeUndefined();
  });
});

describe("while NATS is away for all", () => {
  test("sessions stay, and new ones and others are refused with the reason", async () => {
    const a = await new TestMachine(world, "a").start();
    const session = await a.openLasting();
    world.nats.goAway();
    await world.pass(3 * DEAD_MS);

    expect(session.isConnected).toBe(true);
    expect(a.cluster.elsewhere(session.id)).toBeUndefined();
    await expect(world.within(a.cluster.reserve())).rejects.toThrow(/cannot be reached/);
    await expect(world.within(Promise.resolve(a.cluster.elsewhere("abc")))).rejects.toThrow(/cannot be reached/);

    world.nats.comeBack();
    await world.pass(5000);
    expect(session.isConnected).toBe(true);
    expect(await a.open()).toBeDefined();
  });
});

describe("a record of an earlier owner that is put back", () => {
  test("ends the session here, and it is at one machine afterwards", async () => {
    const a = await new TestMachine(world, "a").start();
    const b = await new TestMachine(world, "b").start();
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    const key = `owner/${session.id}`;
    await world.within(b.bucket.write([{ key, value: JSON.stringify({ machine: b.id }) }], { timeoutMs: 1000 }));

    await world.pass(5000);

    expect(socket.isTerminated).toBe(true);
    const alive = [...a.players, ...b.players].filter(({ isDestroyed }) => !isDestroyed);
    expect(alive).toHaveLength(1);
    expect(b.sessions.get(session.id)?.isWaiting).toBe(true);
  });
});

describe("a session that ends", () => {
  test("leaves no record", async () => {
    const a = await new TestMachine(world, "a").start();
    const session = await a.openLasting();
    session.destroy();

    await world.pass(500);

    const left = [...world.nats.records.values()].filter(
      ({ key, value }) => key.includes(session.id) && value !== undefined,
    );
    expect(left).toEqual([]);
  });

  test("leaves no record when it was not known to all yet", async () => {
    const a = await new TestMachine(world, "a").start();
    a.bucket.transit = () => ({ requestMs: 100, answerMs: 100 });
    const session = a.sessions.open(new FakeSocket(), CLIENT);
    session.destroy();

    await world.pass(2000);

    expect(world.nats.records.has(`owner/${session.id}`)).toBe(true);
    expect(world.nats.value(`owner/${session.id}`)).toBeUndefined();
  });

  test("is not opened again while its records are being removed", async () => {
    const a = await new TestMachine(world, "a").start();
    const session = await a.openLasting();
    session.destroy();

    await world.pass(5000);

    expect(a.sessions.all()).toEqual([]);
    expect(a.cluster.report().counts.adopted).toBe(0);
  });
});
