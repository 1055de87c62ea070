import { beforeEach, describe, expect, test } from "vitest";
import { drainNode } from "../../../../src/control/cluster/node-drain.ts";
import { MESSAGES, PLAYERS } from "../../../../src/control/cluster/player-calls.ts";
import { NodeError } from "../../../../src/errors.ts";
import type { TestMachine } from "../../../support/clustered-machine.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { PlacingWorld, playerAt, volumesOf } from "../../../support/placing-world.ts";

let world: PlacingWorld;

beforeEach(() => {
  world = new PlacingWorld();
});

/** A gateway, and two machines for its players. */
async function three(): Promise<readonly [TestMachine, TestMachine, TestMachine]> {
  return [await world.gateway("a"), await world.machine("b"), await world.machine("c")];
}

describe("a player of a machine that drains", () => {
  test("goes on at another one as it was, and its client hears of nothing", async () => {
    const [a, b, c] = await three();
    const socket = new FakeSocket();
    const session = await world.lasting(a, socket);
    world.target = b;
    await world.update(a, session, 33);
    const before = playerAt(b, session);

    world.target = c;
    b.sessions.drain(true);
    await world.pass(1000);
    before?.say(1);
    playerAt(c, session)?.say(2);
    await world.pass(200);

    expect(before?.isGone).toBe(true);
    expect(volumesOf([a, b, c], session)).toEqual([33]);
    expect(playerAt(c, session)?.intent.volume).toBe(33);
    expect(world.place(session)).toBe(c.id);
    expect(socket.said).toEqual([2]);
    expect(b.cluster.releasedCount).toBe(1);
  });

  test("goes on elsewhere also from the machine of its session", async () => {
    const [a, b] = await three();
    const session = await world.lasting(a);
    world.target = a;
    await world.update(a, session, 33);

    world.target = b;
    a.sessions.drain(true);
    await world.pass(1000);

    expect([volumesOf([a], session), volumesOf([b], session)]).toEqual([[], [33]]);
    expect(world.place(session)).toBe(b.id);
    await world.update(a, session, 44);
    expect(volumesOf([a, b], session)).toEqual([44]);
  });

  test("is as it was answered last, and what comes meanwhile is done where it goes", async () => {
    const [a, b, c] = await three();
    const session = await world.lasting(a);
    world.target = b;
    await world.update(a, session, 33);

    world.target = c;
    b.sessions.drain(true);
    for (let volume = 34; volume < 60; volume++) await world.update(a, session, volume);
    await world.pass(1000);

    expect(volumesOf([a, b, c], session)).toEqual([59]);
    expect(world.nats.value(`player/${session.id}/7`)).toContain('"volume":59');
    expect(playerAt(c, session)).toBeDefined();
  });

  test("stays where no other machine takes any, and where its session ends with its machine", async () => {
    const [a, b] = await three();
    const resuming = await world.lasting(a);
    const ending = await a.open();
    world.target = a;
    await world.update(a, resuming);
    await world.update(a, ending);
    a.sessions.drain(true);
    await world.pass(1000);
    expect([playerAt(a, resuming), playerAt(a, ending)]).toEqual([expect.anything(), expect.anything()]);

    world.target = b;
    await world.pass(1000);
    expect([playerAt(a, resuming), playerAt(a, ending)]).toEqual([undefined, expect.anything()]);
  });

  test("goes after those that do not sound", async () => {
    const [a, b, c] = await three();
    const session = await world.lasting(a);
    world.target = b;
    const guilds = ["10", "11", "12", "13", "14", "15", "16", "17", "18", "19"];
    for (const guild of guilds) await world.update(a, session, 50, guild);
    const idle = ["16", "18"];
    for (const guild of idle) Object.assign(playerAt(b, session, guild) ?? {}, { isPlaying: false });

    world.target = c;
    b.sessions.drain(true);
    await world.pass(2000);

    expect(c.players.map(({ guildId }) => guildId).slice(0, 2)).toEqual(idle);
    expect(c.players).toHaveLength(guilds.length);
  });

  test("is not released while a request about it is under way", async () => {
    const [a, b, c] = await three();
    const session = await world.lasting(a);
    world.target = a;
    await world.update(a, session, 33);
    const player = playerAt(a, session);
    let finish = (): void => undefined;
    if (player === undefined) throw new Error("there is one");
    player.outcome = new Promise((resolve) => {
      finish = resolve;
    });
    const asked = a.ask(session.id, "7", { kind: "update", volume: 44 });
    await world.pass(100);

    world.target = c;
    a.sessions.drain(true);
    await world.pass(1000);
    expect(volumesOf([a, b, c], session)).toEqual([33]);
    expect(playerAt(a, session)).toBe(player);
    finish();
    await world.within(asked);
    await world.pass(1000);

    expect(volumesOf([c], session)).toEqual([44]);
    expect(volumesOf([a, b], session)).toEqual([]);
  });

  test("is asked for again where the answer was lost, and then is at one place", async () => {
    const [a, b, c] = await three();
    const session = await world.lasting(a);
    world.target = b;
    await world.update(a, session, 33);
    let count = 0;
    world.intercept(b, "players", ({ kind }) =>
      kind === "release" && count++ === 1 ? Promise.reject(new NodeError("cluster-away", "lost")) : undefined,
    );

    world.target = c;
    b.sessions.drain(true);
    await world.pass(3000);

    expect(count).toBeGreaterThan(2);
    expect([volumesOf([b], session), volumesOf([c], session)]).toEqual([[], [33]]);
  });

  test("has left where the answer was lost, also while what others say there is not passed on", async () => {
    const [a, b, c] = await three();
    const session = await world.lasting(a);
    world.target = b;
    await world.update(a, session, 33);
    await world.update(a, session, 44, "18");
    Object.assign(playerAt(b, session) ?? {}, { isPlaying: false });
    let isTaking = true;
    world.intercept(a, MESSAGES, () => (isTaking ? undefined : Promise.reject(new NodeError("cluster-away", "later"))));
    let count = 0;
    world.intercept(b, PLAYERS, ({ kind }, carryOut) => {
      if (kind !== "release" || count++ > 0) return undefined;
      return carryOut().then(() => {
        isTaking = false;
        playerAt(b, session, "18")?.say(1);
        throw new NodeError("cluster-away", "lost");
      });
    });

    world.target = c;
    b.sessions.drain(true);
    await world.pass(3000);
    expect(volumesOf([a, b, c], session)).toEqual([]);
    b.sessions.drain(false);
    isTaking = true;
    await world.pass(5000);

    expect(volumesOf([a, b, c], session)).toEqual([33]);
    expect(volumesOf([a, b, c], session, "18")).toEqual([44]);
  });
});

describe("a node that is drained", () => {
  const drain = ({ sessions, cluster }: TestMachine, timeoutMs: number) =>
    drainNode({ sessions, cluster, clock: world.clock }, { timeoutMs });

  test("is empty when all players have gone on elsewhere", async () => {
    const [a, b, c] = await three();
    const session = await world.lasting(a);
    world.target = b;
    for (const guild of ["1", "2", "3"]) await world.update(a, session, 50, guild);
    world.target = c;

    const startMs = world.clock.now();
    expect(await world.within(drain(b, 8000))).toEqual({ moved: 3, left: 0 });
    expect(world.clock.now() - startMs).toBeLessThan(1000);
    expect(b.opened.membership.loadOf(b.id)?.isDraining).toBe(true);
  });

  test("waits no longer than it was told, and says how many are left", async () => {
    const [a, b, c] = await three();
    const session = await world.lasting(a);
    world.target = b;
    await world.update(a, session);
    world.target = c;
    world.ignore(b, "release");

    const startMs = world.clock.now();
    expect(await world.within(drain(b, 8000))).toEqual({ moved: 0, left: 1 });
    expect(world.clock.now() - startMs).toBeGreaterThanOrEqual(8000);
    expect(world.clock.now() - startMs).toBeLessThan(8100);
  });

  test("waits for nothing where it is alone", async () => {
    const a = await world.machine("a");
    const session = await world.lasting(a);
    await world.update(a, session);

    expect(await drain(a, 8000)).toEqual({ moved: 0, left: 1 });
    expect(await drainNode({ ...a, cluster: undefined, clock: world.clock }, { timeoutMs: 8000 })).toEqual({
      ...{ moved: 0, left: 1 },
    });
  });
});
