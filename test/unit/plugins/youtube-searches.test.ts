// Searches of several kinds, as of LavaSearch.

import { afterEach, beforeEach, expect, test } from "vitest";
import { readFoundLists, readSuggestions } from "../../../plugins/youtube/read-found.ts";
import { troubleWith } from "../../support/plugin-bench.ts";
import { startYoutubeBench, type YoutubeBench } from "../../support/youtube-bench.ts";

let open: YoutubeBench;

beforeEach(async () => {
  open = await startYoutubeBench();
});

afterEach(() => open.close());

const ADDRESS = "https://www.youtube.com/playlist?list=";
const list = (type: string, id: string, members: object) => ({
  ...members,
  pluginInfo: expect.objectContaining({ type, url: `${ADDRESS}${id}` }),
});

test("a search finds videos, playlists, channels and suggestions, and what it finds can be loaded", async () => {
  const found = await open.bench.search("ytsearch: song");
  expect(found).toMatchObject({
    albums: [],
    artists: [
      {
        name: "Artist",
        pluginInfo: {
          type: "artist",
          url: `${ADDRESS}UU0123456789abcdefABCDEF`,
          artworkUrl: "https://yt3.ggpht.com/a=s176",
          author: "Artist",
          totalTracks: null,
        },
      },
    ],
    playlists: [
      {
        name: "Playlist PLsongs",
        pluginInfo: {
          type: "playlist",
          url: `${ADDRESS}PLsongs`,
          artworkUrl: "https://i.ytimg.com/vi/PLsongs/hq720.jpg",
          author: "Curator",
          totalTracks: 1234,
        },
      },
      list("playlist", "OLAK5uy_album", { name: "Album" }),
    ],
    texts: [{ text: "song live" }, { text: "song [remix]" }],
  });
  expect(found.tracks.count).toBeGreaterThan(0);
  expect(await open.bench.load("youtube", `${ADDRESS}PLsongs`)).toMatchObject({ kind: "playlist" });
});

test("albums are told from playlists where YouTube says so", async () => {
  open.site.hasLockups = true;
  const { albums, playlists } = await open.bench.search("ytmsearch:song", ["album", "playlist"]);
  expect(albums).toEqual([list("album", "OLAK5uy_album", { name: "Album" })]);
  expect(albums[0]?.pluginInfo).toMatchObject({ author: "Artist", totalTracks: 3 });
  expect(playlists).toEqual([list("playlist", "PLsongs", { name: "Playlist PLsongs" })]);
  expect(playlists[0]?.pluginInfo).toMatchObject({ author: "Curator", totalTracks: 1234 });
});

test("where a client's answer has nothing that is known, the next client is asked", async () => {
  const strange = { json: { contents: { newShape: { id: "PLx" } } } };
  open.site.fail({ at: /youtubei\/v1\/search$/, outcome: strange, times: 1 });
  expect(await open.bench.search("ytsearch:song", ["playlist"])).toMatchObject({ playlists: [{}, {}] });
  expect(open.site.asked("search")).toHaveLength(2);
  open.site.fail({ at: /youtubei\/v1\/search$/, outcome: strange });
  expect(await open.bench.search("ytsearch:song", ["playlist"])).toMatchObject({ playlists: [] });
  open.site.fail({ at: /youtubei\/v1\/search$/, outcome: { json: { contents: {}, estimatedResults: "0" } } });
  const before = open.site.asked("search").length;
  expect(await open.bench.search("ytsearch:song", ["artist"])).toMatchObject({ artists: [] });
  expect(open.site.asked("search")).toHaveLength(before + 1);
});

test.each([
  ["1,234 videos", 1234],
  ["1.234.567 Videos", undefined],
  ["12 345 titres", 12_345],
  ["3", 3],
  [87, 87],
  ["1.2K videos", undefined],
  ["100+", undefined],
  ["many", undefined],
  [1.5, undefined],
])("a playlist of %s has that many tracks where it is a whole number", (count, totalTracks) => {
  const entry = { playlistId: "PLx", title: { simpleText: "x" } };
  const read = (members: object) =>
    readFoundLists({ contents: [{ playlistRenderer: { ...entry, ...members } }] }).found.playlists[0]?.totalTracks;
  expect(read({ videoCount: count })).toBe(totalTracks);
  expect(read({ videoCountText: { simpleText: String(count) } })).toBe(totalTracks);
});

test("only what is wanted is asked for", async () => {
  const asked = async (...types: Parameters<typeof open.bench.search>[1] & object) => {
    const before = open.site.site.requests.length;
    await open.bench.search("ytsearch:song", types);
    return open.site.site.requests
      .slice(before)
      .filter(({ path }) => /search$/.test(path))
      .map(({ path, body }) => (path.startsWith("/complete") ? path : (JSON.parse(body) as { params: string }).params));
  };
  expect(await asked("track")).toEqual(["EgIQAfABAQ=="]);
  expect(await asked("album", "playlist")).toEqual(["EgIQAw=="]);
  expect(await asked("artist")).toEqual(["EgIQAg=="]);
  expect(await asked("text")).toEqual(["/complete/search"]);
  expect(open.site.site.requests.at(-1)?.query.get("ds")).toBe("yt");
});

test("what fails is left out while another kind is found, and is the error where none is", async () => {
  open.site.fail({ at: /complete\/search$/, outcome: { text: "<!doctype html>" } });
  expect(await open.bench.search("ytsearch:song")).toMatchObject({ texts: [], artists: [{ name: "Artist" }] });
  expect((await troubleWith(open.bench.search("ytsearch:song", ["text"]))).message).toContain("another form");
  open.site.fail({ at: /youtubei\/v1\/search$/, outcome: { status: 403, text: "no" } });
  expect((await troubleWith(open.bench.search("ytsearch:song"))).message).toContain("All clients failed");
});

test("nothing is found where searches are off, or without words", async () => {
  expect(await open.bench.search("ytsearch: ")).toMatchObject({ albums: [], texts: [] });
  await open.close();
  open = await startYoutubeBench({ options: () => ({ allowSearch: "false" }) });
  expect(await open.bench.search("ytsearch:song")).toMatchObject({ albums: [], texts: [], tracks: { count: 0 } });
  expect(open.site.asked("search")).toEqual([]);
});

test("entries without a valid id or a name are left out", () => {
  const title = { simpleText: "x" };
  const entries = [
    { playlistRenderer: { playlistId: "../x", title } },
    { playlistRenderer: { playlistId: "PLx" } },
    { channelRenderer: { channelId: "UCshort", title } },
    { lockupViewModel: { contentType: "LOCKUP_CONTENT_TYPE_VIDEO", contentId: "song0000001" } },
    { lockupViewModel: { contentType: "LOCKUP_CONTENT_TYPE_ALBUM", contentId: 5 } },
    { adSlotRenderer: { playlistRenderer: { playlistId: "PLadvertised", title } } },
    { playlistRenderer: { playlistId: "PLx", title, videoCount: "many", thumbnail: { thumbnails: [{ url: "x" }] } } },
  ];
  const { albums, artists, playlists } = readFoundLists({ contents: entries }).found;
  expect([albums, artists]).toEqual([[], []]);
  expect(playlists).toEqual([{ name: "x", url: `${ADDRESS}PLx`, author: undefined }]);
  expect(() => readFoundLists({})).toThrow("without contents");
});

test.each([
  ['window.google.ac.h(["a",[["a b",0,[1]],["c",33]],{"q":"x"}])', ["a b", "c"]],
  ['["a",["a b","c"]]', ["a b", "c"]],
  ['["a",[5,[],null,["d"]]]', ["d"]],
  ["<html>", undefined],
  ["[1]", undefined],
])("the suggestions in %s are read", (answer, texts) => {
  expect(readSuggestions(answer)).toEqual(texts);
});
