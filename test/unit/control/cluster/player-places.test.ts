import { beforeEach, describe, expect, test } from "vitest";
import { DEAD_MS } from "../../../../src/cluster/lease-times.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import { ClusterWorld, playerOf, TestMachine } from "../../../support/clustered-machine.ts";
import type { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";

let world: ClusterWorld;

beforeEach(() => {
  world = new ClusterWorld();
});

/** A machine that has others play its players. */
async function gateway(name: string): Promise<TestMachine> {
  const made: TestMachine = new TestMachine(world, name, { choose: (ids) => ids.find((id) => id !== made.id) });
  return await made.start();
}

async function machine(name: string): Promise<TestMachine> {
  return await new TestMachine(world, name).start();
}

/** A gateway that has each player at `to`. */
async function gatewayTo(name: string, to: { current: TestMachine | undefined }): Promise<TestMachine> {
  return await new TestMachine(world, name, { choose: () => to.current?.id }).start();
}

async function update(at: TestMachine, session: Session, volume = 50, guildId = "7"): Promise<void> {
  await world.within(at.ask(session.id, guildId, { kind: "update", volume }));
}

function playerAt(at: TestMachine, { id }: Session, guildId = "7"): FakeSessionPlayer | undefined {
  return at.sessions.get(id)?.players.get(guildId) as FakeSessionPlayer | undefined;
}

function place({ id }: Session, guildId = "7"): string | undefined {
  return world.nats.value(`place/${id}/${guildId}`);
}

/** A session that would wait for its client, at `at`. */
async function lasting(at: TestMachine, socket = new FakeSocket()): Promise<Session> {
  const session = await at.open(socket);
  session.configure({ resuming: true, timeout: 600 });
  await world.pass(100);
  return session;
}

describe("a new player", () => {
  test("is made at the chosen machine, whose record says so before it is asked", async () => {
    const to: { current: TestMachine | undefined } = { current: undefined };
    const a = await gatewayTo("a", to);
    const b = await machine("b");
    to.current = b;
    const session = await lasting(a);
    let recorded: string | undefined;
    b.onUpdate = () => {
      recorded = place(session);
    };

    await update(a, session, 33);

    expect(recorded).toBe(JSON.stringify({ machine: b.id }));
    expect(playerAt(b, session)?.intent.volume).toBe(33);
    expect(a.players).toHaveLength(0);
    expect(b.sessions.get(session.id)?.isRemote).toBe(true);
    expect([a.cluster.playerMachines(session.id), await b.cluster.elsewhere(session.id)]).toEqual([[b.id], a.id]);
    expect(world.nats.value(`player/${session.id}/7`)).toContain('"volume":33');
  });

  test("is where the first of two requests that come at once has put it", async () => {
    const to: { current: TestMachine | undefined } = { current: undefined };
    const a = await gatewayTo("a", to);
    const b = await machine("b");
    const session = await lasting(a);

    to.current = b;
    const first = a.ask(session.id, "7", { kind: "update", volume: 1 });
    to.current = a;
    const second = a.ask(session.id, "7", { kind: "update", volume: 2 });
    await world.within(Promise.all([first, second]));

    expect([a.players.length, b.players.length]).toEqual([0, 1]);
  });

  test("is at its session's machine without any record where that is chosen", async () => {
    const a = await machine("a");
    await machine("b");
    const session = await lasting(a);

    await update(a, session);

    expect(a.players).toHaveLength(1);
    expect(place(session)).toBeUndefined();
  });

  test("is refused where no machine plays audio", async () => {
    const a = await new TestMachine(world, "a", { roles: ["gateway"], choose: () => undefined }).start();
    const session = await lasting(a);

    const message = expect.stringMatching(/^no machine plays audio: start one/);
    await expect(update(a, session)).rejects.toMatchObject({ code: "cluster-away", message });
    expect(place(session)).toBeUndefined();
  });

  test("is refused with that as the reason where the bucket has no room for its place", async () => {
    const a = await gateway("a");
    await machine("b");
    const session = await lasting(a);
    world.nats.isFull = true;
    const message = expect.stringMatching(/^the bucket of the cluster has no room/);
    await expect(update(a, session)).rejects.toMatchObject({ code: "cluster-away", message });
  });
});

describe("events of a player elsewhere", () => {
  test("reach the client once each, and are stored for no longer", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    const socket = new FakeSocket();
    const session = await lasting(a, socket);
    await update(a, session);

    playerAt(b, session)?.say(1);
    playerAt(b, session)?.say(2);
    playerAt(b, session)?.sendPlayerUpdate();
    await world.pass(200);

    expect(socket.said).toEqual([1, 2]);
    expect(socket.ops).toContain("playerUpdate");
    expect([...world.nats.records.values()].filter(({ key, value }) => key.startsWith("relay/") && value)).toEqual([]);
  });

  test("wait with the session for a client that is away", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    const socket = new FakeSocket();
    const session = await lasting(a, socket);
    await update(a, session);
    socket.break();
    session.socketClosed(socket);

    playerAt(b, session)?.say(1);
    await world.pass(200);
    const next = new FakeSocket();
    session.resume(next);
    await world.pass(100);

    expect(next.ops.filter((op) => op !== "stats")).toEqual(["ready", "event", "playerUpdate"]);
  });
});

describe("a session whose client comes to another machine", () => {
  test("leaves its players where they play", async () => {
    const a = await machine("a");
    const b = await machine("b");
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    const player = playerOf(session);
    socket.break();
    session.socketClosed(socket);

    const brought = await b.bring(session.id);
    const next = new FakeSocket();
    brought?.resume(next);
    player.say(1);
    await world.pass(200);

    expect(player.isDestroyed).toBe(false);
    expect(b.players).toHaveLength(0);
    expect(next.said).toEqual([1]);
    await update(b, session, 66);
    expect(player.intent.volume).toBe(66);
    expect(await a.cluster.elsewhere(session.id)).toBe(b.id);
  });

  test("comes back to its players", async () => {
    const a = await machine("a");
    const b = await machine("b");
    const socket = new FakeSocket();
    const session = await a.openLasting(socket);
    const player = playerOf(session);
    socket.break();
    session.socketClosed(socket);
    await b.bring(session.id);

    const back = await a.bring(session.id);

    expect(back).toBe(session);
    expect([back?.isWaiting, back?.players.get("7") === player, player.isDestroyed]).toEqual([true, true, false]);
    expect(a.cluster.playerMachines(session.id)).toEqual([]);
  });
});

describe("a machine that dies", () => {
  test("with a session: its players elsewhere play on, and their events wait for the next machine", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    const session = await lasting(a);
    await update(a, session);
    const player = playerAt(b, session);

    a.kill();
    player?.say(1);
    await world.pass(DEAD_MS + 3000);
    const next = new FakeSocket();
    b.sessions.own(session.id)?.resume(next);

    expect(player?.isDestroyed).toBe(false);
    expect(b.players).toHaveLength(1);
    expect(next.said).toEqual([1]);
    expect(b.sessions.own(session.id)?.players.get("7")).toBe(player);
  });

  test("with players: they go on at another machine, and the client gets what it had said", async () => {
    const to: { current: TestMachine | undefined } = { current: undefined };
    const a = await gatewayTo("a", to);
    const b = await machine("b");
    const c = await machine("c");
    to.current = b;
    const socket = new FakeSocket();
    const session = await lasting(a, socket);
    await update(a, session, 44);
    await update(a, session, 45, "8");
    a.bucket.cut({ isNoticed: false });
    playerAt(b, session)?.say(1);
    await world.pass(50);
    b.kill();
    a.bucket.restore();
    to.current = c;
    await world.pass(DEAD_MS + 3000);

    expect([playerAt(c, session)?.intent.volume, playerAt(c, session, "8")?.intent.volume]).toEqual([44, 45]);
    expect(playerAt(c, session)?.isHeld).toBe(false);
    expect(place(session)).toBe(JSON.stringify({ machine: c.id }));
    expect(socket.said).toEqual([1]);
  });

  test("with players of a session that does not resume: they go on here, where that is chosen", async () => {
    const to: { current: TestMachine | undefined } = { current: undefined };
    const a = await gatewayTo("a", to);
    const b = await machine("b");
    to.current = b;
    const session = await a.open();
    await update(a, session, 44);

    b.kill();
    to.current = a;
    await world.pass(DEAD_MS + 3000);

    expect(playerAt(a, session)?.intent.volume).toBe(44);
    expect(a.cluster.playerMachines(session.id)).toEqual([]);
    session.destroy();
    await world.pass(500);
    expect([...world.nats.records.values()].filter(({ key, value }) => key.includes(session.id) && value)).toEqual([]);
  });
});

describe("a player elsewhere that ends", () => {
  test("leaves no place behind, and the next one is placed again", async () => {
    const to: { current: TestMachine | undefined } = { current: undefined };
    const a = await gatewayTo("a", to);
    const b = await machine("b");
    const c = await machine("c");
    to.current = b;
    const session = await lasting(a);
    await update(a, session);

    await world.within(a.ask(session.id, "7", { kind: "destroy" }));
    await world.pass(200);
    expect(place(session)).toBeUndefined();
    to.current = c;
    await update(a, session, 12);

    expect(playerAt(b, session)).toBeUndefined();
    expect(playerAt(c, session)?.intent.volume).toBe(12);
  });

  test("with its session, leaves nothing at all", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    const session = await lasting(a);
    await update(a, session);

    session.destroy();
    await world.pass(500);

    expect(b.players[0]?.isDestroyed).toBe(true);
    expect(b.sessions.get(session.id)).toBeUndefined();
    expect([...world.nats.records.values()].filter(({ key, value }) => key.includes(session.id) && value)).toEqual([]);
  });
});
