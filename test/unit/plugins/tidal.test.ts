import { afterEach, expect, test } from "vitest";
import type { SiteRequest } from "../../../lab/sites/site-server.ts";
import { TidalSite } from "../../../lab/sites/tidal.ts";
import plugin from "../../../plugins/tidal/plugin.ts";
import { durationMsOf } from "../../../plugins/tidal/resources.ts";
import { systemClock, type Timer } from "../../../src/lib/clock.ts";
import type { PlainTreeMap } from "../../../src/lib/plain-tree.ts";
import type { SourceAnswer } from "../../../src/plugin-api/plugin.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type BenchOptions, PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const SOURCE = "tidal";
const TRACK = "https://tidal.com/browse/track/11";
const PLAYLIST = "0a1b2c3d-1111-2222-3333-444455556666";
const API = "openapi.tidal.com";
const LOGIN = "auth.tidal.com";
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function stand(options: PlainTreeMap = {}, more: BenchOptions = {}) {
  const site = await TidalSite.start();
  closing.push(() => site.close());
  const { clientId, clientSecret } = site;
  const bench = await PluginBench.start(plugin, {
    options: { clientId, clientSecret, ...options },
    hosts: site.hosts,
    ...more,
  });
  closing.push(() => bench.close());
  return { site, bench };
}

function playlistOf(answer: SourceAnswer | undefined) {
  if (answer?.kind !== "playlist") throw new Error(`${answer?.kind} in place of a playlist`);
  return answer;
}

function titles(answer: SourceAnswer | undefined): string[] {
  if (answer?.kind === "track") return [answer.track.title];
  return answer?.kind === "search" || answer?.kind === "playlist" ? answer.tracks.map(({ title }) => title) : [];
}

test.each([
  TRACK,
  "tidal.com/track/11",
  "http://www.tidal.com/track/11?u",
  "https://listen.tidal.com/album/1/track/11",
  "https://desktop.tidal.com/track/11/",
  "https://embed.tidal.com/tracks/11",
])("%s is a track with its album, its artists and its ISRC, and is mirrored", async (identifier) => {
  const { bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, identifier);
  expect(track?.info).toMatchObject({
    identifier: "11",
    title: "Harbour",
    author: "Harbour Lights, Ada",
    length: 201_000,
    isStream: false,
    uri: TRACK,
    artworkUrl: "https://resources.tidal.com/images/a/c1/1280x1280.jpg",
    isrc: "QZTST2600011",
    sourceName: SOURCE,
  });
  expect(track?.pluginInfo).toEqual({
    albumName: "Low Tide",
    albumUrl: "https://tidal.com/browse/album/1",
    artistUrl: "https://tidal.com/browse/artist/7",
    artistArtworkUrl: null,
    previewUrl: null,
    isPreview: false,
  });
  expect(await bench.resolve(SOURCE, track?.encoded ?? "")).toEqual({ kind: "mirror", isrc: undefined });
});

test.each([
  "https://tidal.com/",
  "https://tidal.com/browse",
  "https://tidal.com/track/abc",
  "https://tidal.com/magazine/11",
  "https://tidal.com.example/track/11",
  "https://tidal.com:8080/track/11",
  "tdrec:https://tidal.com/album/1",
  "tdrec:",
  "spsearch:x",
])("the identifier %s is not Tidal's", async (identifier) => {
  const { site, bench } = await stand();
  expect(await bench.load(SOURCE, identifier)).toBeUndefined();
  expect(site.server.requests).toEqual([]);
});

test("a search returns tracks in the order of its results, as many as are configured", async () => {
  const { site, bench } = await stand({ searchLimit: "2", countryCode: "de" });
  site.addPlaylist(PLAYLIST, 5);
  expect(titles(await bench.load(SOURCE, "tdsearch: song 100 "))).toEqual(["Song 1000", "Song 1001"]);
  const [asked] = site.server.requestsTo(API);
  expect(Object.fromEntries(asked?.query ?? [])).toEqual({
    "filter[query]": "song 100",
    countryCode: "DE",
    include: "tracks,tracks.artists,tracks.albums,tracks.albums.coverArt",
  });
  expect(asked?.headers.accept).toBe("application/vnd.api+json");
  expect(await bench.load(SOURCE, "tdsearch:nothing like it")).toEqual({ kind: "empty" });
  expect(await bench.load(SOURCE, "tdsearch: ")).toEqual({ kind: "empty" });
});

test("an API that has searches in its paths is asked there, and at once the next time", async () => {
  const { site, bench } = await stand();
  site.searchesByPath = true;
  expect(titles(await bench.load(SOURCE, "tdsearch:harbour"))).toEqual(["Harbour"]);
  expect(titles(await bench.load(SOURCE, "tdsearch:und"))).toEqual(["Undertow (Live)"]);
  expect(site.server.requestsTo(API).map(({ path }) => path)).toEqual([
    "/v2/searchResults",
    "/v2/searchResults/harbour/relationships/tracks",
    "/v2/searchResults/und/relationships/tracks",
  ]);
});

test.each([400, 405])("an API that answers searches with HTTP %i is asked in the path", async (status) => {
  const { site, bench } = await stand();
  site.searchesByPath = true;
  site.server.fail({ at: /searchResults$/, outcome: { status, json: {} } });
  expect(titles(await bench.load(SOURCE, "tdsearch:harbour"))).toEqual(["Harbour"]);
});

test("searches are asked as a parameter again when the path is gone", async () => {
  const { site, bench } = await stand();
  site.searchesByPath = true;
  await bench.load(SOURCE, "tdsearch:harbour");
  site.searchesByPath = false;
  expect(titles(await bench.load(SOURCE, "tdsearch:und"))).toEqual(["Undertow (Live)"]);
  expect(titles(await bench.load(SOURCE, "tdsearch:low"))).toEqual([]);
  expect(site.server.requestsTo(API).map(({ path }) => path.split("/")[3] ?? "parameter")).toEqual([
    "parameter",
    "harbour",
    "und",
    "parameter",
    "parameter",
  ]);
});

test("a search that both forms refuse is the error of the first", async () => {
  const { site, bench } = await stand();
  site.server.fail({ at: /searchResults$/, outcome: { status: 403, json: {} } });
  expect(await troubleWith(bench.load(SOURCE, "tdsearch:harbour"))).toMatchObject({
    message: expect.stringContaining("HTTP 403"),
  });
});

test("an album is a playlist of its tracks, with their version in the title", async () => {
  const { bench } = await stand();
  const album = playlistOf(await bench.load(SOURCE, "https://tidal.com/album/1"));
  expect(album).toMatchObject({
    name: "Low Tide",
    pluginInfo: {
      type: "album",
      url: "https://tidal.com/browse/album/1",
      artworkUrl: "https://resources.tidal.com/images/a/c1/1280x1280.jpg",
      author: "Harbour Lights",
      totalTracks: 2,
    },
  });
  expect(titles(album)).toEqual(["Harbour", "Undertow (Live)"]);
});

test("tracks of an album that do not name it have its name and cover", async () => {
  const { site, bench } = await stand();
  site.add({ type: "tracks", id: "11", attributes: { title: "Harbour" } });
  const { tracks } = playlistOf(await bench.load(SOURCE, "https://tidal.com/album/1"));
  expect(tracks[0]).toMatchObject({
    title: "Harbour",
    author: "Harbour Lights",
    artworkUrl: expect.stringContaining("/c1/"),
    pluginInfo: { albumName: "Low Tide", artistUrl: null },
  });
});

test("an artist is a playlist of their tracks, and tdrec: one of similar tracks", async () => {
  const { bench } = await stand();
  const artist = playlistOf(await bench.load(SOURCE, "https://tidal.com/artist/7"));
  expect(artist).toMatchObject({
    name: "Harbour Lights's Top Tracks",
    pluginInfo: { type: "artist", author: "Harbour Lights", artworkUrl: expect.stringContaining("/p7/1280") },
  });
  expect(titles(artist)).toEqual(["Undertow (Live)", "Harbour"]);
  for (const seed of ["11", TRACK]) {
    const similar = playlistOf(await bench.load(SOURCE, `tdrec:${seed}`));
    expect(similar.pluginInfo).toEqual({
      ...{ type: "recommendations", url: null, artworkUrl: null, author: null, totalTracks: 1 },
    });
    expect(titles(similar)).toEqual(["Undertow (Live)"]);
  }
});

test("a playlist is loaded page by page, in order, without what is no track or gone", async () => {
  const { site, bench } = await stand();
  const ids = site.addPlaylist(PLAYLIST, 45);
  site.add({ type: "videos", id: "9", attributes: { title: "Film" } });
  site.lists.set(`playlists/${PLAYLIST}`, ["gone", "9", ...ids]);
  const answer = playlistOf(await bench.load(SOURCE, `https://tidal.com/browse/playlist/${PLAYLIST}`));
  expect(answer).toMatchObject({ name: "Evening", pluginInfo: { type: "playlist", totalTracks: 45 } });
  expect(titles(answer)).toEqual(ids.map((id) => `Song ${id}`));
  expect(site.server.requestsTo(API, `/v2/playlists/${PLAYLIST}/relationships/items`)).toHaveLength(3);
});

test.each([
  ["HTTP 503", { status: 503, text: "" }],
  ["a page", { text: "<html>challenge</html>" }],
])("a list whose second page is %s has the tracks of the first, and the log says so", async (_name, outcome) => {
  const { site, bench } = await stand();
  const ids = site.addPlaylist(PLAYLIST, 45);
  const answer = (request: SiteRequest) =>
    request.query.has("page[cursor]") ? outcome : (site.answer(request) ?? { status: 404 });
  site.server.fail({ at: /items/, outcome: answer });
  const found = await bench.load(SOURCE, `https://tidal.com/playlist/${PLAYLIST}`);
  expect(titles(found)).toEqual(ids.slice(0, 20).map((id) => `Song ${id}`));
  expect(bench.lines.map(({ message }) => message)).toEqual([expect.stringContaining("cut at 20 tracks: ")]);
});

test("of a playlist of 2,000 tracks the first 1,000 are loaded, and the log says so", async () => {
  const { site, bench } = await stand();
  site.addPlaylist(PLAYLIST, 2000);
  const answer = await bench.load(SOURCE, `https://tidal.com/playlist/${PLAYLIST}`);
  expect(titles(answer)).toHaveLength(1000);
  expect(bench.lines.map(({ message }) => message)).toEqual([expect.stringContaining("cut at 1000 tracks")]);
});

test("a list whose answers take long is cut before the load's time is over", async () => {
  const clock = new FakeClock();
  const { site, bench } = await stand({}, { clock });
  const ids = site.addPlaylist(PLAYLIST, 60);
  const data = ids.slice(0, 20).map((id) => ({ type: "tracks", id }));
  const slow = () => {
    clock.stall(15_000);
    const included = ids.map((id) => ({ type: "tracks", id, attributes: { title: `Song ${id}` } }));
    return { json: { data, included, links: { next: "?page[cursor]=x" } } };
  };
  site.server.fail({ at: /items/, outcome: slow });
  expect(titles(await bench.load(SOURCE, `https://tidal.com/playlist/${PLAYLIST}`))).toHaveLength(20);
  expect(site.server.requests.filter(({ path }) => path.endsWith("/items"))).toHaveLength(1);
});

test.each([
  ["itself", "/playlists/x/relationships/items?countryCode=US&include=items"],
  ["the same page again", "?page%5Bcursor%5D=c20"],
  ["another host", "https://elsewhere.example/v2/items?page%5Bcursor%5D=c20"],
  ["no address", 7],
])("a page whose next one is %s does not loop, and no other host is asked", async (_name, next) => {
  const { site, bench } = await stand();
  site.addPlaylist(PLAYLIST, 20);
  const data = [{ type: "tracks", id: "1000" }];
  const included = [{ type: "tracks", id: "1000", attributes: { title: "Song" } }];
  site.server.fail({ at: /items/, outcome: { json: { data, included, links: { next } } } });
  expect(titles(await bench.load(SOURCE, `https://tidal.com/playlist/${PLAYLIST}`)).length).toBeLessThanOrEqual(2);
  expect(new Set(site.server.requests.map(({ host }) => host))).toEqual(new Set([API, LOGIN]));
});

test("a mix that the API does not have is refused with what to do", async () => {
  const { bench } = await stand();
  expect(await troubleWith(bench.load(SOURCE, "https://tidal.com/mix/00aabb"))).toMatchObject({
    code: "site-unavailable",
    message: expect.stringContaining("make a playlist of it"),
  });
});

test.each(["https://tidal.com/track/99", "https://tidal.com/album/99", `https://tidal.com/playlist/${PLAYLIST}`])(
  "%s, which does not exist, is an empty result",
  async (identifier) => {
    const { bench } = await stand();
    expect(await bench.load(SOURCE, identifier)).toEqual({ kind: "empty" });
  },
);

test("one token is requested for concurrent loads, and a new one when it is refused", async () => {
  const { site, bench } = await stand();
  await Promise.all([TRACK, "tdsearch:harbour"].map((identifier) => bench.load(SOURCE, identifier)));
  expect(site.server.requestsTo(LOGIN)).toHaveLength(1);
  site.endTokens();
  expect(titles(await bench.load(SOURCE, "https://tidal.com/track/12"))).toEqual(["Undertow (Live)"]);
  expect(site.server.requestsTo(LOGIN)).toHaveLength(2);
});

test("a token is renewed before it ends", async () => {
  const clock = new FakeClock();
  const { site, bench } = await stand({}, { clock });
  await bench.load(SOURCE, "tdsearch:a");
  clock.advance(86_400_000 * 0.95);
  await bench.load(SOURCE, "tdsearch:b");
  expect(site.server.requestsTo(LOGIN)).toHaveLength(2);
});

test("tokens that stay refused are an error after two", async () => {
  const { site, bench } = await stand();
  site.server.fail({ at: /tracks/, outcome: { status: 401, json: {} } });
  expect(await troubleWith(bench.load(SOURCE, TRACK))).toMatchObject({ code: "site-unavailable" });
  expect(site.server.requestsTo(API)).toHaveLength(2);
});

test("refused keys are named, not shown, and not tried again for five minutes", async () => {
  const clock = new FakeClock();
  const { site, bench } = await stand({ clientSecret: "wrong-secret" }, { clock });
  const load = () => troubleWith(bench.load(SOURCE, TRACK));
  const trouble = await load();
  expect(trouble).toMatchObject({ code: "site-unavailable", message: expect.stringContaining("developer.tidal.com") });
  expect(JSON.stringify([trouble, bench.lines])).not.toContain("wrong-secret");
  clock.advance(4 * 60_000);
  await load();
  expect(site.server.requestsTo(LOGIN)).toHaveLength(1);
  clock.advance(60_000);
  await load();
  expect(site.server.requestsTo(LOGIN)).toHaveLength(2);
});

test("a 429 with a short pause is waited for, and one with a long pause is an error", async () => {
  const pausesMs: number[] = [];
  // Time passes as always, but for the pause.
  const after = (delayMs: number, callback: () => void): Timer => {
    if (delayMs === 2000) pausesMs.push(delayMs);
    return systemClock.after(delayMs === 2000 ? 0 : delayMs, callback);
  };
  const { site, bench } = await stand(
    {},
    { clock: { now: () => systemClock.now(), epochMs: () => systemClock.epochMs(), after } },
  );
  site.server.fail({ at: /tracks/, times: 1, outcome: { status: 429, headers: { "retry-after": "2" } } });
  expect(titles(await bench.load(SOURCE, TRACK))).toEqual(["Harbour"]);
  expect(pausesMs).toEqual([2000]);
  site.server.fail({ at: /tracks/, outcome: { status: 429, headers: { "retry-after": "60" } } });
  const before = site.server.requests.length;
  expect(await troubleWith(bench.load(SOURCE, "https://tidal.com/track/12"))).toMatchObject({ code: "site-busy" });
  expect(site.server.requests.length - before).toBe(1);
});

test.each([
  ["a page", { text: "<html>challenge</html>" }, "site-changed"],
  ["a number", { json: 7 }, "site-changed"],
  ["no data", { json: { errors: [] } }, "site-changed"],
  ["HTTP 403", { status: 403, json: {} }, "site-unavailable"],
  ["HTTP 503", { status: 503, text: "" }, "site-busy"],
])("an API that answers %s is an error", async (_name, outcome, code) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /v2/, outcome });
  expect(await troubleWith(bench.load(SOURCE, TRACK))).toMatchObject({ code });
});

test.each([
  ["a page", { text: "<html>" }],
  ["no token", { json: { token: 1 } }],
  ["a token with a line feed", { json: { access_token: "a\nb" } }],
])("a login that answers %s is an error", async (_name, outcome) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /oauth2/, outcome });
  expect(await troubleWith(bench.load(SOURCE, TRACK))).toMatchObject({ code: "site-changed" });
});

test("members of other types read as missing", async () => {
  const { site, bench } = await stand();
  const attributes = { title: " Odd ", duration: { a: 1 }, isrc: 5, version: [] };
  const relationships = { artists: { data: "x" }, albums: { data: { type: "albums", id: 1 } } };
  const included = [null, 3, { type: "albums", id: "1", attributes: { imageLinks: [{ href: "javascript:0" }, {}] } }];
  site.server.fail({
    at: /v2/,
    outcome: { json: { data: { type: "tracks", id: 11, attributes, relationships }, included, links: [] } },
  });
  const [track] = await bench.loadTracks(SOURCE, TRACK);
  expect(track?.info).toMatchObject({ identifier: "11", title: "Odd", isrc: null, artworkUrl: null, isStream: false });
  expect(track?.pluginInfo).toMatchObject({
    albumName: null,
    albumUrl: "https://tidal.com/browse/album/1",
    artistUrl: null,
  });
});

test.each([
  [" gb ", "GB", 0],
  ["", "US", 0],
  ["  ", "US", 0],
  ["USA", "US", 1],
  ["Österreich", "US", 1],
])("of the country %j, %s is asked, with %i warnings", async (countryCode, asked, count) => {
  const { site, bench } = await stand({ countryCode });
  await bench.load(SOURCE, TRACK);
  expect(site.server.requests.at(-1)?.query.get("countryCode")).toBe(asked);
  expect(bench.lines.filter(({ message }) => message.includes("countryCode is not two letters"))).toHaveLength(count);
});

test.each([
  ["PT3M21S", 201_000],
  ["PT1H2M3.5S", 3_723_500],
  ["PT45S", 45_000],
  ["PT0S", undefined],
  ["P1D", undefined],
  ["3:21", undefined],
  [201, 201_000],
  [-1, undefined],
  [null, undefined],
])("the length %s is read as %s ms", (written, lengthMs) => {
  expect(durationMsOf(written)).toBe(lengthMs);
});
