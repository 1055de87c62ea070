// lavalink-client, unmodified, checks the sources that a node announces before it sends requests: all sources that the
// node plays pass, and so do those for searches of several kinds, lyrics and SponsorBlock.

import { once } from "node:events";
import {
  LavalinkManager,
  type LavalinkNode,
  type LavaSearchType,
  type LavaSrcSearchPlatformBase,
  type SearchPlatform,
  type Track,
} from "lavalink-client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { lrclibEntry } from "../../../lab/sites/lrclib.ts";
import { chapterEntry, sponsorEntry } from "../../../lab/sites/sponsorblock.ts";
import { TEST_PASSWORD } from "../../../lab/test-environment/test-environment.ts";
import { type AllSitesTestEnvironment, startAllSitesTestEnvironment } from "../../support/site-test-environment.ts";

const VIMEO_PAGE = "https://vimeo.com/1001";
const NICONICO_PAGE = "https://www.nicovideo.jp/watch/sm9";
const GUILD = "100000000000000055";
const USER = { id: "100000000000000044", username: "bot" };

let all: AllSitesTestEnvironment;
let manager: LavalinkManager;

beforeAll(async () => {
  all = await startAllSitesTestEnvironment([VIMEO_PAGE, NICONICO_PAGE]);
  const { host, port } = all.env.node.address;
  manager = new LavalinkManager({
    nodes: [{ id: "test", host, port, authorization: TEST_PASSWORD }],
    sendToShard: () => undefined,
    client: USER,
  });
  const isConnected = once(manager.nodeManager, "connect");
  await manager.init(USER);
  await isConnected;
});
afterAll(async () => {
  node().destroy();
  await all.close();
});

function node(): LavalinkNode {
  const found = manager.nodeManager.nodes.get("test");
  if (found === undefined) throw new Error("no node");
  return found;
}

it.each<[string, { readonly query: string; readonly source?: SearchPlatform }]>([
  ["youtube", { query: "first song" }],
  ["youtube", { query: "first song", source: "ytmsearch" }],
  ["youtube", { query: "https://music.youtube.com/watch?v=dQw4w9WgXcQ" }],
  ["soundcloud", { query: "song", source: "scsearch" }],
  ["soundcloud", { query: "https://soundcloud.com/stand-ins/song" }],
  ["bandcamp", { query: "hall", source: "bcsearch" }],
  ["bandcamp", { query: "https://stand-in.bandcamp.com/track/hall" }],
  ["twitch", { query: "https://www.twitch.tv/stand_in" }],
  ["vimeo", { query: VIMEO_PAGE }],
  ["niconico", { query: NICONICO_PAGE }],
  ["tidal", { query: "harbour", source: "tdsearch" }],
  ["tidal", { query: "https://tidal.com/browse/track/11" }],
  ["jiosaavn", { query: "undertow", source: "jssearch" }],
  ["jiosaavn", { query: "https://www.jiosaavn.com/song/harbour/S0ngT0ken" }],
  ["speak", { query: "hello", source: "speak" }],
  ["flowery-tts", { query: "hello", source: "ftts" }],
])("lavalink-client finds a track of %s by %o", async (sourceName, searchQuery) => {
  const { tracks } = await node().search(searchQuery, USER);
  expect(tracks[0]?.info).toMatchObject({ sourceName });
});

it.each<[LavaSrcSearchPlatformBase, string, object]>([
  [
    "ytsearch",
    "first song",
    { playlists: [{ info: { name: "Playlist PLsongs" } }, {}], artists: [{}], texts: [{}, {}] },
  ],
  ["spsearch", "rooms", { albums: [{ info: { name: "Rooms" }, pluginInfo: { type: "album" } }] }],
  ["dzsearch", "a", { albums: [{ info: { name: "Al" } }], artists: [{ pluginInfo: { author: "A" } }] }],
  ["amsearch", "p", { playlists: [{ pluginInfo: { author: "Owner" } }], texts: [{ text: "p live" }] }],
])("lavalink-client searches for several kinds with %s", async (source, query, expected) => {
  const types: LavaSearchType[] = ["track", "album", "artist", "playlist", "text"];
  expect(await node().lavaSearch({ query, source, types }, USER)).toMatchObject(expected);
});

it("lavalink-client searches for several kinds, and finds tracks where a source has no others", async () => {
  const found = await node().lavaSearch({ query: "harbour", source: "tdsearch" }, USER);
  expect(found.tracks[0]?.info).toMatchObject({ sourceName: "tidal" });
  expect(found).toMatchObject({ albums: [], artists: [], playlists: [], texts: [] });
  expect((await node().lavaSearch({ query: "x", source: "ytsearch", types: ["album"] }, USER)).tracks).toEqual([]);
});

it("lavalink-client gets the lyrics of a track, and of the track of its player", async () => {
  const { tracks } = await node().search({ query: "first song" }, USER);
  const track = tracks[0] as Track; // loaded, so no UnresolvedTrack
  const { title: trackName, author, duration } = track.info;
  const artistName = author.replace(" - Topic", "");
  all.sites.each.lrclib.entries.push(lrclibEntry(9, { trackName, artistName, duration: duration / 1000 }));
  const lyrics = {
    sourceName: "lrclib",
    provider: "LRCLIB",
    lines: [{ timestamp: 1200, duration: 2800, plugin: {} }, { line: "" }, { duration: null }],
  };
  expect(await node().lyrics.get(track)).toMatchObject(lyrics);
  await node().updatePlayer({ guildId: GUILD, playerOptions: { track: { encoded: track.encoded ?? "" } } });
  expect(await node().lyrics.getCurrent(GUILD)).toMatchObject(lyrics);
});

it("LavaSrc's route changes options of Spotify while it runs, and refuses other programs for yt-dlp", async () => {
  const { host, port } = all.env.node.address;
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: TEST_PASSWORD, "content-type": "application/json" };
    const answer = await fetch(`http://${host}:${port}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const config = { spotify: { preferPartnerApi: true }, appleMusic: {}, deezer: { arl: "x" } };
  expect(await ask("PATCH", "/v4/lavasrc/config", config)).toEqual({ status: 200, text: "" });
  const plugins = JSON.parse((await ask("GET", "/v4/tonearm/plugins")).text) as {
    name: string;
    changedOptions: string[];
  }[];
  const changed = plugins.flatMap(({ name, changedOptions }) => changedOptions.map((option) => `${name}.${option}`));
  expect(changed).toEqual(["spotify.preferPartnerApi"]);
  expect((await node().search({ query: "rooms", source: "spsearch" }, USER)).loadType).not.toBe("error");
  const ignored = await ask("PATCH", "/v4/lavasrc/config", { ytdlp: { path: "/bin/sh" } });
  expect(ignored).toEqual({ status: 200, text: "" });
  expect((await ask("GET", "/v4/tonearm/plugins")).text).not.toContain(`changedOptions":["path`);
});

it("lavalink-client sets categories of SponsorBlock, subscribes to lyrics, and passes on their events", async () => {
  const guildId = "100000000000000056";
  const player = manager.createPlayer({ guildId, voiceChannelId: "1" });
  const heard: unknown[] = [];
  manager.on("SegmentsLoaded", (_player, _track, { segments }) => heard.push(segments));
  manager.on("ChaptersLoaded", (_player, _track, { chapters }) => heard.push(chapters));
  manager.on("LyricsFound", (_player, _track, { lyrics }) => heard.push(lyrics.provider));
  const { tracks } = await node().search({ query: "first song" }, USER);
  const { info, encoded } = tracks[0] as Track; // loaded, so no UnresolvedTrack
  all.sites.each.sponsorblock.setVideo(info.identifier, [sponsorEntry(), chapterEntry("Refrain", [60, 90])]);

  await player.setSponsorBlock(["sponsor", "intro"]);
  expect(await player.getSponsorBlock()).toEqual(["sponsor", "intro"]);
  await node().updatePlayer({ guildId, playerOptions: { paused: true } });
  await player.subscribeLyrics();
  await node().updatePlayer({ guildId, playerOptions: { track: { encoded: encoded ?? "" } } });
  await expect.poll(() => heard).toHaveLength(3);
  expect(heard).toEqual(
    expect.arrayContaining([
      [{ category: "sponsor", start: 12_500, end: 31_000 }],
      [{ name: "Refrain", start: 60_000, end: 90_000, duration: 30_000 }],
      "LRCLIB",
    ]),
  );
  await player.deleteSponsorBlock();
  await expect(player.getSponsorBlock()).rejects.toThrow("Node Request resulted into an error");
  await player.unsubscribeLyrics();
});
