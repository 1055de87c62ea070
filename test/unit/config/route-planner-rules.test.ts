import { describe, expect, test } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";
import { toWorkerSettings } from "../../../src/control/workers/to-worker-settings.ts";

function load(rateLimit: object, tonearm: object = {}) {
  const text = JSON.stringify({ lavalink: { server: { ratelimit: rateLimit } }, tonearm });
  return loadConfig({
    args: [],
    env: {},
    cwd: "/",
    readFile: (path) => (path === "/application.yml" ? text : undefined),
    realPath: () => undefined,
  });
}

function plannerOf(rateLimit: object) {
  return load(rateLimit).config.routePlanner;
}

describe("lavalink.server.ratelimit", () => {
  test("one block is enough; a bare address is a block", () => {
    expect(plannerOf({ ipBlocks: ["192.0.2.7"] })).toEqual({
      ipBlocks: ["192.0.2.7"],
      excludedIps: [],
      strategy: "RotateOnBan",
      isTriggeredBySearch: true,
      retriesMax: 10,
      sources: ["http", "youtube"],
    });
  });

  test.each([
    ["rotateonban", "RotateOnBan"],
    ["LOADBALANCE", "LoadBalance"],
    ["nanoSwitch", "NanoSwitch"],
    ["RotatingNanoSwitch", "RotatingNanoSwitch"],
  ])("strategy %s is taken", (strategy, expected) => {
    expect(plannerOf({ ipBlocks: ["2001:db8::/48"], strategy }).strategy).toBe(expected);
  });

  test.each([
    [{ strategy: "Foo" }, "lavalink.server.ratelimit.strategy: expected one of RotateOnBan, LoadBalance"],
    [{ ipBlocks: ["192.0.2.0/33"] }, "lavalink.server.ratelimit.ipBlocks: expected an address block"],
    [{ ipBlocks: ["fe80::1%eth0"] }, "lavalink.server.ratelimit.ipBlocks: expected an address block"],
    [{ ipBlocks: ["192.0.2.0/24"], excludedIps: ["192.0.2.0/25"] }, "ratelimit.excludedIps: expected an IP address"],
    [
      { ipBlocks: ["192.0.2.0/24", "2001:db8::/64"] },
      "ipBlocks: all blocks must be of one IP version, but 192.0.2.0/24 is IPv4 and 2001:db8::/64 IPv6",
    ],
    [
      { ipBlocks: ["192.0.2.0/24", "2001:db8::/64"], strategy: "LoadBalance" },
      "ipBlocks: all blocks must be of one IP version",
    ],
    [
      { ipBlocks: ["10.0.0.0/8"], strategy: "NanoSwitch" },
      "ipBlocks: strategy NanoSwitch needs as many addresses as a /64 of IPv6 has (18446744073709551616), but the " +
        "blocks have 16777216",
    ],
    [{ ipBlocks: ["2001:db8::/65"], strategy: "NanoSwitch" }, "but the blocks have 9223372036854775808"],
    [
      { ipBlocks: ["2001:db8::/48", "2001:db9::/65"], strategy: "RotatingNanoSwitch" },
      "ipBlocks: strategy RotatingNanoSwitch needs IPv6 blocks of a /64 or larger, but 2001:db9::/65 is not",
    ],
    [{ ipBlocks: ["10.0.0.0/8"], strategy: "RotatingNanoSwitch" }, "of a /64 or larger, but 10.0.0.0/8 is not"],
    [
      { ipBlocks: ["192.0.2.6/31"], excludedIps: ["192.0.2.7", "192.0.2.6"] },
      "excludedIps: leaves no address of the blocks to send from",
    ],
  ])("%j stops the start, naming key and rule", (rateLimit, message) => {
    expect(() => load(rateLimit)).toThrow(message);
  });

  test("two halves of a /64 are as good as one for NanoSwitch", () => {
    const ipBlocks = ["2001:db8::/65", "2001:db8:0:0:8000::/65"];
    expect(plannerOf({ ipBlocks, strategy: "NanoSwitch" }).ipBlocks).toEqual(ipBlocks);
  });

  test("what lies within another block is left out with a warning, whatever the order", () => {
    const ipBlocks = ["10.1.2.0/24", "192.0.2.9", "10.0.0.0/8", "10.1.0.0/16", "192.0.2.9/32", "10.0.0.1/8"];
    const loaded = load({ ipBlocks });
    expect(loaded.config.routePlanner.ipBlocks).toEqual(["192.0.2.9", "10.0.0.0/8"]);
    expect(loaded.warnings).toHaveLength(4);
    expect(loaded.warnings).toContain(
      "lavalink.server.ratelimit.ipBlocks: 10.1.2.0/24 is within 10.0.0.0/8; leaving it out",
    );
  });

  test("an excluded address outside the blocks is left out with a warning, and one named twice counts once", () => {
    const loaded = load({ ipBlocks: ["2001:db8::/127"], excludedIps: ["127.0.0.9", "2001:db8::1", "2001:DB8:0::1"] });
    expect(loaded.config.routePlanner.excludedIps).toEqual(["2001:DB8:0::1"]);
    expect(loaded.warnings).toEqual([
      "lavalink.server.ratelimit.excludedIps: 127.0.0.9 is in none of the blocks; leaving it out",
    ]);
  });

  test.each([
    [-1, 10],
    [0, undefined],
    [3, 3],
  ])("retryLimit %i is %s for the worker", (retryLimit, retriesMax) => {
    const { config } = load({ ipBlocks: ["192.0.2.0/24"], retryLimit });
    expect(toWorkerSettings(config).routing).toMatchObject({ retriesMax, sources: ["http", "youtube"] });
  });

  test("without blocks nothing of it exists, whatever else is said", () => {
    const { config, warnings } = load({ excludedIps: ["192.0.2.1"], strategy: "NanoSwitch", retryLimit: 5 });
    expect(toWorkerSettings(config).routing).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  test("a proxy is warned of: what it sends leaves from it", () => {
    const ratelimit = { ipBlocks: ["192.0.2.0/24"] };
    const args = [
      "--lavalink.server.httpConfig.proxyHost=proxy.test",
      `--lavalink.server.ratelimit.ipBlocks=192.0.2.1`,
    ];
    const { warnings } = loadConfig({ args, env: {}, cwd: "/", readFile: () => undefined, realPath: () => "/" });
    expect(warnings.join()).toContain("leave from the proxy");
    expect(load(ratelimit).warnings).toEqual([]);
  });

  test("tonearm.routePlanner.sources lists the sources that rotate", () => {
    const blocks = { ipBlocks: ["192.0.2.0/24"] };
    const sourcesOf = (sources: string[]) =>
      toWorkerSettings(load(blocks, { routePlanner: { sources } }).config).routing?.sources;
    expect(sourcesOf([])).toEqual([]);
    expect(sourcesOf(["HTTP", "flowery-tts", "getyarn.io"])).toEqual(["http", "flowery-tts", "getyarn.io"]);
    expect(() => sourcesOf(["you tube"])).toThrow("tonearm.routePlanner.sources: expected the name of a source");
  });
});
