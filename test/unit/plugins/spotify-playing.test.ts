// What is known of a Spotify track when it is about to be played: a preview's link, or the ISRC for its mirror.

import { expect, test, vi } from "vitest";
import { SPOTIFY_CREDENTIALS, SPOTIFY_PLAYLIST_ID, SPOTIFY_SONG_ID, spotifyId } from "../../../lab/sites/spotify.ts";
import spotify from "../../../plugins/spotify/plugin.ts";
import { createTrack, decodeTrack } from "../../../src/track/track.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import { spotifyTestEnvironment } from "../../support/spotify-test-environment.ts";
import { buildTrack } from "../../support/track-builder.ts";

const env = spotifyTestEnvironment();
const SONG = `https://open.spotify.com/track/${SPOTIFY_SONG_ID}`;
const DEEZER = /^api\.deezer\.com\//;

async function encodedOf(identifier: string): Promise<string> {
  const [track] = await env.loadTracks(identifier);
  if (track === undefined) throw new Error("no track");
  return track.encoded;
}

function deezerRequests(): string[] {
  return env.requests().filter((request) => DEEZER.test(request));
}

test("a track is mirrored by the ISRC of the same recording at Deezer, which is asked once", async () => {
  const encoded = await encodedOf(SONG);
  expect(await env.bench.resolve("spotify", encoded)).toEqual({ kind: "mirror", isrc: "XXAAA2600001" });
  expect(await env.bench.resolve("spotify", encoded, { reason: "refused" })).toMatchObject({ isrc: "XXAAA2600001" });
  expect(deezerRequests()).toEqual(["api.deezer.com/2.0/search"]);
  expect(env.site.server.requestsTo("api.deezer.com")[0]?.query.get("q")).toBe("Stand In Hall of Mirrors");
});

test("nothing is looked for at Deezer before a track is about to be played", async () => {
  await env.loadTracks(`https://open.spotify.com/playlist/${SPOTIFY_PLAYLIST_ID}`);
  expect(deezerRequests()).toEqual([]);
});

test("an ISRC that searches do not have is read from the track", async () => {
  env.site.isIsrcInSearch = false;
  const encoded = await encodedOf(SONG);
  expect(await env.bench.resolve("spotify", encoded)).toEqual({ kind: "mirror", isrc: "XXAAA2600001" });
  expect(deezerRequests()).toEqual(["api.deezer.com/2.0/search", "api.deezer.com/2.0/track/4"]);
});

test.each([
  [198, "XXAAA2600001"],
  [197, undefined],
  [204, "XXAAA2600001"],
  [205, undefined],
])("a recording of %d s is that of 201 s only within 3 s", async (seconds, isrc) => {
  env.site.addSong({ id: spotifyId(1), title: "Hall of Mirrors", artists: ["Stand In"], lengthMs: 201_000 });
  env.site.deezer.length = 0;
  env.site.deezer.push({ id: 9, title: "Hall of Mirrors", artist: "Stand In", seconds, isrc: "XXAAA2600001" });
  const encoded = await encodedOf(`spotify:track:${spotifyId(1)}`);
  expect(await env.bench.resolve("spotify", encoded)).toEqual({ kind: "mirror", isrc });
});

test("that a recording is not there is remembered, also by the next thread", async () => {
  env.site.deezer.length = 0;
  const encoded = await encodedOf(SONG);
  expect(await env.bench.resolve("spotify", encoded)).toEqual({ kind: "mirror" });
  const persisted = [...env.bench.persisted.values()];
  const next = await PluginBench.start(spotify, { hosts: env.site.hosts, persisted });
  expect(await next.resolve("spotify", encoded)).toEqual({ kind: "mirror" });
  next.close();
  expect(deezerRequests()).toHaveLength(1);
});

test.each([
  ["is down", { status: 503, json: {} }],
  ["has used up its quota", { json: { error: { type: "Exception", message: "Quota limit exceeded", code: 4 } } }],
  ["answers an error", { json: { error: { type: "DataException", message: "no data", code: 800 } } }],
  ["answers a page", { text: "<html></html>" }],
  [
    "answers something else",
    { json: { data: [null, 1, { title: 1, artist: [], duration: "x" }, { title: "Hall of Mirrors" }] } },
  ],
])("a track is mirrored without an ISRC while Deezer %s", async (_name, outcome) => {
  const encoded = await encodedOf(SONG);
  env.site.server.fail({ at: DEEZER, outcome });
  expect(await env.bench.resolve("spotify", encoded)).toEqual({ kind: "mirror" });
});

test("what is known of a track with another length says nothing of this one", async () => {
  const encoded = await encodedOf(SONG);
  const forged = { ...decodeTrack(encoded).info, length: 3000 };
  const none = { albumName: null, albumUrl: null, artistUrl: null, artistArtworkUrl: null, previewUrl: null };
  const { encoded: other } = createTrack(forged, { kind: "album", ...none, isPreview: false });
  expect(await env.bench.resolve("spotify", other)).toEqual({ kind: "mirror" });
  expect(await env.bench.resolve("spotify", encoded)).toEqual({ kind: "mirror", isrc: "XXAAA2600001" });
});

test("a recording whose title is only alike does not decide", async () => {
  env.site.addSong({ id: spotifyId(1), title: "Hall of Mirrors", artists: ["Stand In"], lengthMs: 201_000 });
  env.site.deezer.length = 0;
  const entry = { id: 9, artist: "Stand In", seconds: 203, isrc: "XXAAA2600001" };
  env.site.deezer.push({ ...entry, title: "Hall of Mirrors Tonight" }, { ...entry, title: "The Hall Mirrors" });
  const encoded = await encodedOf(`spotify:track:${spotifyId(1)}`);
  expect(await env.bench.resolve("spotify", encoded)).toEqual({ kind: "mirror" });
});

test.each([
  ["Deezer", /^api\.deezer\.com/],
  ["the Web API", /^(api|accounts)\.spotify\.com/],
])("where %s does not answer, that is known before the node stops waiting", async (name, at) => {
  const encoded = await encodedOf(SONG);
  const clock = new FakeClock();
  await env.restart(name === "Deezer" ? {} : SPOTIFY_CREDENTIALS, { clock });
  env.site.server.fail({ at, outcome: "hang" });
  const resolved = env.bench.resolve("spotify", encoded);
  await vi.waitFor(() => expect(env.requests().some((request) => at.test(request))).toBe(true));
  clock.advance(name === "Deezer" ? 2000 : 900);
  expect(await resolved).toMatchObject({ kind: "mirror" });
  clock.advance(1000);
  expect(env.bench.backends.some(({ failed }) => failed === 1)).toBe(true);
});

test("Deezer's quota opens its circuit breaker at once", async () => {
  env.site.server.fail({ at: DEEZER, outcome: { json: { error: { code: 4 } } } });
  await env.bench.resolve("spotify", await encodedOf(SONG));
  await env.bench.resolve("spotify", await encodedOf(`spotify:track:${spotifyId(1)}`));
  expect(deezerRequests()).toHaveLength(1);
});

test("a track with an ISRC is mirrored without a request", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  const encoded = await encodedOf(SONG);
  const before = env.requests().length;
  expect(await env.bench.resolve("spotify", encoded)).toEqual({ kind: "mirror" });
  expect(env.requests()).toHaveLength(before);
});

test("with credentials the Web API says the ISRC of a track that a list had without", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  const encoded = await encodedOf(`https://open.spotify.com/playlist/${SPOTIFY_PLAYLIST_ID}`);
  expect(await env.bench.resolve("spotify", encoded)).toEqual({ kind: "mirror", isrc: "XXAAA2600001" });
  expect(deezerRequests()).toEqual([]);
});

test("a preview is played itself, and its link is asked from the site where a client must not name it", async () => {
  const url = "https://p.scdn.co/mp3-preview/1";
  const encoded = previewOf(url);
  expect(await env.bench.resolve("spotify", encoded)).toMatchObject({ kind: "link", url });
  expect(env.requests()).toEqual([]);
  await env.bench.resolve("spotify", encoded, { reason: "refused", status: 403 });
  await env.bench.resolve("spotify", encoded, {}, ["spotify"]);
  expect(env.requests()).toEqual(Array(2).fill(`open.spotify.com/embed/track/${SPOTIFY_SONG_ID}`));
});

test.each([
  "https://elsewhere.example/p.scdn.co/1",
  "https://p.scdn.co.example/1",
  "https://xscdn.co/1",
  "https://p.scdn.co@elsewhere.example/1",
  "https://p.scdn.co:81/1",
  "http://p.scdn.co/1",
])("a preview whose link is %s is asked from the site", async (url) => {
  const link = await env.bench.resolve("spotify", previewOf(url));
  expect(link).toMatchObject({ kind: "link", url: expect.stringContaining("preview.mp3") });
});

test.each([true, false])(
  "an identifier that a client made up (isPreview: %s) is no part of a request's path",
  async (isPreview) => {
    const info = { title: "Hall of Mirrors", author: "Stand In", length: 201_000, isStream: false, isSeekable: true };
    const more = {
      identifier: "../../v1/x",
      position: 0,
      uri: null,
      sourceName: "spotify",
      artworkUrl: null,
      isrc: null,
    };
    const none = { albumName: null, albumUrl: null, artistUrl: null, artistArtworkUrl: null, previewUrl: null };
    await env.restart(SPOTIFY_CREDENTIALS);
    const { encoded } = createTrack({ ...info, ...more }, { kind: "album", ...none, isPreview });
    const linkRequest = env.bench.resolve("spotify", encoded);
    if (isPreview) expect((await troubleWith(linkRequest)).message).toContain("must have its id");
    else expect(await linkRequest).toEqual({ kind: "mirror", isrc: "XXAAA2600001" });
    expect(env.requests().filter((request) => !DEEZER.test(request))).toEqual([]);
  },
);

test("a track without a preview says so", async () => {
  const encoded = await encodedOf("spprev:spsearch:hall of");
  env.site.songs.delete(SPOTIFY_SONG_ID);
  env.site.server.fail({
    at: /^open\.spotify\.com\/embed\/track/,
    outcome: { text: page({ uri: `spotify:track:${SPOTIFY_SONG_ID}`, name: "x" }) },
  });
  const trouble = await troubleWith(env.bench.resolve("spotify", encoded));
  expect(trouble.message).toContain("no preview");
});

/** As a client may have written it. */
function previewOf(previewUrl: string): string {
  const { info } = buildTrack({ sourceName: "spotify", identifier: SPOTIFY_SONG_ID });
  const none = { albumName: null, albumUrl: null, artistUrl: null, artistArtworkUrl: null };
  return createTrack(info, { kind: "album", ...none, previewUrl, isPreview: true }).encoded;
}

function page(entity: object): string {
  const data = { props: { pageProps: { state: { data: { entity } } } } };
  return `<script id="__NEXT_DATA__" type="application/json">${JSON.stringify(data)}</script>`;
}
