import type { Socket } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import { hashOf } from "../../../../src/control/access/client-key.ts";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import { Authentication } from "../../../../src/control/server/authentication.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { ApiServer, PASSWORD } from "../../../support/api-server.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const WRONG_MAX = 100;

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

function check(authorization: string | undefined, remoteAddress = "192.0.2.1") {
  // Only the address of the socket is used.
  return authentication.recognize({ headers: { authorization }, socket: { remoteAddress } as Socket }).kind;
}

function checkOften(count: number, address?: string): string[] {
  return Array.from({ length: count }, (_, index) => check(`wrong${index}`, address));
}

describe("of many wrong passwords", () => {
  test("the first wrong passwords are answered as wrong, and the others are refused, until time has passed", () => {
    const answers = checkOften(11_000);
    expect(answers.indexOf("refused")).toBe(WRONG_MAX);
    expect(answers.lastIndexOf("wrong")).toBe(WRONG_MAX - 1);
    clock.advance(999);
    expect(check("wrong")).toBe("refused");
    clock.advance(5000);
    expect(checkOften(10).filter((answer) => answer === "wrong").length).toBeGreaterThan(3);
    clock.advance(1_000_000);
    expect(checkOften(WRONG_MAX + 1).filter((answer) => answer === "refused")).toHaveLength(1);
  });

  test("wrong passwords do not block valid ones from a trusted address", () => {
    expect(check("right")).toBe("known");
    checkOften(1000);
    expect([check("right"), check(undefined), check("right")]).toEqual(["known", "missing", "known"]);
    clock.advance(24 * 60 * 60 * 1000);
    checkOften(1000);
    expect(check("right")).toBe("refused");
  });

  test("an untrusted address gets one attempt per second, whatever it sends", () => {
    checkOften(1000);
    expect([check("right"), check(undefined)]).toEqual(["refused", "missing"]);
    clock.advance(1000);
    expect([check("wrong"), check("right")]).toEqual(["wrong", "refused"]);
    clock.advance(1000);
    expect([check("right"), check("right"), check("wrong")]).toEqual(["known", "known", "wrong"]);
    // It has used up its tokens, and is trusted now.
    expect([check("wrong"), check("right")]).toEqual(["refused", "known"]);
  });

  test("failed logins are counted per address, and an IPv6 network is one address", () => {
    checkOften(1000);
    expect(check("wrong", "192.0.2.2")).toBe("wrong");
    expect(check("wrong", "::ffff:192.0.2.1")).toBe("refused");
    checkOften(1000, "2001:db8::1");
    expect(check("wrong", "2001:db8::ffff:1")).toBe("refused");
    expect(check("wrong", "2001:db8:0:1::1")).toBe("wrong");
  });

  test("wrong passwords leave one log line a minute", () => {
    checkOften(1000);
    checkOften(1000, "192.0.2.2");
    expect(lines).toEqual([
      [
        "warn",
        "too many wrong passwords from one address: further attempts are delayed",
        { address: "192.0.2.1", count: 1 },
      ],
    ]);
    clock.advance(60_000);
    checkOften(1000);
    expect(lines).toHaveLength(2);
  });

  test("the number of remembered addresses is bounded", () => {
    checkOften(1000);
    for (let count = 0; count < 10_000; count++) check("wrong", `10.1.${count >> 8}.${count & 255}`);
    expect(check("wrong")).toBe("wrong");
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

test("REST and the WebSocket answer 429 above the limit, end the connection, and still serve others there", async () => {
  const written: string[] = [];
  const logger = createLogger((_level, message) => written.push(message));
  const requestLogging = { isClientShown: false, areHeadersShown: false, isQueryShown: false, isPayloadShown: false };
  const server = await ApiServer.start({
    logger,
    // Time stands still, so that a slow machine refills no tokens.
    clock: { ...systemClock, now: () => 0 },
    requestLogging: { ...requestLogging, payloadLengthMax: 0, isLoggedBefore: false },
  });
  const wrong = { Authorization: "wrong", "User-Id": "1" };
  expect((await server.request("GET", "/v4/info")).status).toBe(200);
  for (let count = 0; count < WRONG_MAX; count++) await server.request("GET", "/v4/info", { headers: wrong });
  written.length = 0;
  const refused = await server.request("GET", "/v4/info", { headers: wrong });
  expect([refused.status, refused.headers.connection, refused.body]).toEqual([429, "close", ""]);
  expect((await server.handshake({ headers: wrong })).answer.status).toBe(429);
  expect((await server.request("GET", "/v4/websocket", { headers: wrong })).status).toBe(429);
  expect(written).toEqual(["too many wrong passwords from one address: further attempts are delayed"]);
  expect((await server.request("GET", "/version", { headers: wrong })).status).toBe(200);
  expect((await server.request("GET", "/v4/info")).status).toBe(200);
  const client = await server.connect({ Authorization: PASSWORD });
  expect(client.sessionId).toHaveLength(16);
  await server.close();
});
