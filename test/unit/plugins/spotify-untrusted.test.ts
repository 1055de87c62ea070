// Answers of Spotify that are nothing like what it answers.

import { describe, expect, test } from "vitest";
import { embedPage, SPOTIFY_SONG_ID, spotifyId } from "../../../lab/sites/spotify.ts";
import { type Members, membersOf } from "../../../plugins/reading/json.ts";
import { readEmbedList, readEmbedPage, readEmbedTrack, readSession } from "../../../plugins/spotify/read-embed.ts";
import {
  readAlbum,
  readArtist,
  readPlaylist,
  readRecommendations,
  readSearch,
  readTrack,
} from "../../../plugins/spotify/read-pathfinder.ts";
import { readApiAlbum, readApiSearch, readApiTrack } from "../../../plugins/spotify/read-web-api.ts";
import { troubleWith } from "../../support/plugin-bench.ts";
import { spotifyTestEnvironment } from "../../support/spotify-test-environment.ts";

const ALBUM = { type: "album", id: "1" } as const;
const LIMITS = { entriesMax: 100, localFiles: false };
const ODD_VALUES = [
  null,
  1,
  Number.NaN,
  true,
  "",
  "text",
  [],
  [[]],
  [null],
  {},
  { items: 1 },
  { items: [null, 1, []] },
];

/** Each of these with one member, or a member of a member, replaced by odd values. */
function spoiled(value: unknown, depth = 0): unknown[] {
  if (depth > 8 || typeof value !== "object" || value === null) return ODD_VALUES;
  const members = Object.entries(value as Record<string, unknown>);
  return members.flatMap(([name, inner]) => {
    return spoiled(inner, depth + 1).map((odd) =>
      Array.isArray(value) ? value.with(Number(name), odd) : { ...value, [name]: odd },
    );
  });
}

const ENTRY = { uri: `spotify:track:${spotifyId(1)}`, title: "T", subtitle: "A,\u00a0B", duration: 1000 };
const EMBEDDED = {
  ...{
    type: "playlist",
    name: "P",
    subtitle: "O",
    uri: "spotify:playlist:1",
    artists: [{ name: "A", uri: "spotify:artist:1" }],
  },
  ...{
    coverArt: { sources: [{ url: "https://i.scdn.co/x", width: 1 }] },
    audioPreview: { url: "https://p.scdn.co/x" },
  },
  ...{ trackList: [ENTRY] },
};
const SONG = {
  ...{ name: "T", uri: `spotify:track:${spotifyId(1)}`, duration: { totalMilliseconds: 1000 } },
  ...{ artists: { items: [{ uri: "spotify:artist:1", profile: { name: "A" } }] }, playability: { playable: true } },
  albumOfTrack: {
    name: "Al",
    uri: "spotify:album:1",
    coverArt: { sources: [{ url: "https://i.scdn.co/x", height: 1 }] },
  },
};

describe("a member of any type in any place is read as missing by", () => {
  test.each<[string, unknown, (value: Members) => unknown]>([
    ["embedded tracks", { ...EMBEDDED, uri: ENTRY.uri }, (value) => readEmbedTrack(value, "1")],
    ["embedded lists", EMBEDDED, (value) => readEmbedList(value, ALBUM, LIMITS)],
    ["tracks", SONG, readTrack],
    [
      "playlists",
      { name: "P", content: { totalCount: 1, items: [{ itemV2: { data: SONG } }] } },
      (value) => readPlaylist(value, LIMITS),
    ],
    [
      "albums",
      { name: "P", tracksV2: { totalCount: 1, items: [{ track: SONG }] } },
      (value) => readAlbum(value, LIMITS),
    ],
    [
      "artists",
      { profile: { name: "A" }, discography: { topTracks: { items: [{ track: SONG }] } } },
      (value) => readArtist(value, LIMITS),
    ],
    ["searches", { tracksV2: { items: [{ item: { data: SONG } }] } }, readSearch],
    ["recommendations", { items: [{ content: { data: SONG } }] }, readRecommendations],
    [
      "searches of the Web API",
      { tracks: { items: [{ id: "1", name: "T", artists: [{ name: "A" }], album: {} }] } },
      readApiSearch,
    ],
    ["tracks of the Web API", { id: "1", name: "T", external_ids: { isrc: "X" } }, readApiTrack],
    [
      "albums of the Web API",
      { name: "A", tracks: { total: 1, items: [{ id: "1", name: "T" }] } },
      (value) => readApiAlbum(value, 50),
    ],
  ])("%s", (_name, good, read) => {
    for (const value of spoiled(good)) expect(() => read(membersOf(value))).not.toThrow();
  });
});

test("lengths that are none are unknown", () => {
  for (const duration of [-1, 0, 1e300, "1000", null, { totalMilliseconds: -5 }]) {
    const found = readEmbedTrack({ ...ENTRY, duration }, "1");
    expect(found?.lengthMs).toBeUndefined();
  }
});

test("a list of 10,000 entries is read up to the limit", () => {
  const trackList = Array.from({ length: 10_000 }, () => ENTRY);
  expect(readEmbedList({ ...EMBEDDED, trackList }, ALBUM, { ...LIMITS, entriesMax: 600 })?.tracks).toHaveLength(600);
});

test("entries that are no tracks are left out, but counted", () => {
  const trackList = [{ uri: "spotify:episode:1", title: "E" }, null, { title: "no uri" }, ENTRY];
  const found = readEmbedList({ ...EMBEDDED, trackList }, ALBUM, LIMITS);
  expect(found).toMatchObject({ tracks: [{ title: "T" }], entryCount: 4 });
});

test("entries without a subtitle have their artists, or the author of their album", () => {
  const { subtitle: _subtitle, ...bare } = ENTRY;
  const trackList = [{ ...bare, artists: [{ name: "A" }, { name: "B" }] }, bare, { ...bare, isPlayable: false }];
  const authors = (type: "album" | "artist" | "playlist") =>
    readEmbedList({ ...EMBEDDED, trackList }, { type, id: "1" }, LIMITS)?.tracks.map(({ author }) => author);
  expect(authors("album")).toEqual(["A, B", "A", "A"]);
  expect(authors("artist")).toEqual(["A, B", "P", "P"]);
  expect(authors("playlist")).toEqual(["A, B", undefined, undefined]);
});

test("a page's data is found by its id, whatever names it before", () => {
  const page = embedPage({ entity: { title: "T" } }).replace(
    "<head>",
    '<head><script>document.getElementById("__NEXT_DATA__")</script>',
  );
  expect(readEmbedPage(page)).toMatchObject({ entity: { title: "T" }, isMissing: false });
});

test.each([
  [{ props: { pageProps: { status: 404 } } }, true],
  [{ props: { pageProps: { state: { data: { entity: null } } } } }, true],
  [{ props: { pageProps: { state: { data: {}, settings: { session: { accessToken: "x" } } } } } }, false],
])("an item is missing where the page says so, not where nothing is said (%j)", (data, isMissing) => {
  const page = `<script type="application/json" id='__NEXT_DATA__'>${JSON.stringify(data)}</script>`;
  expect(readEmbedPage(page)).toMatchObject({ entity: undefined, isMissing });
});

test("a count of more than 32 bits is cut", () => {
  const options = { ...LIMITS, entriesMax: 1 };
  expect(readPlaylist({ content: { totalCount: 2 ** 40, items: [] } }, options)?.totalCount).toBe(2 ** 31 - 1);
});

test("a page with JSON of any depth is read", () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const page = `<script id="__NEXT_DATA__">{"props":{"pageProps":{"state":{"data":{"entity":{"deep":${deep}}}}}}}</script>`;
  expect(readEmbedPage(page).entity).toHaveProperty("deep");
});

test("a token that could end a header is none", () => {
  expect(readSession({ accessToken: "a\r\nx: y" })).toBeUndefined();
  expect(readSession({ accessToken: "a", accessTokenExpirationTimestampMs: -1 })).toEqual({ token: "a" });
});

test("addresses that are not of the web are left out", () => {
  const odd = {
    ...EMBEDDED,
    audioPreview: { url: "file:///etc/passwd" },
    coverArt: { sources: [{ url: "javascript:1" }] },
  };
  expect(readEmbedTrack({ ...odd, uri: ENTRY.uri }, "1")).toMatchObject({
    artworkUrl: undefined,
    previewUrl: undefined,
  });
});

test("what only the link says is taken from there", () => {
  expect(readEmbedTrack({ title: "T" }, "42")).toMatchObject({ id: "42", title: "T" });
  expect(readEmbedTrack({ title: "T", uri: "spotify:episode:1" }, "42")).toBeUndefined();
});

const env = spotifyTestEnvironment();

test("a page of more than 8 MiB is an error, and the next backend is asked", async () => {
  const text = embedPage({ entity: { ...ENTRY, more: "x".repeat(8 * 1024 * 1024) } });
  await env.load("spsearch:hall of");
  env.site.server.fail({ at: /^open\.spotify\.com\/embed\/track\//, outcome: { text } });
  const found = await env.load(`spotify:track:${SPOTIFY_SONG_ID}`);
  expect(found).toMatchObject({ kind: "track", track: { title: "Hall of Mirrors" } });
});

test("an answer of the interface that is no JSON is an error", async () => {
  env.site.server.fail({ at: /^api-partner/, outcome: { text: "<html>hello</html>" } });
  const trouble = await troubleWith(env.load("spsearch:hall of"));
  expect(trouble.message).toContain("searchDesktop");
});

test.each([
  ["with an error", { data: { trackUnion: null }, errors: [{ message: "Not found" }] }],
  ["without one", { data: { trackUnion: null } }],
])("a track that the interface has not, %s, is no failure", async (_name, json) => {
  env.site.server.fail({ at: /^api-partner/, outcome: { json } });
  expect(await env.load(`spotify:track:${spotifyId(404)}`)).toEqual({ kind: "empty" });
});
