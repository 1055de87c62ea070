import { expect, test } from "vitest";
import {
  SPOTIFY_ALBUM_ID,
  SPOTIFY_ARTIST_ID,
  SPOTIFY_PLAYLIST_ID,
  SPOTIFY_SONG_ID,
  spotifyId,
} from "../../../lab/sites/spotify.ts";
import { parseIdentifier } from "../../../plugins/spotify/identifier.ts";
import { troubleWith } from "../../support/plugin-bench.ts";
import { spotifyTestEnvironment } from "../../support/spotify-test-environment.ts";

const env = spotifyTestEnvironment();
const PAGE = "https://open.spotify.com";
const SONG = `${PAGE}/track/${SPOTIFY_SONG_ID}`;
const BIG = "B".repeat(22);

test("a track has what its embed page says of it", async () => {
  const [track] = await env.loadTracks(SONG);
  expect(track?.info).toEqual({
    identifier: SPOTIFY_SONG_ID,
    uri: SONG,
    title: "Hall of Mirrors",
    author: "Stand In, A Guest",
    sourceName: "spotify",
    length: 201_040,
    isSeekable: true,
    isStream: false,
    position: 0,
    isrc: null,
    artworkUrl: "https://i.scdn.co/image/song-640",
  });
  expect(track?.pluginInfo).toEqual({
    albumName: null,
    albumUrl: null,
    artistUrl: `${PAGE}/artist/000000000000000StandIn`,
    artistArtworkUrl: null,
    previewUrl: expect.stringContaining("preview.mp3"),
    isPreview: false,
    isLocal: false,
  });
  expect(env.requests()).toEqual([`open.spotify.com/embed/track/${SPOTIFY_SONG_ID}`]);
});

test.each([
  `open.spotify.com/track/${SPOTIFY_SONG_ID}`,
  `http://open.spotify.com/track/${SPOTIFY_SONG_ID}?si=abc&utm_source=x`,
  `${PAGE}/intl-de/track/${SPOTIFY_SONG_ID}`,
  `${PAGE}/intl-pt-br/track/${SPOTIFY_SONG_ID}/`,
  `${PAGE}/user/some-body/track/${SPOTIFY_SONG_ID}`,
  `${PAGE}/embed/track/${SPOTIFY_SONG_ID}?utm_source=generator`,
  `https://embed.spotify.com/?uri=spotify:track:${SPOTIFY_SONG_ID}`,
  `https://play.spotify.com/track/${SPOTIFY_SONG_ID}`,
  `spotify:track:${SPOTIFY_SONG_ID}`,
  "https://spotify.link/AbC",
])("%s leads to its track", async (identifier) => {
  expect(await env.load(identifier)).toMatchObject({ kind: "track", track: { identifier: SPOTIFY_SONG_ID } });
});

test.each([
  `${PAGE}/`,
  `${PAGE}/search/x`,
  `${PAGE}/track/`,
  `${PAGE}/track/..%2f..%2fx`,
  `${PAGE}:8080/track/${SPOTIFY_SONG_ID}`,
  `https://user@open.spotify.com/track/${SPOTIFY_SONG_ID}`,
  `https://open.spotify.com.example/track/${SPOTIFY_SONG_ID}`,
  "spotify:user:somebody",
  "https://spotify.link/a/b",
  "sprec:",
  "ytsearch:x",
])("%s is not for this source, and causes no request", async (identifier) => {
  expect(await env.load(identifier)).toBeUndefined();
  expect(env.requests()).toEqual([]);
});

test("a short link that leads elsewhere finds nothing, and its target is not asked", async () => {
  env.site.shortLinks.set("spotify.link/out", "http://127.0.0.1:1/track/x");
  env.site.shortLinks.set("spotify.link/loop", "https://spotify.link/loop");
  expect(await env.load("https://spotify.link/out")).toEqual({ kind: "empty" });
  expect(await env.load("https://spotify.link/loop")).toEqual({ kind: "empty" });
  expect(new Set(env.requests())).toEqual(new Set(["spotify.link/out", "spotify.link/loop"]));
});

test("a short link whose server redirects only GET, and through another short link, is followed", async () => {
  env.site.server.fail({
    at: /^spotify\.app\.link\/z$/,
    outcome: ({ method }) =>
      method === "HEAD" ? { status: 405 } : { status: 302, headers: { location: "https://spotify.link/AbC" } },
  });
  expect(await env.load("https://spotify.app.link/z")).toMatchObject({ kind: "track" });
});

test("an album is a playlist with its cover, and its tracks name it", async () => {
  const found = await env.load(`${PAGE}/album/${SPOTIFY_ALBUM_ID}`);
  const url = `${PAGE}/album/${SPOTIFY_ALBUM_ID}`;
  const artworkUrl = "https://i.scdn.co/image/album-640";
  expect(found).toMatchObject({
    kind: "playlist",
    name: "Rooms",
    selectedTrack: -1,
    pluginInfo: { type: "album", url, artworkUrl, author: "The Stand-ins", totalTracks: 5 },
  });
  expect(found).toMatchObject({
    tracks: [
      { title: "Hall of Mirrors", artworkUrl, pluginInfo: { albumName: "Rooms", albumUrl: url } },
      {},
      {},
      {},
      {},
    ],
  });
});

test("a playlist has tracks that Spotify does not play, but none of its owner's files, and artists have plain spaces between them", async () => {
  const found = await env.load(`${PAGE}/playlist/${SPOTIFY_PLAYLIST_ID}`);
  expect(found).toMatchObject({
    kind: "playlist",
    name: "Mix",
    tracks: [{ author: "Stand In, A Guest" }, { title: "Song 0" }, { title: "Song 1" }, {}, {}, { title: "Song 900" }],
    pluginInfo: { type: "playlist", author: "The Stand-ins", totalTracks: 7 },
  });
});

test("files of a playlist's owner are loaded with localFiles", async () => {
  await env.restart({ localFiles: "true" });
  const tracks = await env.loadTracks(`${PAGE}/playlist/${SPOTIFY_PLAYLIST_ID}`);
  expect(tracks.at(-1)).toMatchObject({
    info: { identifier: "local", title: "A File", uri: null },
    pluginInfo: { isLocal: true },
  });
});

test("an artist has top tracks", async () => {
  expect(await env.load(`${PAGE}/artist/${SPOTIFY_ARTIST_ID}`)).toMatchObject({
    kind: "playlist",
    name: "Stand In's Top Tracks",
    pluginInfo: { type: "artist", url: `${PAGE}/artist/${SPOTIFY_ARTIST_ID}`, author: "Stand In", totalTracks: 5 },
  });
});

test.each(["track", "album", "playlist", "artist"])("an unknown %s finds nothing", async (type) => {
  expect(await env.load(`${PAGE}/${type}/${spotifyId(404)}`)).toEqual({ kind: "empty" });
});

test.each([`${PAGE}/episode/${BIG}`, `spotify:show:${BIG}`])("%s is said to be a podcast", async (identifier) => {
  const trouble = await troubleWith(env.load(identifier));
  expect(trouble).toMatchObject({
    severity: "common",
    message: expect.stringContaining("podcasts of Spotify are not"),
  });
  expect(env.requests()).toEqual([]);
});

test("a search is answered by the web player's interface with an embed page's session", async () => {
  const tracks = await env.loadTracks("spsearch: hall of ");
  expect(tracks).toMatchObject([
    {
      info: { identifier: SPOTIFY_SONG_ID, author: "Stand In, A Guest", length: 201_040 },
      pluginInfo: { albumName: "Rooms", albumUrl: `${PAGE}/album/${SPOTIFY_ALBUM_ID}` },
    },
  ]);
  const [request] = env.site.server.requestsTo("api-partner.spotify.com", "/pathfinder/v2/query");
  expect(request?.headers).toMatchObject({
    authorization: "Bearer visitor-1",
    "app-platform": "WebPlayer",
    referer: "https://open.spotify.com/",
    "content-type": expect.stringContaining("application/json"),
  });
  expect(JSON.parse(request?.body ?? "")).toMatchObject({
    operationName: "searchDesktop",
    variables: { searchTerm: "hall of", offset: 0, limit: 10 },
    extensions: { persistedQuery: { version: 1, sha256Hash: expect.stringMatching(/^fcad5a3e[\da-f]{56}$/) } },
  });
});

test("a session is used for many requests, whichever page it came from", async () => {
  await env.load(SONG);
  await env.load("spsearch:song");
  await env.load("spsearch:hall");
  expect(env.requests().filter((request) => request.startsWith("open.spotify.com"))).toHaveLength(1);
});

test("a search without words, and one without results, are empty", async () => {
  expect(await env.load("spsearch:  ")).toEqual({ kind: "empty" });
  expect(env.requests()).toEqual([]);
  expect(await env.load("spsearch:nothing there")).toEqual({ kind: "empty" });
});

test.each([
  SPOTIFY_SONG_ID,
  `mix:track:${SPOTIFY_SONG_ID}`,
  `seed_tracks=${SPOTIFY_SONG_ID},${spotifyId(1)}&limit=5`,
  `seed_artists=${SPOTIFY_ARTIST_ID}`,
  `mix:artist:${SPOTIFY_ARTIST_ID}`,
  `mix:album:${SPOTIFY_ALBUM_ID}`,
  "mix:isrc:XXAAA2600001",
])("sprec:%s has tracks that resemble the seed's", async (seed) => {
  const found = await env.load(`sprec:${seed}`);
  expect(found).toMatchObject({
    kind: "playlist",
    name: "Spotify Recommendations",
    pluginInfo: { type: "recommendations", url: null, artworkUrl: null, author: null, totalTracks: 5 },
  });
  const asked = env.site.server.requestsTo("api-partner.spotify.com").at(-1);
  expect(JSON.parse(asked?.body ?? "")).toMatchObject({
    operationName: "internalLinkRecommenderTrack",
    variables: { uri: `spotify:track:${SPOTIFY_SONG_ID}` },
  });
});

test.each([SONG, "spsearch:hall of", `${PAGE}/album/${SPOTIFY_ALBUM_ID}`])("spprev:%s has previews", async (inner) => {
  const [track] = await env.loadTracks(`spprev:${inner}`);
  expect(track).toMatchObject({ info: { length: 30_000, uri: SONG }, pluginInfo: { isPreview: true } });
});

test("a path cannot be made longer and longer without an end", () => {
  expect(parseIdentifier(`${PAGE}/${"embed/".repeat(600)}track/${SPOTIFY_SONG_ID}`)).toBeUndefined();
});
