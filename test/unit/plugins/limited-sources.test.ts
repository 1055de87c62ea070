// What a client whose key is limited to a source can have fetched through it: what the site names, and no address that
// the client has written into the track.

import { afterEach, expect, test } from "vitest";
import { BandcampSite } from "../../../lab/sites/bandcamp.ts";
import { FakeYtDlp } from "../../../lab/sites/fake-yt-dlp.ts";
import { GetyarnSite } from "../../../lab/sites/getyarn.ts";
import { PodcastSites } from "../../../lab/sites/podcasts.ts";
import { RadioBrowserSite, stationUuid } from "../../../lab/sites/radio-browser.ts";
import bandcamp from "../../../plugins/bandcamp/plugin.ts";
import getyarn from "../../../plugins/getyarn/plugin.ts";
import podcasts from "../../../plugins/podcasts/plugin.ts";
import radio from "../../../plugins/radio/plugin.ts";
import ytdlp from "../../../plugins/ytdlp/plugin.ts";
import type { Plugin } from "../../../src/plugin-api/plugin.ts";
import { decodeTrack } from "../../../src/track/track.ts";
import { type BenchOptions, PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import { buildTrack } from "../../support/track-builder.ts";

const ELSEWHERE = "https://elsewhere.example/any.mp3";
const CLIP = "https://getyarn.io/yarn-clip/0a1b2c3d-1111-2222-3333-444455556666";
const VIDEO = {
  _type: "video",
  id: "1001",
  title: "A made-up song",
  format_id: "http",
  url: "https://media.example/a",
};

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(plugin: Plugin<never> | Plugin, options: BenchOptions): Promise<PluginBench> {
  const bench = await PluginBench.start(plugin, options);
  closing.push(() => bench.close());
  return bench;
}

async function stand<Site extends { readonly hosts: Record<string, string>; close(): Promise<void> }>(
  site: Site,
  plugin: Plugin<never> | Plugin,
  options: BenchOptions = {},
): Promise<{ site: Site; bench: PluginBench }> {
  closing.push(() => site.close());
  return { site, bench: await start(plugin, { hosts: site.hosts, ...options }) };
}

function encoded(sourceName: string, identifier: string, uri: string | null): string {
  return buildTrack({ sourceName, identifier, uri }).encoded;
}

const REFUSAL = { code: "site-unavailable", message: expect.stringContaining("your key may not play other addresses") };

test("a clip's film is the one of its page for a key limited to getyarn.io, whatever the track says", async () => {
  const { site, bench } = await stand(await GetyarnSite.start(), getyarn);
  const track = encoded("getyarn.io", ELSEWHERE, CLIP);
  expect(await bench.resolve("getyarn.io", track)).toMatchObject({ url: ELSEWHERE });
  // Not the link that is cached for others.
  expect(await bench.resolve("getyarn.io", track, {}, ["getyarn.io"])).toMatchObject({ url: site.filmUrl });
  expect(await bench.resolve("getyarn.io", track, {}, ["getyarn.io", "http"])).toMatchObject({ url: ELSEWHERE });
  const [honest] = await bench.loadTracks("getyarn.io", CLIP);
  const link = await bench.resolve("getyarn.io", honest?.encoded ?? "", {}, ["getyarn.io"]);
  expect(link).toMatchObject({ url: site.filmUrl });
});

test.each([null, ELSEWHERE, "https://getyarn.io/elsewhere"])(
  "a clip whose page is %s is refused for a key limited to getyarn.io",
  async (uri) => {
    const { bench } = await stand(await GetyarnSite.start(), getyarn);
    const work = bench.resolve("getyarn.io", encoded("getyarn.io", ELSEWHERE, uri), {}, ["getyarn.io"]);
    expect(await troubleWith(work)).toMatchObject(REFUSAL);
  },
);

test("a page that is not at bandcamp.com may only name audio of Bandcamp's for a key limited to bandcamp", async () => {
  const { site, bench } = await stand(await BandcampSite.start(), bandcamp);
  const resolve = (page: string, sources?: readonly string[]) =>
    bench.resolve("bandcamp", encoded("bandcamp", page, page), {}, sources);
  const domain = "https://music.stand-in.example/track/hall";
  expect(await resolve(domain)).toMatchObject({ kind: "link" });
  expect(await troubleWith(resolve(domain, ["bandcamp"]))).toMatchObject(REFUSAL);
  expect(await resolve("https://stand-in.bandcamp.com/track/hall", ["bandcamp"])).toMatchObject({ kind: "link" });
  // An artist's page leads to the artist's own domain.
  site.site.fail({ at: /stand-in\.bandcamp\.com/, outcome: { status: 302, headers: { location: domain } } });
  expect(await troubleWith(resolve("https://stand-in.bandcamp.com/track/garden", ["bandcamp"]))).toMatchObject(REFUSAL);
  const release = { trackinfo: [{ track_id: 1, title: "T", file: { "mp3-128": "https://t4.bcbits.com/stream/1" } }] };
  const text = `<x data-tralbum="${JSON.stringify(release).replaceAll('"', "&quot;")}">`;
  site.site.fail({ at: /music\.stand-in\.example/, outcome: { text } });
  expect(await resolve("https://music.stand-in.example/track/own", ["bandcamp"])).toMatchObject({
    url: "https://t4.bcbits.com/stream/1",
  });
});

test("a station's address is the directory's for a key limited to radiobrowser, also while that is down", async () => {
  const { site, bench } = await stand(await RadioBrowserSite.start(), radio);
  const track = encoded("radiobrowser", `radio:${stationUuid(1)}`, ELSEWHERE);
  expect(await bench.resolve("radiobrowser", track, {}, ["radiobrowser"])).toMatchObject({
    url: site.stations[0]?.url_resolved,
  });
  site.server.fail({ at: /./, outcome: "cut" });
  const refused = { reason: "refused" as const, status: 503 };
  expect(await bench.resolve("radiobrowser", track, refused)).toMatchObject({ url: ELSEWHERE });
  const work = bench.resolve("radiobrowser", track, refused, ["radiobrowser"]);
  expect(await troubleWith(work)).toMatchObject({ code: "site-unreachable" });
});

test("an episode's audio is the feed's for a key limited to podcast, also when that is gone", async () => {
  const { site, bench } = await stand(await PodcastSites.start(), podcasts);
  const [track] = await bench.loadTracks("podcast", "podcast:https://feeds.example/show.rss");
  const honest = await bench.resolve("podcast", track?.encoded ?? "", {}, ["podcast"]);
  expect(honest).toMatchObject({ kind: "link" });
  site.server.fail({ at: /show\.rss/, outcome: { status: 404 } });
  const gone = { reason: "refused" as const, status: 404 };
  expect(await bench.resolve("podcast", track?.encoded ?? "", gone)).toMatchObject({ kind: "link" });
  const work = bench.resolve("podcast", track?.encoded ?? "", gone, ["podcast"]);
  expect(await troubleWith(work)).toMatchObject({ code: "site-unavailable" });
});

test("a site with a separate source is not a way to all others that yt-dlp knows", async () => {
  const fake = await FakeYtDlp.start();
  closing.push(() => fake.close());
  const bench = await start(ytdlp, { options: { path: fake.path } });
  const [own, other] = ["https://vimeo.com/1001", "https://videos.example.org/1"];
  fake.answer(own, { json: { ...VIDEO, webpage_url: own } });
  fake.answer(other, { json: { ...VIDEO, webpage_url: other } });
  fake.answer("https://vimeo.com/elsewhere", { json: { ...VIDEO, webpage_url: other } });
  const resolve = (page: string | null, sources?: readonly string[]) =>
    bench.resolve("vimeo", encoded("vimeo", "1001", page), {}, sources);
  expect(await resolve(other)).toMatchObject({ url: VIDEO.url });
  expect(await resolve(own, ["vimeo"])).toMatchObject({ url: VIDEO.url });
  expect(await resolve(null, ["vimeo"])).toMatchObject({ url: VIDEO.url });
  expect(await troubleWith(resolve(other, ["vimeo"]))).toMatchObject(REFUSAL);
  expect(await troubleWith(resolve("https://vimeo.com/elsewhere", ["vimeo"]))).toMatchObject(REFUSAL);
  expect(decodeTrack(encoded("vimeo", "1001", other)).info.uri).toBe(other);
});
