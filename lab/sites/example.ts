// The made-up site that plugins/example plays from: search, songs, links that expire. Its shape is our own, as
// docs/plugins.md describes it.

import { countedSong } from "../media-files/counted-song.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

export const EXAMPLE_HOST = "music.example.org";

interface Song {
  readonly id: string;
  readonly title: string;
  readonly artist: string;
  readonly seconds: number;
}

/** Each song's first packet number is 1,000 times its index, so that a listener can distinguish them. */
const EXAMPLE_SONGS: readonly Song[] = [
  { id: "one", title: "First song", artist: "Somebody", seconds: 120 },
  { id: "two", title: "Second song", artist: "Somebody else", seconds: 6 },
];
const PACKET_BYTES = 800;
/** Two and a half seconds. */
const CUT_AFTER_BYTES = 100_000;

export async function startExampleSite(): Promise<SiteServer> {
  const site = await SiteServer.start((request) => answer(site, request));
  for (const [index, { id, seconds }] of EXAMPLE_SONGS.entries()) {
    const bytes = countedSong({ seconds, firstNumber: index * 1000, packetBytes: PACKET_BYTES });
    site.addMedia(`${id}.ogg`, { bytes, mimeType: "audio/ogg", cutAfterBytes: CUT_AFTER_BYTES });
  }
  return site;
}

function answer(site: SiteServer, { host, path, query }: SiteRequest): SiteAnswer | undefined {
  if (host !== EXAMPLE_HOST) return undefined;
  if (path === "/api/search") {
    const words = query.get("q")?.toLowerCase() ?? "";
    const songs = EXAMPLE_SONGS.filter(({ title }) => title.toLowerCase().includes(words));
    return { json: { tracks: songs.slice(0, Number(query.get("limit"))) } };
  }
  const [, id, isLink] = /^\/api\/tracks\/([^/]+)(\/link)?$/.exec(path) ?? [];
  const song = EXAMPLE_SONGS.find((candidate) => candidate.id === id);
  if (song === undefined) return undefined;
  return { json: isLink === undefined ? song : { url: site.link(`${song.id}.ogg`), expires: Date.now() + 3_600_000 } };
}
