import { afterEach, expect, test } from "vitest";
import { JioSaavnSite } from "../../../lab/sites/jiosaavn.ts";
import type { SiteRequest } from "../../../lab/sites/site-server.ts";
import plugin from "../../../plugins/jiosaavn/plugin.ts";
import type { PlainTreeMap } from "../../../src/lib/plain-tree.ts";
import type { SourceAnswer } from "../../../src/plugin-api/plugin.ts";
import { createTrack } from "../../../src/track/track.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import { buildTrack } from "../../support/track-builder.ts";

const SOURCE = "jiosaavn";
const SONG = "https://www.jiosaavn.com/song/harbour/S0ngT0ken";
const ALBUM = "https://www.jiosaavn.com/album/low-tide/Alb,um_";
const PLAYLIST = "https://www.jiosaavn.com/featured/evening/Ev3ning_";
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function stand(options: PlainTreeMap = {}) {
  const site = await JioSaavnSite.start();
  closing.push(() => site.close());
  const bench = await PluginBench.start(plugin, { options, hosts: site.hosts });
  closing.push(() => bench.close());
  return { site, bench };
}

function playlistOf(answer: SourceAnswer | undefined) {
  if (answer?.kind !== "playlist") throw new Error(`${answer?.kind} in place of a playlist`);
  return answer;
}

async function encodedSong(bench: PluginBench, identifier = SONG): Promise<string> {
  const [track] = await bench.loadTracks(SOURCE, identifier);
  return track?.encoded ?? "";
}

/** As LavaSrc's first versions wrote them, without the fields of albums. */
function storedTrack(identifier: string): string {
  return createTrack(buildTrack({ sourceName: SOURCE, identifier, uri: null }).info, { kind: "none" }).encoded;
}

/** The calls so far, with the bit rate or the page that they name. */
function calls(site: JioSaavnSite): string[] {
  return site.server.requests.flatMap(({ path, method, query, body }) => {
    if (path !== "/api.php") return [];
    const form = method === "POST" ? new URLSearchParams(body) : query;
    return [[form.get("__call"), form.get("bitrate") ?? form.get("p")].filter((part) => part !== null).join(" ")];
  });
}

test.each([
  SONG,
  SONG.replace("https://", ""),
  SONG.replace("https://www.", "http://"),
  `${SONG}/?x=1#y`,
  "https://www.saavn.com/s/song/hindi/Album/Harbour/S0ngT0ken",
])("%s is a song, its entities decoded", async (identifier) => {
  const { bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, identifier);
  expect(track?.info).toMatchObject({
    identifier: "son-g_1",
    title: 'Harbour "Lights" & Tide',
    author: "Ada & Co",
    length: 201_000,
    isStream: false,
    uri: "https://www.jiosaavn.com/song/name/son-g_1",
    artworkUrl: "https://c.saavncdn.com/1/Cover-500x500.jpg",
    sourceName: SOURCE,
  });
  expect(track?.pluginInfo).toMatchObject({
    albumName: "Low Tide '26",
    albumUrl: ALBUM,
    artistUrl: "https://www.jiosaavn.com/artist/ada-songs/Art1st_",
    artistArtworkUrl: "https://c.saavncdn.com/a_500x500.jpg",
    previewUrl: expect.stringContaining("preview.mp4"),
    isPreview: false,
  });
});

test.each([
  "https://www.jiosaavn.com/",
  "https://www.jiosaavn.com/song/harbour",
  "https://www.jiosaavn.com/song/a/b/c",
  "https://www.jiosaavn.com/shows/talk/1/S0ngT0ken",
  "https://www.jiosaavn.com.example/song/harbour/S0ngT0ken",
  "https://aac.saavncdn.com/song/harbour/S0ngT0ken",
  "jsrec:a b",
  "jsprev:jsrec:song2",
  "jsprev:words",
])("the identifier %s is not JioSaavn's", async (identifier) => {
  const { site, bench } = await stand();
  expect(await bench.load(SOURCE, identifier)).toBeUndefined();
  expect(site.server.requests).toEqual([]);
});

test("a search asks the API as its web player does", async () => {
  const { site, bench } = await stand();
  const tracks = await bench.loadTracks(SOURCE, "jssearch: under ");
  expect(tracks.map(({ info }) => info.title)).toEqual(["Undertow"]);
  const [asked] = site.server.requests;
  expect(Object.fromEntries(asked?.query ?? [])).toEqual({
    __call: "search.getResults",
    _format: "json",
    _marker: "0",
    cc: "in",
    ctx: "web6dot0",
    api_version: "4",
    q: "under",
    n: "20",
    p: "1",
  });
  expect(await bench.load(SOURCE, "jssearch:nothing like it")).toEqual({ kind: "empty" });
  expect(await bench.load(SOURCE, "jssearch: ")).toEqual({ kind: "empty" });
});

test("songs in the API's older form are read as well", async () => {
  const { site, bench } = await stand();
  const old = {
    ...{ id: "old1", song: "Old &amp; Grey", singers: "Bo", primary_artists: "Bo, Cy", duration: 93, album: "Then" },
    ...{ perma_url: "/song/old/x", image: "https://c.saavncdn.com/o-150x150.jpg", album_url: "" },
    ...{ media_preview_url: "https://preview.saavncdn.com/o_96_p.mp4", encrypted_media_url: "e", "320kbps": false },
  };
  site.server.fail({ at: /api/, outcome: { json: { results: [null, 5, { id: 3 }, old] } } });
  const [track, ...others] = await bench.loadTracks(SOURCE, "jssearch:old");
  expect(others).toEqual([]);
  expect(track?.info).toMatchObject({
    title: "Old & Grey",
    author: "Bo, Cy",
    length: 93_000,
    uri: "https://www.jiosaavn.com/song/old/x",
  });
  expect(track?.pluginInfo).toMatchObject({ albumName: "Then", albumUrl: null, previewUrl: old.media_preview_url });
});

test("an album and an artist are playlists with what LavaSrc says of them", async () => {
  const { bench } = await stand();
  const album = playlistOf(await bench.load(SOURCE, ALBUM));
  expect(album).toMatchObject({
    name: "Low Tide & More",
    pluginInfo: {
      ...{ type: "album", url: ALBUM, author: "Ada & Co", totalTracks: 2 },
      artworkUrl: "https://c.saavncdn.com/2/Page-500x500.jpg",
    },
  });
  const artist = playlistOf(await bench.load(SOURCE, "https://www.jiosaavn.com/artist/ada-songs/Art1st_"));
  expect(artist).toMatchObject({ name: "Ada & Co's Top Tracks", pluginInfo: { type: "artist", author: "Ada & Co" } });
  expect(artist.tracks.map(({ identifier }) => identifier)).toEqual(["song2", "son-g_1"]);
});

test.each([PLAYLIST, "https://www.jiosaavn.com/s/playlist/2279fbe391/evening/Ev3ning_"])(
  "%s is loaded page by page, in order",
  async (identifier) => {
    const { site, bench } = await stand();
    const titles = site.addPlaylist("Ev3ning_", 600);
    const playlist = playlistOf(await bench.load(SOURCE, identifier));
    expect(playlist).toMatchObject({ pluginInfo: { type: "playlist", author: "Saavn", totalTracks: 600 } });
    expect(playlist.tracks.map(({ title }) => title)).toEqual(titles);
    expect(calls(site)).toEqual(["webapi.get 1", "webapi.get 2", "webapi.get 3"]);
  },
);

test.each([
  ["HTTP 503", { status: 503 }],
  ["a page", { text: "<html>challenge</html>" }],
])("a playlist whose second page is %s has the songs of the first, and the log says so", async (_name, outcome) => {
  const { site, bench } = await stand();
  site.addPlaylist("Ev3ning_", 600);
  const answer = (request: SiteRequest) =>
    request.query.get("p") === "2" ? outcome : (site.answer(request) ?? { status: 404 });
  site.server.fail({ at: /api/, outcome: answer });
  expect(playlistOf(await bench.load(SOURCE, PLAYLIST)).tracks).toHaveLength(250);
  expect(bench.lines.map(({ message }) => message)).toEqual([expect.stringContaining("cut at 250 tracks: ")]);
});

test("of a playlist of 2,000 songs as many are loaded as are configured", async () => {
  const { site, bench } = await stand({ playlistTrackLimit: "300" });
  site.addPlaylist("Ev3ning_", 2000);
  expect(playlistOf(await bench.load(SOURCE, PLAYLIST)).tracks).toHaveLength(300);
});

test("a playlist whose pages are all the same one does not loop", async () => {
  const { site, bench } = await stand();
  site.addPlaylist("Ev3ning_", 3);
  const list = [...site.songs.values()];
  site.server.fail({ at: /api/, outcome: { json: { title: "Loop", list_count: "5000", list } } });
  expect(playlistOf(await bench.load(SOURCE, PLAYLIST)).tracks).toHaveLength(list.length);
  expect(calls(site)).toEqual(["webapi.get 1", "webapi.get 2"]);
});

test("recommendations are the songs of a station, or else of the same artists", async () => {
  const { site, bench } = await stand({ recommendationsTrackLimit: "1" });
  const station = playlistOf(await bench.load(SOURCE, "jsrec:son-g_1"));
  expect(station.name).toBe("JioSaavn Recommendations");
  const unknown = { url: null, artworkUrl: null };
  expect(station.pluginInfo).toEqual({ type: "recommendations", ...unknown, author: "Saavn Editor", totalTracks: 1 });
  expect(station.tracks.map(({ identifier }) => identifier)).toEqual(["song2"]);
  site.hasStations = false;
  const others = playlistOf(await bench.load(SOURCE, "jsrec:song2"));
  expect(others.tracks.map(({ identifier }) => identifier)).toEqual(["son-g_1"]);
  expect(await bench.load(SOURCE, "jsrec:none")).toEqual({ kind: "empty" });
});

test.each([
  ["HTTP 400", { status: 400, json: {} }],
  ["HTTP 503", { status: 503, text: "" }],
  ["a page", { text: "<html>" }],
])("recommendations are songs of the same artists where a station is %s", async (_name, outcome) => {
  const { site, bench } = await stand();
  const answer = (request: SiteRequest) =>
    request.query.get("__call") === "webradio.createEntityStation"
      ? outcome
      : (site.answer(request) ?? { status: 404 });
  site.server.fail({ at: /api/, outcome: answer });
  const { tracks } = playlistOf(await bench.load(SOURCE, "jsrec:song2"));
  expect(tracks.map(({ identifier }) => identifier)).toContain("son-g_1");
});

test("jsprev: loads the previews of a link and of a search, and plays them", async () => {
  const { bench } = await stand();
  const [preview] = await bench.loadTracks(SOURCE, `jsprev:${SONG}`);
  expect(preview).toMatchObject({ info: { length: 30_000, identifier: "son-g_1" }, pluginInfo: { isPreview: true } });
  const link = await bench.resolve(SOURCE, preview?.encoded ?? "");
  expect(link).toMatchObject({ kind: "link", url: preview?.pluginInfo.previewUrl });
  expect(await bench.loadTracks(SOURCE, "jsprev:jssearch:under")).toHaveLength(1);
});

test("a song's link is signed by the API, at 320 kbit/s, with its end", async () => {
  const { site, bench } = await stand();
  const link = await bench.resolve(SOURCE, await encodedSong(bench));
  expect(link).toMatchObject({ kind: "link", variant: "320", expiresAtEpochMs: 4_000_000_000_000 });
  expect(calls(site)).toEqual(["webapi.get", "song.generateAuthToken 320"]);
  expect(site.server.requests.at(-1)?.body).toContain("url=enc%2Bson-g_1%2F%3D");
  const answer = await fetch(link.kind === "link" ? link.url : "");
  expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(10_000);
});

test("a song without 320 kbit/s, or whose file is missing there, plays at 128", async () => {
  const { site, bench } = await stand();
  site.addSong("son-g_1", { title: "Low" }, { "320kbps": "false" });
  expect(await bench.resolve(SOURCE, await encodedSong(bench))).toMatchObject({ variant: "128" });
  await bench.load(SOURCE, ALBUM);
  site.server.fail({ at: /api/, times: 1, outcome: { json: { status: "failure", error: { msg: "no" } } } });
  expect(await bench.resolve(SOURCE, storedTrack("song2"))).toMatchObject({ variant: "128" });
});

test.each([403, 404, 500])("a song whose file at 320 kbit/s is HTTP %i plays at 128", async (status) => {
  const { site, bench } = await stand();
  const encoded = await encodedSong(bench);
  site.server.fail({ at: /api/, times: 1, outcome: { status } });
  expect(await bench.resolve(SOURCE, encoded)).toMatchObject({ variant: "128" });
  await bench.load(SOURCE, ALBUM);
  site.server.fail({ at: /api/, outcome: { status } });
  expect(await troubleWith(bench.resolve(SOURCE, storedTrack("song2")))).toMatchObject({
    message: expect.stringContaining(`HTTP ${status}`),
  });
});

test("an expired link is replaced by a new one of the same variant, made of fresh data", async () => {
  const { site, bench } = await stand();
  const encoded = await encodedSong(bench);
  const first = await bench.resolve(SOURCE, encoded);
  site.server.expireLinks();
  const second = await bench.resolve(SOURCE, encoded, { reason: "refused", status: 403, variant: "320" });
  expect(second).toMatchObject({ variant: "320" });
  if (first.kind !== "link" || second.kind !== "link") throw new Error("no link");
  expect([(await fetch(first.url)).status, (await fetch(second.url)).status]).toEqual([403, 200]);
  expect(calls(site).slice(-2)).toEqual(["song.getDetails", "song.generateAuthToken 320"]);
});

test("a song that JioSaavn does not give the node says what may help", async () => {
  const { site, bench } = await stand();
  site.addSong("son-g_1", { title: "Closed" }, { encrypted_media_url: "" });
  expect(await troubleWith(bench.resolve(SOURCE, await encodedSong(bench)))).toMatchObject({
    code: "site-unavailable",
    message: expect.stringContaining("plugins.jiosaavn.proxy"),
  });
  const gone = storedTrack("gone");
  expect(await troubleWith(bench.resolve(SOURCE, gone))).toMatchObject({
    message: expect.stringContaining("not available"),
  });
  const wrong = storedTrack("../x");
  expect(await troubleWith(bench.resolve(SOURCE, wrong))).toMatchObject({ code: "site-unavailable" });
});

test.each(["song", "album", "featured", "artist"])("a missing page of a kind %s is an empty result", async (kind) => {
  const { bench } = await stand();
  expect(await bench.load(SOURCE, `https://www.jiosaavn.com/${kind}/none/none`)).toEqual({ kind: "empty" });
});

test.each([
  [{ status: "failure" }],
  [{ error: { code: "INPUT_INVALID" } }],
  [null],
  [{}],
  [{ list: "" }],
  [{ list: [] }],
])("the answer %j is an empty result", async (json) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /api/, outcome: { text: JSON.stringify(json) } });
  expect(await bench.load(SOURCE, ALBUM)).toEqual({ kind: "empty" });
});

test.each([
  ["a page", { text: "<html>Access denied</html>" }, "site-changed"],
  ["no list", { json: { title: "x", list: 5 } }, "site-changed"],
  ["a number", { json: 5 }, "site-changed"],
  ["HTTP 403", { status: 403, text: "" }, "site-unavailable"],
  ["HTTP 429", { status: 429, headers: { "retry-after": "9" } }, "site-busy"],
  ["HTTP 503", { status: 503, text: "" }, "site-busy"],
])("an API that answers %s is an error", async (_name, outcome, code) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /api/, outcome });
  expect(await troubleWith(bench.load(SOURCE, ALBUM))).toMatchObject({ code });
});

test("the options of jiosaavn-plugin are taken, and its server is not asked", async () => {
  const options = { apiURL: "https://api.example/api", playlistTrackLimit: "50", recommendationsTrackLimit: "10" };
  const { site, bench } = await stand(options);
  site.addPlaylist("Ev3ning_", 60);
  expect(playlistOf(await bench.load(SOURCE, PLAYLIST)).tracks).toHaveLength(50);
});
