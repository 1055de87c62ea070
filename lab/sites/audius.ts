// A fake Audius: its API at its own address and on a node of somebody else, with made-up tracks whose audio is behind a
// redirect. Shapes: fact sheet of the sources, section 4.18, and yt-dlp's reader (2026): everything in `data`, `resolve`
// as a redirect with a relative address, a list of hosts at the root. Runs in the process that starts it.

import { repeat } from "../media-files/bytes.ts";
import { mp3Frame } from "../media-files/containers.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const API = "api.audius.co";
const NODE = "node.audius.example";
const FILE = "song.mp3";
const FRAMES = 400;

type AudiusJson = Readonly<Record<string, unknown>>;

export class AudiusSite {
  readonly server: SiteServer;
  /** By id. */
  readonly tracks = new Map<string, AudiusJson>();
  /** Ids of the tracks of the playlist `pL1st`. */
  listed: readonly string[] = ["D7KyD", "p3Rts"];

  static async start(): Promise<AudiusSite> {
    const box: { self?: AudiusSite } = {};
    const server = await SiteServer.start((request) => box.self?.answer(request));
    box.self = new AudiusSite(server);
    return box.self;
  }

  private constructor(server: SiteServer) {
    this.server = server;
    server.addMedia(FILE, { bytes: repeat(mp3Frame(), FRAMES), mimeType: "audio/mpeg" });
    this.addTrack("D7KyD", { title: "Harbour", isrc: "QZAUD2600001" });
    this.addTrack("p3Rts", { title: "Undertow" });
    this.addTrack("G4ted", { title: "Gated", is_stream_gated: true, access: { stream: false, download: false } });
  }

  /** For `tonearm.hosts`. */
  get hosts(): Record<string, string> {
    return this.server.hosts(API, NODE);
  }

  addTrack(id: string, members: AudiusJson): void {
    this.tracks.set(id, {
      id,
      duration: 201,
      permalink: `/ada/${String(members.title).toLowerCase()}`,
      user: { id: "u7", name: "Ada", handle: "ada" },
      artwork: { "150x150": "https://n.example/150.jpg", "480x480": "https://n.example/480.jpg" },
      isrc: null,
      is_streamable: true,
      ...members,
    });
  }

  answer({ host, path, query }: SiteRequest): SiteAnswer | undefined {
    if (host === API && path === "/") return { json: { data: [`https://${NODE}`] } };
    if ((host !== API && host !== NODE) || query.get("app_name") === null) return undefined;
    const all = [...this.tracks.values()];
    if (path === "/v1/resolve") return this.#resolve(query.get("url") ?? "");
    if (path === "/v1/tracks/search") {
      const words = query.get("query")?.toLowerCase() ?? "";
      return { json: { data: all.filter(({ title }) => String(title).toLowerCase().includes(words)) } };
    }
    if (path === "/v1/users/handle/ada/tracks") return { json: { data: all } };
    if (path === "/v1/playlists/pL1st/tracks")
      return { json: { data: this.listed.map((id) => this.tracks.get(id) ?? null) } };
    if (path === "/v1/playlists/pL1st") {
      const data = [
        { id: "pL1st", playlist_name: "Evening", user: { name: "Ada" }, permalink: "/ada/playlist/evening-1" },
      ];
      return { json: { data } };
    }
    const [, id = "", stream] = /^\/v1\/tracks\/(\w+)(\/stream)?$/.exec(path) ?? [];
    const track = this.tracks.get(id);
    if (track === undefined) return undefined;
    if (stream === undefined) return { json: { data: track } };
    return track.is_stream_gated === true
      ? { status: 403 }
      : { status: 302, headers: { location: this.server.link(FILE) } };
  }

  #resolve(url: string): SiteAnswer | undefined {
    const track = [...this.tracks.values()].find(({ permalink }) => url === `https://audius.co${permalink}`);
    const isList = url === "https://audius.co/ada/playlist/evening-1";
    const location = isList ? "/v1/playlists/pL1st" : track === undefined ? undefined : `/v1/tracks/${track.id}`;
    return location === undefined ? undefined : { status: 302, headers: { location: `${location}?app_name=Tonearm` } };
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
