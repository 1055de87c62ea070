import { beforeEach, describe, expect, test } from "vitest";
import { DEAD_MS } from "../../../../src/cluster/lease-times.ts";
import { MESSAGES, PLAYERS } from "../../../../src/control/cluster/player-calls.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import { NodeError } from "../../../../src/errors.ts";
import { ClusterWorld, TestMachine } from "../../../support/clustered-machine.ts";
import type { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";

interface Target {
  /** The machine that is chosen for one more player. */
  current: TestMachine | undefined;
}

let world: ClusterWorld;
let to: Target;

beforeEach(() => {
  world = new ClusterWorld();
  to = { current: undefined };
});

async function gateway(name: string): Promise<TestMachine> {
  return await new TestMachine(world, name, { choose: () => to.current?.id }).start();
}

async function machine(name: string): Promise<TestMachine> {
  return await new TestMachine(world, name).start();
}

async function lasting(at: TestMachine, socket = new FakeSocket()): Promise<Session> {
  const session = await at.open(socket);
  session.configure({ resuming: true, timeout: 600 });
  await world.pass(100);
  return session;
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

/** All that is left under its id. */
function recordsOf({ id }: Session): readonly string[] {
  return [...world.nats.records.values()].flatMap(({ key, value }) =>
    key.includes(id) && value !== undefined ? key : [],
  );
}

/** What a machine answers calls of that kind with is `answer`, where that is one. */
function intercept(
  at: TestMachine,
  kind: string,
  answer: (call: { kind: string }) => Promise<string> | undefined,
): void {
  const served = world.links.handlers.get(`${at.id} ${kind}`);
  if (served === undefined) throw new Error(`${at.name} does not serve ${kind}`);
  world.links.handlers.set(`${at.id} ${kind}`, {
    ...served,
    handler: (text, from) => answer(JSON.parse(text)) ?? served.handler(text, from),
  });
}

const never = new Promise<string>(() => undefined);

describe("a request that is under way when the machine of its player dies", () => {
  test("does not make its end forget where the player goes on", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    const c = await machine("c");
    to.current = b;
    const session = await lasting(a);
    await update(a, session, 44);
    a.bucket.transit = () => ({ requestMs: 20, answerMs: 20 });
    intercept(b, PLAYERS, ({ kind }) => (kind === "request" ? never : undefined));
    const asked = a.ask(session.id, "7", { kind: "update", volume: 45 });
    asked.catch(() => undefined);
    await world.pass(100);

    b.kill();
    to.current = c;
    await world.pass(DEAD_MS + 3000);

    await expect(asked).rejects.toMatchObject({ code: "cluster-away" });
    expect(playerAt(c, session)?.intent.volume).toBe(44);
    expect(place(session)).toBe(JSON.stringify({ machine: c.id }));
    expect(a.cluster.playerMachines(session.id)).toEqual([c.id]);
  });
});

describe("a machine that does not take players that it is to have", () => {
  test("does not hold up those of other machines", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    const c = await machine("c");
    const d = await machine("d");
    to.current = b;
    const sessions: Session[] = [];
    for (let count = 0; count < 12; count++) {
      const session = await lasting(a);
      await update(a, session, count);
      sessions.push(session);
    }
    intercept(c, PLAYERS, ({ kind }) =>
      kind === "ensure" ? Promise.reject(new NodeError("memory-exhausted", "no")) : undefined,
    );
    b.kill();
    to.current = c;
    await world.pass(DEAD_MS + 1000);
    to.current = d;
    await world.pass(20_000);

    const found = sessions.map((session) => playerAt(d, session)?.intent.volume);
    expect(found).toEqual(sessions.map((_session, index) => index));
  });

  test("does not keep the session from going to the machine of its client", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    const c = await machine("c");
    const d = await machine("d");
    to.current = b;
    const socket = new FakeSocket();
    const session = await lasting(a, socket);
    await update(a, session, 44);
    to.current = a;
    await update(a, session, 45, "8");
    intercept(c, PLAYERS, ({ kind }) => (kind === "ensure" ? never : undefined));
    b.kill();
    to.current = c;
    await world.pass(DEAD_MS + 1000);
    socket.break();
    session.socketClosed(socket);

    const startMs = world.clock.now();
    const brought = await d.bring(session.id);

    expect(brought?.isWaiting).toBe(true);
    expect(world.clock.now() - startMs).toBeLessThan(5000);
  });
});

describe("a machine that dies after its players have ended", () => {
  test("leaves what they said last to the client", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    to.current = b;
    const socket = new FakeSocket();
    const session = await lasting(a, socket);
    await update(a, session);
    intercept(a, MESSAGES, () => Promise.reject(new NodeError("cluster-away", "no")));
    playerAt(b, session)?.say(1);
    await world.pass(50);
    await world.within(a.ask(session.id, "7", { kind: "destroy" }));
    await world.pass(200);
    expect(place(session)).toBeUndefined();

    b.kill();
    await world.pass(DEAD_MS + 3000);

    expect(socket.said).toEqual([1]);
    expect(recordsOf(session).filter((key) => key.startsWith("relay/"))).toEqual([]);
  });
});

describe("a session that ends", () => {
  test("while a player gets another machine, leaves no record of that", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    const c = await machine("c");
    to.current = b;
    const session = await lasting(a);
    await update(a, session);
    const before = place(session);
    b.kill();
    to.current = c;
    a.bucket.transit = () => ({ requestMs: 100, answerMs: 100 });
    for (let passedMs = 0; passedMs < DEAD_MS + 3000 && place(session) === before; passedMs += 10) await world.pass(10);
    expect(place(session)).toBe(JSON.stringify({ machine: c.id }));
    session.destroy();
    await world.pass(3000);

    expect(recordsOf(session)).toEqual([]);
  });

  test("while its player is placed, leaves no record of that", async () => {
    const a = await gateway("a");
    const b = await machine("b");
    to.current = b;
    const session = await lasting(a);
    a.bucket.transit = () => ({ requestMs: 100, answerMs: 100 });
    const asked = a.ask(session.id, "7", { kind: "update", volume: 45 });
    asked.catch(() => undefined);
    await world.pass(20);
    session.destroy();
    await world.pass(3000);

    await expect(asked).rejects.toThrow();
    expect(recordsOf(session)).toEqual([]);
  });
});
