// lavalink-client, unmodified, looks at what a node says of itself before it asks for anything: all that the node plays
// from gets through.

import { once } from "node:events";
import { LavalinkManager, type LavalinkNode, type SearchPlatform } from "lavalink-client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { countedSong } from "../../lab/media-files/counted-song.ts";
import { AllSites } from "../../lab/sites/all-sites.ts";
import { STAGE_PASSWORD, type Stage } from "../../lab/stage/stage.ts";
import { startSiteStage } from "../support/site-stage.ts";

const VIMEO_PAGE = "https://vimeo.com/1001";
const NICONICO_PAGE = "https://www.nicovideo.jp/watch/sm9";
const USER = { id: "100000000000000044", username: "bot" };

let sites: AllSites;
let stage: Stage;
let manager: LavalinkManager;

beforeAll(async () => {
  sites = await AllSites.start();
  const song = { title: "Song", bytes: countedSong({ seconds: 10 }), mimeType: "audio/ogg" };
  for (const page of [VIMEO_PAGE, NICONICO_PAGE]) sites.each.ytdlp.addSong(page, song);
  stage = await startSiteStage([], sites.args);
  const { host, port } = stage.node.address;
  manager = new LavalinkManager({
    nodes: [{ id: "stage", host, port, authorization: STAGE_PASSWORD }],
    sendToShard: () => undefined,
    client: USER,
  });
  const isConnected = once(manager.nodeManager, "connect");
  await manager.init(USER);
  await isConnected;
});
afterAll(async () => {
  node().destroy();
  await stage.close();
  await sites.close();
});

function node(): LavalinkNode {
  const found = manager.nodeManager.nodes.get("stage");
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
  ["speak", { query: "hello", source: "speak" }],
  ["flowery-tts", { query: "hello", source: "ftts" }],
])("it finds a track of %s by %o", async (sourceName, wish) => {
  const { tracks } = await node().search(wish, USER);
  expect(tracks[0]?.info).toMatchObject({ sourceName });
});
