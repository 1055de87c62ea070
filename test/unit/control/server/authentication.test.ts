import { EventEmitter } from "node:events";
import { connect, type Socket } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import { hashOf } from "../../../../src/control/access/client-key.ts";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import { Authentication, type Recognition } from "../../../../src/control/server/authentication.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { ApiServer, PASSWORD } from "../../../support/api-server.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";

const WRONG_MAX = 100;
const LINE_MAX = 256;
const HELD_MAX = 1024;

let clock: FakeClock;
let lines: unknown[];
let authentication: Authentication;
let keys: KeyRing;

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  const logger = createLogger((level, message, fields) => lines.push([level, message, fields]));
  keys = new KeyRing(clock);
  authentication = new Authentication({ password: "right", keys, clock, logger });
});

interface From {
  readonly address?: string;
  readonly connection?: Connection;
  readonly hop?: string;
}

/** The parts of a socket that are used. */
class Connection extends EventEmitter {
  static #lastPort = 0;
  readonly remotePort = ++Connection.#lastPort;
  readonly remoteAddress: string;
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
    this.setMaxListeners(0);
  }
}

type Kind = Recognition["kind"];

function ask(authorization: string | undefined, from: From = {}): Recognition | Promise<Recognition> {
  const { address = "192.0.2.1", hop, connection = new Connection(address) } = from;
  const headers = { authorization, "x-forwarded-for": hop };
  return authentication.recognize({ headers, socket: connection as unknown as Socket });
}

/** "held": it has no answer yet. */
function check(authorization: string | undefined, from?: string | From): Kind | "held" {
  const recognition = ask(authorization, typeof from === "string" ? { address: from } : from);
  return recognition instanceof Promise ? "held" : recognition.kind;
}

function checkOften(count: number, from?: string | From): string[] {
  return Array.from({ length: count }, (_, index) => check(`wrong${index}`, from));
}

/** Its answers are added to the list, in their order. */
function hold(answers: string[], name: string, from: From, authorization = "wrong"): void {
  void Promise.resolve(ask(authorization, from)).then(({ kind }) => answers.push(`${name} ${kind}`));
}

async function pass(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 50) {
    clock.advance(50);
    await settle();
  }
}

describe("of many wrong passwords", () => {
  test("the first wrong passwords are answered as wrong at once, and further ones wait, until time has passed", () => {
    const answers = checkOften(200);
    expect(answers.indexOf("held")).toBe(WRONG_MAX);
    expect(answers.lastIndexOf("wrong")).toBe(WRONG_MAX - 1);
    expect(check(undefined)).toBe("missing");
    clock.advance(1_000_000);
    expect(checkOften(WRONG_MAX + 1).filter((answer) => answer === "held")).toHaveLength(1);
  });

  test("guesses beside a right key are checked ten times a second, and the key is accepted each time", async () => {
    keys.replace([{ name: "own", role: "client", limits: UNLIMITED, hashes: [hashOf("its key")] }]);
    const connections = Array.from({ length: 32 }, () => new Connection("192.0.2.1"));
    let checkedCount = 0;
    const isAsking = new Set<Connection>();
    const guess = (connection: Connection) => {
      expect(check("its key", { connection })).toBe("known");
      if (isAsking.has(connection)) return;
      isAsking.add(connection);
      void Promise.resolve(ask("guess", { connection })).then(({ kind }) => {
        if (kind === "wrong") checkedCount++;
        isAsking.delete(connection);
      });
    };
    for (let passedMs = 0; passedMs < 10_000; passedMs += 10) {
      for (const connection of connections) guess(connection);
      clock.advance(10);
      await settle();
    }
    expect(checkedCount).toBeGreaterThan(150);
    expect(checkedCount).toBeLessThanOrEqual(WRONG_MAX + 101);
    // Nor is a right password among the guesses accepted sooner than a wrong one.
    expect(check("right", { connection: connections[0]! })).toBe("held");
  });

  test("guesses do not delay keys, other addresses, and a connection that has shown the password", () => {
    keys.replace([{ name: "other", role: "client", limits: UNLIMITED, hashes: [hashOf("another key")] }]);
    const connection = new Connection("192.0.2.1");
    expect(check("right", { connection })).toBe("known");
    checkOften(300);
    expect([check("another key"), check("right", "192.0.2.2")]).toEqual(["known", "known"]);
    expect([check("right", { connection }), check("right", { connection })]).toEqual(["known", "known"]);
  });

  test("a connection that has shown the password has one guess, until it shows the password again", async () => {
    const connection = new Connection("192.0.2.1");
    expect(check("right", { connection })).toBe("known");
    checkOften(101);
    expect([check("guess", { connection }), check("right", { connection })]).toEqual(["held", "held"]);
    await pass(400);
    expect(check("right", { connection })).toBe("known");
  });

  test("behind a proxy that appends the address, a client that has shown the password is known by it", () => {
    expect(check("right", { hop: "made up, 198.51.100.7" })).toBe("known");
    checkOften(300, { hop: "198.51.100.8" });
    expect(check("right", { hop: "198.51.100.8" })).toBe("held");
    expect(check("right", { hop: "198.51.100.7" })).toBe("known");
  });

  test("a forwarded address with the name of a connection is not that connection", () => {
    const connection = new Connection("192.0.2.1");
    check("right", { connection });
    checkOften(WRONG_MAX);
    const hop = `port ${connection.remotePort}`;
    expect(check("right", { hop })).toBe("held");
    expect(check("wrong", { hop })).toBe("held");
    expect(check("right", { connection })).toBe("known");
  });

  test("a right password on a new connection passes those that guess on connections that have guessed", async () => {
    const guessers = Array.from({ length: 64 }, () => new Connection("192.0.2.1"));
    for (const connection of [...guessers, ...guessers]) check("guess", { connection });
    const answers: string[] = [];
    hold(answers, "honest", {}, "right");
    await pass(500);
    expect(answers).toEqual(["honest known"]);
  });

  test("a right password waits its turn among guesses on new connections, and right ones delay nobody", async () => {
    checkOften(WRONG_MAX);
    const answers: string[] = [];
    for (let count = 0; count < 10; count++) hold(answers, "guess", {});
    for (let count = 0; count < 10; count++) hold(answers, "honest", {}, "right");
    await pass(950);
    expect(answers).toHaveLength(9);
    await pass(200);
    expect(answers.filter((answer) => answer === "honest known")).toHaveLength(10);
  });

  test("a connection that has guessed before waits for a bounded time behind new ones", async () => {
    const connection = new Connection("192.0.2.1");
    checkOften(WRONG_MAX, { connection });
    const answers: string[] = [];
    hold(answers, "mistyped", { connection }, "right");
    for (let passedMs = 0; passedMs < 500; passedMs += 50) {
      for (let count = 0; count < 5; count++) hold(answers, "guess", {});
      await pass(50);
    }
    expect(answers).toContain("mistyped known");
  });

  test("a full line refuses those that guess, not the newcomer, and a closed connection leaves it", async () => {
    const guesser = new Connection("192.0.2.1");
    checkOften(WRONG_MAX, { connection: guesser });
    const answers: string[] = [];
    for (let count = 0; count < LINE_MAX; count++) hold(answers, "guess", { connection: guesser });
    hold(answers, "honest", {}, "right");
    await settle();
    expect(answers).toEqual(["guess refused"]);
    guesser.emit("close");
    await settle();
    expect(answers).toHaveLength(LINE_MAX);
    await pass(100);
    expect(answers.at(-1)).toBe("honest known");
    expect(guesser.listenerCount("close")).toBe(0);
  });

  test("the attempts that wait are bounded, and the longest line gives way", async () => {
    const answers: string[] = [];
    for (let host = 1; host <= 5; host++) {
      const address = `192.0.2.${host}`;
      checkOften(WRONG_MAX, address);
      for (let count = 0; count < LINE_MAX; count++) hold(answers, address, { address });
    }
    await settle();
    expect(answers).toHaveLength(5 * LINE_MAX - HELD_MAX);
    checkOften(WRONG_MAX, "192.0.2.99");
    hold(answers, "honest", { address: "192.0.2.99" }, "right");
    await pass(100);
    expect(answers).toContain("honest known");
  });

  test("failed logins are counted per address, and an IPv6 network is one address", () => {
    checkOften(101);
    expect(check("wrong", "192.0.2.2")).toBe("wrong");
    expect(check("wrong", "::ffff:192.0.2.1")).toBe("held");
    checkOften(101, "2001:db8::1");
    expect(check("wrong", "2001:db8::ffff:1")).toBe("held");
    expect(check("wrong", "2001:db8:0:1::1")).toBe("wrong");
  });

  test("a /48 of IPv6 may send as many as sixteen networks, and waits in one line then", () => {
    const answers = Array.from({ length: 20_000 }, (_, index) => check("wrong", `2001:db8:0:${index.toString(16)}::1`));
    expect(answers.filter((answer) => answer === "wrong")).toHaveLength(16 * WRONG_MAX);
    expect(check("wrong", "2001:db8:1::1")).toBe("wrong");
  });

  test("so many networks that not all can be counted do not reset the count of one", async () => {
    checkOften(WRONG_MAX);
    const addresses = Array.from({ length: 20_000 }, (_, count) => `10.1.${count >> 8}.${count & 255}`);
    const answers = addresses.map((address) => check("wrong", address));
    expect(check("wrong")).toBe("held");
    expect(answers.filter((answer) => answer === "wrong")).toHaveLength(10_000 - 1 + WRONG_MAX);
    await pass(101_000);
    expect(check("wrong", "10.2.0.1")).toBe("wrong");
  });

  test("wrong passwords leave one log line a minute", () => {
    checkOften(300);
    checkOften(300, "192.0.2.2");
    expect(lines).toEqual([
      [
        "warn",
        "too many wrong passwords from one address: further attempts are delayed",
        { address: "192.0.2.1", count: 1 },
      ],
    ]);
    clock.advance(60_000);
    checkOften(300);
    expect(lines).toHaveLength(2);
  });
});

test("a key that exceeds its rate limit has to wait, and no other client has", () => {
  const limits = { ...UNLIMITED, requestsPerSecond: 2 };
  const entry = { role: "client", limits: UNLIMITED } as const;
  keys.replace([
    { ...entry, name: "rateLimited", hashes: [hashOf("its key")], limits },
    { ...entry, name: "calm", hashes: [hashOf("another key")] },
  ]);
  const answers = Array.from({ length: 22 }, () => check("its key"));
  expect(answers.indexOf("rateLimited")).toBe(20);
  expect([check("another key"), check("right")]).toEqual(["known", "known"]);
  clock.advance(499);
  expect(check("its key")).toBe("rateLimited");
  clock.advance(1);
  expect([check("its key"), check("its key")]).toEqual(["known", "rateLimited"]);
  expect(lines).toEqual([
    ["warn", "client exceeds the requestsPerSecond of its key", { key: "rateLimited", count: 1 }],
  ]);
});

test.each(["righ", "rightx", "", "right ", `right${"x".repeat(20_000)}`, "Right"])(
  "the password %s is wrong",
  (password) => {
    expect(check(password)).toBe("wrong");
  },
);

test("above the limit REST and the WebSocket still serve the right password, and wrong ones get their answer", async () => {
  const clock = new FakeClock();
  const server = await ApiServer.start({ clock });
  const wrong = { Authorization: "wrong", "User-Id": "1" };
  for (let count = 0; count < WRONG_MAX; count++) await server.request("GET", "/v4/info", { headers: wrong });
  const turn = async <T>(answer: Promise<T>): Promise<T> => {
    let isDone = false;
    void answer.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      clock.advance(10);
      await new Promise(setImmediate);
    }
    return answer;
  };
  const startMs = clock.now();
  expect((await turn(server.request("GET", "/v4/info", { headers: wrong }))).status).toBe(403);
  expect((await turn(server.request("OPTIONS", "/v4/info", { headers: wrong }))).status).toBe(403);
  expect((await turn(server.request("GET", "/v4/websocket", { headers: wrong }))).status).toBe(401);
  expect((await turn(server.handshake({ headers: wrong }))).answer.status).toBe(401);
  expect(clock.now() - startMs).toBeGreaterThanOrEqual(390);
  expect((await server.request("GET", "/version", { headers: wrong })).status).toBe(200);
  expect((await turn(server.request("GET", "/v4/info"))).status).toBe(200);
  const client = await turn(server.connect({ Authorization: PASSWORD }));
  expect(client.sessionId).toHaveLength(16);
  await server.close();
});

test("a held handshake whose client leaves does not hold others up, and what a client says too early is kept", async () => {
  const clock = new FakeClock();
  const server = await ApiServer.start({ clock });
  const wrong = { Authorization: "wrong", "User-Id": "1" };
  for (let count = 0; count < WRONG_MAX; count++) await server.request("GET", "/v4/info", { headers: wrong });
  const leaving = Array.from({ length: 30 }, () => connect({ host: "127.0.0.1", port: server.port }));
  for (const socket of leaving) {
    socket.write(handshakeText("wrong"));
    socket.end();
  }
  await expect.poll(() => leaving.every(({ destroyed }) => destroyed)).toBe(true);
  const early = connect({ host: "127.0.0.1", port: server.port });
  early.write(handshakeText(PASSWORD));
  let received = "";
  early.on("data", (data) => {
    received += data.toString("latin1");
  });
  await server.request("GET", "/version");
  // A ping.
  early.write(Buffer.from([0x89, 0x80, 0, 0, 0, 0]));
  await server.request("GET", "/version");
  clock.advance(200);
  await expect.poll(() => received).toContain("101");
  await expect
    .poll(() => {
      clock.advance(10);
      return received;
    })
    .toContain("\x8a\x00");
  early.destroy();
  await server.close();
});

function handshakeText(password: string): string {
  const lines = [
    "GET /v4/websocket HTTP/1.1",
    "Host: localhost",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    `Authorization: ${password}`,
    "User-Id: 1",
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}
