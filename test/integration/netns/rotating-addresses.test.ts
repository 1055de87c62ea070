// The four planners on a real network: blocks routed to the node, and a site that sees the source address of each of
// 1,000 loads and bans addresses, while a listener receives a song that is fetched through the same blocks.

import { afterEach, describe, expect, test } from "vitest";
import { isInBlock, parseIpAddress, parseIpBlock } from "../../../src/lib/ip-block.ts";
import { unevenness } from "../../support/planner-builders.ts";
import { NetworkTestEnvironment, type NetworkTestEnvironmentOptions, SITE_HOSTS } from "./network-test-environment.ts";
import { NETNS_MISSING, NODE_IPV4 } from "./routed-node.ts";

if (NETNS_MISSING !== "") console.log(`skipped: ${NETNS_MISSING}`);

const IPV4_BLOCK = "10.78.0.0/24";
const IPV6_BLOCK_64 = "fd78::/64";
const IPV6_BLOCK_48 = "fd79::/48";
const LOADS = 1000;
const SUBNET_BITS = 64n;
/** Requests after which the site takes against an address or a subnet. */
const PATIENCE = 100;
/** Of the 38 counts that are checked here, one exceeds this once in a million fair runs. */
const UNEVENNESS_MAX = 5.5;
/** The expected state of the music after three bans. */
const FINE = { isWhole: true, silences: 0, eventTypes: ["TrackStartEvent"], refusals: 3 };

const environments: NetworkTestEnvironment[] = [];

afterEach(async () => {
  for (const env of environments.splice(0)) {
    env.discord.assertClean();
    await env.close();
  }
});

async function start(options: NetworkTestEnvironmentOptions) {
  const env = await NetworkTestEnvironment.start(options);
  environments.push(env);
  const bot = await env.connectBot();
  const host = options.ipBlocks.includes(":") ? SITE_HOSTS[6] : SITE_HOSTS[4];
  return { env, bot, host };
}

/** How far into the block an address is; -1 outside. */
function offsetIn(blockText: string, text: string): bigint {
  const block = parseIpBlock(blockText);
  const address = parseIpAddress(text);
  if (block === undefined || address === undefined) throw new Error(`${blockText}, ${text}: not addresses`);
  return isInBlock(address, block) ? address.value - block.first : -1n;
}

/** The count of each of the sixteen values. */
function hexDigitCounts(digits: readonly bigint[]): number[] {
  const counts = Array<number>(16).fill(0);
  for (const digit of digits) counts[Number(digit & 15n)]! += 1;
  return counts;
}

function withoutRepeats<T>(values: readonly T[]): T[] {
  return values.filter((value, index) => index === 0 || value !== values[index - 1]);
}

function isIncreasing(values: readonly bigint[]): boolean {
  return values.every((value, index) => index === 0 || value > values[index - 1]!);
}

/** A site that serves each of these so many requests and refuses it ever after. */
function patience(keyOf: (from: string) => string): (from: string) => boolean {
  const counts = new Map<string, number>();
  return (from) => {
    const key = keyOf(from);
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count > PATIENCE;
  };
}

// Needs network namespaces; the reason is printed when there are none.
describe.skipIf(NETNS_MISSING !== "")("BalancingIpRoutePlanner", () => {
  /** One of every sixteen adjacent addresses, so that the others are even by sixteens and by last digit. */
  const excludedIps = Array.from({ length: 16 }, (_, index) => `10.78.0.${index * 16 + 5}`);

  test("1,000 loads are spread evenly over a /24 without its excluded addresses, and skip banned ones", async () => {
    const { env, bot, host } = await start({ strategy: "LoadBalance", ipBlocks: IPV4_BLOCK, excludedIps });
    const music = await env.playMusic(host);
    await env.loadMany(bot, { host, count: LOADS, atOnce: 4 });
    const offsets = env.loadSenders.map((from) => offsetIn(IPV4_BLOCK, from));
    expect(offsets).toHaveLength(LOADS);
    expect(offsets).not.toContain(-1n);
    expect(unevenness(hexDigitCounts(offsets.map((offset) => offset >> 4n)))).toBeLessThan(UNEVENNESS_MAX);
    expect(unevenness(hexDigitCounts(offsets).filter((_, digit) => digit !== 5))).toBeLessThan(UNEVENNESS_MAX);
    // Of 240 addresses, four are missed on average.
    expect(new Set(offsets).size).toBeGreaterThan(210);

    const banned = [...new Set(env.loadSenders)].slice(0, 30);
    for (const address of banned) env.media.ban(address);
    const before = env.loadSenders.length;
    await Promise.all([env.loadMany(bot, { host, count: 300, atOnce: 4 }), music.banThrice()]);
    expect(env.loadSenders.slice(before).filter((from) => banned.includes(from))).toEqual([]);
    const failing = await env.failing(bot);
    expect(failing).toEqual(expect.arrayContaining([...music.refused]));
    expect(failing.filter((address) => banned.includes(address)).length).toBeGreaterThan(10);
    expect(env.senders.filter((from) => excludedIps.includes(from))).toEqual([]);
    expect(music.received).toEqual(FINE);
  });

  test.each([IPV6_BLOCK_64, IPV6_BLOCK_48])("1,000 loads are spread evenly over %s", async (block) => {
    const { env, bot, host } = await start({ strategy: "LoadBalance", ipBlocks: block });
    const music = await env.playMusic(host);
    await Promise.all([env.loadMany(bot, { host, count: LOADS, atOnce: 4 }), music.banThrice()]);
    const offsets = env.loadSenders.map((from) => offsetIn(block, from));
    expect(offsets).not.toContain(-1n);
    expect(new Set(offsets).size).toBe(LOADS);
    const blockBits = block === IPV6_BLOCK_48 ? 80n : 64n;
    for (let bit = 0n; bit < blockBits; bit += 4n) {
      const counts = hexDigitCounts(offsets.map((offset) => offset >> bit));
      expect(unevenness(counts), `digit at bit ${bit}: ${counts}`).toBeLessThan(UNEVENNESS_MAX);
    }
    expect(await env.failing(bot)).toEqual(music.refused);
    expect(music.received).toEqual(FINE);
  });
});

// Needs network namespaces; the reason is printed when there are none.
describe.skipIf(NETNS_MISSING !== "")("RotatingIpRoutePlanner", () => {
  /** Every other address: a planner that forgets them would soon use one. */
  const excludedIps = Array.from({ length: 128 }, (_, index) => `10.78.0.${index * 2}`);

  test.each([
    [IPV4_BLOCK, excludedIps],
    [IPV6_BLOCK_64, ["fd78::a", "fd78::c", "fd78::e", "fd78::10", "fd78::12"]],
  ])("1,000 loads use one address of %s until that one is banned, then the next", async (block, excluded) => {
    const isRefused = patience((from) => from);
    const { env, bot, host } = await start({
      strategy: "RotateOnBan",
      ipBlocks: block,
      excludedIps: excluded,
      isRefused,
    });
    const music = await env.playMusic(host);
    await Promise.all([env.loadMany(bot, { host, count: LOADS }), music.banThrice()]);
    // The music may have been the last that made it rotate.
    await env.loadMany(bot, { host, count: 1 });
    const used = withoutRepeats(env.loadSenders);
    expect(used.map((from) => offsetIn(block, from))).not.toContain(-1n);
    expect(used.length).toBeGreaterThanOrEqual(LOADS / PATIENCE);
    // None is come back to.
    expect(new Set(used).size).toBe(used.length);
    expect(env.senders.filter((from) => excluded.includes(from))).toEqual([]);

    const { class: name, details } = await env.planner(bot);
    expect(name).toBe("RotatingIpRoutePlanner");
    const failing = details.failingAddresses.map(({ failingAddress }) => failingAddress.slice(1));
    expect(details).toMatchObject({ currentAddress: `/${used.at(-1)}`, rotateIndex: String(failing.length) });
    expect(failing).toEqual(expect.arrayContaining([...used.slice(0, -1), ...music.refused]));
    expect(music.received).toEqual(FINE);
  });
});

// Needs network namespaces; the reason is printed when there are none.
describe.skipIf(NETNS_MISSING !== "")("NanoIpRoutePlanner", () => {
  test.each([IPV6_BLOCK_64, IPV6_BLOCK_48])("each of 1,000 loads uses a later address of %s", async (block) => {
    const refused: string[] = [];
    let count = 0;
    const isRefused = (from: string): boolean => {
      count++;
      const isTenth = count % 10 === 0;
      if (isTenth) refused.push(from);
      return isTenth;
    };
    const { env, bot, host } = await start({ strategy: "NanoSwitch", ipBlocks: block, isRefused });
    const music = await env.playMusic(host);
    await Promise.all([env.loadMany(bot, { host, count: LOADS }), music.banThrice()]);
    const offsets = env.loadSenders.map((from) => offsetIn(block, from));
    expect(offsets).toHaveLength(LOADS);
    expect(offsets[0]).toBeGreaterThanOrEqual(0n);
    expect(isIncreasing(offsets)).toBe(true);
    expect(new Set(await env.failing(bot))).toEqual(new Set([...refused, ...music.refused]));
    expect(refused.length).toBeGreaterThan(100);
    expect(music.received).toEqual(FINE);

    expect((await bot.request("POST", "/v4/routeplanner/free/all")).status).toBe(204);
    expect(await env.failing(bot)).toEqual([]);
    await env.loadMany(bot, { host, count: 5 });
    expect(isIncreasing(env.loadSenders.map((from) => offsetIn(block, from)))).toBe(true);
  });
});

// Needs network namespaces; the reason is printed when there are none.
describe.skipIf(NETNS_MISSING !== "")("RotatingNanoIpRoutePlanner", () => {
  const subnetOf = (from: string): bigint => offsetIn(IPV6_BLOCK_48, from) >> SUBNET_BITS;

  test("1,000 loads use one /64 until an address of it is banned, then the next", async () => {
    const isRefused = patience((from) => String(subnetOf(from)));
    const { env, bot, host } = await start({ strategy: "RotatingNanoSwitch", ipBlocks: IPV6_BLOCK_48, isRefused });
    const music = await env.playMusic(host);
    await Promise.all([env.loadMany(bot, { host, count: LOADS }), music.banThrice()]);
    // The music may have been the last that made it rotate.
    await env.loadMany(bot, { host, count: 1 });
    const senders = env.loadSenders;
    const used = withoutRepeats(senders.map(subnetOf));
    expect(used[0]).toBe(0n);
    expect(used.length).toBeGreaterThanOrEqual(LOADS / PATIENCE);
    expect(isIncreasing(used)).toBe(true);
    for (const subnet of used) {
      const offsets = senders.filter((from) => subnetOf(from) === subnet).map((from) => offsetIn(IPV6_BLOCK_48, from));
      expect(isIncreasing(offsets)).toBe(true);
      // Nanoseconds since the /64 was entered: less than a minute.
      expect((offsets[0] ?? 0n) - (subnet << SUBNET_BITS)).toBeLessThan(60_000_000_000n);
    }
    // Every /64 left has an address that failed, and none was skipped.
    const { details } = await env.planner(bot);
    const failed = details.failingAddresses.map(({ failingAddress }) => subnetOf(failingAddress.slice(1)));
    expect([...new Set(failed)]).toEqual(
      Array.from({ length: Number(details.blockIndex) }, (_, index) => BigInt(index)),
    );
    expect(String(used.at(-1))).toBe(details.blockIndex);
    expect(music.received).toEqual(FINE);
  });

  test("the rotation returns to a /64 that is no longer banned", async () => {
    const refusedSubnets = new Set<bigint>();
    const isRefused = (from: string): boolean => refusedSubnets.has(subnetOf(from));
    const { env, bot, host } = await start({ strategy: "RotatingNanoSwitch", ipBlocks: "fd79::/63", isRefused });
    for (const subnet of [0n, 1n]) {
      await env.loadMany(bot, { host, count: 3 });
      expect(env.loadSenders.slice(-3).map(subnetOf)).toEqual([subnet, subnet, subnet]);
      refusedSubnets.add(subnet);
    }
    expect(await env.load(bot, host)).toMatchObject({ loadType: "error" });
    refusedSubnets.delete(0n);
    await env.loadMany(bot, { host, count: 3 });
    expect(env.loadSenders.slice(-3).map(subnetOf)).toEqual([0n, 0n, 0n]);
  });
});

// Needs network namespaces; the reason is printed when there are none.
describe.skipIf(NETNS_MISSING !== "")("when all addresses are banned", () => {
  const IPV4_FOUR = ["10.78.0.8", "10.78.0.9", "10.78.0.10", "10.78.0.11"];
  const IPV6_FOUR = ["fd78::8", "fd78::9", "fd78::a", "fd78::b"];

  test.each([
    ["RotateOnBan", "10.78.0.8/30", IPV4_FOUR],
    ["RotateOnBan", "fd78::8/126", IPV6_FOUR],
    ["LoadBalance", "10.78.0.8/30", IPV4_FOUR],
    ["LoadBalance", "fd78::8/126", IPV6_FOUR],
  ] as const)("%s of %s uses freed addresses, and no others, when all were banned", async (strategy, ipBlocks, all) => {
    const { env, bot, host } = await start({ strategy, ipBlocks });
    for (const address of all) env.media.ban(address);
    expect(await env.load(bot, host)).toMatchObject({ loadType: "error" });
    expect(env.senders.toSorted()).toEqual(all.toSorted());
    expect((await env.failing(bot)).toSorted()).toEqual(all.toSorted());

    // Not asked again, although the site would answer now.
    for (const address of all) env.media.unban(address);
    expect(await env.load(bot, host)).toMatchObject({
      loadType: "error",
      data: { message: expect.stringContaining("free/all") },
    });
    expect(env.senders).toHaveLength(4);

    const [, , third = ""] = all;
    const free = async (address: string) =>
      (await bot.request("POST", "/v4/routeplanner/free/address", { address })).status;
    expect(await free(NODE_IPV4)).toBe(400);
    expect(await free(third)).toBe(204);
    await env.loadMany(bot, { host, count: 5 });
    expect(env.loadSenders).toEqual([third, third, third, third, third]);

    expect((await bot.request("POST", "/v4/routeplanner/free/all")).status).toBe(204);
    const used = new Set<string>();
    for (let count = 0; count < 4; count++) {
      await env.loadMany(bot, { host, count: 1 });
      const from = env.loadSenders.at(-1) ?? "";
      used.add(from);
      env.media.ban(from);
    }
    expect([...used].toSorted()).toEqual(all.toSorted());
  });
});

// Needs network namespaces; the reason is printed when there are none.
describe.skipIf(NETNS_MISSING !== "")("address family", () => {
  test.each([IPV4_BLOCK, IPV6_BLOCK_64])(
    "a host with addresses of both families is requested from %s",
    async (ipBlocks) => {
      const { env, bot } = await start({ strategy: "LoadBalance", ipBlocks });
      await env.loadMany(bot, { host: "both.test", count: 20 });
      expect(env.loadSenders).toHaveLength(20);
      expect(env.loadSenders.map((from) => offsetIn(ipBlocks, from))).not.toContain(-1n);
    },
  );

  test.each(["four.test", SITE_HOSTS[4]])(
    "%s has no IPv6, so it is requested from the machine's own address",
    async (host) => {
      const { env, bot } = await start({ strategy: "LoadBalance", ipBlocks: IPV6_BLOCK_64 });
      await env.loadMany(bot, { host, count: 3 });
      expect(env.loadSenders).toEqual([NODE_IPV4, NODE_IPV4, NODE_IPV4]);
    },
  );

  test("a load from a block that is not routed here fails with an error that says so", async () => {
    const { env, bot, host } = await start({ strategy: "RotateOnBan", ipBlocks: "10.99.0.0/30" });
    expect(await env.load(bot, host)).toMatchObject({
      loadType: "error",
      data: { message: expect.stringContaining("this machine cannot send from it") },
    });
    expect(env.senders).toEqual([]);
    expect(await env.failing(bot)).toHaveLength(4);
  });
});
