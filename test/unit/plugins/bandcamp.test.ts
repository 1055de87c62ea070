import { afterEach, beforeEach, expect, test } from "vitest";
import { BandcampSite, WALL_PAGE } from "../../../lab/sites/bandcamp.ts";
import bandcamp from "../../../plugins/bandcamp/plugin.ts";
import type { PluginAnswer } from "../../../src/bridge/plugin-messages.ts";
import { createTrack } from "../../../src/track/track.ts";
import { type BenchOptions, PluginBench, troubleWith } from "../../support/plugin-bench.ts";

let stand: BandcampSite;
let bench: PluginBench;

beforeEach(async () => {
  stand = await BandcampSite.start();
  bench = await start();
});

afterEach(async () => {
  bench.close();
  await stand.close();
});

function start(options: BenchOptions = {}): Promise<PluginBench> {
  return PluginBench.start(bandcamp, { hosts: stand.hosts, ...options });
}

const HALL = "https://stand-in.bandcamp.com/track/hall";
const ROOMS = "https://stand-in.bandcamp.com/album/rooms";
const WALL = { at: /^(stand-in\.)?bandcamp\.com\//, outcome: { status: 403, text: "no" } };

test("a track has its title, artist, length, picture and address", async () => {
  const tracks = await bench.loadTracks("bandcamp", `${HALL}?action=buy`);
  expect(tracks.map(({ info, pluginInfo }) => ({ info, pluginInfo }))).toEqual([
    {
      info: {
        identifier: HALL,
        uri: HALL,
        title: "Hall",
        author: "Stand In",
        sourceName: "bandcamp",
        length: 201_500,
        isSeekable: true,
        isStream: false,
        position: 0,
        isrc: null,
        artworkUrl: "https://f4.bcbits.com/img/a0000012345_1.png",
      },
      pluginInfo: {},
    },
  ]);
});

test("a track that was published alone has its ISRC", async () => {
  const [track] = await bench.loadTracks("bandcamp", "https://stand-in.bandcamp.com/track/garden/");
  expect(track?.info).toMatchObject({ title: "Garden", length: 61_250, isrc: "XX0000000001" });
});

test("an album is a playlist of its playable tracks", async () => {
  const album = await bench.load("bandcamp", ROOMS);
  expect(album).toMatchObject({
    kind: "playlist",
    name: 'Rooms & "Doors"',
    selectedTrack: -1,
    pluginInfo: { type: "album", url: ROOMS, author: "Stand In", totalTracks: 3 },
    tracks: [
      { title: "Hall", author: "Stand In", isrc: null, pluginInfo: { albumName: 'Rooms & "Doors"' } },
      { title: "Cellar & Stairs", author: "A Guest", identifier: "https://stand-in.bandcamp.com/track/cellar" },
    ],
  });
});

test("an album of 5,000 tracks is loaded completely, and a longer one up to there", async () => {
  const tracks = Array.from({ length: 5001 }, (_, index) => ({ title: `T${index}`, slug: `t${index}`, seconds: 1 }));
  stand.add({ kind: "album", title: "Long", slug: "long", tracks });
  const found = await bench.loadTracks("bandcamp", "https://stand-in.bandcamp.com/album/long");
  expect(found).toHaveLength(5000);
  expect(found.at(-1)?.info.title).toBe("T4999");
});

test.each([
  "https://stand-in.bandcamp.com",
  "http://stand-in.bandcamp.com/",
  "https://stand-in.bandcamp.com/music?x=1",
])("%s loads all releases of the artist, without missing ones", async (link) => {
  const found = await bench.load("bandcamp", link);
  expect(found).toMatchObject({
    kind: "playlist",
    name: "Discography of Stand In & Friends",
    pluginInfo: { type: "artist", author: "Stand In & Friends", totalTracks: 3 },
    tracks: [{ title: "Hall" }, { title: "Cellar & Stairs" }, { title: "Garden" }],
  });
  // The grid's releases, with those loaded later, each once, and none that is only linked from the menu.
  const pages = stand.site.requests.map(({ host, path }) => `${host}${path}`);
  expect(pages.toSorted()).toEqual([
    ...["music.stand-in.example/album/gone", "stand-in.bandcamp.com/album/rooms", "stand-in.bandcamp.com/music"],
    "stand-in.bandcamp.com/track/garden",
  ]);
});

test("an artist's releases are loaded up to the configured number", async () => {
  bench = await start({ options: { releaseLoadLimit: "1" } });
  expect(await bench.loadTracks("bandcamp", "https://stand-in.bandcamp.com/")).toHaveLength(2);
  expect(stand.site.requestsTo("stand-in.bandcamp.com", "/track/garden")).toEqual([]);
});

test("an artist with a single release loads that release", async () => {
  expect(await bench.load("bandcamp", "https://single.bandcamp.com/")).toMatchObject({
    kind: "playlist",
    name: 'Rooms & "Doors"',
    tracks: [{ uri: "https://single.bandcamp.com/track/hall" }, { title: "Cellar & Stairs" }],
  });
});

test("an artist that does not exist, and a removed page, are empty results", async () => {
  expect(await bench.load("bandcamp", "https://nobody.bandcamp.com/")).toEqual({ kind: "empty" });
  expect(await bench.load("bandcamp", "https://stand-in.bandcamp.com/track/none")).toEqual({ kind: "empty" });
});

test.each([
  "https://bandcamp.com/",
  "https://daily.bandcamp.com/",
  "https://bandcamp.com/radio?show=1",
  "https://stand-in.bandcamp.com/merch/shirt",
  "https://stand-in.bandcamp.com/track/",
  "https://bandcamp.com.example/track/hall",
  "https://xbandcamp.com/track/hall",
  "https://stand-in.bandcamp.com:8080/track/hall",
  "ftp://stand-in.bandcamp.com/track/hall",
  "scsearch:hall",
])("the identifier %s is not Bandcamp's", async (identifier) => {
  expect(await bench.load("bandcamp", identifier)).toBeUndefined();
  expect(stand.site.requests).toEqual([]);
});

test("a search without results is empty, and counted", async () => {
  expect(await bench.load("bandcamp", "bcsearch:nothing")).toEqual({ kind: "empty" });
  await expect.poll(() => bench.report?.counts).toEqual({ "searches without results": 1 });
});

test("a search without words is empty without a request", async () => {
  expect(await bench.load("bandcamp", "bcsearch:  ")).toEqual({ kind: "empty" });
  expect(stand.site.requests).toEqual([]);
});

test("a search can be switched off, and then declines", async () => {
  bench = await start({ options: { searchEnabled: "false" } });
  expect(await bench.load("bandcamp", "bcsearch:hall")).toBeUndefined();
});

test("a track's audio link is requested again each time, and leads to the same bytes", async () => {
  const [track] = await bench.loadTracks("bandcamp", HALL);
  const first = await bench.resolve("bandcamp", track?.encoded ?? "");
  stand.site.expireLinks();
  if (first.kind !== "link") throw new Error("no link");
  expect(await statusOf(first.url)).toBe(403);
  const second = await bench.resolve("bandcamp", track?.encoded ?? "", { reason: "refused", status: 403 });
  if (second.kind !== "link") throw new Error("no link");
  expect(second.url).not.toBe(first.url);
  expect(second.variant).toBe(first.variant);
  expect(await statusOf(second.url)).toBe(200);
  expect(stand.site.requestsTo("stand-in.bandcamp.com", "/track/hall")).toHaveLength(3);
});

test("a track on an artist's own domain plays", async () => {
  const [, track] = await bench.loadTracks("bandcamp", "bcsearch:garden");
  expect(await bench.resolve("bandcamp", track?.encoded ?? "")).toMatchObject({
    kind: "link",
    variant: "mp3-128/900",
  });
});

test("a track whose identifier is not a page is refused without a request", async () => {
  const linkRequest = bench.resolve("bandcamp", encodedWith("https://stand-in.bandcamp.com/merch/x"));
  expect(await troubleWith(linkRequest)).toMatchObject({ code: "site-unavailable", severity: "common" });
  expect(stand.site.requests).toEqual([]);
});

test("a track that is only sold is unavailable, both when loading and when playing", async () => {
  const attic = "https://stand-in.bandcamp.com/track/attic";
  const expected = { code: "site-unavailable", severity: "common", message: expect.stringContaining("only sold") };
  expect(await troubleWith(bench.load("bandcamp", attic))).toMatchObject(expected);
  expect(await troubleWith(bench.resolve("bandcamp", encodedWith(attic)))).toMatchObject(expected);
});

test.each([
  ["HTTP 403", { status: 403, text: "no" }],
  ["a page with a challenge", { text: WALL_PAGE }],
])("behind the bot wall (%s) the error contains advice", async (_name, outcome) => {
  stand.site.fail({ ...WALL, outcome });
  const trouble = await troubleWith(bench.load("bandcamp", HALL));
  expect(trouble).toMatchObject({ code: "site-unreachable", severity: "suspicious" });
  expect(trouble.message).toContain("set up the yt-dlp bridge (plugin ytdlp)");
});

test("behind the bot wall the bridge finds the track and plays it, which shows in the backends", async () => {
  const asked: string[] = [];
  const elsewhere = (identifier: string): PluginAnswer => {
    asked.push(identifier);
    return { kind: "track", track: foreignTrack(HALL) };
  };
  bench = await start({ elsewhere });
  stand.site.fail(WALL);
  const [track] = await bench.loadTracks("bandcamp", HALL);
  expect(track?.info).toMatchObject({ sourceName: "bandcamp", identifier: HALL, title: "By the bridge", length: 5000 });
  expect(await bench.resolve("bandcamp", track?.encoded ?? "")).toEqual({
    kind: "reference",
    identifier: `ytdl:${HALL}`,
  });
  expect(asked).toEqual([`ytdl:${HALL}`, `ytdl:${HALL}`]);
  await expect
    .poll(() => bench.backends)
    .toMatchObject([
      { name: "search API", failed: 0 },
      { name: "pages of bandcamp.com", failed: 2, succeeded: 0 },
      { name: "artist pages", failed: 0 },
      { name: "artist pages with a cookie", failed: 0 },
      { name: "search page", failed: 0 },
      { name: "pages of artists' own domains", failed: 0 },
      { name: "yt-dlp bridge", succeeded: 2, failed: 0 },
    ]);
});

test("tracks of the bridge with other addresses stay the bridge's", async () => {
  bench = await start({ elsewhere: () => ({ kind: "track", track: foreignTrack("https://elsewhere.example/x") }) });
  stand.site.fail(WALL);
  expect(await bench.load("bandcamp", HALL)).toEqual({ kind: "reference", identifier: `ytdl:${HALL}` });
});

test("after five hits of the bot wall only the bridge is used, until the pause is over", async () => {
  bench = await start({ elsewhere: () => ({ kind: "track", track: foreignTrack(HALL) }) });
  stand.site.fail(WALL);
  const slugs = Array.from({ length: 6 }, (_, index) => `https://stand-in.bandcamp.com/track/s${index}`);
  for (const slug of slugs) expect(await bench.loadTracks("bandcamp", slug)).toHaveLength(1);
  expect(stand.site.requests).toHaveLength(5);
});

test("too many requests are reported with the site's pause, during which none are sent", async () => {
  const asked: string[] = [];
  const elsewhere = (identifier: string): PluginAnswer => {
    asked.push(identifier);
    return { kind: "empty" };
  };
  bench = await start({ elsewhere });
  stand.site.fail({ at: /stand-in/, outcome: { status: 429, headers: { "retry-after": "120" } }, times: 1 });
  expect(await troubleWith(bench.load("bandcamp", HALL))).toMatchObject({ code: "site-busy", severity: "suspicious" });
  expect(await troubleWith(bench.load("bandcamp", ROOMS))).toMatchObject({ code: "site-busy" });
  expect(stand.site.requests).toHaveLength(1);
  expect(asked).toEqual([]);
});

test.each([
  ["no marker", { text: "<html><title>Something else</title></html>" }],
  [
    "a marker with something else in it",
    { text: '<div data-tralbum="{&quot;x&quot;:1}"><div data-tralbum="{'.repeat(50) },
  ],
  ["50 MB", { bytes: new Uint8Array(50 * 1024 * 1024).fill(60) }],
  ["itself as a redirect", { status: 302, headers: { location: HALL } }],
])("a page with %s is reported as a change of the site", async (_name, outcome) => {
  stand.site.fail({ at: /track\/hall/, outcome });
  expect(await troubleWith(bench.load("bandcamp", HALL))).toMatchObject({
    code: "site-changed",
    severity: "suspicious",
    message: expect.stringMatching(/^bandcamp: /),
  });
});

test("a refusal by one artist's domain concerns neither another's nor Bandcamp itself", async () => {
  const pause = { status: 429, headers: { "retry-after": "3600" } };
  stand.site.fail({ at: /evil\.example/, outcome: pause });
  const moved = { status: 301, headers: { location: "https://evil.example/track/moved" } };
  stand.site.fail({ at: /stand-in\.bandcamp\.com\/track\/moved/, outcome: moved });
  bench = await start({ hosts: { ...stand.hosts, ...stand.site.hosts("evil.example") } });
  const resolve = (page: string) => bench.resolve("bandcamp", encodedWith(page));
  const direct = resolve("https://evil.example/track/direct");
  expect(await troubleWith(direct)).toMatchObject({ code: "site-busy" });
  // The artist's page at bandcamp.com leads there.
  const redirected = resolve("https://stand-in.bandcamp.com/track/moved");
  expect(await troubleWith(redirected)).toMatchObject({ code: "site-busy" });
  expect(stand.site.requestsTo("evil.example")).toHaveLength(1);
  expect(await resolve(HALL)).toMatchObject({ kind: "link" });
  expect(await resolve("https://music.stand-in.example/track/hall")).toMatchObject({ kind: "link" });
});

test("links that the bridge knows nothing about do not open its circuit breaker", async () => {
  const asked: string[] = [];
  bench = await start({
    elsewhere: (identifier) => {
      asked.push(identifier);
      return identifier.endsWith("hall") ? { kind: "track", track: foreignTrack(HALL) } : { kind: "empty" };
    },
  });
  stand.site.fail(WALL);
  for (let index = 0; index < 6; index++) {
    await troubleWith(bench.load("bandcamp", `https://stand-in.bandcamp.com/track/s${index}`));
  }
  expect(await bench.loadTracks("bandcamp", HALL)).toHaveLength(1);
  expect(asked).toHaveLength(7);
});

test("a cut connection is reported as unreachable", async () => {
  stand.site.fail({ at: /stand-in/, outcome: "cut" });
  expect(await troubleWith(bench.load("bandcamp", HALL))).toMatchObject({ code: "site-unreachable" });
});

test("invalid entries of an album are left out", async () => {
  const entries = [
    null,
    7,
    { title: "No file", title_link: "/track/x" },
    { title: "Odd", file: { "mp3-128": "ftp://x" } },
  ];
  const good = { title: "Good", title_link: "/track/good", duration: "long", file: { "mp3-128": "//t4.bcbits.com/s" } };
  const text = JSON.stringify({ artist: 5, current: null, trackinfo: [...entries, good] }).replaceAll('"', "&quot;");
  stand.site.fail({ at: /album/, outcome: { text: `<x data-tralbum="${text}">` } });
  const found = await bench.load("bandcamp", ROOMS);
  expect(found).toMatchObject({
    kind: "playlist",
    name: "Unknown album",
    tracks: [{ title: "Good", artworkUrl: null }],
  });
});

function encodedWith(identifier: string): string {
  return foreignTrack(identifier, "bandcamp").encoded;
}

function foreignTrack(uri: string, sourceName = "ytdlp") {
  const info = {
    identifier: uri,
    uri,
    title: "By the bridge",
    author: "Somebody",
    sourceName,
    length: 5000,
    position: 0,
    isSeekable: true,
    isStream: false,
    artworkUrl: null,
    isrc: null,
  };
  return createTrack(info, { kind: "none" });
}

async function statusOf(url: string): Promise<number> {
  const answer = await fetch(url);
  await answer.arrayBuffer();
  return answer.status;
}
