// What the spotify plugin does when one of its backends fails, and how it pages through long lists.

import { expect, test } from "vitest";
import {
  embedPage,
  SPOTIFY_ALBUM_ID,
  SPOTIFY_ARTIST_ID,
  SPOTIFY_CREDENTIALS,
  SPOTIFY_PLAYLIST_ID,
  SPOTIFY_SONG_ID,
  spotifyId,
} from "../../../lab/sites/spotify.ts";
import { SPOTIFY_MANIFEST } from "../../../plugins/spotify/manifest.ts";
import { oneTimePassword } from "../../../plugins/spotify/one-time-password.ts";
import { systemClock, type Timer } from "../../../src/lib/clock.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { troubleWith } from "../../support/plugin-bench.ts";
import { spotifyTestEnvironment } from "../../support/spotify-test-environment.ts";

const env = spotifyTestEnvironment();
const PAGE = "https://open.spotify.com";
const SONG = `${PAGE}/track/${SPOTIFY_SONG_ID}`;
const LONG = spotifyId(5000);
const PLAYER = "api-partner.spotify.com";
const { hashes } = SPOTIFY_MANIFEST.config;
const EMBED = /^open\.spotify\.com\/embed\//;
const V2 = /^api-partner\.spotify\.com\/pathfinder\/v2/;

function offsets(): number[] {
  return env.site.server
    .requestsTo(PLAYER)
    .map(({ body }) => (JSON.parse(body) as { variables: { offset: number } }).variables.offset);
}

/** Searches that each find one song. */
function queries(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `spsearch:${" ".repeat(index)}hall`);
}

// Long lists

test("a playlist of 500 takes five requests, and its last pages are requested at the same time", async () => {
  env.site.addPlaylist(LONG, 500);
  let waiting = 0;
  let release = (): void => undefined;
  const allAsked = new Promise<void>((resolve) => {
    release = resolve;
  });
  // The pages behind the second one are answered only once all three of them have been requested.
  env.site.beforeQuery = async ({ body }) => {
    if (body.includes('"offset":100,')) return;
    waiting += 1;
    if (waiting === 3) release();
    await allAsked;
  };
  const found = await env.load(`${PAGE}/playlist/${LONG}`);
  if (found?.kind !== "playlist") throw new Error("no playlist");
  expect(found.tracks.map(({ title }) => title)).toEqual(Array.from({ length: 500 }, (_, index) => `Song ${index}`));
  expect(found.pluginInfo).toMatchObject({ type: "playlist", totalTracks: 500 });
  expect(env.requests()).toHaveLength(5);
  expect(offsets().toSorted((a, b) => a - b)).toEqual([100, 200, 300, 400]);
});

test("a playlist is loaded up to playlistLoadLimit pages of 100, and its whole number is told", async () => {
  env.site.addPlaylist(LONG, 900);
  const found = await env.load(`${PAGE}/playlist/${LONG}`);
  expect(found).toMatchObject({ kind: "playlist", pluginInfo: { totalTracks: 900 } });
  expect(await env.loadTracks(`${PAGE}/playlist/${LONG}`)).toHaveLength(600);
  await env.restart({ playlistLoadLimit: "2" });
  expect(await env.loadTracks(`${PAGE}/playlist/${LONG}`)).toHaveLength(200);
});

test("an album is loaded up to albumLoadLimit pages of 50", async () => {
  const songs = Array.from({ length: 400 }, (_, index) => ({
    ...{ id: spotifyId(index), title: `Song ${index}`, artists: ["A"], lengthMs: 1000 },
  }));
  env.site.addList({ type: "album", id: LONG, name: "Everything", songs });
  expect(await env.loadTracks(`${PAGE}/album/${LONG}`)).toHaveLength(300);
  await env.restart({ albumLoadLimit: "1" });
  expect(await env.loadTracks(`${PAGE}/album/${LONG}`)).toHaveLength(50);
});

test("where the rest of a list cannot be loaded, there are the tracks so far, and one line in the log", async () => {
  env.site.addPlaylist(LONG, 500);
  env.site.beforeQuery = ({ body }) => {
    if (body.includes('"offset":300')) throw new Error("the connection is cut");
  };
  const found = await env.load(`${PAGE}/playlist/${LONG}`);
  if (found?.kind !== "playlist") throw new Error("no playlist");
  expect(found.tracks).toHaveLength(400);
  expect(found.tracks[300]?.title).toBe("Song 400");
  expect(found.pluginInfo).toMatchObject({ totalTracks: 500 });
  const lines = env.bench.lines.filter(({ message }) => message.startsWith("only a part of a list of Spotify"));
  expect(lines).toHaveLength(1);
});

test("where all the rest of a list cannot be loaded, its number is not known", async () => {
  env.site.addPlaylist(LONG, 500);
  env.site.server.fail({ at: V2, outcome: { status: 500, json: {} } });
  const found = await env.load(`${PAGE}/playlist/${LONG}`);
  expect(found).toMatchObject({ kind: "playlist", pluginInfo: { totalTracks: null } });
  expect(found).toHaveProperty("tracks.length", 100);
});

test("a further page that is limited for a short time is requested again", async () => {
  env.site.addPlaylist(LONG, 300);
  const pausesMs: number[] = [];
  // Time passes as always, but for the pause.
  const after = (delayMs: number, callback: () => void): Timer => {
    if (delayMs === 2000) pausesMs.push(delayMs);
    return systemClock.after(delayMs === 2000 ? 0 : delayMs, callback);
  };
  await env.restart({}, { clock: { now: () => systemClock.now(), epochMs: () => systemClock.epochMs(), after } });
  const limited = { status: 429, headers: { "retry-after": "2" }, json: {} };
  env.site.server.fail({ at: V2, outcome: limited, times: 1 });
  expect(await env.loadTracks(`${PAGE}/playlist/${LONG}`)).toHaveLength(300);
  expect(offsets()).toEqual([100, 100, 200]);
  expect(pausesMs).toEqual([2000]);
});

test("a total that is too low does not end a list whose pages come full", async () => {
  env.site.addPlaylist(LONG, 450, { totalCount: 150 });
  const found = await env.load(`${PAGE}/playlist/${LONG}`);
  expect(found).toMatchObject({ kind: "playlist", pluginInfo: { totalTracks: 450 } });
  expect(found).toHaveProperty("tracks.length", 450);
});

test.each([
  [80, 80],
  [120, 120],
])("an album of %i tracks says so, however many are loaded", async (count, totalTracks) => {
  const songs = Array.from({ length: count }, (_, index) => ({
    ...{ id: spotifyId(index), title: `Song ${index}`, artists: ["A"], lengthMs: 1000 },
  }));
  env.site.addList({ type: "album", id: LONG, name: "Everything", songs });
  await env.restart({ albumLoadLimit: "1" });
  const found = await env.load(`${PAGE}/album/${LONG}`);
  expect(found).toMatchObject({ kind: "playlist", pluginInfo: { totalTracks } });
  expect(found).toHaveProperty("tracks.length", 50);
});

test("pages of files of a playlist's owner, which all have one id, are all loaded", async () => {
  const songs = Array.from({ length: 300 }, (_, index) => ({
    ...{ id: spotifyId(index), title: `File ${index}`, artists: ["A"], lengthMs: 1000, isLocal: true },
  }));
  env.site.addList({ type: "playlist", id: LONG, name: "Files", songs });
  await env.restart({ localFiles: "true" });
  expect(await env.loadTracks(`${PAGE}/playlist/${LONG}`)).toHaveLength(300);
});

test.each([20, 49])("pages of %i entries, where 100 are asked for, leave nothing out", async (pageSize) => {
  env.site.addPlaylist(LONG, 450);
  await env.restart({ preferPartnerApi: "true" });
  env.site.pageSizeMax = pageSize;
  const tracks = await env.loadTracks(`${PAGE}/playlist/${LONG}`);
  expect(tracks.map(({ info }) => info.title)).toEqual(Array.from({ length: 450 }, (_, index) => `Song ${index}`));
  expect(env.bench.lines).toEqual([]);
});

test("a list with fewer entries than its total says so in the log", async () => {
  env.site.addPlaylist(LONG, 150, { totalCount: 180 });
  expect(await env.loadTracks(`${PAGE}/playlist/${LONG}`)).toHaveLength(150);
  const message = "only a part of a list of Spotify could be loaded: Spotify answered 150 of 180 entries";
  expect(env.bench.lines).toMatchObject([{ message }]);
});

test("pages that repeat, and a total that lies, end the list", async () => {
  env.site.addPlaylist(LONG, 100, { totalCount: 1_000_000_000 });
  const list = { name: "Loop", content: { totalCount: 1_000_000_000, items: [] as unknown[] } };
  list.content.items = Array.from({ length: 100 }, (_, index) => ({
    itemV2: { data: { name: "Again", uri: `spotify:track:${spotifyId(index + 7000)}` } },
  }));
  env.site.server.fail({ at: V2, outcome: { json: { data: { playlistV2: list } } } });
  expect(await env.loadTracks(`${PAGE}/playlist/${LONG}`)).toHaveLength(200);
  expect(env.site.server.requestsTo(PLAYER)).toHaveLength(5);
});

// Hashes

test("an unknown hash is followed by the next one, and the known one is sent first from then on", async () => {
  const [old = "", known = ""] = hashes.members.searchDesktop.default;
  env.site.oldHashes.add(old);
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
  expect(await env.loadTracks("spsearch:song 1")).toHaveLength(1);
  const sent = env.site.server
    .requestsTo(PLAYER)
    .map(({ body }) => [old, known].findIndex((hash) => body.includes(hash)));
  expect(sent).toEqual([0, 1, 1]);
});

test.each([
  ["a 200 with the code", { json: { errors: [{ message: "x", extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }] } }],
  ["a 404 in words", { status: 404, text: "PersistedQueryNotFound" }],
  ["a 412", { status: 412, text: "" }],
  [
    "a 400 with the code beside",
    { status: 400, json: { errors: [{ code: "PERSISTED_QUERY_NOT_FOUND" }], data: null } },
  ],
])("an unknown hash is recognised by %s", async (_name, unknownHash) => {
  env.site.unknownHash = unknownHash;
  env.site.oldHashes.add(hashes.members.fetchPlaylist.default[0]);
  env.site.addPlaylist(LONG, 120);
  expect(await env.loadTracks(`${PAGE}/playlist/${LONG}`)).toHaveLength(120);
  expect(env.site.server.requestsTo(PLAYER).every(({ path }) => path === "/pathfinder/v2/query")).toBe(true);
});

test("where no hash is known any more, the error names the query and the option, which helps", async () => {
  for (const hash of hashes.members.searchDesktop.default) env.site.oldHashes.add(hash);
  const trouble = await troubleWith(env.load("spsearch:hall of"));
  expect(trouble.message).toContain("searchDesktop");
  expect(trouble.message).toContain("plugins.spotify.hashes.searchDesktop");
  await env.restart({ hashes: { searchDesktop: ["a".repeat(64)] } });
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
});

test("rotten hashes of one query leave the others alone", async () => {
  for (const hash of hashes.members.searchDesktop.default) env.site.oldHashes.add(hash);
  for (let count = 0; count < 6; count++) await troubleWith(env.load(`spsearch:${count}`));
  expect(await env.load(`sprec:${SPOTIFY_SONG_ID}`)).toMatchObject({ kind: "playlist" });
});

test("the former address of the interface is asked where the present one is gone, and stays first", async () => {
  env.site.server.fail({ at: V2, outcome: { status: 404, json: {} } });
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
  expect(await env.loadTracks("spsearch:song 1")).toHaveLength(1);
  const versions = env.site.server.requestsTo(PLAYER).map(({ path }) => path.split("/")[2]);
  expect(versions).toEqual(["v2", "v1", "v1"]);
});

// Embed pages and tokens

test.each([
  ["a page without its data", { text: "<html><body>Enable JavaScript</body></html>" }],
  ["data that is not JSON", { text: '<script id="__NEXT_DATA__">{"props":</script>' }],
  [
    "an item of another form",
    { text: embedPage({ entity: { name: 1, trackList: "x" }, session: { accessToken: "x" } }) },
  ],
  ["a refusal", { status: 403, text: "no" }],
])("after %s, the web player's interface is asked", async (_name, outcome) => {
  await env.load("spsearch:hall of");
  env.site.server.fail({ at: EMBED, outcome });
  expect(await env.load(SONG)).toMatchObject({
    kind: "track",
    track: { author: "Stand In, A Guest", lengthMs: 201_040 },
  });
  expect(await env.load(`${PAGE}/playlist/${SPOTIFY_PLAYLIST_ID}`)).toMatchObject({
    name: "Mix",
    tracks: [{ pluginInfo: { albumName: "Rooms" } }, {}, {}, {}, {}, {}],
    pluginInfo: { artworkUrl: "https://i.scdn.co/image/playlist-640", author: "The Stand-ins", totalTracks: 7 },
  });
  expect(await env.load(`${PAGE}/album/${SPOTIFY_ALBUM_ID}`)).toMatchObject({
    name: "Rooms",
    pluginInfo: { author: "The Stand-ins", totalTracks: 5 },
  });
  expect(await env.load(`${PAGE}/artist/${SPOTIFY_ARTIST_ID}`)).toMatchObject({ name: "Stand In's Top Tracks" });
});

test("a token that is refused is replaced, once", async () => {
  await env.load("spsearch:hall of");
  env.site.expireTokens();
  expect(await env.loadTracks("spsearch:song 1")).toHaveLength(1);
  expect(env.requests().filter((request) => EMBED.test(request))).toHaveLength(2);
  env.site.server.fail({ at: V2, outcome: { status: 401, json: {} } });
  expect((await troubleWith(env.load("spsearch:song 2"))).message).toContain("refuses the token");
});

test("an expired token of many requests that are on their way is no failure of theirs", async () => {
  await env.load("spsearch:hall of");
  env.site.expireTokens();
  // None is answered before all of them have been sent.
  let waiting = 0;
  let release = (): void => undefined;
  const allAsked = new Promise<void>((resolve) => {
    release = resolve;
  });
  env.site.beforeQuery = async () => {
    waiting += 1;
    if (waiting === 12) release();
    await allAsked;
  };
  const found = await Promise.all(queries(12).map((query) => env.loadTracks(query)));
  expect(found.every((tracks) => tracks.length === 1)).toBe(true);
  expect(env.bench.lines.filter(({ message }) => message.includes("circuit breaker"))).toEqual([]);
  expect(env.requests().filter((request) => EMBED.test(request))).toHaveLength(2);
});

test("many requests that find the present address gone agree on the former one", async () => {
  await env.load("spsearch:hall of");
  let waiting = 0;
  let release = (): void => undefined;
  const allAsked = new Promise<void>((resolve) => {
    release = resolve;
  });
  const answer = env.site.answer.bind(env.site);
  env.site.answer = async (request) => {
    if (request.path !== "/pathfinder/v2/query") return answer(request);
    waiting += 1;
    if (waiting === 8) release();
    await allAsked;
    return { status: 404, json: {} };
  };
  const found = await Promise.all(queries(8).map((query) => env.loadTracks(query)));
  expect(found.map((tracks) => tracks.length)).toEqual(Array(8).fill(1));
  await env.load("spsearch:song 1");
  expect(env.site.server.requestsTo(PLAYER).at(-1)?.path).toBe("/pathfinder/v1/query");
  expect(waiting).toBe(8);
});

test("a session in the page for an item that does not exist is used", async () => {
  const text = embedPage({ entity: null, session: env.site.session() });
  env.site.server.fail({ at: EMBED, outcome: { status: 404, text } });
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
});

test("a session is requested from the page of what is loaded, or of what had one before", async () => {
  const gone = /\/embed\/(track\/4cOdK2wGLETKBW3PvgPWqT|playlist\/37i9dQZF1DXcBWIGoYBM5M)$/;
  env.site.server.fail({ at: gone, outcome: { status: 404, text: "" } });
  const { message } = await troubleWith(env.load("spsearch:hall of"));
  expect(message).toMatch(/are gone: load any link of Spotify first, or set plugins\.spotify\.totp/);
  expect(await env.load(`sprec:${SPOTIFY_SONG_ID}`)).toMatchObject({ kind: "playlist" });
  env.site.expireTokens();
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
});

test.each([
  ["an embed page without its item", EMBED, { text: embedPage({ entity: undefined, session: { accessToken: "x" } }) }],
  ["an answer whose item has another name", V2, { json: { data: { playlist: {} } } }],
  ["an answer without entries", V2, { json: { data: { playlistV2: { name: "P" } } } }],
  [
    "an answer with entries of another form",
    V2,
    { json: { data: { playlistV2: { content: { items: [{ item: {} }] } } } } },
  ],
])("%s is an error, and a failure of its backend", async (_name, at, outcome) => {
  const clock = new FakeClock();
  await env.restart({}, { clock });
  await env.load("spsearch:hall of");
  env.site.server.fail({ at: EMBED, outcome: { status: 403, text: "" } });
  env.site.server.fail({ at: V2, outcome: { status: 404, json: {} } });
  env.site.server.fail({ at: /^api-partner\.spotify\.com\/pathfinder\/v1/, outcome: { status: 404, json: {} } });
  env.site.server.fail({ at, outcome });
  const trouble = await troubleWith(env.load(`${PAGE}/playlist/${SPOTIFY_PLAYLIST_ID}`));
  expect(trouble.severity).toBe("suspicious");
  clock.advance(1000);
  const failed = env.bench.backends.filter(({ name }) => /: (playlist|fetchPlaylist)$/.test(name));
  expect(failed).toMatchObject([{ failed: 1 }, { failed: 1 }]);
});

test("a list without tracks is empty", async () => {
  env.site.addPlaylist(LONG, 0);
  expect(await env.load(`${PAGE}/playlist/${LONG}`)).toEqual({ kind: "empty" });
});

test("many loads at once share one session", async () => {
  await Promise.all(Array.from({ length: 8 }, (_, index) => env.load(`spsearch:song ${index}`)));
  expect(env.requests().filter((request) => EMBED.test(request))).toHaveLength(1);
});

test("when neither backend works, the error says why, and each reason once", async () => {
  env.site.server.fail({ at: EMBED, outcome: { status: 403, text: "no" } });
  env.site.server.fail({ at: V2, outcome: { status: 429, headers: { "retry-after": "7" }, json: {} } });
  const trouble = await troubleWith(env.load(SONG));
  expect(trouble.message.split("embed pages")).toHaveLength(2);
  expect(trouble.severity).toBe("suspicious");
});

test("a playlist made by Spotify loads by its embed page, and otherwise says why it does not", async () => {
  const id = "37i9dQZF1DX00000000000";
  const trouble = await troubleWith(env.load(`${PAGE}/playlist/${id}`));
  expect(trouble.message).toContain("Spotify generated playlists are no longer accessible via anonymous tokens.");
  expect(trouble.severity).toBe("common");
  env.site.addPlaylist(id, 3);
  expect(await env.loadTracks(`${PAGE}/playlist/${id}`)).toHaveLength(3);
});

test("a token service of the operator's gives the token, and its failure is made up for", async () => {
  const { server } = env.site;
  await env.restart({ customTokenEndpoint: `${server.url}/tokener/api/token` });
  server.fail({ at: /^tokener\/api\/token$/, outcome: () => ({ json: env.site.session() }) });
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
  expect(env.requests()).toEqual(["tokener/api/token", `${PLAYER}/pathfinder/v2/query`]);
  server.fail({ at: /^tokener/, outcome: { json: { error: { code: 400, message: "no" } } } });
  env.site.expireTokens();
  expect(await env.loadTracks("spsearch:song 1")).toHaveLength(1);
  expect(env.requests().filter((request) => EMBED.test(request))).toHaveLength(1);
});

test.each([
  ["the same one again and again", 1],
  ["a new one each time", 2],
])("a token service whose tokens Spotify refuses is left alone for a time: %s", async (name, times) => {
  const clock = new FakeClock();
  await env.restart({ customTokenEndpoint: `${env.site.server.url}/tokener` }, { clock });
  let count = 0;
  const outcome = () => ({ json: { accessToken: `bad-${times === 1 ? 0 : count++}` } });
  env.site.server.fail({ at: /^tokener/, outcome });
  const asked = () => env.requests().filter((request) => request.startsWith("tokener")).length;
  expect(await env.loadTracks("spsearch:hall of"), name).toHaveLength(1);
  expect(await env.loadTracks("spsearch:song 1")).toHaveLength(1);
  expect(asked()).toBe(2);
  const lines = env.bench.lines.filter(({ message }) => message.startsWith("the token service gives no valid token"));
  expect(lines).toHaveLength(1);
  clock.advance(5 * 60_000 + 1);
  await env.load("spsearch:song 2");
  expect(asked()).toBe(4);
});

test("what a service says of its error, with any status, is in the log", async () => {
  await env.restart({ totp: "true" });
  const json = { error: { code: 400, message: "Unauthorized request" } };
  env.site.server.fail({ at: /^open\.spotify\.com\/api\/token$/, outcome: { status: 400, json } });
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
  expect(env.bench.lines.map(({ message }) => message).join()).toContain("answered Unauthorized request");
});

test("a cookie without the one-time password is said to have no effect, but no placeholder", async () => {
  await env.restart({ spDc: "my-cookie" });
  const lines = env.bench.lines.filter(({ message }) => message.includes("spDc"));
  expect(lines.map(({ message }) => message)).toEqual([expect.stringContaining("set plugins.spotify.totp: true")]);
  expect(JSON.stringify(env.bench.lines)).not.toContain("my-cookie");
  await env.restart({ spDc: "your sp dc cookie" });
  expect(env.bench.lines).toEqual([]);
  await env.restart({ spDc: "your sp dc cookie", totp: "true" });
  await env.load("spsearch:hall of");
  const [request] = env.site.server.requestsTo("open.spotify.com", "/api/token");
  expect(request?.headers.cookie).toBeUndefined();
});

test("the web player's token is requested with a one-time password only where that is on", async () => {
  await env.load("spsearch:hall of");
  expect(env.requests()).not.toContain("open.spotify.com/api/token");
  const clock = new FakeClock();
  await env.restart({ totp: "true", totpSecret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", spDc: "my-cookie" }, { clock });
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
  const [request] = env.site.server.requestsTo("open.spotify.com", "/api/token");
  expect(Object.fromEntries(request?.query ?? [])).toMatchObject({
    reason: "init",
    productType: "web-player",
    totp: expect.stringMatching(/^\d{6}$/),
    totpVer: "61",
    ts: String(Math.floor(clock.epochMs() / 1000)),
  });
  expect(request?.headers.cookie).toBe("sp_dc=my-cookie");
});

test("one-time passwords are those of RFC 6238", () => {
  const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
  expect([59, 1_111_111_109, 20_000_000_000].map((seconds) => oneTimePassword(secret, seconds * 1000))).toEqual([
    "287082",
    "081804",
    "353130",
  ]);
});

// The Web API

test("with credentials, the Web API is asked for tracks and searches first, with at most ten results", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  const [track] = await env.loadTracks(SONG);
  expect(track).toMatchObject({
    info: { isrc: "XXAAA2600001", author: "Stand In, A Guest", artworkUrl: "https://i.scdn.co/image/album-640" },
    pluginInfo: { albumName: "Rooms", albumUrl: `${PAGE}/album/${SPOTIFY_ALBUM_ID}` },
  });
  expect(await env.loadTracks("spsearch:hall of")).toMatchObject([{ info: { isrc: "XXAAA2600001" } }]);
  expect(env.requests()).toEqual([
    "accounts.spotify.com/api/token",
    `api.spotify.com/v1/tracks/${SPOTIFY_SONG_ID}`,
    "api.spotify.com/v1/search",
  ]);
  expect(env.site.server.requestsTo("api.spotify.com", "/v1/search")[0]?.query.get("limit")).toBe("10");
});

test.each([
  { clientId: "your client id", clientSecret: "your client secret" },
  { clientId: "your-spotify-client-id", clientSecret: "your_spotify_client_secret" },
  { clientId: "<id>", clientSecret: "an-application" },
  { clientId: "", clientSecret: "" },
  { clientId: "an-application" },
])("credentials that are not filled in (%o) are none", async (options) => {
  await env.restart(options);
  expect(await env.load(SONG)).toMatchObject({ kind: "track" });
  expect(env.requests()).toEqual([`open.spotify.com/embed/track/${SPOTIFY_SONG_ID}`]);
});

test("playlists are never requested from the Web API", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  env.site.server.fail({ at: EMBED, outcome: { status: 403, text: "no" } });
  env.site.server.fail({ at: V2, outcome: { status: 403, json: {} } });
  await troubleWith(env.load(`${PAGE}/playlist/${SPOTIFY_PLAYLIST_ID}`));
  expect(env.requests().filter((request) => request.startsWith("api.spotify.com"))).toEqual([]);
});

test("where the Web API refuses an application, the next backend is asked, and the log says so once", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  env.site.server.fail({ at: /^api\.spotify\.com\//, outcome: { status: 403, json: {} } });
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
  expect(await env.loadTracks("spsearch:song 1")).toHaveLength(1);
  expect(await env.load(SONG)).toMatchObject({ kind: "track" });
  const lines = env.bench.lines.filter(({ message }) => message.includes("(HTTP 403)"));
  expect(lines.map(({ message }) => message.slice(0, 40))).toEqual([
    "Spotify's Web API refuses search to the ",
    "Spotify's Web API refuses tracks to the ",
  ]);
});

test("an id that the Web API calls wrong is not found, and no reason to warn", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  const json = { error: { status: 400, message: "Invalid base62 id" } };
  env.site.server.fail({ at: /^api\.spotify\.com\/v1\/tracks/, outcome: { status: 400, json } });
  expect(await env.load(`${PAGE}/track/${spotifyId(404)}`)).toEqual({ kind: "empty" });
  expect(env.bench.lines).toEqual([]);
});

test("an expired token of the Web API is no failure of the requests that are on their way", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  await env.load("spsearch:hall of");
  env.site.expireTokens();
  let waiting = 0;
  let release = (): void => undefined;
  const allAsked = new Promise<void>((resolve) => {
    release = resolve;
  });
  const answer = env.site.answer.bind(env.site);
  env.site.answer = async (request) => {
    if (request.path === "/v1/search") {
      waiting += 1;
      if (waiting === 8) release();
      await allAsked;
    }
    return answer(request);
  };
  await Promise.all(queries(8).map((query) => env.loadTracks(query)));
  expect(env.bench.lines).toEqual([]);
  expect(env.requests().filter((request) => request.startsWith("api-partner"))).toEqual([]);
});

test("wrong credentials are no obstacle, and no secret is in the errors", async () => {
  await env.restart({ clientId: "an-application", clientSecret: "wrong-secret" });
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
  env.site.server.fail({ at: V2, outcome: { status: 500, json: {} } });
  const trouble = await troubleWith(env.load("spsearch:song 1"));
  expect(trouble.message).toContain("refuses clientId and clientSecret");
  expect(JSON.stringify([trouble, env.bench.lines])).not.toMatch(/wrong-secret|Basic /);
});

test("an album comes from the Web API where the other backends fail", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  env.site.server.fail({ at: EMBED, outcome: { status: 403, text: "no" } });
  env.site.server.fail({ at: V2, outcome: { status: 500, json: {} } });
  const songs = Array.from({ length: 120 }, (_, index) => ({
    ...{ id: spotifyId(index), title: `Song ${index}`, artists: ["A"], lengthMs: 1000 },
  }));
  env.site.addList({ type: "album", id: LONG, name: "Everything", songs });
  const found = await env.load(`${PAGE}/album/${LONG}`);
  if (found?.kind !== "playlist") throw new Error("no playlist");
  expect(found).toMatchObject({ name: "Everything", pluginInfo: { totalTracks: 120, author: "The Stand-ins" } });
  expect(found.tracks.map(({ title }) => title)).toEqual(songs.map(({ title }) => title));
  expect(found.tracks.at(-1)?.pluginInfo).toMatchObject({ albumName: "Everything", albumUrl: `${PAGE}/album/${LONG}` });
});

test("preferPartnerApi asks the web player's interface first, and preferV1SearchApi the Web API for searches", async () => {
  await env.restart({ ...SPOTIFY_CREDENTIALS, preferPartnerApi: "true" });
  await env.load(SONG);
  await env.load("spsearch:hall of");
  expect(env.site.operations).toEqual(["getTrack", "searchDesktop"]);
  expect(env.requests().filter((request) => request.startsWith("api.spotify.com"))).toEqual([]);
  await env.restart({ ...SPOTIFY_CREDENTIALS, preferPartnerApi: "true", preferV1SearchApi: "true" });
  await env.load("spsearch:hall of");
  expect(env.requests().at(-1)).toBe("api.spotify.com/v1/search");
});

test("a token of the Web API that is refused is replaced", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  await env.load(SONG);
  env.site.expireTokens();
  expect(await env.loadTracks("spsearch:hall of")).toHaveLength(1);
  expect(env.requests().filter((request) => request.startsWith("accounts"))).toHaveLength(2);
});
