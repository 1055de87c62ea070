import { beforeEach, describe, expect, test } from "vitest";
import { DEAD_MS } from "../../../../src/cluster/lease-times.ts";
import { MESSAGES, PLAYERS } from "../../../../src/control/cluster/player-calls.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import { NodeError } from "../../../../src/errors.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { PlacingWorld, playerAt } from "../../../support/placing-world.ts";
import { EMPTY_UPDATE } from "../../../support/session-builders.ts";

let world: PlacingWorld;

beforeEach(() => {
  world = new PlacingWorld();
});

const never = new Promise<string>(() => undefined);

describe("a request that is under way when the machine of its player dies", () => {
  test("does not make its end forget where the player goes on", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session, 44);
    a.bucket.transit = () => ({ requestMs: 20, answerMs: 20 });
    world.intercept(b, PLAYERS, ({ kind }) => (kind === "request" ? never : undefined));
    let refusedCount = 0;
    world.intercept(c, PLAYERS, ({ kind }) => {
      const isRefused = kind === "ensure" && refusedCount++ < 3;
      return isRefused ? Promise.reject(new NodeError("cluster-away", "not yet")) : undefined;
    });
    const asked = a.ask(session.id, "7", { kind: "update", volume: 45 });
    asked.catch(() => undefined);
    await world.pass(100);

    b.kill();
    world.target = c;
    await world.pass(DEAD_MS + 3000);

    await expect(asked).rejects.toMatchObject({ code: "cluster-away" });
    expect(playerAt(c, session)?.intent.volume).toBe(44);
    expect(world.place(session)).toBe(c.id);
    expect(a.cluster.playerMachines(session.id)).toEqual([c.id]);
  });

  test("was about its last word: the place is forgotten once its next machine says that it has nothing", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session, 44);
    world.intercept(b, PLAYERS, ({ kind }) => (kind === "request" ? never : undefined));
    const asked = a.ask(session.id, "7", { kind: "destroy" });
    asked.catch(() => undefined);
    playerAt(b, session)?.destroy();
    void b.sessions.get(session.id)?.destroyPlayer("7");
    await world.pass(100);

    b.kill();
    world.target = c;
    await world.pass(DEAD_MS + 3000);

    await expect(asked).rejects.toMatchObject({ code: "cluster-away" });
    expect([playerAt(c, session), world.place(session), a.cluster.playerMachines(session.id)]).toEqual([
      undefined,
      undefined,
      [],
    ]);
  });

  test("is not passed on to the next machine before that has the player", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session, 44);
    await world.update(a, session, 55, "8");
    let isReady = false;
    world.intercept(c, PLAYERS, ({ kind }) =>
      kind === "ensure" && !isReady ? Promise.reject(new NodeError("cluster-away", "not yet")) : undefined,
    );
    b.kill();
    world.target = c;
    await world.pass(DEAD_MS);
    const [before] = c.players;

    const asked = a.ask(session.id, "7", { kind: "update", volume: 45 });
    await world.pass(1000);
    const during = [...c.players];
    isReady = true;
    await world.within(asked);

    expect([before, during]).toEqual([undefined, []]);
    expect([playerAt(c, session)?.intent.volume, playerAt(c, session, "8")?.intent.volume]).toEqual([45, 55]);
    expect(c.players).toHaveLength(2);
  });

  test("is refused when its player gets no machine in time", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session, 44);
    world.intercept(c, PLAYERS, ({ kind }) => (kind === "ensure" ? never : undefined));
    b.kill();
    world.target = c;
    await world.pass(DEAD_MS);

    const startMs = world.clock.now();
    await expect(world.update(a, session, 45)).rejects.toMatchObject({ code: "cluster-away" });

    expect(world.clock.now() - startMs).toBeLessThanOrEqual(10_020);
  });
});

describe("while NATS is away", () => {
  test("no player is placed elsewhere, and what may have been written is forgotten with the session", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    world.target = b;
    const session = await world.lasting(a);
    a.bucket.answersToLose = 1;

    await expect(world.update(a, session)).rejects.toMatchObject({ code: "cluster-away" });
    expect(world.place(session)).toBe(b.id);
    expect(a.cluster.playerMachines(session.id)).toEqual([]);

    world.target = a;
    await world.update(a, session, 12);
    expect(playerAt(a, session)?.intent.volume).toBe(12);
    session.destroy();
    await world.pass(1000);
    expect(world.recordsOf(session)).toEqual([]);
  });

  test("a place that may have been removed is written again before the next player is made", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session, 44);
    a.bucket.answersToLose = 1;
    await world.within(a.ask(session.id, "7", { kind: "destroy" }));
    await world.pass(5000);
    expect([world.place(session), a.bucket.answersToLose]).toEqual([undefined, 0]);
    let recorded: string | undefined;
    b.onUpdate = () => {
      recorded = world.place(session);
    };

    await world.update(a, session, 45);

    expect(recorded).toBe(b.id);
  });

  test("players of a machine that has died before get another one once it is back", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session, 44);
    b.kill();
    world.target = c;
    a.bucket.transit = () => ({ requestMs: 100, answerMs: 100 });
    // It has just been declared dead.
    while (a.opened.membership.machines.length === 3) await world.pass(10);
    world.nats.goAway();
    await world.pass(5000);
    expect(playerAt(c, session)).toBeUndefined();

    world.nats.comeBack();
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 0 });
    await world.pass(5000);

    expect(playerAt(c, session)?.intent.volume).toBe(44);
    expect(a.cluster.playerMachines(session.id)).toEqual([c.id]);
  });
});

describe("a machine that does not take players that it is to have", () => {
  test("does not hold up those of other machines", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    const d = await world.machine("d");
    world.target = b;
    const sessions: Session[] = [];
    for (let count = 0; count < 12; count++) {
      const session = await world.lasting(a);
      await world.update(a, session, count);
      sessions.push(session);
    }
    world.intercept(c, PLAYERS, ({ kind }) =>
      kind === "ensure" ? Promise.reject(new NodeError("memory-exhausted", "no")) : undefined,
    );
    b.kill();
    world.target = c;
    await world.pass(DEAD_MS + 1000);
    world.target = d;
    await world.pass(20_000);

    const found = sessions.map((session) => playerAt(d, session)?.intent.volume);
    expect(found).toEqual(sessions.map((_session, index) => index));
  });

  test("does not keep the session from going to the machine of its client", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    const d = await world.machine("d");
    world.target = b;
    const socket = new FakeSocket();
    const session = await world.lasting(a, socket);
    await world.update(a, session, 44);
    world.target = a;
    await world.update(a, session, 45, "8");
    world.intercept(c, PLAYERS, ({ kind }) => (kind === "ensure" ? never : undefined));
    b.kill();
    world.target = c;
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
    const a = await world.gateway("a");
    const b = await world.machine("b");
    world.target = b;
    const socket = new FakeSocket();
    const session = await world.lasting(a, socket);
    await world.update(a, session);
    world.intercept(a, MESSAGES, () => Promise.reject(new NodeError("cluster-away", "no")));
    playerAt(b, session)?.say(1);
    await world.pass(50);
    await world.within(a.ask(session.id, "7", { kind: "destroy" }));
    await world.pass(200);
    expect(world.place(session)).toBeUndefined();

    b.kill();
    await world.pass(DEAD_MS + 3000);

    expect(socket.said).toEqual([1]);
    expect(world.recordsOf(session).filter((key) => key.startsWith("relay/"))).toEqual([]);
  });
});

describe("a session that is given to another machine", () => {
  test("has a record of each player that stays, also of one that is made while the others are written", async () => {
    const a = await world.machine("a");
    const b = await world.machine("b");
    const socket = new FakeSocket();
    const session = await world.lasting(a, socket);
    await world.update(a, session, 44);
    session.kept.set("8", "plugin", "{}");
    socket.break();
    session.socketClosed(socket);
    a.bucket.transit = () => ({ requestMs: 100, answerMs: 100 });
    const bringing = b.bring(session.id);
    await world.pass(150);
    const next = new FakeSocket();
    session.resume(next);
    const made = session.updatePlayer("9", EMPTY_UPDATE, { isReplacing: true });
    next.break();
    session.socketClosed(next);
    await Promise.all([bringing, made]);

    const own = a.id;
    expect([b.sessions.own(session.id)?.isWaiting, session.isRemote]).toEqual([true, true]);
    expect(["7", "8", "9"].map((guildId) => world.place(session, guildId))).toEqual([own, own, own]);
    expect(b.cluster.playerMachines(session.id)).toEqual([a.id]);
  });
});

describe("a player that is made after the one before has ended", () => {
  test("is known to the machine that its session is given to meanwhile", async () => {
    const a = await world.machine("a");
    const b = await world.machine("b");
    const socket = new FakeSocket();
    const session = await world.lasting(a, socket);
    await world.update(a, session, 44);
    let onGone = (): void => undefined;
    const [player] = a.players;
    if (player !== undefined) player.goodbye = new Promise((resolve) => (onGone = resolve));
    await world.within(a.ask(session.id, "7", { kind: "destroy" }));
    const made = a.ask(session.id, "7", { kind: "update", volume: 45 });
    await world.pass(20);
    socket.break();
    session.socketClosed(socket);
    const bringing = b.bring(session.id);
    await world.pass(200);
    onGone();
    await Promise.all([bringing, world.within(made)]);
    await world.pass(200);

    expect([a.players.length, b.players.length, session.isRemote]).toEqual([2, 0, true]);
    expect(playerAt(a, session)?.intent.volume).toBe(45);
    expect(b.cluster.playerMachines(session.id)).toEqual([a.id]);
  });
});

describe("machines that die one after the other", () => {
  test("lose no player: the last of them has it", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    const d = await world.machine("d");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session, 44);
    b.kill();
    world.target = c;
    world.intercept(c, PLAYERS, ({ kind }) => (kind === "ensure" ? never : undefined));
    await world.pass(DEAD_MS + 1000);
    expect(world.place(session)).toBe(c.id);

    c.kill();
    world.target = d;
    await world.pass(DEAD_MS + 3000);

    expect(playerAt(d, session)?.intent.volume).toBe(44);
    expect([a.cluster.playerMachines(session.id), world.place(session)]).toEqual([[d.id], d.id]);
  });

  test("with many sessions: all players go on", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    world.target = b;
    const sessions: Session[] = [];
    for (let volume = 0; volume < 30; volume++) {
      const session = await world.lasting(a);
      await world.update(a, session, volume);
      sessions.push(session);
    }
    a.bucket.transit = () => ({ requestMs: 20, answerMs: 20 });
    let underWay = 0;
    let most = 0;
    const read = a.bucket.read.bind(a.bucket);
    a.bucket.read = async (patterns) => {
      most = Math.max(most, ++underWay);
      return await read(patterns).finally(() => underWay--);
    };
    b.kill();
    world.target = c;
    await world.pass(DEAD_MS + 5000);

    const found = sessions.map((session) => playerAt(c, session)?.intent.volume);
    expect(found).toEqual(sessions.map((_session, index) => index));
    expect([most > 1, most <= 8]).toEqual([true, true]);
  });
});

describe("messages of another machine", () => {
  test("are not taken from one that has died, nor for a session that is not here", async () => {
    const a = await world.machine("a");
    const b = await world.machine("b");
    const socket = new FakeSocket();
    const session = await world.lasting(a, socket);
    const served = world.links.handlers.get(`${a.id} ${MESSAGES}`);
    const send = async (sessionId: string, from: string): Promise<string> => {
      const text = JSON.stringify({ sessionId, messages: [{ number: 1, topic: "x", text: "{}" }] });
      return await world.within(served?.handler(text, from) ?? Promise.resolve("{}"));
    };
    const answers = [await send(session.id, "dead"), await send("nobodys", b.id), await send(session.id, b.id)];
    // One that was never seen counts as dead only after some time.
    await world.pass(DEAD_MS + 1000);
    answers.push(await send(session.id, "dead"));

    const kinds = answers.map((answer) => (JSON.parse(answer) as { kind: string }).kind);
    expect(kinds).toEqual(["taken", "elsewhere", "taken", "elsewhere"]);
  });
});

describe("a session that ends", () => {
  test("while a player gets another machine, leaves no record of that", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    const c = await world.machine("c");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session);
    const before = world.place(session);
    b.kill();
    world.target = c;
    a.bucket.transit = () => ({ requestMs: 100, answerMs: 100 });
    for (let passedMs = 0; passedMs < DEAD_MS + 3000 && world.place(session) === before; passedMs += 10)
      await world.pass(10);
    expect(world.place(session)).toBe(c.id);
    session.destroy();
    await world.pass(3000);

    expect(world.recordsOf(session)).toEqual([]);
  });

  test("and whose machine dies before it has removed all of it, leaves nothing", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session);
    const served = world.links.handlers.get(`${b.id} ${PLAYERS}`);
    let endCount = 0;
    world.intercept(b, PLAYERS, (call) => {
      if (call.kind !== "end") return undefined;
      endCount++;
      return served?.handler(JSON.stringify(call), a.id).then((answer) => {
        a.kill();
        return answer;
      });
    });
    session.destroy();
    await world.pass(DEAD_MS + 5000);

    expect([endCount, b.players[0]?.isDestroyed]).toEqual([1, true]);
    expect(world.recordsOf(session)).toEqual([]);
  });

  test("after a player elsewhere whose machine then dies, leaves nothing of what that had said", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    world.target = b;
    const session = await world.lasting(a);
    await world.update(a, session);
    world.intercept(a, MESSAGES, () => Promise.reject(new NodeError("cluster-away", "no")));
    playerAt(b, session)?.say(1);
    await world.pass(50);
    await world.within(a.ask(session.id, "7", { kind: "destroy" }));
    await world.pass(200);
    b.kill();
    session.destroy();
    await world.pass(DEAD_MS + 5000);

    expect(world.recordsOf(session)).toEqual([]);
  });

  test("while its player is placed, leaves no record of that", async () => {
    const a = await world.gateway("a");
    const b = await world.machine("b");
    world.target = b;
    const session = await world.lasting(a);
    a.bucket.transit = () => ({ requestMs: 100, answerMs: 100 });
    const asked = a.ask(session.id, "7", { kind: "update", volume: 45 });
    asked.catch(() => undefined);
    await world.pass(20);
    session.destroy();
    await world.pass(3000);

    await expect(asked).rejects.toThrow();
    expect(world.recordsOf(session)).toEqual([]);
  });
});
