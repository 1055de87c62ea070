import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { clientOrigin } from "../../../../src/control/server/client-origin.ts";

type Request = Parameters<typeof clientOrigin>[0];

function originOf(headers: Request["headers"]): ReturnType<typeof clientOrigin> {
  return clientOrigin({ headers, socket: { remoteAddress: "::ffff:127.0.0.1" } as Request["socket"] }); // all it reads
}

test("an origin is the address, the last proxy's word, and the client's name, none of them long", () => {
  expect(originOf({ "x-forwarded-for": "10.0.0.1, 203.0.113.9 ", "user-agent": "bot/1" })).toEqual({
    address: "127.0.0.1",
    forwardedFor: "203.0.113.9",
    userAgent: "bot/1",
  });
  const long = originOf({ "x-forwarded-for": "1".repeat(900), "user-agent": "é".repeat(900) });
  expect(long).toMatchObject({ forwardedFor: "1".repeat(45), userAgent: "é".repeat(200) });
  expect(originOf({})).toEqual({ address: "127.0.0.1", forwardedFor: undefined, userAgent: undefined });
});

test("an origin does not keep the headers in memory that it was read from", () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  const before = process.memoryUsage().heapUsed;
  const origins = Array.from({ length: 500 }, (_, index) => {
    const header = Buffer.alloc(15_000, `${index}, `).toString("latin1");
    return originOf({ "x-forwarded-for": `${header}, 2001:db8:aaaa:bbbb::1` });
  });
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(3_000_000);
  expect(origins).toHaveLength(500);
});
