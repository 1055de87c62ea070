// Apple Music's identifiers and lists; its tokens and troubles are in apple-music-tokens.test.ts.

import { afterEach, expect, test } from "vitest";
import { AppleMusicSite } from "../../../lab/sites/apple-music.ts";
import type { SiteRequest } from "../../../lab/sites/site-server.ts";
import { APPLEMUSIC_MANIFEST } from "../../../plugins/applemusic/manifest.ts";
import plugin from "../../../plugins/applemusic/plugin.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import { isClaimed } from "../../../src/plugin-host/manage/claims.ts";
import { createTrack, decodeTrack } from "../../../src/track/track.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import { buildTrack } from "../../support/track-builder.ts";

const SOURCE = "applemusic";
const API = "api.music.apple.com";
const SONG = "https://music.apple.com/us/album/al/2?i=5";
const ALBUM = "https://music.apple.com/us/album/al/2";
const PLAYLIST = "https://music.apple.com/us/playlist/p/pl.9";
const PLAYLIST_TRACKS = "/v1/catalog/us/playlists/pl.9/tracks";
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function stand(options: PlainTree = {}): Promise<{ site: AppleMusicSite; bench: PluginBench }> {
  const site = await AppleMusicSite.start();
  closing.push(() => site.close());
  const bench = await PluginBench.start(plugin, { options, hosts: site.hosts });
  closing.push(() => bench.close());
  return { site, bench };
}

async function titles(bench: PluginBench, identifier: string): Promise<string[]> {
  return (await bench.loadTracks(SOURCE, identifier)).map(({ info }) => info.title);
}

async function playlistInfo(bench: PluginBench, identifier: string): Promise<unknown> {
  const answer = await bench.load(SOURCE, identifier);
  return answer?.kind === "playlist" ? [answer.name, answer.pluginInfo] : answer;
}

function offsets(site: AppleMusicSite): (string | null)[] {
  return site.server.requestsTo(API, PLAYLIST_TRACKS).map(({ query }) => query.get("offset"));
}

test("a song is loaded with LavaSrc's info, pluginInfo and encoded fields", async () => {
  const { site, bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, SONG);
  expect(track?.info).toMatchObject({
    identifier: "5",
    title: "T5",
    author: "A",
    length: 201_000,
    isStream: false,
    uri: SONG,
    artworkUrl: "https://is1-ssl.mzstatic.com/image/song/3000x2000bb.jpg",
    isrc: "XX0000000005",
    sourceName: SOURCE,
  });
  expect(track?.pluginInfo).toEqual({
    albumName: "Al",
    albumUrl: ALBUM,
    artistUrl: "https://music.apple.com/us/artist/a/1",
    artistArtworkUrl: null,
    previewUrl: expect.stringContaining("preview.m4a"),
    isPreview: false,
  });
  const decoded = decodeTrack(track?.encoded ?? "");
  expect(decoded.info).toEqual(track?.info);
  expect(decoded.pluginInfo).toEqual(track?.pluginInfo);
  expect(site.server.requestsTo(API)[0]?.headers.origin).toBe("https://apple.com");
});

test.each([
  [SONG, "us/songs/5"],
  ["music.apple.com/song/5", "fr/songs/5"],
  ["https://music.apple.com/GB/song/a-name/5", "gb/songs/5"],
  ["http://geo.music.apple.com/us/album/_/2?mt=1&i=5&app=music", "us/songs/5"],
  ["https://embed.music.apple.com/de/song/5", "de/songs/5"],
  ["https://geo.itunes.apple.com/us/album/al/id2?i=5&mt=1", "us/songs/5"],
  ["https://music.apple.com/us/album/1989/2", "us/albums/2"],
  ["https://music.apple.com/us/album/2", "us/albums/2"],
  ["https://music.apple.com/us/artist/a/1/see-all?section=top-songs", "us/artists/1"],
  ["https://music.apple.com/jp/playlist/%E3%81%82/pl.9", "jp/playlists/pl.9"],
])("%s asks for %s", async (identifier, path) => {
  const { site, bench } = await stand({ countryCode: "FR" });
  expect(APPLEMUSIC_MANIFEST.sources.some((claims) => isClaimed(identifier, claims))).toBe(true);
  const answer = await bench.load(SOURCE, identifier);
  expect(answer?.kind).toBe(path.includes("songs") ? "track" : "playlist");
  expect(site.server.requestsTo(API).map((request) => request.path)).toContain(`/v1/catalog/${path}`);
});

test.each([
  ["https://music.apple.com/library/playlist/p.abc", /library/],
  ["https://music.apple.com/us/playlist/mine/p.abc", /library/],
  ["https://music.apple.com/us/station/a/ra.1", /not of a song, album, playlist or artist/],
  ["https://music.apple.com/us/music-video/a/7", /not of a song, album, playlist or artist/],
  ["https://music.apple.com/us/album/name/notanumber", /not of a song/],
])("%s is refused with the reason", async (identifier, message) => {
  const { site, bench } = await stand();
  expect(await troubleWith(bench.load(SOURCE, identifier))).toMatchObject({
    code: "site-unavailable",
    message: expect.stringMatching(message),
  });
  expect(site.server.requests).toHaveLength(0);
});

test.each([
  "https://music.apple.com/us/browse",
  "https://geo.itunes.apple.com/us/podcast/x/id1",
  "https://evilmusic.apple.com.example/us/song/5",
  "https://someone@music.apple.com/us/song/5",
  "https://music.apple.com:8443/us/song/5",
])("%s is not for this source", async (identifier) => {
  const { bench } = await stand();
  expect(await bench.load(SOURCE, identifier)).toBeUndefined();
});

test("an album, a playlist and an artist have LavaSrc's names and pluginInfo", async () => {
  const { bench } = await stand();
  const more = {
    url: "https://music.apple.com/us/x/1",
    artworkUrl: "https://is1-ssl.mzstatic.com/image/list/3000x2000bb.jpg",
  };
  expect(await playlistInfo(bench, ALBUM)).toEqual(["Al", { type: "album", author: "A", totalTracks: 2, ...more }]);
  expect(await playlistInfo(bench, PLAYLIST)).toEqual([
    "P",
    { type: "playlist", author: "Owner", totalTracks: 3, ...more },
  ]);
  const artist = "https://music.apple.com/us/artist/a/1";
  expect(await playlistInfo(bench, artist)).toEqual([
    "A's Top Tracks",
    { type: "artist", author: "A", totalTracks: 2, ...more },
  ]);
  const [track] = await bench.loadTracks(SOURCE, artist);
  expect(track?.pluginInfo).toMatchObject({ artistArtworkUrl: more.artworkUrl });
});

test("a playlist of 2,000 is loaded up to the configured number of pages", async () => {
  const { site, bench } = await stand();
  site.playlistLength = 2000;
  const tracks = await bench.loadTracks(SOURCE, PLAYLIST);
  expect(bench.lines.map(({ message }) => message)).toEqual([
    "a list was cut at 1800 songs: playlistLoadLimit allows 6 pages of up to 300 (at most 34)",
  ]);
  expect(tracks.map(({ info }) => info.identifier)).toEqual(Array.from({ length: 1800 }, (_, at) => String(at + 5)));
  expect(offsets(site).sort()).toEqual(["0", "1200", "1500", "300", "600", "900"]);
  expect(site.server.requestsTo(API, PLAYLIST_TRACKS)[0]?.query.get("limit")).toBe("300");
  expect(await playlistInfo(bench, PLAYLIST)).toMatchObject(["P", { totalTracks: 2000 }]);
});

test.each([
  ["1", 300],
  ["0", 300],
  ["1000", 2000],
])("playlistLoadLimit: %s loads %d tracks of a playlist of 2,000", async (playlistLoadLimit, count) => {
  const { site, bench } = await stand({ playlistLoadLimit, albumLoadLimit: "1" });
  site.playlistLength = 2000;
  expect(await bench.loadTracks(SOURCE, PLAYLIST)).toHaveLength(count);
});

test("a playlist is loaded whole when its total is too small, too large or missing", async () => {
  for (const trackCount of [1, 1e9, "many", undefined]) {
    const { site, bench } = await stand();
    site.playlistLength = 1000;
    const attributes = { name: "P", trackCount };
    site.server.fail({ at: /playlists\/pl\.9$/, outcome: { json: { data: [{ id: "pl.9", attributes }] } } });
    expect(await bench.loadTracks(SOURCE, PLAYLIST)).toHaveLength(1000);
    expect(await playlistInfo(bench, PLAYLIST)).toMatchObject(["P", { totalTracks: trackCount === 1e9 ? 1e9 : 1000 }]);
  }
});

test.each([100, 300])("a playlist whose later page of %d fails has what could be read, with one line", async (size) => {
  const { site, bench } = await stand();
  Object.assign(site, { playlistLength: 1000, pageEntriesMax: size });
  const outcome = (request: SiteRequest) =>
    request.query.get("offset") === String(size * 2) ? { status: 500 } : (site.answer(request) ?? { status: 404 });
  site.server.fail({ at: /tracks$/, outcome });
  const tracks = await bench.loadTracks(SOURCE, PLAYLIST);
  expect(tracks.length).toBeGreaterThanOrEqual(size * 2);
  expect(tracks.length).toBeLessThan(1000);
  expect(bench.lines.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^a list was cut at \d+ songs: .*HTTP 500$/),
  ]);
});

test.each([ALBUM, PLAYLIST, "https://music.apple.com/us/artist/a/1"])(
  "%s without songs is empty",
  async (identifier) => {
    const { site, bench } = await stand();
    site.server.fail({ at: /tracks$|top-songs$/, outcome: { json: { data: [] } } });
    expect(await bench.load(SOURCE, identifier)).toEqual({ kind: "empty" });
  },
);

test("of previews, songs without one are left out of lists", async () => {
  const { site, bench } = await stand();
  const bare = { id: "9", attributes: { name: "Bare" } };
  site.server.fail({ at: /tracks$/, outcome: { json: { data: [bare, site.song(5)] } } });
  expect(await titles(bench, `amprev:${ALBUM}`)).toEqual(["T5"]);
  expect(await titles(bench, ALBUM)).toEqual(["Bare", "T5"]);
});

test("a playlist in smaller pages than asked for is loaded page by page", async () => {
  const { site, bench } = await stand();
  Object.assign(site, { playlistLength: 450, pageEntriesMax: 100 });
  const tracks = await bench.loadTracks(SOURCE, PLAYLIST);
  expect(tracks.map(({ info }) => info.identifier)).toEqual(Array.from({ length: 450 }, (_, at) => String(at + 5)));
});

test("pages are requested at once where the playlist says how many there are", async () => {
  const { site, bench } = await stand();
  site.playlistLength = 1200;
  const outcome = (request: SiteRequest) =>
    request.query.get("offset") === "300" ? ("hang" as const) : (site.answer(request) ?? { status: 404 });
  site.server.fail({ at: /tracks$/, outcome });
  const work = bench.load(SOURCE, PLAYLIST).catch(() => undefined);
  await expect.poll(() => offsets(site)).toEqual(expect.arrayContaining(["300", "600", "900"]));
  bench.close();
  await work;
});

test.each([
  [PLAYLIST_TRACKS, 6],
  [`${PLAYLIST_TRACKS}?offset=0`, 1],
  ["https://elsewhere.example/?offset=1", 3],
  [7, 1],
])("a playlist whose next page is always %s ends", async (next, pages) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /tracks$/, outcome: { json: { data: [site.song(5)], next } } });
  expect(await bench.loadTracks(SOURCE, PLAYLIST)).toHaveLength(pages);
  expect(site.server.requests.every(({ host }) => host.endsWith("music.apple.com"))).toBe(true);
});

test("entries of other types are left out", async () => {
  const { site, bench } = await stand();
  const odd = {
    id: 12,
    attributes: { name: "Odd", durationInMillis: "x", artwork: [], previews: {}, url: 5, isrc: 1 },
  };
  const data = [null, 3, {}, { id: "1" }, { id: "2", attributes: [] }, { id: {}, attributes: { name: "x" } }, odd];
  site.server.fail({ at: /tracks$/, outcome: { json: { data } } });
  const [track, ...others] = await bench.loadTracks(SOURCE, ALBUM);
  expect([track?.info.title, track?.info.artworkUrl, others]).toEqual(["Odd", null, []]);
});

test("artwork without a size gets one", async () => {
  const { site, bench } = await stand();
  const artwork = { url: "https://is1-ssl.mzstatic.com/image/{w}x{h}bb.jpg", width: 1e9 };
  const song = { id: "5", attributes: { name: "T", artwork } };
  site.server.fail({ at: /songs\/5/, outcome: { json: { data: [song] } } });
  const [track] = await bench.loadTracks(SOURCE, SONG);
  expect(track?.info.artworkUrl).toBe("https://is1-ssl.mzstatic.com/image/1000x1000bb.jpg");
});

test("a search sends the words, and finds nothing where there is nothing", async () => {
  const { site, bench } = await stand({ countryCode: "de" });
  expect(await titles(bench, "amsearch: t6 ")).toEqual(["T6"]);
  const [asked] = site.server.requestsTo(API, "/v1/catalog/de/search");
  const sent = Object.fromEntries(asked?.query ?? []);
  expect(sent).toEqual({ term: "t6", limit: "25", types: "songs", extend: "artistUrl" });
  expect(await bench.load(SOURCE, "amsearch:nothing of that kind")).toEqual({ kind: "empty" });
  expect(await bench.load(SOURCE, "amsearch: ")).toEqual({ kind: "empty" });
});

test.each(["https://music.apple.com/us/song/1000000", "https://music.apple.com/us/album/x/77", `${ALBUM}?i=1000000`])(
  "%s finds nothing",
  async (identifier) => {
    const { bench } = await stand();
    expect(await bench.load(SOURCE, identifier)).toEqual({ kind: "empty" });
  },
);

test("a countryCode that is none is replaced, with a warning", async () => {
  const { site, bench } = await stand({ countryCode: "your country" });
  expect(await titles(bench, "amsearch:t6")).toEqual(["T6"]);
  expect(site.server.requestsTo(API, "/v1/catalog/us/search")).toHaveLength(1);
  expect(bench.lines.map(({ message }) => message)).toEqual(["countryCode is not two letters (ISO 3166): us is used"]);
});

test("a track is mirrored, with the ISRC of the site only where it has none", async () => {
  const { site, bench } = await stand();
  const encoded = (isrc: string | null, identifier = "5") =>
    createTrack(
      { ...buildTrack().info, sourceName: SOURCE, identifier, isrc, uri: "https://music.apple.com/de/song/5" },
      { kind: "none" },
    ).encoded;
  expect(await bench.resolve(SOURCE, encoded("XX0000000042"))).toEqual({ kind: "mirror", isrc: "XX0000000042" });
  expect(site.server.requests).toHaveLength(0);
  expect(await bench.resolve(SOURCE, encoded(null))).toEqual({ kind: "mirror", isrc: "XX0000000005" });
  expect(site.server.requestsTo(API, "/v1/catalog/de/songs/5")).toHaveLength(1);
  expect(await bench.resolve(SOURCE, encoded(""))).toEqual({ kind: "mirror", isrc: "XX0000000005" });
  expect(await bench.resolve(SOURCE, encoded(null, "1000000"))).toEqual({ kind: "mirror", isrc: undefined });
  expect(await bench.resolve(SOURCE, encoded(null, "../x"))).toEqual({ kind: "mirror", isrc: undefined });
});

test("a preview lasts 30 s and plays its own file, by a fresh link each time", async () => {
  const { site, bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, `amprev:${SONG}`);
  expect(track?.info.length).toBe(30_000);
  expect(track?.pluginInfo).toMatchObject({ isPreview: true });
  expect(decodeTrack(track?.encoded ?? "").pluginInfo).toEqual(track?.pluginInfo);
  expect(await titles(bench, "amprev:amsearch:t6")).toEqual(["T6"]);
  site.server.expireLinks();
  const link = await bench.resolve(SOURCE, track?.encoded ?? "", {}, [SOURCE]);
  const response = await fetch(link.kind === "link" ? link.url : "");
  expect(response.status).toBe(200);
  await response.arrayBuffer();
});

test("a search of several kinds is one request for suggestions of the wanted kinds", async () => {
  const { site, bench } = await stand();
  const of = (type: string, author: string, totalTracks: number | null) => ({
    type,
    url: "https://music.apple.com/us/x/1",
    artworkUrl: "https://is1-ssl.mzstatic.com/image/list/3000x2000bb.jpg",
    author,
    totalTracks,
  });
  expect(await bench.search("amsearch: a")).toMatchObject({
    albums: [{ name: "Al", pluginInfo: of("album", "A", 2) }],
    artists: [{ name: "A's Top Tracks", pluginInfo: of("artist", "A", null) }],
    playlists: [],
    texts: [{ text: "a live", pluginInfo: {} }],
  });
  const { playlists, texts } = await bench.search("amsearch:p", ["playlist", "track"]);
  expect([playlists, texts]).toEqual([[{ name: "P", pluginInfo: of("playlist", "Owner", 3) }], []]);
  expect((await bench.search("amsearch:t5", ["track"])).tracks.count).toBe(1);
  expect((await bench.search("amsearch:t5", ["text"])).texts).toHaveLength(1);
  const asked = site.server
    .requestsTo(API, "/v1/catalog/us/search/suggestions")
    .map(({ query }) => Object.fromEntries(query));
  const extend = "artistUrl";
  expect(asked).toEqual([
    { term: "a", kinds: "terms,topResults", types: "songs,albums,artists,playlists", extend },
    { term: "p", kinds: "topResults", types: "playlists,songs", extend },
    { term: "t5", kinds: "topResults", types: "songs", extend },
    { term: "t5", kinds: "terms", extend },
  ]);
});

test("suggestions of another form are left out, and are an error as a whole", async () => {
  const { site, bench } = await stand();
  const content = { type: "albums", attributes: { name: "No link" } };
  const suggestions = [null, 5, {}, { kind: "terms" }, { kind: "topResults", content }, { kind: "x", searchTerm: "y" }];
  site.server.fail({ at: /suggestions/, outcome: { json: { results: { suggestions } } } });
  expect(await bench.search("amsearch:a")).toMatchObject({ albums: [], artists: [], playlists: [], texts: [] });
  for (const results of [{}, { suggestions: null }]) {
    site.server.fail({ at: /suggestions/, outcome: { json: { results } } });
    expect(await bench.search("amsearch:b")).toMatchObject({ albums: [], texts: [] });
  }
  site.server.fail({ at: /suggestions/, outcome: { json: { results: { suggestions: {} } } } });
  expect((await troubleWith(bench.search("amsearch:a"))).message).toContain("without suggestions");
  expect(await bench.search("amsearch:")).toMatchObject({ albums: [], texts: [] });
});
