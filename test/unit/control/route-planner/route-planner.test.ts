import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { RouteCommand } from "../../../../src/bridge/commands.ts";
import type { RoutePlanner } from "../../../../src/control/route-planner/route-planner.ts";
import { createLogger, type LogFields } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createPlanner } from "../../../support/planner-builders.ts";

const SEVEN_DAYS_MS = 7 * 24 * 3600 * 1000;

function ask(planner: RoutePlanner, families: readonly (4 | 6)[] = [4]): RouteCommand {
  return planner.answer({ type: "routeRequested", routeId: 7, families });
}

function addressOf(planner: RoutePlanner, families?: readonly (4 | 6)[]): string | undefined {
  const answer = ask(planner, families);
  if (answer.type !== "route") throw new Error(answer.error.message);
  return answer.address;
}

function fail(planner: RoutePlanner, address: string, more: { reason?: "unusable" } = {}): void {
  planner.onFailure({ type: "routeFailed", address, reason: "banned", ...more });
}

function failingOf(planner: RoutePlanner): string[] {
  return planner.status().details.failingAddresses.map(({ failingAddress }) => failingAddress);
}

describe("the route planner", () => {
  test("an answer has an address of the blocks, under the id of the request", () => {
    const { planner } = createPlanner({ ipBlocks: ["192.0.2.8/30"] });
    expect(ask(planner)).toEqual({ type: "route", routeId: 7, address: "192.0.2.8" });
    fail(planner, "192.0.2.8");
    expect(ask(planner, [6, 4])).toEqual({ type: "route", routeId: 7, address: "192.0.2.9" });
  });

  test("a target without an address of the blocks' family is reached from no address in particular", () => {
    const { planner } = createPlanner({ ipBlocks: ["2001:db8::/64"] });
    expect(addressOf(planner, [4])).toBeUndefined();
    expect(planner.status().details).toMatchObject({ currentAddress: "" });
    expect(addressOf(planner, [4, 6])).toMatch(/^2001:db8::/);
  });

  test("failures are logged immediately, then once a minute", () => {
    const lines: LogFields[] = [];
    const logger = createLogger((_level, _message, fields) => lines.push(fields));
    const { planner, clock } = createPlanner({}, { logger });
    for (const last of [1, 2, 3]) fail(planner, `192.0.2.${last}`);
    clock.advance(60_000);
    fail(planner, "192.0.2.4");
    expect(lines).toEqual([
      { failures: 1, failing: 1, of: "256" },
      { failures: 3, failing: 4, of: "256" },
    ]);
  });

  test("the answer is an error with advice while every address fails", () => {
    const { planner, clock } = createPlanner({ ipBlocks: ["192.0.2.0/30"], excludedIps: ["192.0.2.3"] });
    for (const last of [0, 1, 2]) {
      expect(addressOf(planner)).toBe(`192.0.2.${last}`);
      fail(planner, `192.0.2.${last}`);
    }
    const answer = ask(planner);
    expect(answer).toMatchObject({ type: "routeError", routeId: 7, error: { code: "routes-exhausted" } });
    expect(JSON.stringify(answer)).toContain("none of 4 is free, 3 are failing; free them by POST");
    expect(planner.free("192.0.2.1")).toBe(true);
    expect(addressOf(planner)).toBe("192.0.2.1");
    fail(planner, "192.0.2.1");
    expect(ask(planner)).toMatchObject({ type: "routeError" });
    clock.advance(SEVEN_DAYS_MS);
    expect(ask(planner)).toMatchObject({ type: "route" });
  });

  test.each(["RotateOnBan", "LoadBalance"] as const)(
    "%s: what belongs together leaves from the address that is wished for, as long as that is free",
    (strategy) => {
      const { planner } = createPlanner({ ipBlocks: ["192.0.2.0/28"], excludedIps: ["192.0.2.9"], strategy });
      const requestFor = (preferred: string, families: readonly (4 | 6)[] = [4]) =>
        planner.answer({ type: "routeRequested", routeId: 7, families, preferred });
      for (let count = 0; count < 5; count++) expect(requestFor("192.0.2.7")).toMatchObject({ address: "192.0.2.7" });
      expect(requestFor("192.0.2.7", [6])).toMatchObject({ address: undefined });
      fail(planner, "192.0.2.7");
      for (const barred of ["192.0.2.7", "192.0.2.9", "198.51.100.1", "nonsense"]) {
        expect(requestFor(barred)).toMatchObject({ type: "route", address: expect.stringMatching(/^192\.0\.2\./) });
        expect(requestFor(barred)).not.toMatchObject({ address: barred });
      }
      planner.free("192.0.2.7");
      expect(requestFor("192.0.2.7")).toMatchObject({ address: "192.0.2.7" });
    },
  );

  test("an address that the machine cannot send from is back after a minute, one that a site has banned is not", () => {
    const { planner, clock } = createPlanner({});
    fail(planner, "192.0.2.1", { reason: "unusable" });
    fail(planner, "192.0.2.2", { reason: "unusable" });
    fail(planner, "192.0.2.2");
    fail(planner, "192.0.2.3");
    fail(planner, "192.0.2.3", { reason: "unusable" });
    clock.advance(59_999);
    expect(failingOf(planner).toSorted()).toEqual(["/192.0.2.1", "/192.0.2.2", "/192.0.2.3"]);
    clock.advance(1);
    expect(failingOf(planner)).toEqual(["/192.0.2.2", "/192.0.2.3"]);
    planner.freeAll();
    fail(planner, "192.0.2.1", { reason: "unusable" });
    planner.free("192.0.2.1");
    expect(failingOf(planner)).toEqual([]);
  });

  test("excluded and foreign addresses never become failing ones", () => {
    const { planner } = createPlanner({ excludedIps: ["192.0.2.1"] });
    for (const address of ["192.0.2.1", "198.51.100.1", "::1", "nonsense"]) fail(planner, address);
    expect(failingOf(planner)).toEqual([]);
  });

  test("excluded addresses stay excluded when all are freed", () => {
    const { planner } = createPlanner({ ipBlocks: ["192.0.2.0/31"], excludedIps: ["192.0.2.0"] });
    planner.freeAll();
    expect(planner.free("192.0.2.0")).toBe(true);
    for (let request = 0; request < 20; request++) expect(addressOf(planner)).toBe("192.0.2.1");
  });

  test("the planner frees addresses in the blocks, failing or not, in any notation, and no others", () => {
    const { planner } = createPlanner({ ipBlocks: ["2001:db8::/64", "2001:db8:5::/48"], strategy: "NanoSwitch" });
    fail(planner, "2001:db8::1");
    expect(planner.free("2001:0DB8:0:0::0.0.0.1")).toBe(true);
    expect(failingOf(planner)).toEqual([]);
    expect(planner.free("2001:db8:5:ffff::1")).toBe(true);
    for (const text of ["2001:db8:0:1::1", "192.0.2.1", "", "localhost", "2001:db8::1%lo", "2001:db8::/64"]) {
      expect(planner.free(text), text).toBe(false);
    }
  });
});

describe("a ban of one site", () => {
  const YOUTUBE = [{ name: "youtube", hosts: ["youtube.com", "youtu.be", "*.googlevideo.com"] }];
  const SIXTEEN = { ipBlocks: ["192.0.2.0/28"], sources: ["http", "youtube"] };
  const all = Array.from({ length: 16 }, (_, last) => `192.0.2.${last}`);

  const ban = (planner: RoutePlanner, site: string, { addresses = all, account = "greedy" } = {}): void => {
    for (const address of addresses)
      planner.onFailure({ type: "routeFailed", address, reason: "banned", site, account });
  };
  const askFor = (planner: RoutePlanner, site: string, preferred?: string): RouteCommand =>
    planner.answer({ type: "routeRequested", routeId: 7, families: [4], site, preferred });

  test.each(["RotateOnBan", "LoadBalance"] as const)(
    "%s: sites of strangers that ban every address bar none for others and rotate none",
    (strategy) => {
      const { planner } = createPlanner({ ...SIXTEEN, strategy });
      planner.sourceHosts = () => YOUTUBE;
      const before = askFor(planner, "www.youtube.com");
      for (const site of ["one.example", "two.example:8080", "127.0.0.1:81"]) ban(planner, site);
      expect(askFor(planner, "one.example")).toMatchObject({ error: { code: "routes-exhausted" } });
      if (strategy === "RotateOnBan") expect(askFor(planner, "www.youtube.com")).toEqual(before);
      for (const site of ["www.youtube.com", "sub.one.example", "127.0.0.1:82", "evil-youtube.com"]) {
        for (const address of all) expect(askFor(planner, site, address)).toMatchObject({ address });
      }
    },
  );

  test("a source's site bars an address on all of its hosts for seven days, and on no other host", () => {
    const { planner, clock } = createPlanner(SIXTEEN);
    planner.sourceHosts = () => YOUTUBE;
    const [first = "", second] = all;
    ban(planner, "www.youtube.com", { addresses: [first] });
    clock.advance(SEVEN_DAYS_MS - 1);
    for (const site of ["music.youtube.com", "youtu.be", "rr1.googlevideo.com"]) {
      expect(askFor(planner, site, first)).toMatchObject({ address: second });
    }
    expect(askFor(planner, "one.example")).toMatchObject({ address: first });
    expect(planner.status().details).toMatchObject({ currentAddress: `/${second}`, rotateIndex: "1", ipIndex: "2" });
    clock.advance(1);
    expect(askFor(planner, "youtu.be", first)).toMatchObject({ address: first });
  });

  test("a site that belongs to no source bars an address for an hour, also one of a source that does not rotate", () => {
    const { planner, clock } = createPlanner({ ...SIXTEEN, sources: ["http"] });
    planner.sourceHosts = () => YOUTUBE;
    ban(planner, "youtube.com");
    clock.advance(3_599_999);
    expect(askFor(planner, "youtube.com")).toMatchObject({ type: "routeError" });
    expect(askFor(planner, "www.youtube.com")).toMatchObject({ type: "route" });
    clock.advance(1);
    expect(askFor(planner, "youtube.com")).toMatchObject({ type: "route" });
  });

  test("any number of strangers' sites with bans is bounded, and pushes out neither a source's nor another account's", () => {
    const { planner } = createPlanner({ ...SIXTEEN, ipBlocks: ["192.0.2.0/23"] });
    planner.sourceHosts = () => YOUTUBE;
    ban(planner, "youtube.com", { addresses: ["192.0.2.0"] });
    ban(planner, "radio.example", { addresses: ["192.0.2.1"], account: "honest" });
    const many = Array.from({ length: 400 }, (_, index) => `192.0.${2 + (index >> 8)}.${index & 255}`);
    for (let index = 0; index < 200; index++) {
      ban(planner, `${index}.example`, { addresses: index === 199 ? many : ["192.0.2.77"] });
    }
    expect(askFor(planner, "youtube.com", "192.0.2.0")).not.toMatchObject({ address: "192.0.2.0" });
    expect(askFor(planner, "radio.example", "192.0.2.1")).not.toMatchObject({ address: "192.0.2.1" });
    const barredSites = Array.from({ length: 200 }, (_, index) => askFor(planner, `${index}.example`, "192.0.2.77"));
    expect(barredSites.filter((answer) => !("address" in answer) || answer.address !== "192.0.2.77")).toHaveLength(62);
    expect(failingOf(planner)).toHaveLength(250 + 3);
  });

  test("the status lists each address once, and freeing one frees it for all sites", () => {
    const { planner, clock } = createPlanner(SIXTEEN);
    planner.sourceHosts = () => YOUTUBE;
    ban(planner, "one.example", { addresses: ["192.0.2.1", "192.0.2.2"] });
    clock.advance(1000);
    ban(planner, "youtube.com", { addresses: ["192.0.2.1"] });
    expect(failingOf(planner)).toEqual(["/192.0.2.2", "/192.0.2.1"]);
    planner.free("192.0.2.1");
    expect(failingOf(planner)).toEqual(["/192.0.2.2"]);
    for (const site of ["one.example", "youtube.com"]) {
      expect(askFor(planner, site, "192.0.2.1")).toMatchObject({ address: "192.0.2.1" });
    }
    planner.freeAll();
    expect(failingOf(planner)).toEqual([]);
  });

  test("an address that the machine cannot use is barred for sites with bans and without, before and after", () => {
    const { planner } = createPlanner(SIXTEEN);
    ban(planner, "one.example", { addresses: ["192.0.2.1"] });
    fail(planner, "192.0.2.5", { reason: "unusable" });
    ban(planner, "two.example", { addresses: ["192.0.2.1"] });
    for (const site of ["one.example", "two.example", "three.example"]) {
      expect(askFor(planner, site, "192.0.2.5")).not.toMatchObject({ address: "192.0.2.5" });
    }
  });

  test.each(["NanoSwitch", "RotatingNanoSwitch"] as const)(
    "%s: no site gets an address that another has had",
    (strategy) => {
      const { planner } = createPlanner({ ipBlocks: ["2001:db8::/48"], strategy });
      const askSix = (site: string) => planner.answer({ type: "routeRequested", routeId: 7, families: [6], site });
      const given = [askSix("one.example"), askSix("two.example")];
      ban(planner, "one.example", { addresses: ["2001:db8::9"] });
      for (let round = 0; round < 5; round++) given.push(askSix("one.example"), askSix("two.example"));
      expect(new Set(given.map((answer) => "address" in answer && answer.address)).size).toBe(given.length);
    },
  );
});

describe("the status", () => {
  test.each([
    ["RotateOnBan", "RotatingIpRoutePlanner", { rotateIndex: "0", ipIndex: "0", currentAddress: "" }],
    ["NanoSwitch", "NanoIpRoutePlanner", { currentAddressIndex: "0" }],
    ["RotatingNanoSwitch", "RotatingNanoIpRoutePlanner", { blockIndex: "0", currentAddressIndex: "0" }],
    ["LoadBalance", "BalancingIpRoutePlanner", {}],
  ] as const)("the status of %s is available before the first request", (strategy, name, own) => {
    const { planner } = createPlanner({ strategy, ipBlocks: ["2001:db8::/32", "2001:db9::/64"] });
    const ipBlock = { type: "Inet6Address", size: "79228162532711081667253501952" };
    expect(planner.status()).toEqual({ class: name, details: { ipBlock, failingAddresses: [], ...own } });
  });

  test("the status has the current address and the failing ones with a slash, the times also as text", () => {
    const clock = new FakeClock({ epochMs: Date.UTC(2019, 10, 1, 20, 5, 7, 545) });
    const { planner } = createPlanner({ ipBlocks: ["192.0.2.0/24"] }, { clock });
    const first = addressOf(planner) ?? "";
    fail(planner, first);
    const second = addressOf(planner) ?? "";
    expect(planner.status().details).toEqual({
      ipBlock: { type: "Inet4Address", size: "256" },
      failingAddresses: [
        {
          failingAddress: `/${first}`,
          failingTimestamp: 1572638707545,
          failingTime: "Fri Nov 01 20:05:07 UTC 2019",
        },
      ],
      rotateIndex: "1",
      ipIndex: String(Number(second.split(".")[3]) + 1),
      currentAddress: `/${second}`,
    });
  });

  test("the status updates itself when a failing address is free again", () => {
    const { planner, clock } = createPlanner({});
    fail(planner, "192.0.2.1");
    clock.advance(SEVEN_DAYS_MS);
    expect(failingOf(planner)).toEqual([]);
  });
});

describe("a block of any size", () => {
  const small = { ipBlocks: ["192.0.2.0/29"], strategy: "LoadBalance" } as const;
  const huge = { ipBlocks: ["2001:db8::/32"], strategy: "LoadBalance" } as const;

  test("a block of any size costs the same memory", () => {
    const [ofSmall, ofHuge] = [small, huge].map((settings) => {
      const sizes = Array.from({ length: 5 }, () => {
        const beforeBytes = heapBytes();
        const planners = Array.from({ length: 500 }, () => createPlanner(settings).planner);
        for (const planner of planners) ask(planner, [4, 6]);
        return (heapBytes() - beforeBytes) / planners.length;
      });
      // Something else may be freed meanwhile, but not in most of them.
      return sizes.sort((a, b) => a - b)[2];
    }) as [number, number]; // one for each
    console.log(`a planner of a /29 takes ${Math.round(ofSmall)} bytes, one of a /32 of IPv6 ${Math.round(ofHuge)}`);
    expect(ofHuge).toBeLessThan(3 * ofSmall + 1000);
  });

  test("an address of a block of any size is chosen in the same time, also with thousands failing", () => {
    const planners = [small, huge, huge].map((settings) => createPlanner(settings).planner);
    const [, , worn] = planners;
    for (let index = 0; index < 10_000; index++) fail(worn!, `2001:db8::${index.toString(16)}`);
    const timesMs = planners.map(() => Number.POSITIVE_INFINITY);
    for (let round = 0; round < 8; round++) {
      for (const [index, planner] of planners.entries()) {
        const startMs = performance.now();
        for (let request = 0; request < 2000; request++) ask(planner, [4, 6]);
        timesMs[index] = Math.min(timesMs[index]!, performance.now() - startMs);
      }
    }
    const [smallMs, hugeMs, wornMs] = timesMs.map((ms) => ms / 2000) as [number, number, number];
    console.log(`ms per choice: ${[smallMs, hugeMs, wornMs].map((ms) => ms.toFixed(5)).join(", ")}`);
    // IPv6 addresses are longer to write; a search through the block would be 2^93 times as long.
    expect(hugeMs).toBeLessThan(30 * smallMs);
    expect(wornMs).toBeLessThan(5 * hugeMs);
  });
});

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}
