import { beforeEach, describe, expect, test } from "vitest";
import { DEAD_MS } from "../../../../src/cluster/lease-times.ts";
import { PLAYERS } from "../../../../src/control/cluster/player-calls.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import type { TestMachine } from "../../../support/clustered-machine.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { PlacingWorld, playerAt, volumesOf } from "../../../support/placing-world.ts";

let world: PlacingWorld;
let a: TestMachine;
let b: TestMachine;
let c: TestMachine;

beforeEach(async () => {
  world = new PlacingWorld();
  a = await world.gateway("a");
  b = await world.gateway("b");
  c = await world.gateway("c");
});

/** A session at `a` that `c` takes over when `a` dies. */
async function sessionForC(): Promise<Session> {
  return await world.lastingFor(c, { at: a, others: [b] });
}

/** The machine of the session is dead, and `c` has it. */
async function takenOver(): Promise<void> {
  a.kill();
  await world.pass(DEAD_MS + 3000);
}

/** Its client comes back to `c`. */
function resume({ id }: Session): FakeSocket {
  const socket = new FakeSocket();
  c.sessions.own(id)?.resume(socket);
  return socket;
}

describe("the machine that takes a session over", () => {
  test("leaves players elsewhere where they are, and has those of the dead machine go on where it chooses", async () => {
    const session = await sessionForC();
    world.target = b;
    await world.update(a, session, 44);
    world.target = a;
    await world.update(a, session, 55, "8");
    await world.update(a, session, 66, "9");
    const before = playerAt(b, session);

    world.target = b;
    await takenOver();

    expect(c.sessions.own(session.id)?.isWaiting).toBe(true);
    expect(playerAt(b, session)).toBe(before);
    expect(["7", "8", "9"].map((guildId) => volumesOf([b, c], session, guildId))).toEqual([[44], [55], [66]]);
    expect(["7", "8", "9"].map((guildId) => world.place(session, guildId))).toEqual([b.id, b.id, b.id]);
    expect(c.players).toHaveLength(0);
    expect(playerAt(b, session, "8")?.isHeld).toBe(false);
  });

  test("has them itself where it chooses itself, without any record", async () => {
    const session = await sessionForC();
    world.target = a;
    await world.update(a, session, 44);

    world.target = c;
    await takenOver();

    expect([volumesOf([c], session), world.place(session)]).toEqual([[44], undefined]);
  });

  test("tells the machines of the players that it has the session, so that it can ask them for things", async () => {
    const session = await sessionForC();
    world.target = b;
    await world.update(a, session, 44);
    await takenOver();

    const socket = resume(session);
    await world.update(c, session, 45);

    expect(playerAt(b, session)?.intent.volume).toBe(45);
    expect(socket.ops.filter((op) => op === "playerUpdate")).toHaveLength(1);
  });

  test("forgets a place that was written for a player that was never made", async () => {
    const session = await sessionForC();
    world.target = b;
    world.ignore(b, "request");
    a.ask(session.id, "7", { kind: "update", volume: 1 }).catch(() => undefined);
    await world.pass(100);
    expect(world.place(session)).toBe(b.id);

    await takenOver();

    expect([world.place(session), c.cluster.playerMachines(session.id)]).toEqual([undefined, []]);
  });

  test("gets what was not taken from a machine that has died with the one before", async () => {
    const session = await sessionForC();
    world.target = b;
    await world.update(a, session, 44);
    world.refuseMessages(a);
    playerAt(b, session)?.say(1);
    playerAt(b, session)?.say(2);
    await world.pass(100);

    world.target = c;
    b.kill();
    await takenOver();
    const socket = resume(session);
    await world.pass(200);

    expect(socket.said).toEqual([1, 2]);
    expect(world.recordsOf(session).filter((key) => key.startsWith("relay/"))).toEqual([]);
    expect(volumesOf([c], session)).toEqual([44]);
  });

  test("gets what a machine says late that has no player of it any more, also when that dies instead", async () => {
    const session = await sessionForC();
    world.target = b;
    await world.update(a, session, 44);
    world.refuseMessages(a);
    world.refuseMessages(c);
    playerAt(b, session)?.say(1);
    await world.pass(50);
    await world.destroy(a, session);
    expect(world.place(session)).toBeUndefined();
    await takenOver();

    b.kill();
    await world.pass(DEAD_MS + 3000);
    const socket = resume(session);
    await world.pass(200);

    expect(socket.said).toEqual([1]);
  });

  test("finds out that a machine which it has never seen is dead", async () => {
    const session = await sessionForC();
    world.target = b;
    await world.update(a, session, 44);
    await b.close();
    b.bucket.cut();
    // As if it had died before any of them was there.
    await a.bucket.write([{ key: `place/${session.id}/7`, value: JSON.stringify({ machine: "ghost" }) }], {
      timeoutMs: 1000,
    });
    world.target = c;
    await takenOver();
    await world.pass(DEAD_MS + 3000);

    expect(volumesOf([c], session)).toEqual([44]);
  });

  test("keeps players of v3 with their session", async () => {
    const session = await sessionForC();
    world.target = a;
    await world.update(a, session, 44);
    const key = `session/${session.id}`;
    const value = world.nats.value(key)?.replace('"version":"4"', '"version":"3"');
    await a.bucket.write([{ key, value }], { timeoutMs: 1000 });

    world.target = b;
    await takenOver();

    expect(volumesOf([c], session)).toEqual([44]);
    expect(volumesOf([b], session)).toEqual([]);
  });

  test("keeps a player that is there already, whatever its place says", async () => {
    world.target = a;
    const socket = new FakeSocket();
    const session = await world.lasting(a, socket);
    await world.update(a, session, 44);
    socket.break();
    session.socketClosed(socket);
    await b.bring(session.id);
    await a.bucket.write([{ key: `place/${session.id}/7`, value: JSON.stringify({ machine: c.id }) }], {
      timeoutMs: 1000,
    });

    await a.bring(session.id);
    await world.pass(500);

    expect([volumesOf([a], session), volumesOf([c], session)]).toEqual([[44], []]);
    expect(a.cluster.playerMachines(session.id)).toEqual([]);
  });
});

describe("a player whose machine has died", () => {
  test("is read by its next one as it was written last, after the place", async () => {
    const session = await world.lasting(a);
    world.target = b;
    await world.update(a, session, 44);
    const asked: object[] = [];
    world.intercept(c, PLAYERS, (call) => {
      if (call.kind === "ensure") asked.push(call);
      return undefined;
    });
    b.kill();
    world.target = c;
    await world.pass(DEAD_MS + 3000);

    const key = `place/${session.id}/7`;
    expect(asked).toMatchObject([
      { guildIds: ["7"], atLeast: { key, revision: world.nats.records.get(key)?.revision } },
    ]);
  });

  test("gets another one although the answer of the servers to that is lost", async () => {
    const session = await world.lasting(a);
    world.target = b;
    await world.update(a, session, 44);
    b.kill();
    world.target = c;
    const { onWritten } = world.nats;
    world.nats.onWritten = (changes, by) => {
      onWritten(changes, by);
      // Of the next write of the place.
      if (changes.some(({ key, value }) => key.startsWith("life/") && value === undefined)) a.bucket.answersToLose = 1;
    };
    await world.pass(DEAD_MS + 10_000);

    expect([volumesOf([c], session), world.place(session), a.cluster.playerMachines(session.id)]).toEqual([
      [44],
      c.id,
      [c.id],
    ]);
  });
});

describe("requests about a guild without a player", () => {
  test("that come while one is made here, are answered here, and are placed again when none was made", async () => {
    const session = await world.lasting(a);
    const hold = async () => await a.cluster.holdPlayer(session.id, "7", { isMaking: true, region: undefined });
    world.target = a;
    const first = await hold();
    world.target = b;
    const second = await hold();
    expect([first?.machineId, second?.machineId]).toEqual([undefined, undefined]);
    first?.release({ mayBeGone: true });
    expect((await hold())?.machineId).toBeUndefined();

    second?.release({ mayBeGone: true });
    // One hold is open still.
    expect((await hold())?.machineId).toBeUndefined();

    const other = await world.within(
      a.cluster.holdPlayer(session.id, "8", { isMaking: true, region: undefined }) ?? Promise.resolve(undefined),
    );
    expect(other?.machineId).toBe(b.id);
    expect(a.cluster.holdPlayer(session.id, "9", { isMaking: false, region: undefined })).toBeUndefined();
  });

  test("are placed again after one that has made none", async () => {
    const session = await world.lasting(a);
    const hold = async () => await a.cluster.holdPlayer(session.id, "7", { isMaking: true, region: undefined });
    world.target = a;
    const first = await hold();
    first?.release({ mayBeGone: true });
    world.target = b;

    expect((await world.within(hold()))?.machineId).toBe(b.id);
  });
});

describe("a guild whose place could not be written", () => {
  test("is placed again by each request that finds no player", async () => {
    const session = await world.lasting(a);
    const hold = async () =>
      await world.within(
        a.cluster.holdPlayer(session.id, "7", { isMaking: true, region: undefined }) ?? Promise.resolve(undefined),
      );
    world.target = b;
    a.bucket.answersToLose = 1;
    await expect(hold()).rejects.toMatchObject({ code: "cluster-away" });
    world.target = a;
    const here = await hold();
    expect(here?.machineId).toBeUndefined();
    here?.release({ mayBeGone: true });
    world.target = c;

    expect([(await hold())?.machineId, world.place(session)]).toEqual([c.id, c.id]);
  });
});

describe("a player elsewhere", () => {
  test("is asked for once after each request that may have ended it, and stays where it is", async () => {
    const session = await world.lasting(a);
    world.target = b;
    await world.update(a, session, 44);
    let count = 0;
    world.intercept(b, PLAYERS, ({ kind }) => {
      if (kind === "holds") count++;
      return undefined;
    });
    const release = async (mayBeGone: boolean): Promise<void> => {
      const hold = await a.cluster.holdPlayer(session.id, "7", { isMaking: false, region: undefined });
      hold?.release({ mayBeGone });
      hold?.release({ mayBeGone });
      await world.pass(100);
    };

    await release(true);
    expect([count, world.place(session), a.cluster.playerMachines(session.id)]).toEqual([1, b.id, [b.id]]);
    await release(false);
    expect(count).toBe(1);
  });
});
