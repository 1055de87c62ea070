import { afterEach, expect, test } from "vitest";
import { DeezerSite, isrcOf, QUOTA_ERROR } from "../../../lab/sites/deezer.ts";
import { DEEZER_MANIFEST } from "../../../plugins/deezer/manifest.ts";
import plugin from "../../../plugins/deezer/plugin.ts";
import { isClaimed } from "../../../src/plugin-host/manage/claims.ts";
import { createTrack, decodeTrack } from "../../../src/track/track.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import { buildTrack } from "../../support/track-builder.ts";

const SOURCE = "deezer";
const API = "api.deezer.com";
const TRACK = "https://www.deezer.com/track/3";
const PLAYLIST = "https://www.deezer.com/en/playlist/9";
const NO_ALBUM = { kind: "none" } as const;
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function stand(clock?: FakeClock): Promise<{ site: DeezerSite; bench: PluginBench }> {
  const site = await DeezerSite.start();
  closing.push(() => site.close());
  const bench = await PluginBench.start(plugin, { hosts: site.hosts, ...(clock && { clock }) });
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

function cuts(bench: PluginBench): string[] {
  return bench.lines.map(({ message }) => message).filter((message) => message.startsWith("a list was cut"));
}

test("a track is loaded with LavaSrc's info, pluginInfo and encoded fields", async () => {
  const { bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, TRACK);
  expect(track?.info).toMatchObject({
    identifier: "3",
    title: "T3",
    author: "A",
    length: 201_000,
    isStream: false,
    uri: TRACK,
    artworkUrl: "https://cdn-images.dzcdn.net/images/cover/2.jpg",
    isrc: "XX0000000001",
    sourceName: "deezer",
  });
  expect(track?.pluginInfo).toEqual({
    albumName: "Al",
    albumUrl: "https://www.deezer.com/album/2",
    artistUrl: "https://www.deezer.com/artist/1",
    artistArtworkUrl: "https://cdn-images.dzcdn.net/images/artist/1.jpg",
    previewUrl: expect.stringContaining("preview.mp3"),
    isPreview: false,
  });
  const decoded = decodeTrack(track?.encoded ?? "");
  expect(decoded.info).toEqual(track?.info);
  expect(decoded.pluginInfo).toEqual(track?.pluginInfo);
});

test.each([
  "deezer.com/track/3",
  "http://m.deezer.com/de/track/3?utm=1",
  "https://www.deezer.com/pt-br/track/3/",
  "https://widget.deezer.com/widget/dark/track/3",
  "https://link.deezer.com/s/song",
  "https://deezer.page.link/song",
  "dzr.page.link/song",
  "dzisrc:XX0000000001",
  "dzisrc:xx-000-00-00001",
])("%s is one track", async (identifier) => {
  const { bench } = await stand();
  const answer = await bench.load(SOURCE, identifier);
  expect(answer).toMatchObject({ kind: "track", track: { identifier: "3" } });
  expect(DEEZER_MANIFEST.sources.some((claims) => isClaimed(identifier, claims))).toBe(true);
});

test("an album fills in what its entries leave out, and keeps tracks that Deezer does not play here", async () => {
  const { site, bench } = await stand();
  expect(await playlistInfo(bench, "https://www.deezer.com/fr/album/2")).toEqual([
    "Al",
    {
      type: "album",
      url: "https://www.deezer.com/album/2",
      artworkUrl: "https://cdn-images.dzcdn.net/images/cover/2.jpg",
      author: "A",
      totalTracks: 2,
    },
  ]);
  const tracks = await bench.loadTracks(SOURCE, "https://www.deezer.com/album/2");
  expect(tracks.map(({ info }) => [info.title, info.isrc])).toEqual([
    ["T3", isrcOf(3)],
    ["T4", isrcOf(4)],
  ]);
  expect(tracks[0]?.info.artworkUrl).toContain("/cover/2.jpg");
  expect(tracks[0]?.pluginInfo).toMatchObject({
    albumName: "Al",
    artistArtworkUrl: "https://cdn-images.dzcdn.net/images/artist/1.jpg",
  });
  expect(site.server.requestsTo(API, "/2.0/album/2/tracks")[0]?.query.get("limit")).toBe("10000");
});

test("an artist is a playlist of the top tracks", async () => {
  const { site, bench } = await stand();
  expect(await playlistInfo(bench, "https://www.deezer.com/artist/1")).toEqual([
    "A's Top Tracks",
    {
      type: "artist",
      url: "https://www.deezer.com/artist/1",
      artworkUrl: "https://cdn-images.dzcdn.net/images/artist/1.jpg",
      author: "A",
      totalTracks: 2,
    },
  ]);
  expect(site.server.requestsTo(API, "/2.0/artist/1/top")[0]?.query.get("limit")).toBe("50");
  site.topLength = 60;
  expect(await bench.loadTracks(SOURCE, "https://www.deezer.com/artist/1?more")).toHaveLength(50);
});

test("a playlist of 2,000 is loaded page by page", async () => {
  const { site, bench } = await stand();
  Object.assign(site, { playlistLength: 2000, pageEntriesMax: 100 });
  const tracks = await bench.loadTracks(SOURCE, PLAYLIST);
  expect(tracks.map(({ info }) => info.identifier)).toEqual(Array.from({ length: 2000 }, (_, at) => String(at + 3)));
  const pages = site.server.requestsTo(API, "/2.0/playlist/9/tracks");
  expect(pages.map(({ query }) => query.get("limit"))).toEqual(Array.from({ length: 20 }, () => "10000"));
  expect(await playlistInfo(bench, PLAYLIST)).toMatchObject(["P", { author: "Owner", totalTracks: 2000 }]);
});

test.each([
  ["names itself", { next: "https://api.deezer.com/2.0/playlist/9/tracks?index=1" }, 2],
  ["goes on without entries", { data: [], next: "https://api.deezer.com/2.0/playlist/9/tracks?index=2" }, 1],
])("a playlist whose next page %s ends", async (_what, page, requests) => {
  const { site, bench } = await stand();
  const json = { data: [site.track(3)], total: 1e12, ...page };
  site.server.fail({ at: /playlist\/9\/tracks/, outcome: { json } });
  const tracks = await bench.loadTracks(SOURCE, PLAYLIST);
  expect(tracks.length).toBeLessThan(3);
  expect(site.server.requestsTo(API, "/2.0/playlist/9/tracks")).toHaveLength(requests);
});

test("a playlist whose next pages never end is cut, within the quota", async () => {
  const { site, bench } = await stand();
  let count = 0;
  const outcome = () => ({
    json: { data: [site.track(3)], next: `https://api.deezer.com/2.0/playlist/9/tracks?index=${++count}` },
  });
  site.server.fail({ at: /playlist\/9\/tracks/, outcome });
  expect(await bench.loadTracks(SOURCE, PLAYLIST)).toHaveLength(40);
  expect(cuts(bench)).toEqual(["a list was cut at 40 tracks: 40 requests"]);
});

test.each(["https://elsewhere.example/2.0/x?index=1", "http://api.deezer.com/playlist/8?limit=1&index=1", "x"])(
  "of a next page at %s, only the index is taken",
  async (next) => {
    const { site, bench } = await stand();
    const json = { data: [site.track(3)], next };
    site.server.fail({ at: /playlist\/9\/tracks/, outcome: { json }, times: 1 });
    expect(await titles(bench, PLAYLIST)).toEqual(["T3", "T4", "T5"]);
    const pages = site.server.requestsTo(API, "/2.0/playlist/9/tracks");
    expect(pages.map(({ query }) => query.get("index"))).toEqual([null, "1"]);
  },
);

test.each([
  ["the quota is used up", QUOTA_ERROR, /Quota limit exceeded/],
  ["the site is down", { status: 503 }, /HTTP 503/],
])("where %s, a list has what could be read, with one line", async (_what, answer, reason) => {
  const { site, bench } = await stand();
  Object.assign(site, { playlistLength: 500, pageEntriesMax: 100 });
  site.server.fail({
    at: /playlist\/9\/tracks/,
    outcome: (request) => (request.query.get("index") === "200" ? answer : (site.answer(request) ?? {})),
  });
  expect(await bench.loadTracks(SOURCE, PLAYLIST)).toHaveLength(200);
  expect(cuts(bench)).toEqual([expect.stringMatching(/^a list was cut at 200 tracks: /)]);
  expect(cuts(bench)).toEqual([expect.stringMatching(reason)]);
});

test.each(["https://deezer.com/album/2", PLAYLIST, "https://deezer.com/artist/1"])(
  "%s without tracks is empty",
  async (identifier) => {
    const { site, bench } = await stand();
    site.server.fail({ at: /(tracks|top)$/, outcome: { json: { data: [], total: 0 } } });
    expect(await bench.load(SOURCE, identifier)).toEqual({ kind: "empty" });
  },
);

test("of previews, tracks without one are left out of lists", async () => {
  const { site, bench } = await stand();
  const data = [{ ...site.track(5), preview: "" }, site.track(3)];
  site.server.fail({ at: /playlist\/9\/tracks/, outcome: { json: { data } } });
  expect(await titles(bench, `dzprev:${PLAYLIST}`)).toEqual(["T3"]);
  expect(await titles(bench, PLAYLIST)).toEqual(["T5", "T3"]);
});

test("totals that lie and members of other types do not harm", async () => {
  const { site, bench } = await stand();
  const odd = { id: "12", title: "Odd", duration: "long", artist: "x", album: [], preview: 5, isrc: {} };
  const data = [null, 5, { id: {} }, { id: 3 }, { title: "no id" }, { ...odd, title: 7 }, odd, site.track(3)];
  site.server.fail({
    at: /playlist\/9$/,
    outcome: { json: { title: 4, nb_tracks: 2 ** 31, creator: "x", link: "no" } },
  });
  site.server.fail({ at: /playlist\/9\/tracks/, outcome: { json: { data, total: "many" } } });
  expect(await titles(bench, PLAYLIST)).toEqual(["Odd", "T3"]);
  expect(await playlistInfo(bench, PLAYLIST)).toEqual([
    "Unknown playlist",
    {
      type: "playlist",
      url: "https://www.deezer.com/playlist/9",
      artworkUrl: null,
      author: null,
      totalTracks: 2,
    },
  ]);
});

test("a search sends the words, and finds nothing where there is nothing", async () => {
  const { site, bench } = await stand();
  expect(await titles(bench, "dzsearch: t6 ")).toEqual(["T6"]);
  expect(site.server.requestsTo(API, "/2.0/search")[0]?.query.get("q")).toBe("t6");
  expect(await bench.load(SOURCE, "dzsearch:nothing of that kind")).toEqual({ kind: "empty" });
  expect(await bench.load(SOURCE, "dzsearch: ")).toEqual({ kind: "empty" });
});

test.each([
  "dzisrc:XX0000000099",
  "dzisrc:no code",
  "https://www.deezer.com/track/1000000",
  "https://deezer.com/album/77",
])("%s finds nothing", async (identifier) => {
  const { bench } = await stand();
  expect(await bench.load(SOURCE, identifier)).toEqual({ kind: "empty" });
});

test("recommendations are the radio of the artist, behind the track they are asked for", async () => {
  const { bench } = await stand();
  expect(await titles(bench, "dzrec:3")).toEqual(["T3", "T7", "T8"]);
  expect(await titles(bench, "dzrec:track=5")).toEqual(["T5", "T7", "T3", "T8"]);
  expect(await titles(bench, "dzrec:artist=1")).toEqual(["T7", "T3", "T8"]);
  expect(await playlistInfo(bench, "dzrec:3")).toMatchObject(["Deezer Recommendations", { type: "recommendations" }]);
  const work = bench.load(SOURCE, "dzrec:some words");
  expect(await troubleWith(work)).toMatchObject({ message: expect.stringContaining("dzrec:artist=") });
});

test.each([
  ["is empty", { json: { data: [] } }],
  ["is only the seed", { json: { data: [{ id: 3, title: "T3" }] } }],
  ["does not exist", { json: { error: { type: "DataException", message: "no data", code: 800 } } }],
  ["is HTTP 404", { status: 404, text: "" }],
])("recommendations are the artist's top tracks where the radio %s", async (_what, outcome) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /radio$/, outcome });
  expect(await titles(bench, "dzrec:3")).toEqual(["T3", "T4"]);
  expect(site.server.requestsTo(API, "/2.0/artist/1/top")[0]?.query.get("limit")).toBe("50");
  site.server.fail({ at: /top$/, outcome });
  expect(await bench.load(SOURCE, "dzrec:track=3")).toEqual({ kind: "empty" });
});

test.each([
  ["HTTP 405", { status: 405, text: "" }],
  ["a page", { text: "<html>" }],
  ["another error", { json: { error: { type: "Exception", message: "An unknown method", code: 600 } } }],
])("recommendations are the artist's top tracks where the radio is %s", async (_what, outcome) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /radio$/, outcome });
  expect(await titles(bench, "dzrec:3")).toEqual(["T3", "T4"]);
  site.server.fail({ at: /top$/, outcome });
  const again = bench.load(SOURCE, "dzrec:track=3");
  expect(await troubleWith(again)).toMatchObject({ code: expect.stringMatching(/^site-/) });
});

test("a radio that the quota refuses is an error", async () => {
  const { site, bench } = await stand();
  site.server.fail({ at: /radio$/, outcome: QUOTA_ERROR });
  expect(await troubleWith(bench.load(SOURCE, "dzrec:3"))).toMatchObject({ code: "site-busy" });
});

test("a track is mirrored, with the ISRC of the site only where it has none", async () => {
  const { site, bench } = await stand();
  const encoded = (isrc: string | null, identifier = "3") =>
    createTrack({ ...buildTrack().info, sourceName: SOURCE, identifier, isrc }, NO_ALBUM).encoded;
  expect(await bench.resolve(SOURCE, encoded("XX0000000042"))).toEqual({ kind: "mirror", isrc: "XX0000000042" });
  expect(site.server.requests).toHaveLength(0);
  expect(await bench.resolve(SOURCE, encoded(null))).toEqual({ kind: "mirror", isrc: "XX0000000001" });
  expect(await bench.resolve(SOURCE, encoded(""))).toEqual({ kind: "mirror", isrc: "XX0000000001" });
  expect(await bench.resolve(SOURCE, encoded(null, "1000000"))).toEqual({ kind: "mirror", isrc: undefined });
  expect(await bench.resolve(SOURCE, encoded(null, "../x"))).toEqual({ kind: "mirror", isrc: undefined });
  site.server.fail({ at: /track/, outcome: QUOTA_ERROR });
  expect(await bench.resolve(SOURCE, encoded(null, "5"))).toEqual({ kind: "mirror", isrc: undefined });
});

test("a preview lasts 30 s and plays its own MP3, by a fresh link each time", async () => {
  const { site, bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, `dzprev:${TRACK}`);
  expect(track?.info.length).toBe(30_000);
  expect(track?.pluginInfo).toMatchObject({ isPreview: true });
  expect(decodeTrack(track?.encoded ?? "").pluginInfo).toEqual(track?.pluginInfo);
  expect(await titles(bench, "dzprev:dzsearch:t")).toEqual(["T3", "T6"]);
  site.server.expireLinks();
  const limited = await bench.resolve(SOURCE, track?.encoded ?? "", {}, [SOURCE]);
  const response = await fetch(limited.kind === "link" ? limited.url : "");
  expect(response.headers.get("content-type")).toBe("audio/mpeg");
  await response.arrayBuffer();
});

test("a preview's link expires when its signature says, and may be missing", async () => {
  const { site, bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, `dzprev:${TRACK}`);
  const preview = "https://cdnt-preview.dzcdn.net/api/1/1/a.mp3?hdnea=exp=1795000000~acl=/a~hmac=b";
  site.server.fail({ at: /track\/3/, outcome: { json: { ...site.track(3), preview } }, times: 1 });
  const link = await bench.resolve(SOURCE, track?.encoded ?? "", { reason: "refused" });
  expect(link).toMatchObject({ url: preview, expiresAtEpochMs: 1_795_000_000_000 });
  site.server.fail({ at: /track\/3/, outcome: { json: { ...site.track(3), preview: "" } } });
  const work = bench.resolve(SOURCE, track?.encoded ?? "", { reason: "refused" });
  expect(await troubleWith(work)).toMatchObject({ message: "Deezer has no preview of this track" });
});

test("a share link is followed by its redirects alone", async () => {
  const { site, bench } = await stand();
  const load = (name: string) => bench.load(SOURCE, `https://link.deezer.com/s/${name}`);
  site.shares.set("dest", "https://www.deezer.com/x?dest=https%3A%2F%2Fwww.deezer.com%2Fus%2Ftrack%2F5");
  site.shares.set("chain", "https://deezer.page.link/dest");
  site.shares.set("gone", "https://www.deezer.com/404");
  site.shares.set("loop", "https://link.deezer.com/s/loop");
  site.shares.set("foreign", "https://elsewhere.example/track/3");
  expect(await load("dest")).toMatchObject({ kind: "track", track: { identifier: "5" } });
  expect(await load("chain")).toMatchObject({ kind: "track", track: { identifier: "5" } });
  expect(await load("gone")).toEqual({ kind: "empty" });
  expect(await load("unknown")).toEqual({ kind: "empty" });
  expect(await troubleWith(load("loop"))).toMatchObject({ code: "site-changed" });
  expect(await troubleWith(load("foreign"))).toMatchObject({
    code: "site-unavailable",
    message: expect.stringContaining("elsewhere.example"),
  });
  expect(new Set(site.server.requests.map(({ host }) => host))).toEqual(
    new Set(["link.deezer.com", "deezer.page.link", API]),
  );
});

test("a podcast at Deezer is refused by name", async () => {
  const { bench } = await stand();
  const work = bench.load(SOURCE, "https://www.deezer.com/us/show/1");
  expect(await troubleWith(work)).toMatchObject({ code: "site-unavailable", message: expect.stringContaining("show") });
  for (const link of ["www.deezer.com/us/offers", "a@www.deezer.com/track/3", "www.deezer.com:81/track/3"]) {
    expect(await bench.load(SOURCE, `https://${link}`)).toBeUndefined();
  }
});

test("after the quota error the API is left alone for five seconds", async () => {
  const clock = new FakeClock();
  const { site, bench } = await stand(clock);
  site.server.fail({ at: /api\.deezer/, outcome: QUOTA_ERROR, times: 1 });
  expect(await troubleWith(bench.load(SOURCE, TRACK))).toMatchObject({
    code: "site-busy",
    message: expect.stringContaining("50 requests in 5 s"),
  });
  expect(await troubleWith(bench.load(SOURCE, TRACK))).toMatchObject({ code: "site-busy" });
  expect(site.server.requestsTo(API)).toHaveLength(1);
  clock.advance(5000);
  expect(await bench.load(SOURCE, TRACK)).toMatchObject({ kind: "track" });
});

test.each([
  ["HTTP 404", { status: 404 }, undefined],
  ["HTTP 204", { status: 204 }, undefined],
  ["a DataException without a code", { json: { error: { type: "DataException", message: "no data" } } }, undefined],
  ["HTTP 429", { status: 429 }, "site-busy"],
  ["HTTP 503", { status: 503 }, "site-busy"],
  ["a page", { text: "<html>Deezer</html>" }, "site-changed"],
  ["a list", { json: [] }, "site-changed"],
  ["an empty object", { json: {} }, "site-changed"],
  ["code 700", { json: { error: { type: "Exception", message: "busy", code: 700 } } }, "site-busy"],
  ["code 200", { json: { error: { type: "OAuthException", message: "x", code: 200 } } }, "site-unavailable"],
  ["code 600", { json: { error: { type: "InvalidQueryException", message: "x", code: 600 } } }, "site-changed"],
  ["an error without a code", { json: { error: { message: {} } } }, "site-changed"],
  ["a cut connection", "cut" as const, "site-unreachable"],
])("%s is what it is to the client", async (_what, outcome, code) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /api\.deezer/, outcome });
  for (const identifier of [TRACK, PLAYLIST, "dzsearch:x"]) {
    if (code === undefined) expect(await bench.load(SOURCE, identifier)).toEqual({ kind: "empty" });
    else expect(await troubleWith(bench.load(SOURCE, identifier))).toMatchObject({ code });
  }
});

test("an error without a code names none", async () => {
  const { site, bench } = await stand();
  const error = { type: "Exception", message: "odd", code: null };
  site.server.fail({ at: /api\.deezer/, outcome: { json: { error } } });
  expect(await troubleWith(bench.load(SOURCE, TRACK))).toMatchObject({
    message: expect.stringMatching(/answered: odd$/),
  });
});

test("the start says that Deezer's audio is not decrypted but mirrored", async () => {
  const { bench } = await stand();
  expect(bench.manifest.sources).toMatchObject([{ name: SOURCE, isMirrored: true }]);
  const message = expect.stringMatching(/nothing is decrypted.*providers$/);
  expect(bench.lines).toMatchObject([{ level: "info", message }]);
});

test("a search of several kinds is one request for suggestions", async () => {
  const { site, bench } = await stand();
  const of = (type: string, url: string, picture: string, author: string, totalTracks: number | null) => ({
    type,
    url: `https://www.deezer.com/${url}`,
    artworkUrl: `https://cdn-images.dzcdn.net/images/${picture}.jpg`,
    author,
    totalTracks,
  });
  expect(await bench.search("dzsearch: a")).toMatchObject({
    albums: [{ name: "Al", pluginInfo: of("album", "album/2", "cover/2", "A", 2) }],
    artists: [{ name: "A's Top Tracks", pluginInfo: of("artist", "artist/1", "artist/1", "A", null) }],
    playlists: [],
    texts: [],
  });
  const found = await bench.search("dzsearch:p", ["playlist"]);
  expect(found.playlists).toEqual([{ name: "P", pluginInfo: of("playlist", "playlist/9", "playlist/9", "Owner", 3) }]);
  expect((await bench.search("dzsearch:t")).tracks.count).toBe(2);
  const asked = site.server.requestsTo(API).map(({ path, query }) => [path, query.get("q")]);
  expect(asked).toEqual(["a", "p", "t"].map((words) => ["/2.0/search/autocomplete", words]));
});

test("a search of several kinds without words, or for texts alone, asks nothing; a quota is an error", async () => {
  const { site, bench } = await stand();
  for (const found of [await bench.search("dzsearch:"), await bench.search("dzsearch:a", ["text"])]) {
    expect(found).toMatchObject({ albums: [], artists: [], playlists: [], texts: [] });
  }
  expect(site.server.requests).toHaveLength(0);
  site.server.fail({ at: /autocomplete/, outcome: { json: { albums: { data: [{ id: 1 }, null, 5] }, artists: 5 } } });
  expect(await bench.search("dzsearch:a")).toMatchObject({ albums: [], artists: [] });
  site.server.fail({ at: /autocomplete/, outcome: { json: { other: [] } } });
  expect((await troubleWith(bench.search("dzsearch:a"))).message).toContain("without lists");
  site.server.fail({ at: /autocomplete/, outcome: QUOTA_ERROR });
  expect((await troubleWith(bench.search("dzsearch:a"))).message).toContain("50 requests in 5 s");
});
