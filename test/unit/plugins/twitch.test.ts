import { afterEach, beforeEach, expect, test } from "vitest";
import { TwitchSite } from "../../../lab/sites/twitch.ts";
import { TWITCH_MANIFEST } from "../../../plugins/twitch/manifest.ts";
import twitch from "../../../plugins/twitch/plugin.ts";
import { createTrack } from "../../../src/track/track.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type BenchOptions, PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const LIVE = "https://www.twitch.tv/stand_in";
const VIDEO = "https://www.twitch.tv/videos/123456789";
const CLIP = "https://clips.twitch.tv/BraveStandIn-aB3_x";
const GQL = /^gql\.twitch\.tv/;
const USHER = /^usher\.ttvnw\.net/;

let stand: TwitchSite;
let bench: PluginBench;

beforeEach(async () => {
  stand = await TwitchSite.start();
  bench = await start();
});

afterEach(async () => {
  bench.close();
  await stand.close();
});

function start(options: BenchOptions = {}): Promise<PluginBench> {
  return PluginBench.start(twitch, { hosts: stand.hosts, ...options });
}

test.each([LIVE, "https://twitch.tv/Stand_In/", "http://go.twitch.tv/STAND_IN?x=1", "https://m.twitch.tv/stand_in#x"])(
  "%s is a stream with the title of its broadcast",
  async (identifier) => {
    const [track] = await bench.loadTracks("twitch", identifier);
    expect(track?.info).toEqual({
      identifier: LIVE,
      uri: LIVE,
      title: "Playing things",
      author: "stand_in",
      sourceName: "twitch",
      isStream: true,
      isSeekable: false,
      position: 0,
      isrc: null,
      length: expect.anything(),
      artworkUrl: "https://static-cdn.jtvnw.net/previews-ttv/live_user_stand_in-440x248.jpg",
    });
  },
);

test("requests to Twitch have the client id and the device id of its page", async () => {
  await bench.load("twitch", LIVE);
  await bench.load("twitch", VIDEO);
  expect(stand.site.requestsTo("www.twitch.tv")).toHaveLength(1);
  const [first] = stand.site.requestsTo("gql.twitch.tv");
  expect(first?.headers).toMatchObject({ "client-id": stand.clientId, "x-device-id": "standin-device-0001" });
  expect(JSON.parse(first?.body ?? "")).toMatchObject({
    operationName: "StreamMetadata",
    variables: { channelLogin: "stand_in", includeIsDJ: true },
  });
});

test("a channel that is offline, and one that does not exist, are empty results", async () => {
  expect(await bench.load("twitch", "https://www.twitch.tv/asleep")).toEqual({ kind: "empty" });
  expect(await bench.load("twitch", "https://www.twitch.tv/nobody")).toEqual({ kind: "empty" });
});

test("a broadcast without a title has the channel's name", async () => {
  const [track] = await bench.loadTracks("twitch", "https://www.twitch.tv/untitled");
  expect(track?.info.title).toBe("untitled");
});

test.each([VIDEO, "https://m.twitch.tv/stand_in/v/123456789", "https://twitch.tv/stand_in/video/123456789?t=1h"])(
  "%s is a past broadcast that can be sought in",
  async (identifier) => {
    const [track] = await bench.loadTracks("twitch", identifier);
    expect(track?.info).toMatchObject({
      identifier: VIDEO,
      uri: VIDEO,
      title: "Yesterday's things",
      author: "stand_in",
      length: 20_000,
      isStream: false,
      isSeekable: true,
      artworkUrl: "https://static-cdn.jtvnw.net/cf_vods/x/thumb0-440x248.jpg",
    });
  },
);

test.each([
  CLIP,
  "https://clips.twitch.tv/embed?clip=BraveStandIn-aB3_x&parent=x",
  "https://www.twitch.tv/stand_in/clip/BraveStandIn-aB3_x?filter=clips",
  "https://m.twitch.tv/clip/BraveStandIn-aB3_x",
])("%s is a clip", async (identifier) => {
  const [track] = await bench.loadTracks("twitch", identifier);
  expect(track?.info).toMatchObject({
    identifier: CLIP,
    uri: CLIP,
    title: "What a clip",
    author: "stand_in",
    length: 26_000,
    isStream: false,
    artworkUrl: "https://static-cdn.jtvnw.net/clip.jpg",
  });
});

test("removed past broadcasts and clips are empty results", async () => {
  expect(await bench.load("twitch", "https://www.twitch.tv/videos/1")).toEqual({ kind: "empty" });
  expect(await bench.load("twitch", "https://clips.twitch.tv/Gone")).toEqual({ kind: "empty" });
});

test.each([
  "https://www.twitch.tv/",
  "https://www.twitch.tv/directory",
  "https://www.twitch.tv/videos",
  "https://www.twitch.tv/videos/12x",
  "https://www.twitch.tv/stand_in/about",
  "https://www.twitch.tv/stand_in/v/1/2",
  'https://www.twitch.tv/a"b',
  "https://clips.twitch.tv/",
  "https://clips.twitch.tv/embed",
  "https://twitch.tv.example/stand_in",
  "https://api.twitch.tv/stand_in",
  "twitch.tv/stand_in",
  "stand_in",
])("the identifier %s is not Twitch's", async (identifier) => {
  expect(await bench.load("twitch", identifier)).toBeUndefined();
  expect(stand.site.requests).toEqual([]);
});

test("a channel plays from its playlist, which expires with its token", async () => {
  const [track] = await bench.loadTracks("twitch", LIVE);
  const link = await bench.resolve("twitch", track?.encoded ?? "");
  if (link.kind !== "link") throw new Error("no link");
  const url = new URL(link.url);
  expect(`${url.origin}${url.pathname}`).toBe("https://usher.ttvnw.net/api/v2/channel/hls/stand_in.m3u8");
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    sig: "5167",
    allow_source: "true",
    allow_audio_only: "true",
    player_backend: "html5",
    token: expect.stringContaining('"of":"stand_in"'),
  });
  expect(link.expiresAtEpochMs).toBe(1_900_000_000_000);
});

test("a past broadcast plays from its playlist", async () => {
  const link = await bench.resolve("twitch", encodedWith(VIDEO));
  expect(link).toMatchObject({
    url: expect.stringMatching(/^https:\/\/usher\.ttvnw\.net\/vod\/v2\/123456789\.m3u8\?/),
  });
});

test("playlists are requested from the operator's server, if one is set", async () => {
  bench = await start({ options: { playlistServer: stand.playlistServer } });
  const link = await bench.resolve("twitch", encodedWith(LIVE));
  if (link.kind !== "link") throw new Error("no link");
  expect(link.url.startsWith(`${stand.playlistServer}/api/v2/channel/hls/stand_in.m3u8?`)).toBe(true);
  const master = await (await fetch(link.url)).text();
  expect(master).toContain('STABLE-VARIANT-ID="audio_only"');
});

test("a refused playlist is requested with a new token", async () => {
  await bench.resolve("twitch", encodedWith(LIVE));
  stand.tokenExpires += 60;
  const second = await bench.resolve("twitch", encodedWith(LIVE), { reason: "refused", status: 403 });
  expect(second).toMatchObject({ expiresAtEpochMs: 1_900_000_060_000 });
});

test("a clip plays its smallest video with good audio, and the same one again", async () => {
  const first = await bench.resolve("twitch", encodedWith(CLIP));
  if (first.kind !== "link") throw new Error("no link");
  const { searchParams } = new URL(first.url);
  expect([searchParams.get("q"), searchParams.get("sig")]).toEqual(["480", "5167"]);
  expect(first).toMatchObject({ variant: "clip/BraveStandIn-aB3_x/480", expiresAtEpochMs: 1_900_000_000_000 });
  const linkRequest = { reason: "expiring", variant: "clip/BraveStandIn-aB3_x/1080" } as const;
  const again = await bench.resolve("twitch", encodedWith(CLIP), linkRequest);
  expect(again).toMatchObject({ variant: linkRequest.variant, url: expect.stringContaining("q=1080") });
  expect((await fetch(first.url)).status).toBe(200);
});

test.each([
  ["a past broadcast for subscribers", "https://www.twitch.tv/videos/42", "subscribers only"],
  ["a channel that went offline", "https://www.twitch.tv/asleep", "offline"],
  ["a channel that is gone", "https://www.twitch.tv/nobody", "does not exist"],
  ["a clip that is gone", "https://clips.twitch.tv/Gone", "does not exist"],
])("%s is unavailable, with the reason", async (_name, identifier, reason) => {
  expect(await troubleWith(bench.resolve("twitch", encodedWith(identifier)))).toMatchObject({
    code: "site-unavailable",
    severity: "common",
    message: expect.stringContaining(reason),
  });
});

test.each([
  [{ authorization: { forbidden: true, reason: "SUBSCRIPTION_REQUIRED" } }, "SUBSCRIPTION_REQUIRED"],
  [{ geoblock_reason: "FORBIDDEN_IN_REGION" }, "region"],
])("a token that says %j is not used", async (says, reason) => {
  stand.tokenSays = says;
  const trouble = await troubleWith(bench.resolve("twitch", encodedWith(LIVE)));
  expect(trouble).toMatchObject({ code: "site-unavailable", message: expect.stringContaining(reason) });
  expect(stand.site.requestsTo("usher.ttvnw.net")).toEqual([]);
});

const QUERIES = [
  ["StreamMetadata", LIVE, "persistedQueryHash"],
  ["VideoMetadata", VIDEO, "videoQueryHash"],
  ["ShareClipRenderStatus", CLIP, "clipQueryHash"],
] as const;

test.each(QUERIES)(
  "an outdated hash of %s changes nothing: its text is sent beside it",
  async (_query, link, option) => {
    const expected = await bench.loadTracks("twitch", link);
    const outdated = await start({ options: { [option]: "0".repeat(64) } });
    expect(await outdated.loadTracks("twitch", link)).toEqual(expected);
    expect(stand.site.requestsTo("gql.twitch.tv")).toHaveLength(2);
    outdated.close();
  },
);

test.each(QUERIES)("where an outdated hash of %s is refused, its text is sent alone", async (_query, link, option) => {
  stand.unknownHash = "refused";
  const outdated = await start({ options: { [option]: "0".repeat(64) } });
  expect(await outdated.loadTracks("twitch", link)).toHaveLength(1);
  const [first, second] = stand.site.requestsTo("gql.twitch.tv").map(({ body }) => JSON.parse(body));
  expect(first).toHaveProperty("extensions.persistedQuery.sha256Hash", "0".repeat(64));
  expect(second).not.toHaveProperty("extensions");
  for (const name of Object.keys(second.variables)) expect(second.query).toContain(`$${name}:`);
  outdated.close();
});

test("a hash that is refused with HTTP 400 as not that of the text does not look like a refused client id", async () => {
  const json = { errors: [{ message: "provided sha does not match query" }] };
  stand.site.fail({ at: GQL, outcome: { status: 400, json }, times: 1 });
  expect(await bench.loadTracks("twitch", LIVE)).toHaveLength(1);
  expect(stand.site.requestsTo("www.twitch.tv")).toHaveLength(1);
});

test.each([
  "PERSISTED_QUERY_NOT_FOUND",
  "persisted query not found",
  "the provided sha256Hash is invalid",
  "hash of the query is unknown",
  "unknown query hash",
])("a hash that is refused with %j is outdated, also as HTTP 400 and behind other errors", async (message) => {
  const outdated = { errors: [{ message: "something else" }, { message }] };
  for (const outcome of [{ json: outdated }, { status: 400, json: outdated }]) {
    stand.site.fail({ at: GQL, outcome, times: 1 });
    bench = await start();
    expect(await bench.loadTracks("twitch", LIVE)).toHaveLength(1);
  }
  const codes = { errors: [{ message: "refused", extensions: { code: message } }] };
  stand.site.fail({ at: GQL, outcome: { json: codes }, times: 1 });
  expect(await bench.loadTracks("twitch", VIDEO)).toHaveLength(1);
});

test("an outdated hash is counted each time, and logged once with its option", async () => {
  stand.unknownHash = "refused";
  bench = await start({ options: { persistedQueryHash: "0".repeat(64) } });
  await bench.load("twitch", LIVE);
  await bench.load("twitch", "https://www.twitch.tv/untitled");
  await expect.poll(() => bench.report?.counts).toEqual({ "outdated-hash": 2 });
  expect(bench.lines).toMatchObject([
    {
      level: "warn",
      message: expect.stringContaining("StreamMetadata"),
      fields: { option: "plugins.twitch.persistedQueryHash" },
    },
  ]);
});

test("a clip of an outdated hash plays", async () => {
  const outdated = await start({ options: { clipQueryHash: "0".repeat(64) } });
  const link = await outdated.resolve("twitch", encodedWith(CLIP));
  expect(link).toMatchObject({ url: expect.stringContaining("q=480") });
  outdated.close();
});

test.each(QUERIES)("a query %s that is refused as hash and as text is reported with its option", async (...tried) => {
  const [query, link, option] = tried;
  stand.site.fail({ at: GQL, outcome: { json: { errors: [{ message: "PersistedQueryNotFound" }] } } });
  const trouble = await troubleWith(bench.load("twitch", link));
  expect(trouble).toMatchObject({ code: "site-changed", severity: "suspicious" });
  expect(trouble.message).toContain(`${query} any more (PersistedQueryNotFound); set plugins.twitch.${option}`);
});

test("Twitch is asked as a browser", async () => {
  const http = { userAgent: TWITCH_MANIFEST.userAgent, proxyUrl: undefined };
  bench = await start({ settings: { http: { ...http, connectTimeoutMs: 3000, socketTimeoutMs: 3000 } } });
  await bench.resolve("twitch", encodedWith(LIVE));
  const asked = stand.site.requests.map(({ host, headers }) => [host, headers["user-agent"]?.slice(0, 8)]);
  const hosts = ["www.twitch.tv", "gql.twitch.tv", "usher.ttvnw.net"];
  expect(asked).toEqual(hosts.map((host) => [host, "Mozilla/"]));
});

test("a client id that fails the integrity check is replaced by another one, for later requests too", async () => {
  stand.distrusted.add(stand.clientId);
  await bench.loadTracks("twitch", LIVE);
  await bench.loadTracks("twitch", VIDEO);
  const ids = stand.site.requestsTo("gql.twitch.tv").map(({ headers }) => headers["client-id"]);
  const other = "ue6666qo983tsx6so1t0vnawi233wa";
  expect(ids).toEqual([stand.clientId, other, other]);
});

test("an integrity check that fails for both client ids is reported with what may help", async () => {
  stand.site.fail({ at: GQL, outcome: { json: { errors: [{ message: "failed integrity check" }] } } });
  const trouble = await troubleWith(bench.load("twitch", LIVE));
  expect(trouble).toMatchObject({ code: "site-changed", message: expect.stringContaining("plugins.twitch.clientId") });
  expect(trouble.message).toContain("plugins.twitch.proxy");
  expect(stand.site.requestsTo("gql.twitch.tv")).toHaveLength(2);
});

const HALF_A_CLIP = {
  data: { clip: { title: "What a clip", videoQualities: [], playbackAccessToken: null } },
  errors: [{ message: "service error" }, { message: "failed integrity check", path: ["clip", "playbackAccessToken"] }],
};

test("a clip whose token alone fails the integrity check plays with the other client id", async () => {
  stand.site.fail({ at: GQL, outcome: { json: HALF_A_CLIP }, times: 1 });
  expect(await bench.resolve("twitch", encodedWith(CLIP))).toMatchObject({ url: expect.stringContaining("q=480") });
  const ids = stand.site.requestsTo("gql.twitch.tv").map(({ headers }) => headers["client-id"]);
  expect(new Set(ids).size).toBe(2);
});

test("a clip whose token fails the integrity check for both client ids loads, and says what may help", async () => {
  stand.site.fail({ at: GQL, outcome: { json: HALF_A_CLIP } });
  expect(await bench.loadTracks("twitch", CLIP)).toHaveLength(1);
  const trouble = await troubleWith(bench.resolve("twitch", encodedWith(CLIP)));
  expect(trouble.message).toMatch(/integrity.*plugins\.twitch\.clientId.*plugins\.twitch\.proxy/);
});

test.each([LIVE, VIDEO, CLIP])("refused tokens of %s do not stop loads", async (link) => {
  const outcome = { json: { errors: [{ message: "failed integrity check" }] } };
  const isWorking = stand.site.fail({ at: GQL, outcome });
  for (let count = 0; count < 6; count++) await troubleWith(bench.resolve("twitch", encodedWith(link)));
  isWorking();
  expect((await troubleWith(bench.resolve("twitch", encodedWith(link)))).message).toContain("circuit breaker");
  for (const each of [LIVE, VIDEO, CLIP]) expect(await bench.loadTracks("twitch", each)).toHaveLength(1);
});

test("an operator's client id that fails the integrity check is not replaced", async () => {
  bench = await start({ options: { clientId: stand.clientId } });
  stand.distrusted.add(stand.clientId);
  await troubleWith(bench.load("twitch", LIVE));
  expect(stand.site.requestsTo("gql.twitch.tv")).toHaveLength(1);
});

test.each([
  [LIVE, "/api/channel/hls/stand_in.m3u8"],
  [VIDEO, "/vod/123456789.m3u8"],
])("%s plays where Twitch serves only the first version of its playlists", async (identifier, path) => {
  stand.usherVersions = [1];
  const link = await bench.resolve("twitch", encodedWith(identifier));
  expect(link.kind === "link" && new URL(link.url).pathname).toBe(path);
});

test.each([400, 403, 405, 502])(
  "an operator's server that answers the second version of playlists with %i is asked for the first",
  async (status) => {
    bench = await start({ options: { playlistServer: stand.playlistServer } });
    stand.site.fail({ at: /\/v2\//, outcome: { status } });
    const link = await bench.resolve("twitch", encodedWith(LIVE));
    expect(link.kind === "link" && new URL(link.url).pathname).toContain("/api/channel/hls/stand_in.m3u8");
  },
);

test("the refusal of an operator's server is the reason where it does not know the other version", async () => {
  bench = await start({ options: { playlistServer: stand.playlistServer } });
  stand.site.fail({ at: /\/v2\//, outcome: { status: 403 } });
  const trouble = await troubleWith(bench.resolve("twitch", encodedWith("https://www.twitch.tv/asleep")));
  expect(trouble.message).toContain("is refused");
});

test("Twitch's own refusal of the second version of playlists is believed", async () => {
  stand.site.fail({ at: /\/v2\//, outcome: { status: 403 } });
  await troubleWith(bench.resolve("twitch", encodedWith(LIVE)));
  expect(stand.site.requestsTo("usher.ttvnw.net")).toHaveLength(1);
});

test("a refused client id is read again once", async () => {
  const clock = new FakeClock();
  bench = await start({ clock });
  await bench.load("twitch", LIVE);
  clock.advance(11 * 60_000);
  stand.clientId = "anotherclientid000000000";
  expect(await bench.loadTracks("twitch", VIDEO)).toHaveLength(1);
  expect(stand.site.requestsTo("www.twitch.tv")).toHaveLength(2);
});

test("a client id that has just been read is not read again for each refusal", async () => {
  stand.site.fail({ at: GQL, outcome: { status: 401, json: {} } });
  for (const name of ["a", "b", "c"]) {
    const trouble = await troubleWith(bench.load("twitch", `https://www.twitch.tv/${name}`));
    expect(trouble).toMatchObject({
      code: "site-changed",
      message: expect.stringContaining("set plugins.twitch.clientId"),
    });
  }
  expect(stand.site.requestsTo("www.twitch.tv")).toHaveLength(1);
});

test("a configured client id is used without requesting the page", async () => {
  bench = await start({ options: { clientId: stand.clientId, deviceId: "mine" } });
  await bench.load("twitch", LIVE);
  expect(stand.site.requests.map(({ host }) => host)).toEqual(["gql.twitch.tv"]);
  expect(stand.site.requests[0]?.headers).toMatchObject({ "client-id": stand.clientId, "x-device-id": "mine" });
});

test("a page without a client id is reported with the option that replaces it", async () => {
  stand.site.fail({ at: /^www\.twitch\.tv/, outcome: { text: "<html>other</html>" } });
  const trouble = await troubleWith(bench.load("twitch", LIVE));
  expect(trouble).toMatchObject({
    code: "site-changed",
    message: expect.stringContaining("set plugins.twitch.clientId"),
  });
});

test.each([
  ["a page", { text: "<html>" }, "site-changed"],
  ["nothing", { json: {} }, "site-changed"],
  ["a list", { json: [] }, "site-changed"],
  ["no user", { json: { data: { viewer: 1 } } }, "site-changed"],
  ["an invalid user", { json: { data: { user: "x" } } }, "site-changed"],
  ["a user without stream", { json: { data: { user: { id: "1" } } } }, "site-changed"],
  [
    "another error",
    { json: { errors: [{ message: "failed integrity check" }], data: { user: null } } },
    "site-changed",
  ],
  ["a timeout at Twitch", { json: { errors: [{ message: "service timeout" }], data: { user: null } } }, "site-busy"],
  ["HTTP 429", { status: 429, headers: { "retry-after": "9" } }, "site-busy"],
  ["HTTP 502", { status: 502, text: "<html>" }, "site-busy"],
  ["50 MB", { bytes: new Uint8Array(50 * 1024 * 1024).fill(32) }, "site-changed"],
  ["a redirect to itself", { status: 307, headers: { location: "https://gql.twitch.tv/gql" } }, "site-changed"],
] as const)("an answer of %s is reported as what it is", async (_name, outcome, code) => {
  stand.site.fail({ at: GQL, outcome });
  expect(await troubleWith(bench.load("twitch", LIVE))).toMatchObject({ code, severity: "suspicious" });
});

test("an answer in a list of one is read", async () => {
  const data = { user: { stream: { id: "1" }, lastBroadcast: { title: "Fine" } } };
  stand.site.fail({ at: GQL, outcome: { json: [{ data }] } });
  expect(await bench.loadTracks("twitch", LIVE)).toMatchObject([{ info: { title: "Fine" } }]);
});

test("an error in a successful answer is ignored", async () => {
  const data = { user: { stream: { id: "1" }, lastBroadcast: { title: "Fine" } } };
  stand.site.fail({ at: GQL, outcome: { json: { data, errors: [{ message: "service error" }] } } });
  expect(await bench.loadTracks("twitch", LIVE)).toMatchObject([{ info: { title: "Fine" } }]);
});

test.each([
  ["a page", { text: "<html>" }, "site-changed"],
  ["HTTP 403 without a reason", { status: 403, text: "<html>" }, "site-unavailable"],
  ["HTTP 429", { status: 429 }, "site-busy"],
  ["HTTP 500", { status: 500 }, "site-busy"],
] as const)("a playlist that is %s is reported as what it is, without its token", async (_name, outcome, code) => {
  stand.site.fail({ at: USHER, outcome });
  const trouble = await troubleWith(bench.resolve("twitch", encodedWith(LIVE)));
  expect(trouble.code).toBe(code);
  expect(JSON.stringify(trouble)).not.toMatch(/5167|expires/);
});

test("a clip without videos is reported as a change, and a token without an expiry has none", async () => {
  const token = { value: "opaque", signature: "s" };
  const films = [
    { sourceURL: "javascript:x" },
    { sourceURL: 5 },
    null,
    { quality: "160", sourceURL: "https://c.example/1.mp4?x=1" },
  ];
  const answer = (videoQualities: readonly unknown[]) => ({
    json: { data: { clip: { title: "T", assets: [{ videoQualities }], playbackAccessToken: token } } },
  });
  stand.site.fail({ at: GQL, outcome: answer(films) });
  expect(await bench.resolve("twitch", encodedWith(CLIP))).toMatchObject({
    url: "https://c.example/1.mp4?x=1&sig=s&token=opaque",
    expiresAtEpochMs: undefined,
  });
  stand.site.fail({ at: GQL, outcome: answer(films.slice(0, 3)) });
  const trouble = await troubleWith(bench.resolve("twitch", encodedWith(CLIP), { reason: "refused" }));
  expect(trouble).toMatchObject({ code: "site-changed" });
});

test("a track whose identifier is not Twitch's is refused without a request", async () => {
  expect(await troubleWith(bench.resolve("twitch", encodedWith("https://example.org/x")))).toMatchObject({
    code: "site-unavailable",
  });
  expect(stand.site.requests).toEqual([]);
});

test("a track encoded by Lavalink plays", async () => {
  const link = await bench.resolve("twitch", encodedWith("https://go.twitch.tv/Stand_In"));
  expect(link).toMatchObject({ kind: "link", url: expect.stringContaining("/hls/stand_in.m3u8") });
});

function encodedWith(identifier: string): string {
  const info = {
    identifier,
    uri: identifier,
    title: "T",
    author: "A",
    sourceName: "twitch",
    length: 5000,
    position: 0,
    isSeekable: false,
    isStream: true,
    artworkUrl: null,
    isrc: null,
  };
  return createTrack(info, { kind: "none" }).encoded;
}
