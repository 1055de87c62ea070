// A node with blocks of addresses between a fake Discord and a site that bans addresses. Linux lets a program send from
// all of 127.0.0.0/8, so the site sees every address it is asked from.

import { readFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { plainPlan, statusPlan } from "../../../lab/media-server/answer-plan.ts";
import { finishedHls } from "../../../lab/media-server/hls.ts";
import type { MediaServerOptions } from "../../../lab/media-server/media-server.ts";
import type { Bot, LoadView } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetsOf, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const IN_BLOCK = /^127\.(1[6-9]|2\d|3[01])\.\d+\.\d+$/;
const HLS = new URL("../../fixtures/hls/", import.meta.url);
/** Less than twice the bitrate, so that there is something left to fetch when an address is banned. */
const SLOW = { kind: "slow", bytesPerSecond: 30_000 } as const;

const environments: TestEnvironment[] = [];

afterAll(async () => {
  for (const env of environments) await env.close();
});

interface RateLimit {
  readonly ipBlocks: string;
  readonly strategy?: string;
  readonly retryLimit?: string;
}

async function start(rateLimit: RateLimit, media: MediaServerOptions = {}): Promise<TestEnvironment> {
  const { ipBlocks, strategy = "RotateOnBan", retryLimit = "-1" } = rateLimit;
  const env = await startTestEnvironment({
    media: { root: SONGS.pathname, ...media },
    config: {
      TONEARM_WORKERS_COUNT: "1",
      LAVALINK_SERVER_RATELIMIT_IP_BLOCKS: ipBlocks,
      LAVALINK_SERVER_RATELIMIT_STRATEGY: strategy,
      LAVALINK_SERVER_RATELIMIT_RETRY_LIMIT: retryLimit,
    },
  });
  environments.push(env);
  return env;
}

function senders(env: TestEnvironment): string[] {
  return env.media.requests.map(({ from }) => from);
}

async function failing(bot: Bot): Promise<string[]> {
  const { body } = await bot.request<StatusView>("GET", "/v4/routeplanner/status");
  return body.details.failingAddresses.map(({ failingAddress }) => failingAddress);
}

interface StatusView {
  readonly details: { readonly failingAddresses: readonly { readonly failingAddress: string }[] };
}

async function load(bot: Bot, url: string): Promise<LoadView> {
  return (await bot.load(url)).body;
}

it.concurrent("loads leave from the addresses of the block, and no two from the same", async () => {
  const env = await start({ ipBlocks: "127.16.0.0/12", strategy: "LoadBalance" });
  const bot = await env.connectBot();
  for (let count = 0; count < 20; count++) {
    expect(await load(bot, `${env.media.url}/chord.webm`)).toMatchObject({ loadType: "track" });
  }
  for (const from of senders(env)) expect(from).toMatch(IN_BLOCK);
  // Drawn from a million addresses: two alike in twenty would be very bad luck, three impossible.
  expect(new Set(senders(env)).size).toBeGreaterThanOrEqual(senders(env).length - 1);
});

it.concurrent("playlists, keys, segments and redirect targets are requested from rotating addresses", async () => {
  const segments = [0, 1, 2, 3].map((index) => ({
    name: `ts${index}.ts`,
    bytes: readFileSync(new URL(`ts${index}.ts`, HLS)),
    seconds: 1,
  }));
  const files = { ...finishedHls(segments, { key: Buffer.alloc(16, 7) }) };
  const env = await start(
    { ipBlocks: "127.16.0.0/12", strategy: "LoadBalance" },
    {
      files,
      script: ({ path, earlierRequests }) =>
        path === "/ts2.ts" && earlierRequests === 0 ? statusPlan(429) : undefined,
    },
  );
  const call = await MusicCall.join(env);
  await call.play("to?/index.m3u8");
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  const asked = env.media.requests.map(({ path }) => path);
  const refused = env.media.requests.find(({ path }) => path === "/ts2.ts")?.from;
  expect(await failing(call.bot)).toEqual([`/${refused}`]);
  expect(asked.filter((path) => path === "/ts2.ts")).toHaveLength(2);
  expect(asked).toEqual(expect.arrayContaining(["/to?/index.m3u8", "/index.m3u8", "/hls.key", "/ts0.ts", "/ts3.ts"]));
  for (const from of senders(env)) expect(from).toMatch(IN_BLOCK);
  expect(new Set(senders(env)).size).toBeGreaterThanOrEqual(asked.length - 1);
});

it.concurrent("a banned address is skipped, shown, and used again when it is freed", async () => {
  const env = await start({ ipBlocks: "127.16.0.0/24" });
  const bot = await env.connectBot();
  const song = `${env.media.url}/chord.webm`;
  await load(bot, song);
  expect(await failing(bot)).toEqual([]);
  const [first = ""] = senders(env);
  env.media.ban(first);
  expect(await load(bot, song)).toMatchObject({ loadType: "track" });
  const second = senders(env).at(-1) ?? "";
  expect(second).not.toBe(first);
  expect(await failing(bot)).toEqual([`/${first}`]);

  env.media.ban(second);
  expect(await load(bot, song)).toMatchObject({ loadType: "track" });
  expect(await failing(bot)).toEqual([`/${first}`, `/${second}`]);
  const freed = await bot.request("POST", "/v4/routeplanner/free/address", { address: first });
  expect([freed.status, await failing(bot)]).toEqual([204, [`/${second}`]]);
  expect((await bot.request("POST", "/v4/routeplanner/free/all")).status).toBe(204);
  expect(await failing(bot)).toEqual([]);
});

it.concurrent("bans end no load while there is another, and only a free route helps after the last", async () => {
  const env = await start({ ipBlocks: "127.16.0.0/30" });
  const bot = await env.connectBot();
  const song = `${env.media.url}/chord.webm`;
  const all = [0, 1, 2, 3].map((index) => `127.16.0.${index}`);
  for (const address of all.slice(0, 3)) env.media.ban(address);
  expect(await load(bot, song)).toMatchObject({ loadType: "track" });
  expect(senders(env).at(-1)).toBe("127.16.0.3");

  env.media.ban("127.16.0.3");
  expect(await load(bot, song)).toMatchObject({
    loadType: "error",
    data: { message: expect.stringContaining("HTTP 429") },
  });
  expect((await failing(bot)).sort()).toEqual(all.map((address) => `/${address}`));
  const asked = env.media.requests.length;
  for (const address of all) env.media.unban(address);
  expect(await load(bot, song)).toMatchObject({ loadType: "error" });
  expect(env.media.requests).toHaveLength(asked);
  await bot.request("POST", "/v4/routeplanner/free/all");
  expect(await load(bot, song)).toMatchObject({ loadType: "track" });
});

it.concurrent("a site that refuses everyone costs no more tries than retryLimit allows", async () => {
  const env = await start({ ipBlocks: "127.16.0.0/24", retryLimit: "2" });
  const bot = await env.connectBot();
  expect(await load(bot, `${env.media.url}/429`)).toMatchObject({
    loadType: "error",
    data: { severity: "suspicious", message: expect.stringContaining("HTTP 429") },
  });
  expect(new Set(senders(env)).size).toBe(3);
  expect(await failing(bot)).toHaveLength(3);
});

it.concurrent("a song continues bit for bit while its addresses are banned one after the other", async () => {
  const file = readFileSync(new URL("chord.webm", SONGS));
  const env = await start(
    { ipBlocks: "127.16.0.0/24" },
    { script: () => ({ ...plainPlan(file, "video/webm"), fault: SLOW }) },
  );
  const call = await MusicCall.join(env);
  await call.play("slow.webm");
  const banned: string[] = [];
  for (const frames of [25, 25, 25]) {
    await call.receiveMore(frames);
    // The connection may be lost still: the next one is opened while the buffer plays.
    while (banned.includes(`/${senders(env).at(-1)}`)) await call.receiveMore(1);
    const from = senders(env).at(-1) ?? "";
    env.media.ban(from);
    banned.push(`/${from}`);
  }
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  await call.untilSilent();
  expect(call.receivedBy()).toEqual(await packetsOf("chord.webm"));
  expect(call.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent"]);
  expect(await failing(call.bot)).toEqual(banned);
  expect(new Set(banned).size).toBe(3);
});

it.concurrent("without blocks everything leaves from the machine's own address, and the status is empty", async () => {
  const env = await start({ ipBlocks: "" });
  const bot = await env.connectBot();
  await load(bot, `${env.media.url}/chord.webm`);
  expect(new Set(senders(env))).toEqual(new Set(["127.0.0.1"]));
  expect((await bot.request("GET", "/v4/routeplanner/status")).status).toBe(204);
});
