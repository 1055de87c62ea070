// A node with address blocks and YouTube's stand-in, which sees the source address of every request: Linux lets a
// program send from all of 127.0.0.0/8. Its links are valid for the address that requested them.

import { afterAll, describe, expect, it } from "vitest";
import type { SiteRequest } from "../../../lab/sites/site-server.ts";
import { YoutubeSite } from "../../../lab/sites/youtube.ts";
import type { Bot, LoadView } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";

const IN_BLOCK = /^127\.(1[6-9]|2\d|3[01])\.\d+\.\d+$/;
const SONG = "https://www.youtube.com/watch?v=song0000001";
const OTHER_SONG = "https://www.youtube.com/watch?v=song0000002";
const SONG_MS = 30_000;
const TOO_MANY = { status: 429, text: "too many requests" };

interface Scene {
  readonly site: YoutubeSite;
  readonly env: TestEnvironment;
}

const scenes: Scene[] = [];

afterAll(async () => {
  for (const { site, env } of scenes) {
    await env.close();
    await site.close();
  }
});

/** `ratelimit`: keys of `lavalink.server.ratelimit`. */
async function start(ratelimit: Readonly<Record<string, string>>, args: readonly string[] = []): Promise<Scene> {
  const site = await YoutubeSite.start();
  const blocks = Object.entries(ratelimit).map(([key, value]) => `--lavalink.server.ratelimit.${key}=${value}`);
  // In small steps, and not far ahead: there is something left to ask for while it plays.
  const env = await startSiteTestEnvironment([site], [...blocks, "--plugins.youtube.rangeBytes=65536", ...args], {
    config: { TONEARM_WORKERS_COUNT: "1", TONEARM_BUFFER_READ_AHEAD_BYTES_MAX: "65536" },
  });
  const scene = { site, env };
  scenes.push(scene);
  return scene;
}

/** Refuses all requests from that address; returns the function that ends the ban. */
function ban({ site }: Scene, from: string): () => void {
  return site.fail({ at: /./, from, outcome: TOO_MANY });
}

function senders(requests: readonly SiteRequest[]): string[] {
  return [...new Set(requests.map(({ from }) => from))];
}

/** The requests after the first `count`. */
/** Without those for the player script, which is prepared in the background. */
function since({ site }: Scene, count: number): readonly SiteRequest[] {
  return site.site.requests.slice(count).filter(({ path }) => !/^\/(?:iframe_api$|embed\/|s\/)/.test(path));
}

function mediaOf(requests: readonly SiteRequest[]): readonly SiteRequest[] {
  return requests.filter(({ path }) => path === "/videoplayback");
}

async function failing(bot: Bot): Promise<string[]> {
  const { body } = await bot.request<{
    readonly details: { readonly failingAddresses: readonly { readonly failingAddress: string }[] };
  }>("GET", "/v4/routeplanner/status");
  return body.details.failingAddresses.map(({ failingAddress }) => failingAddress.slice(1));
}

async function load(bot: Bot, identifier: string): Promise<LoadView> {
  return (await bot.load(identifier)).body;
}

async function encodedOf(bot: Bot, identifier: string): Promise<string> {
  const { data } = await load(bot, identifier);
  return (data as { readonly encoded: string }).encoded; // a track was asked for
}

describe("one load, one address", () => {
  it.concurrent("a load uses one address, the next another, and media the address that requested its link", async () => {
    const scene = await start({ ipBlocks: "127.16.0.0/12", strategy: "LoadBalance" });
    const call = await MusicCall.join(scene.env, { daveVersion: 0 });
    const encoded = await encodedOf(call.bot, SONG);
    const loading = senders(since(scene, 0));
    expect(loading).toEqual([expect.stringMatching(IN_BLOCK)]);

    const askedCount = scene.site.site.requests.length;
    await call.update({ track: { encoded }, position: SONG_MS - 5000 });
    expect(await call.ended()).toMatchObject({ reason: "finished" });
    const playing = since(scene, askedCount);
    expect(mediaOf(playing).length).toBeGreaterThan(1);
    expect(senders(playing)).toEqual([expect.stringMatching(IN_BLOCK)]);
    // Drawn from a million addresses: two alike would be very bad luck.
    expect(senders(playing)).not.toEqual(loading);
    expect(new Set(mediaOf(playing).map(({ query }) => query.get("ip")))).toEqual(new Set(senders(playing)));

    // Whom YouTube takes for one visitor it sees at one address only.
    const visits = since(scene, 0).flatMap(({ headers, from }) => {
      const visitor = headers["x-goog-visitor-id"];
      return visitor === undefined ? [] : [`${visitor} ${from}`];
    });
    expect(new Set(visits).size).toBe(2);
    expect(new Set(visits.map((visit) => visit.split(" ")[0])).size).toBe(2);
  });
});

describe("an address that YouTube bans", () => {
  it.concurrent("a banned address is skipped, shown, and used again once it is freed", async () => {
    const scene = await start({ ipBlocks: "127.16.0.0/31" });
    const bot = await scene.env.connectBot();
    expect(await load(bot, SONG)).toMatchObject({ loadType: "track" });
    expect(await failing(bot)).toEqual([]);
    const [first = ""] = senders(since(scene, 0));

    const unban = ban(scene, first);
    expect(await load(bot, OTHER_SONG)).toMatchObject({ loadType: "track" });
    const second = since(scene, 0).at(-1)?.from ?? "";
    expect([first, second].sort()).toEqual(["127.16.0.0", "127.16.0.1"]);
    expect(await failing(bot)).toEqual([first]);

    unban();
    ban(scene, second);
    expect((await bot.request("POST", "/v4/routeplanner/free/address", { address: first })).status).toBe(204);
    expect(await load(bot, "ytsearch:song")).toMatchObject({ loadType: "search" });
    expect(since(scene, 0).at(-1)?.from).toBe(first);
    expect(await failing(bot)).toEqual([second]);
  });

  it.concurrent("a song whose address is banned during playback continues from another, with a new link, no frame lost", async () => {
    const scene = await start({ ipBlocks: "127.16.0.0/24" });
    const call = await MusicCall.join(scene.env, { daveVersion: 0 });
    const encoded = await encodedOf(call.bot, SONG);
    await call.update({ track: { encoded }, position: SONG_MS - 25_000 });
    await call.receiveMore(50);
    const first = mediaOf(since(scene, 0)).at(-1)?.from ?? "";
    const bannedAt = scene.site.site.requests.length;
    ban(scene, first);
    expect(await call.bot.untilEvent("TrackEndEvent", 60_000)).toMatchObject({ reason: "finished" });
    await call.untilSilent();
    expect(call.audio).toHaveLength(25 * 50);

    const afterwards = since(scene, bannedAt).filter(({ from }) => from !== first);
    // The refused one, and at most one of the plugin, which may learn of the ban by it.
    const refused = since(scene, bannedAt).filter(({ from }) => from === first);
    expect(mediaOf(refused)).toHaveLength(1);
    expect(refused.length).toBeLessThanOrEqual(2);
    expect(senders(afterwards)).toHaveLength(1);
    expect(mediaOf(afterwards).length).toBeGreaterThan(0);
    for (const { query, from } of mediaOf(afterwards)) expect(query.get("ip")).toBe(from);
    expect(await failing(call.bot)).toEqual([first]);
    // The ban is on the address, not on the client that its link came from.
    const clients = scene.site.asked("player").map(({ clientName }) => clientName);
    expect(new Set(clients.slice(1))).toEqual(new Set([clients.at(-1)]));
  });

  it.concurrent("when all addresses are banned, loads send no requests, say what to do, and work once freed", async () => {
    const scene = await start({ ipBlocks: "127.16.0.0/30" });
    const bot = await scene.env.connectBot();
    const end = scene.site.fail({ at: /./, outcome: TOO_MANY });
    const exhausted = (message: string) => ({ loadType: "error", data: { message: expect.stringContaining(message) } });
    expect(await load(bot, SONG)).toMatchObject(exhausted("free/all"));
    expect(await failing(bot)).toHaveLength(4);
    const askedCount = scene.site.site.requests.length;
    for (let count = 0; count < 6; count++) expect(await load(bot, SONG)).toMatchObject(exhausted("free/all"));
    expect(since(scene, askedCount)).toEqual([]);

    end();
    await bot.request("POST", "/v4/routeplanner/free/all");
    expect(await load(bot, SONG)).toMatchObject({ loadType: "track" });
  });

  it.concurrent("a banned search does not mark its address where searchTriggersFail is off", async () => {
    const scene = await start({ ipBlocks: "127.16.0.0/24", searchTriggersFail: "false" });
    const bot = await scene.env.connectBot();
    scene.site.fail({ at: /\/search$/, outcome: TOO_MANY });
    expect(await load(bot, "ytsearch:song")).toMatchObject({ loadType: "error" });
    expect(await failing(bot)).toEqual([]);
    // Once for each client that searches.
    expect(scene.site.asked("search").length).toBeLessThan(5);
    const end = scene.site.fail({ at: /\/player$/, outcome: TOO_MANY, times: 1 });
    expect(await load(bot, SONG)).toMatchObject({ loadType: "track" });
    end();
    expect(await failing(bot)).toHaveLength(1);
  });
});

describe("requests to YouTube leave from the machine's own address", () => {
  it.concurrent.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    ["without blocks", {}, []],
    [
      "with blocks for other sources",
      { ipBlocks: "127.16.0.0/24" },
      ["--tonearm.routePlanner.sources=http,soundcloud"],
    ],
  ])("%s", async (_when, ratelimit, args) => {
    const scene = await start(ratelimit, args);
    const call = await MusicCall.join(scene.env, { daveVersion: 0 });
    const encoded = await encodedOf(call.bot, SONG);
    await call.update({ track: { encoded }, position: SONG_MS - 2000 });
    expect(await call.ended()).toMatchObject({ reason: "finished" });
    expect(mediaOf(since(scene, 0)).length).toBeGreaterThan(0);
    expect(senders(since(scene, 0))).toEqual(["127.0.0.1"]);
    const { status } = await call.bot.request("GET", "/v4/routeplanner/status");
    expect(status).toBe(ratelimit.ipBlocks === undefined ? 204 : 200);
  });
});
