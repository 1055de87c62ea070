// Options of plugins changed on a whole node during playback, tokens of YouTube renewed by Lavalink's routes, a feed
// that is not recognisable by its address, and the data that plugins persist over a restart of the node.

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbersFrom, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { EXAMPLE_HOST, startExampleSite } from "../../../lab/sites/example.ts";
import { PodcastSites } from "../../../lab/sites/podcasts.ts";
import type { SiteServer } from "../../../lab/sites/site-server.ts";
import { SoundCloudSite } from "../../../lab/sites/soundcloud.ts";
import { REFRESH_TOKEN, YoutubeSite } from "../../../lab/sites/youtube.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";

const EXAMPLE = fileURLToPath(new URL("../../../plugins/example/plugin.mjs", import.meta.url));
const OPTIONS = "/v4/tonearm/plugins/example/options";

let example: SiteServer;
let youtube: YoutubeSite;
let podcasts: PodcastSites;
let soundcloud: SoundCloudSite;
let folder: string;
let env: TestEnvironment;

beforeAll(async () => {
  example = await startExampleSite();
  youtube = await YoutubeSite.start();
  podcasts = await PodcastSites.start();
  soundcloud = await SoundCloudSite.start();
  folder = mkdtempSync(join(tmpdir(), "persisted-"));
  env = await start();
});
afterAll(async () => {
  await env.close();
  for (const site of [example, youtube, podcasts, soundcloud]) await site.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A node with what earlier ones have left. */
function start(): Promise<TestEnvironment> {
  return startSiteTestEnvironment(
    [youtube, podcasts, soundcloud, { hosts: example.hosts(EXAMPLE_HOST) }],
    [
      `--tonearm.plugins.0.path=${EXAMPLE}`,
      "--tonearm.plugins.0.required=true",
      `--tonearm.pluginDataPath=${join(folder, "data")}`,
    ],
  );
}

describe("an option", () => {
  it("an option is changed while a song of that plugin plays, without a lost frame", async () => {
    const call = await MusicCall.join(env, { daveVersion: 0 });
    const found = async () => ((await call.bot.load("exsearch:song")).body.data as object[]).length;
    expect(await found()).toBe(2);
    await call.update({ track: { encoded: await call.bot.loadEncoded("example:one") } });
    await call.receiveMore(10);
    const { status, body } = await call.bot.request("PATCH", OPTIONS, { searchLimit: 1 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ name: "example", state: "running", losses: 0, changedOptions: ["searchLimit"] });
    expect(await found()).toBe(1);
    await call.receiveMore(50);
    const numbers = packetNumbers(call.audio);
    expect(numbers).toEqual(numbersFrom(0, numbers.length));
    await call.leave();
  });

  it.each([
    [{ serchLimit: 3 }, 400, "plugins.example.serchLimit: there is no such option; did you mean searchLimit?"],
    [{ searchLimit: 51 }, 400, "plugins.example.searchLimit: expected a whole number from 1 to 50"],
  ])("an invalid option change is reported and changes nothing: %j", async (changes, status, message) => {
    const bot = await env.connectBot();
    expect(await bot.request("PATCH", OPTIONS, changes)).toMatchObject({ status, body: { message } });
    const plugins = (await bot.request<{ name: string }[]>("GET", "/v4/tonearm/plugins")).body;
    expect(plugins.find(({ name }) => name === "example")).toMatchObject({ state: "running" });
    expect((await bot.load("exsearch:first")).body.loadType).toBe("search");
  });
});

describe("a token of YouTube", () => {
  it("a token of YouTube is set by one of Lavalink's routes, when YouTube accepts it, and returned by the other", async () => {
    const bot = await env.connectBot();
    expect(await bot.request("GET", "/youtube")).toMatchObject({ status: 200, body: { refreshToken: null } });
    const refused = await bot.request("POST", "/youtube", { refreshToken: "1//not-a-good-one" });
    expect(refused).toMatchObject({ status: 500, body: { message: expect.stringContaining("did not accept") } });
    expect((await bot.request("POST", "/youtube", { refreshToken: REFRESH_TOKEN })).status).toBe(204);
    expect(await bot.request("GET", "/youtube")).toMatchObject({ body: { refreshToken: REFRESH_TOKEN } });
    const exchanged = await bot.request("GET", `/youtube/oauth/${encodeURIComponent(REFRESH_TOKEN)}`);
    expect(exchanged).toMatchObject({ status: 200, body: { token_type: "Bearer", expires_in: 3600 } });
    const plugins = JSON.stringify((await bot.request("GET", "/v4/tonearm/plugins")).body);
    expect(plugins).toContain("oauth.refreshToken");
    expect(plugins).not.toContain(REFRESH_TOKEN);
  });
});

it("a feed that its address does not identify is loaded as a podcast", async () => {
  const feed = podcasts.feeds.get("feeds.example/show.rss");
  podcasts.feeds.set("feeds.example/latest.xml", feed ?? expect.fail("the stand-in has no feed"));
  const bot = await env.connectBot();
  const { body } = await bot.load(`${podcasts.server.url}/feeds.example/latest.xml`);
  expect(body).toMatchObject({ loadType: "playlist", data: { tracks: [{ info: { sourceName: "podcast" } }, {}, {}] } });
});

it("what a site gave is not asked for again after a restart of the node", async () => {
  const pages = () => soundcloud.server.requestsTo("soundcloud.com", "/").length;
  expect((await (await env.connectBot()).load("scsearch:song")).body.loadType).toBe("search");
  expect(pages()).toBe(1);
  await env.close();
  const data = join(folder, "data");
  expect(readdirSync(data)).toContain("soundcloud.json");
  expect(statSync(join(data, "soundcloud.json")).mode & 0o777).toBe(0o600);
  env = await start();
  expect((await (await env.connectBot()).load("scsearch:song")).body.loadType).toBe("search");
  expect(pages()).toBe(1);
});
