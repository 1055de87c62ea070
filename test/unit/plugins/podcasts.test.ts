import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { type EpisodeEntry, PodcastSites, rssFeed } from "../../../lab/sites/podcasts.ts";
import { Feeds } from "../../../plugins/podcasts/feeds.ts";
import { readPodcastIdentifier } from "../../../plugins/podcasts/identifier.ts";
import plugin from "../../../plugins/podcasts/plugin.ts";
import { type PodcastOptions, PodcastSource } from "../../../plugins/podcasts/source.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import type { HttpAnswer, HttpRequest, PluginHost } from "../../../src/plugin-api/plugin.ts";
import { MemoryCache } from "../../../src/plugin-host/runtime/host/memory-cache.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const SOURCE = "podcast";
const FEED = "https://feeds.example/show.rss";
const APPLE_LINK = "https://podcasts.apple.com/us/podcast/the-made-up-show/id101";
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function stand(
  options: PlainTree = {},
  clock: Clock = systemClock,
): Promise<{ sites: PodcastSites; bench: PluginBench }> {
  const sites = await PodcastSites.start();
  closing.push(() => sites.close());
  const bench = await PluginBench.start(plugin, { options, hosts: sites.hosts, clock });
  closing.push(() => bench.close());
  return { sites, bench };
}

function manyEpisodes(count: number): EpisodeEntry[] {
  return Array.from({ length: count }, (_, index) => ({
    title: `Part ${index}`,
    guid: `part-${index}`,
    url: `https://feeds.example/${index}.mp3`,
    date: new Date(Date.UTC(2020, 0, 1 + index)).toUTCString(),
  })).reverse();
}

async function firstTrack(bench: PluginBench, identifier = `podcast:${FEED}`): Promise<string> {
  const [track] = await bench.loadTracks(SOURCE, identifier);
  return track?.encoded ?? "";
}

test("a feed is loaded as a playlist of its show, newest episode first", async () => {
  const { bench } = await stand();
  const answer = await bench.load(SOURCE, `podcast:${FEED}`);
  expect(answer).toMatchObject({ kind: "playlist", name: "The Made-up Show", selectedTrack: -1 });
  expect(answer?.kind === "playlist" && answer.pluginInfo).toEqual({
    type: "podcast",
    url: "https://show.example/",
    artworkUrl: "https://show.example/cover.jpg",
    author: "Ann Author",
    totalTracks: 3,
  });
  const tracks = await bench.loadTracks(SOURCE, `podcast:${FEED}`);
  expect(tracks.map(({ info }) => info.title)).toEqual(["Day 3", "Day 2", "Day 1"]);
  expect(tracks[0]?.info).toMatchObject({
    identifier: `podcast:${FEED}#day-3`,
    author: "The Made-up Show",
    isStream: false,
    isSeekable: true,
    artworkUrl: "https://show.example/cover.jpg",
    sourceName: "podcast",
  });
  expect(tracks[0]?.pluginInfo).toEqual({
    enclosureType: "audio/mpeg",
    feedUrl: FEED,
    publishedAt: "2026-06-03T06:00:00.000Z",
  });
});

test("an episode is loaded alone by the identifier of its track", async () => {
  const { sites, bench } = await stand();
  const url = sites.server.link("episode.ogg");
  const guid = "https://show.example/?p=1&q=ü#x";
  const [item] = [{ title: "Odd", guid: guid.replaceAll("&", "&amp;"), url }];
  sites.addFeed("feeds.example/odd.xml", rssFeed(item === undefined ? [] : [{ title: "Other", url: `${url}0` }, item]));
  const [, track] = await bench.loadTracks(SOURCE, "podcast:https://feeds.example/odd.xml");
  expect(track?.info.identifier).toBe(`podcast:https://feeds.example/odd.xml#${encodeURIComponent(guid)}`);
  const [again, ...others] = await bench.loadTracks(SOURCE, track?.info.identifier ?? "");
  expect([again?.encoded, others]).toEqual([track?.encoded, []]);
  expect(await bench.load(SOURCE, "podcast:https://feeds.example/odd.xml#nobody")).toEqual({ kind: "empty" });
});

test("of a show with 5,000 episodes the newest are loaded, up to the configured number", async () => {
  const { sites, bench } = await stand({ episodeLoadLimit: "7" });
  sites.addFeed("feeds.example/long.rss", rssFeed(manyEpisodes(5000)));
  const tracks = await bench.loadTracks(SOURCE, "https://feeds.example/long.rss");
  expect(tracks.map(({ info }) => info.title)).toEqual(
    [4999, 4998, 4997, 4996, 4995, 4994, 4993].map((part) => `Part ${part}`),
  );
});

test("the default is 100 episodes", async () => {
  const { sites, bench } = await stand();
  sites.addFeed("feeds.example/long.rss", rssFeed(manyEpisodes(150)));
  expect(await bench.loadTracks(SOURCE, "rss:feeds.example/long.rss")).toHaveLength(100);
});

test("the audio address is read from the feed again each time", async () => {
  const { sites, bench } = await stand();
  const encoded = await firstTrack(bench);
  const start = await bench.resolve(SOURCE, encoded);
  const response = await fetch(start.kind === "link" ? start.url : "");
  expect(response.headers.get("content-type")).toBe("audio/ogg");
  await response.arrayBuffer();
  expect(sites.server.requestsTo("feeds.example")).toHaveLength(1);
  sites.server.expireLinks();
  const moved = sites.server.link("episode.ogg");
  sites.addFeed("feeds.example/show.rss", rssFeed([{ title: "Day 3", guid: "day-3", url: moved }]));
  expect(await bench.resolve(SOURCE, encoded, { reason: "refused", status: 403 })).toMatchObject({ url: moved });
  expect((await fetch(moved)).status).toBe(200);
});

test.each([
  ["is gone", { status: 404 }],
  ["fails", { status: 500 }],
  ["no longer has the episode", { text: rssFeed([]) }],
  ["has become a page", { text: "<html></html>" }],
  ["cuts the connection", "cut" as const],
])("an episode whose feed %s uses the audio's last known address", async (_what, outcome) => {
  const { sites, bench } = await stand();
  const encoded = await firstTrack(bench);
  sites.server.fail({ at: /show\.rss/, outcome });
  const known = await bench.resolve(SOURCE, encoded);
  expect(await bench.resolve(SOURCE, encoded, { reason: "refused", status: 410 })).toEqual(known);
});

test("a feed that never answers is given up after six seconds when the audio's last address is known", async () => {
  const waitedMs: number[] = [];
  const host = {
    options: { episodeLoadLimit: 1, searchEnabled: true, countryCode: "US" },
    http: {
      request: (_url: string, { signal }: HttpRequest) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    },
    clock: { now: () => 0, sleep: async (delayMs: number) => void waitedMs.push(delayMs) },
    pool: () => ({ run: (read: () => unknown) => read() }),
    cache: () => new MemoryCache({ ttlMs: 1, entriesMax: 1 }, new FakeClock()),
    count: () => undefined,
  };
  // All of a host that is used.
  const source = new PodcastSource(host as unknown as PluginHost<PodcastOptions>);
  const track = {
    identifier: `podcast:${FEED}#1`,
    title: "x",
    fields: { enclosureUrl: "https://feeds.example/1.mp3" },
  };
  const { signal } = new AbortController();
  const link = await source.resolve({ track, userData: {}, reason: "expiring", signal });
  expect([link, waitedMs]).toEqual([{ kind: "link", url: "https://feeds.example/1.mp3" }, [6000]]);
});

test.each([
  ["is gone", { status: 404 }, "site-unavailable"],
  ["requires a password", { status: 401 }, "site-unavailable"],
  ["has too many visitors", { status: 429, headers: { "retry-after": "5" } }, "site-busy"],
  ["is a page", { text: "<!doctype html><html></html>" }, "site-unavailable"],
  [
    "redirects in a circle",
    { status: 302, headers: { location: "https://feeds.example/hunter2/show.rss" } },
    "site-changed",
  ],
  ["redirects to nowhere", { status: 302, headers: { location: "file:///etc/passwd" } }, "site-changed"],
])("a feed that %s is reported as such, with its host only", async (what, outcome, code) => {
  const { sites, bench } = await stand();
  sites.server.fail({ at: /show\.rss/, outcome });
  const identifier = "podcast:https://feeds.example/hunter2/show.rss?token=hunter2";
  if (what === "is gone") expect(await bench.load(SOURCE, identifier)).toEqual({ kind: "empty" });
  else {
    const trouble = await troubleWith(bench.load(SOURCE, identifier));
    expect(trouble.code).toBe(code);
    expect(trouble.message).toContain("feeds.example");
    expect(JSON.stringify(trouble)).not.toContain("hunter2");
  }
});

test("a feed may be behind ten redirects, and its links are relative to the final address", async () => {
  const { sites, bench } = await stand();
  const hop = (number: number) => ({
    status: 302,
    headers: { location: number === 1 ? "/deep/show.rss" : `/hop-${number - 1}` },
  });
  for (let number = 1; number <= 11; number++) sites.feeds.set(`tracker.example/hop-${number}`, hop(number));
  sites.addFeed("tracker.example/deep/show.rss", rssFeed([{ title: "One", guid: "1", url: "1.mp3" }]));
  const [track] = await bench.loadTracks(SOURCE, "podcast:https://tracker.example/hop-10");
  expect(track?.info).toMatchObject({
    identifier: "podcast:https://tracker.example/hop-10#1",
    uri: "https://tracker.example/deep/1.mp3",
  });
  const trouble = await troubleWith(bench.load(SOURCE, "podcast:https://tracker.example/hop-11"));
  expect(trouble.message).toContain("more than 10 redirects");
});

test("a feed of 20 MB is read, and one of 50 MB is not, however small its compressed size", async () => {
  // On a slow machine the feed would not be read in its time: none passes.
  const { sites, bench } = await stand({}, { ...systemClock, now: () => 0 });
  const feedOf = (sizeBytes: number) =>
    rssFeed([
      {
        title: "Big",
        guid: "1",
        url: "https://feeds.example/1.mp3",
        more: `<description>${"x".repeat(sizeBytes)}</description>`,
      },
    ]);
  sites.addFeed("feeds.example/big.rss", feedOf(20_000_000));
  expect(await bench.loadTracks(SOURCE, "https://feeds.example/big.rss")).toHaveLength(1);
  const headers = { "content-type": "application/rss+xml", "content-encoding": "gzip" };
  sites.feeds.set("feeds.example/huge.rss", { headers, bytes: gzipSync(feedOf(50_000_000)) });
  const trouble = await troubleWith(bench.load(SOURCE, "https://feeds.example/huge.rss"));
  expect(trouble).toMatchObject({
    code: "site-changed",
    message: expect.stringContaining("larger than 33554432 bytes"),
  });
});

test("a feed that takes too long to parse returns the episodes found so far", async () => {
  const feed = rssFeed(manyEpisodes(5000));
  let nowMs = 0;
  const host = {
    http: {
      request: async () => ({ status: 200, headers: {}, url: FEED, bytes: Buffer.from(feed) }) as Partial<HttpAnswer>,
    },
    // Each call of the clock is 500 ms later than the one before.
    clock: { now: () => (nowMs += 500), sleep: () => Promise.resolve() },
    pool: () => ({ run: (read: () => unknown) => read() }),
    cache: () => new MemoryCache({ ttlMs: 1, entriesMax: 1 }, new FakeClock()),
  };
  // All of a host that is used.
  const feeds = new Feeds(host as unknown as PluginHost);
  const { episodes } = await feeds.read(FEED, { episodesMax: 5000 }, new AbortController().signal);
  expect(episodes.length).toBeGreaterThan(100);
  expect(episodes.length).toBeLessThan(2500);
});

test("a feed that is being read ends when others need its permit", async () => {
  const asked = new AbortController();
  const host = {
    http: {
      request: (_url: string, { signal }: HttpRequest) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    },
    pool: () => ({ run: (read: (signal: AbortSignal) => unknown) => read(asked.signal) }),
    cache: () => new MemoryCache({ ttlMs: 1, entriesMax: 1 }, new FakeClock()),
  };
  // All of a host that is used.
  const feeds = new Feeds(host as unknown as PluginHost);
  const feed = feeds.read(FEED, { episodesMax: 1 }, new AbortController().signal);
  const reason = new Error("needed by others");
  asked.abort(reason);
  await expect(feed).rejects.toBe(reason);
});

test("a feed in another encoding is decoded as declared", async () => {
  const { sites, bench } = await stand();
  const text = rssFeed([{ title: "Grüße", url: "https://feeds.example/1.mp3" }]).replace("UTF-8", "ISO-8859-1");
  sites.addFeed("feeds.example/latin.rss", Buffer.from(text, "latin1"), "text/xml");
  const [track] = await bench.loadTracks(SOURCE, "https://feeds.example/latin.rss");
  expect(track?.info.title).toBe("Grüße");
});

test("search words find the show in Apple's directory, and return its newest episodes", async () => {
  const { sites, bench } = await stand({ countryCode: "de" });
  const answer = await bench.load(SOURCE, "podcast:made-up show");
  expect(answer?.kind).toBe("search");
  const [first] = await bench.loadTracks(SOURCE, "podcast:made-up show");
  expect(first?.info).toMatchObject({ title: "Day 3", identifier: `podcast:${FEED}#day-3` });
  const [asked] = sites.server.requestsTo("itunes.apple.com", "/search");
  expect(Object.fromEntries(asked?.query ?? [])).toEqual({
    media: "podcast",
    entity: "podcast",
    term: "made-up show",
    country: "DE",
    limit: "5",
  });
  expect(await bench.load(SOURCE, "podcast:no such thing")).toEqual({ kind: "empty" });
});

test("a show whose feed is gone is skipped for the directory's next result", async () => {
  const { sites, bench } = await stand();
  sites.shows.unshift(
    { id: 1, name: "Made-up but gone", feedUrl: "https://old.example/x" },
    { id: 2, name: "Made-up without" },
  );
  expect(await bench.loadTracks(SOURCE, "podcast:made-up")).toHaveLength(3);
  sites.server.fail({ at: /\.rss|old\.example/, outcome: { status: 503 } });
  expect((await troubleWith(bench.load(SOURCE, "podcast:made"))).code).toBe("site-busy");
});

test("search words are declined when the search is off", async () => {
  const { sites, bench } = await stand({ searchEnabled: "false" });
  expect(await bench.load(SOURCE, "podcast:made-up")).toBeUndefined();
  expect(sites.server.requests).toEqual([]);
  await expect(stand({ countryCode: "Germany" })).rejects.toThrow("countryCode: expected two letters");
});

test("a link to Apple's page of a show loads its feed, one to an episode that episode", async () => {
  const { bench } = await stand();
  const show = await bench.loadTracks(SOURCE, APPLE_LINK);
  expect(show.map(({ info }) => info.title)).toEqual(["Day 3", "Day 2", "Day 1"]);
  const [episode, ...others] = await bench.loadTracks(SOURCE, `${APPLE_LINK}?i=2002`);
  expect([episode?.encoded, others]).toEqual([show[1]?.encoded, []]);
  expect(await bench.load(SOURCE, `${APPLE_LINK}?i=9`)).toEqual({ kind: "empty" });
  expect(await bench.load(SOURCE, APPLE_LINK.replace("101", "404"))).toEqual({ kind: "empty" });
});

test("a show without a feed cannot be played", async () => {
  const { sites, bench } = await stand();
  sites.shows.push({ id: 7, name: "Subscribers only" });
  const trouble = await troubleWith(bench.load(SOURCE, APPLE_LINK.replace("101", "7")));
  expect(trouble).toMatchObject({ code: "site-unavailable", message: expect.stringContaining("Apple's own app") });
});

test("a broken connection is retried exactly once", async () => {
  const { sites, bench } = await stand();
  sites.server.fail({ at: /show\.rss/, outcome: "cut", times: 1 });
  expect(await bench.loadTracks(SOURCE, `podcast:${FEED}`)).toHaveLength(3);
  sites.server.fail({ at: /show\.rss/, outcome: "cut" });
  expect((await troubleWith(bench.load(SOURCE, `podcast:${FEED}?again`))).code).toBe("site-unreachable");
  expect(sites.server.requestsTo("feeds.example")).toHaveLength(4);
});

test.each([
  ["a page", { text: "<html></html>" }, "site-changed"],
  ["no results", { json: { error: 1 } }, "site-changed"],
  ["403", { status: 403 }, "site-unavailable"],
  ["a body of 50 MB", { text: "[".padEnd(50_000_000) }, "site-changed"],
])("an answer of %s from Apple's directory is reported as such", async (_name, outcome, code) => {
  const { sites, bench } = await stand();
  sites.server.fail({ at: /itunes/, outcome });
  expect((await troubleWith(bench.load(SOURCE, APPLE_LINK))).code).toBe(code);
});

test("invalid entries of the directory are skipped, and equal requests are made once", async () => {
  const { sites, bench } = await stand();
  const results = [null, 5, { feedUrl: 5 }, { feedUrl: "file:///etc/passwd" }, { feedUrl: FEED }, { feedUrl: FEED }];
  sites.server.fail({ at: /itunes.*search/, outcome: { json: { results } } });
  expect(await bench.loadTracks(SOURCE, "podcast:made")).toHaveLength(3);
  await bench.load(SOURCE, "podcast: made");
  expect(sites.server.requestsTo("itunes.apple.com")).toHaveLength(1);
});

test.each([
  ["podcast:https://a.example/f", { kind: "feed", url: "https://a.example/f" }],
  ["podcast: HTTPS://A.example/f ", { kind: "feed", url: "https://a.example/f" }],
  ["podcast:feed://a.example/f", { kind: "feed", url: "https://a.example/f" }],
  ["podcast:feed:http://a.example/f", { kind: "feed", url: "http://a.example/f" }],
  ["podcast:a.example/f", { kind: "feed", url: "https://a.example/f" }],
  ["podcast:a.example", { kind: "words", words: "a.example" }],
  ["podcast:99% invisible", { kind: "words", words: "99% invisible" }],
  ["podcast:and/or", { kind: "words", words: "and/or" }],
  ["podcast:https://a.example/f#a%20b", { kind: "episode", url: "https://a.example/f", guid: "a b" }],
  ["podcast:https://a.example/f#50%", { kind: "episode", url: "https://a.example/f", guid: "50%" }],
  ["podcast:https://user:secret@a.example/f", { kind: "feed", url: "https://a.example/f" }],
  ["podcast:", { kind: "nothing" }],
  ["podcast:http://", { kind: "nothing" }],
  ["rss:a.example", { kind: "feed", url: "https://a.example/" }],
  ["rss:some words", { kind: "nothing" }],
  [`rss:${APPLE_LINK}`, { kind: "apple", showId: "101", episodeId: undefined }],
  ["podcasts.apple.com/de/podcast/id5?i=6&x=1", { kind: "apple", showId: "5", episodeId: "6" }],
  ["https://itunes.apple.com/us/podcast/x/id5?mt=2&i=x", { kind: "apple", showId: "5", episodeId: undefined }],
  ["https://a.example/show.rss", { kind: "feed", url: "https://a.example/show.rss" }],
  ["http://a.example/show.RSS?x=1#y", { kind: "feed", url: "http://a.example/show.RSS?x=1" }],
  ["https://itunes.apple.com/us/album/x/id5", undefined],
  ["https://evil.example/podcasts.apple.com/podcast/id5", undefined],
  ["https://a.example/feed?x=.rss", undefined],
  ["https://a.example/a.mp3", undefined],
  ["ftp://a.example/show.rss", undefined],
  ["Podcast:x", undefined],
])("the identifier %s is parsed", (identifier, expected) => {
  expect(readPodcastIdentifier(identifier)).toEqual(expected);
});

test("a made-up track is refused", async () => {
  const { bench } = await stand();
  const encoded = await firstTrack(bench);
  const forged = Buffer.from(encoded, "base64").toString("latin1").replace("podcast:https://", "podcast:gopher//");
  const trouble = await troubleWith(bench.resolve(SOURCE, Buffer.from(forged, "latin1").toString("base64")));
  expect(trouble).toMatchObject({ code: "site-unavailable", message: expect.stringContaining("names no episode") });
});
