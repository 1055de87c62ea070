// Searches of several kinds, as of LavaSearch: by the web player's interface, and by the Web API where there are
// credentials.

import { expect, test } from "vitest";
import {
  SPOTIFY_ALBUM_ID,
  SPOTIFY_ARTIST_ID,
  SPOTIFY_CREDENTIALS,
  SPOTIFY_PLAYLIST_ID,
} from "../../../lab/sites/spotify.ts";
import { troubleWith } from "../../support/plugin-bench.ts";
import { spotifyTestEnvironment } from "../../support/spotify-test-environment.ts";

const env = spotifyTestEnvironment();
const PAGE = "https://open.spotify.com";
const picture = (name: string): string => `https://i.scdn.co/image/${name}-640`;

const ALBUM = {
  name: "Rooms",
  pluginInfo: {
    type: "album",
    url: `${PAGE}/album/${SPOTIFY_ALBUM_ID}`,
    artworkUrl: picture("album"),
    author: "The Stand-ins",
    totalTracks: null,
  },
};
const ARTIST = {
  name: "Stand In's Top Tracks",
  pluginInfo: {
    type: "artist",
    url: `${PAGE}/artist/${SPOTIFY_ARTIST_ID}`,
    artworkUrl: picture("artist"),
    author: "Stand In",
    totalTracks: null,
  },
};
const PLAYLIST = {
  name: "Mix",
  pluginInfo: {
    type: "playlist",
    url: `${PAGE}/playlist/${SPOTIFY_PLAYLIST_ID}`,
    artworkUrl: picture("playlist"),
    author: "The Stand-ins",
    totalTracks: null,
  },
};
const withTotal = (list: typeof ALBUM, totalTracks: number) => ({
  ...list,
  pluginInfo: { ...list.pluginInfo, totalTracks },
});

test("without credentials one query of the web player finds tracks, albums, artists and playlists", async () => {
  expect(await env.bench.search("spsearch: rooms")).toMatchObject({ albums: [ALBUM], artists: [], playlists: [] });
  expect(await env.bench.search("spsearch:stand in")).toMatchObject({ albums: [], artists: [ARTIST] });
  expect(await env.bench.search("spsearch:mix")).toMatchObject({ artists: [], playlists: [PLAYLIST], texts: [] });
  const { tracks } = await env.bench.search("spsearch:hall of");
  expect(tracks.count).toBe(1);
  expect(env.site.operations).toEqual(Array.from({ length: 4 }, () => "searchDesktop"));
});

test("with credentials the Web API is asked for the wanted types, ten of each", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  const lists = ["album", "artist", "playlist"] as const;
  expect(await env.bench.search("spsearch:rooms", lists)).toMatchObject({ albums: [withTotal(ALBUM, 5)] });
  expect(await env.bench.search("spsearch:stand in", lists)).toMatchObject({ artists: [ARTIST] });
  const found = await env.bench.search("spsearch:mix", ["playlist", "track"]);
  expect(found).toMatchObject({ albums: [], playlists: [withTotal(PLAYLIST, 7)] });
  const asked = env.site.server
    .requestsTo("api.spotify.com")
    .map(({ query }) => [query.get("type"), query.get("limit")]);
  expect(asked).toEqual([
    ...Array.from({ length: 2 }, () => ["album,artist,playlist", "10"]),
    ["playlist,track", "10"],
  ]);
});

test("where the Web API refuses, the web player is asked", async () => {
  await env.restart(SPOTIFY_CREDENTIALS);
  env.site.server.fail({ at: /^api\.spotify\.com/, outcome: { status: 403, json: {} } });
  expect(await env.bench.search("spsearch:rooms")).toMatchObject({ albums: [ALBUM] });
});

test("nothing is asked for texts alone, or without words", async () => {
  const nothing = { albums: [], artists: [], playlists: [], texts: [] };
  expect(await env.bench.search("spsearch:mix", ["text"])).toMatchObject(nothing);
  expect(await env.bench.search("spsearch: ")).toMatchObject(nothing);
  expect(env.requests()).toEqual([]);
});

test("entries without a name or a link are left out", async () => {
  const data = {
    searchV2: {
      tracksV2: { items: [] },
      albumsV2: { items: [null, {}, { data: { name: "Nameless link" } }, { data: { uri: "spotify:album:x" } }] },
      artists: { items: [{ data: { uri: "spotify:track:x", profile: { name: "Not an artist" } } }] },
      playlists: { items: [{ data: { uri: "spotify:playlist:x", name: "Bare" } }, 5] },
    },
  };
  env.site.server.fail({ at: /pathfinder/, outcome: { json: { data } } });
  expect(await env.bench.search("spsearch:x")).toMatchObject({
    albums: [],
    artists: [],
    playlists: [{ name: "Bare", pluginInfo: { url: `${PAGE}/playlist/x`, artworkUrl: null, author: null } }],
  });
  const { tracksV2: _, ...withoutTracks } = data.searchV2;
  env.site.server.fail({ at: /pathfinder/, outcome: { json: { data: { searchV2: withoutTracks } } } });
  expect(await env.bench.search("spsearch:y")).toMatchObject({ playlists: [{ name: "Bare" }] });
  env.site.server.fail({ at: /pathfinder/, outcome: { json: { data: { other: {} } } } });
  expect(await troubleWith(env.bench.search("spsearch:x"))).toMatchObject({
    message: expect.stringContaining("no searchV2"),
  });
});
