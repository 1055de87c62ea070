// What the sessions of one account leave to others: waiting sessions, memory, players.

import { beforeEach, describe, expect, test } from "vitest";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import type { OutgoingMessage } from "../../../../src/control/protocol/outgoing-message.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import type { SessionClient, Sessions } from "../../../../src/control/sessions/sessions.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { createSessions, EMPTY_UPDATE, playersInto } from "../../../support/session-builders.ts";

let clock: FakeClock;
let sessions: Sessions;

beforeEach(() => {
  clock = new FakeClock();
  sessions = createSessions({ clock, createPlayer: playersInto([]) });
});

describe("many sessions that wait", () => {
  const A = { owner: "a", account: "key a" };
  const B = { owner: "b", account: "key b" };
  const PASSWORD = { owner: undefined, account: "address test" };

  const wait = (userId: string, from: Pick<SessionClient, "owner" | "account"> = PASSWORD) => {
    const next = new FakeSocket();
    const waiting = sessions.open(next, { userId, clientName: undefined, dialect: V4_PROTOCOL, ...from });
    waiting.configure({ resuming: true, timeout: 2n ** 60n });
    waiting.socketClosed(next);
    return waiting;
  };
  const waitingOf = (all: readonly Session[]) => all.filter(({ isWaiting }) => isWaiting);

  test("waiting sessions are bounded: above the bound the user who has most of them loses the oldest", () => {
    const control = wait("2");
    const many = Array.from({ length: 1200 }, () => wait("3"));
    expect(control.isWaiting).toBe(true);
    expect(waitingOf(many)).toHaveLength(999);
    expect(many.at(-1)?.isWaiting).toBe(true);
    expect(many[0]?.isWaiting).toBe(false);
  });

  test.each([
    ["another key", B],
    ["the password", PASSWORD],
  ])("a session that waits with %s is not ended by those of a key under its User-Id", (_, from) => {
    const victim = wait("1", from);
    const many = Array.from({ length: 1010 }, () => wait("1", A));
    expect(victim.isWaiting).toBe(true);
    expect(waitingOf(many)).toEqual(many.slice(10));
  });

  test("the account with most waiting sessions loses the oldest when too many wait in all", () => {
    const small = wait("1", { owner: "c", account: "key c" });
    const victims = Array.from({ length: 999 }, (_, index) => wait(String(index), B));
    const others = Array.from({ length: 7 }, (_, account) =>
      Array.from({ length: 1000 }, () => wait("1", { owner: undefined, account: `address ${account}` })),
    );
    const late = Array.from({ length: 100 }, () => wait("1", A));
    expect(waitingOf([small, ...victims, ...others.flat(), ...late])).toHaveLength(8000);
    expect(waitingOf(late)).toHaveLength(100);
    expect(small.isWaiting).toBe(true);
    expect(waitingOf(victims).length).toBeGreaterThanOrEqual(900);
  });

  test("the session that ends is the one that waits longest, not the one that was opened first", () => {
    const opened = new FakeSocket();
    const [first, second] = [wait("1", A), wait("1", A)];
    first.resume(opened);
    first.socketClosed(opened);
    const many = Array.from({ length: 999 }, () => wait("1", A));
    expect([first.isWaiting, second.isWaiting, waitingOf(many).length]).toEqual([true, false, 999]);
  });

  test("among users with equally many, a session with players outlives those without", async () => {
    const victim = wait("0", A);
    await victim.updatePlayer("7", EMPTY_UPDATE, { isReplacing: true });
    const many = Array.from({ length: 1010 }, (_, index) => wait(String(index + 1), A));
    expect(victim.isWaiting).toBe(true);
    expect(waitingOf(many)).toHaveLength(999);
  });

  test("a key with its maximum of sessions loses the one that waits longest", () => {
    sessions = createSessions({
      clock,
      createPlayer: playersInto([]),
      limitsOf: () => ({ ...UNLIMITED, sessions: 2 }),
    });
    const opened = new FakeSocket();
    const [first, second] = [wait("1", A), wait("1", A)];
    first.resume(opened);
    first.socketClosed(opened);
    expect(sessions.makeSpaceFor(A)).toBe("available");
    expect([first.isWaiting, second.isWaiting]).toEqual([true, false]);
  });
});

describe("the memory of clients", () => {
  const USER_DATA_BYTES = 1024 * 1024;

  const open = (name: string, userId = "1") =>
    sessions.open(new FakeSocket(), {
      userId,
      clientName: undefined,
      dialect: V4_PROTOCOL,
      owner: name,
      account: `key ${name}`,
    });
  /** Stores until it is refused; the number of bytes. */
  const fill = ({ memory }: Session): number => {
    for (;;) {
      try {
        memory.take(USER_DATA_BYTES, "the test");
      } catch (error) {
        expect(error).toMatchObject({ code: "memory-exhausted" });
        return memory.usedBytes;
      }
    }
  };

  test("a key that has filled the memory leaves some to another key", async () => {
    const limitBytes = open("a").memory.limitBytes * 2;
    const filled = Array.from({ length: 20 }, () => open("a")).map(fill);
    expect(sum(filled)).toBeGreaterThan(limitBytes * 0.7);
    const other = open("b");
    for (let block = 0; block < 4; block++) other.memory.take(USER_DATA_BYTES / 4, "a player");
    expect(sessions.makeSpaceFor({ owner: "c", account: "key c" })).toBe("available");
  });

  test("a session that has filled the memory of its account leaves some to the others of that account", () => {
    for (let count = 0; count < 3; count++) fill(open("a"));
    const other = open("a", "2");
    for (let block = 0; block < 4; block++) other.memory.take(USER_DATA_BYTES / 4, "a player");
  });

  test("a lone session may store as much as ever, and a lone account three quarters", () => {
    const { limitBytes } = open("a").memory;
    const [first, ...others] = [open("a"), open("a"), open("a")];
    expect(fill(first!)).toBeGreaterThan(limitBytes - 2 * USER_DATA_BYTES);
    expect(first!.memory.usedBytes + sum(others.map(fill))).toBeGreaterThan(limitBytes * 2 * 0.74);
  });

  test("all bytes return with the sessions", async () => {
    const filled = [open("a"), open("a")];
    const before = filled.map(fill);
    for (const ending of filled) ending.destroy();
    await Promise.all(filled.map((ending) => ending.playersGone()));
    await Promise.resolve();
    expect([open("a"), open("a")].map(fill)).toEqual(before);
  });

  test("without memory no session is opened", () => {
    const names = Array.from({ length: 40 }, (_, index) => `k${index}`);
    const opened = names.filter((name) => {
      if (sessions.makeSpaceFor({ owner: name, account: `key ${name}` }) === "memory") return false;
      fill(open(name));
      return true;
    });
    // Fills what is left, in smaller and smaller parts.
    const last = names.find((name) => !opened.includes(name)) ?? "last";
    for (let count = 0; count < 5000; count++) {
      if (sessions.makeSpaceFor({ owner: last, account: `key ${last}` }) === "memory") break;
      open(last);
    }
    expect(sessions.makeSpaceFor({ owner: last, account: `key ${last}` })).toBe("memory");
    expect(() => open(last)).toThrow("memory");
  });
});

test("players have shares: a user, then an account, leaves some of the node's to others", async () => {
  const open = (name: string, userId: string) => {
    const client = { userId, clientName: undefined, dialect: V4_PROTOCOL, owner: name, account: `key ${name}` };
    return sessions.open(new FakeSocket(), client);
  };
  let guild = 0;
  const fill = async (session: Session, countMax: number): Promise<number> => {
    for (let count = 0; count < countMax; count++) {
      try {
        await session.updatePlayer(String(++guild), EMPTY_UPDATE, { isReplacing: true });
      } catch (error) {
        expect(error).toMatchObject({ code: "players-exhausted" });
        return count;
      }
    }
    return countMax;
  };
  const ofOneUser = (await fill(open("a", "1"), 10_000)) + (await fill(open("a", "1"), 10_000));
  expect(ofOneUser).toBe(16_250);
  expect(await fill(open("a", "2"), 1000)).toBe(500);
  expect(await fill(open("a", "3"), 1000)).toBe(500);
  expect(await fill(open("a", "4"), 1000)).toBe(250);
  expect(await fill(open("b", "1"), 400)).toBe(400);
});

describe("clients that do not read", () => {
  const EVENT = "x".repeat(1024 * 1024);

  const open = (name: string) => {
    const socket = new FakeSocket();
    const client = { userId: "1", clientName: undefined, dialect: V4_PROTOCOL, owner: name, account: `key ${name}` };
    return { socket, session: sessions.open(socket, client) };
  };
  const send = ({ session }: ReturnType<typeof open>, count: number): void => {
    for (let message = 0; message < count; message++) session.send(stuckEvent(EVENT));
  };

  test("clients of a key that do not read leave buffers to those of another, and are disconnected", () => {
    const many = Array.from({ length: 200 }, () => open("a"));
    for (const client of many) {
      client.session.configure({ resuming: true });
      client.socket.stall();
      send(client, 7);
    }
    const cutOff = many.filter(({ socket }) => socket.isTerminated);
    expect(cutOff.length).toBeGreaterThan(0);
    expect(cutOff.length).toBeLessThan(many.length);
    const other = open("b");
    other.socket.stall();
    send(other, 1);
    expect(other.socket.isTerminated).toBe(false);
  });

  test("the memory of unread messages returns when they are read, or the socket is lost", () => {
    const { socket, session } = open("a");
    socket.stall();
    send({ socket, session }, 3);
    expect(session.buffered.usedBytes).toBeGreaterThan(2.9 * EVENT.length);
    socket.flow(2);
    expect(session.buffered.usedBytes).toBeLessThan(2 * EVENT.length);
    session.configure({ resuming: true });
    socket.break();
    session.socketClosed(socket);
    expect(session.buffered.usedBytes).toBe(0);
  });
});

function stuckEvent(reason: string): OutgoingMessage {
  return { op: "event", type: "WebSocketClosedEvent", guildId: "7", code: 4000, reason, byRemote: true };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

describe("a node that stops", () => {
  const open = (socket: FakeSocket, resuming: boolean): Session => {
    const client = {
      userId: "1",
      clientName: undefined,
      dialect: V4_PROTOCOL,
      owner: undefined,
      account: "address test",
    };
    const session = sessions.open(socket, client);
    session.configure({ resuming });
    return session;
  };

  test("connections of sessions that may resume are dropped without a close code, others are closed with 1001", async () => {
    const [lasting, other] = [new FakeSocket(), new FakeSocket()];
    const session = open(lasting, true);
    open(other, false);
    sessions.disconnect();
    expect(lasting).toMatchObject({ isTerminated: true, closedWith: undefined });
    expect(session.isWaiting).toBe(true);
    expect(other).toMatchObject({ isTerminated: false, closedWith: undefined });
    await sessions.close();
    expect(other.closedWith).toBe(1001);
  });

  test("what the socket had not taken waits for the client", () => {
    const socket = new FakeSocket();
    const session = open(socket, true);
    socket.stall();
    session.send({ op: "extension", type: "Late", guildId: "7", members: {} });
    sessions.disconnect();
    expect(session.waitingMessages.map(({ text }) => JSON.parse(text).type)).toEqual(["Late"]);
  });
});
