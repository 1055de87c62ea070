// A fake Deezer: the public API with tracks, an album, playlists, an artist with top tracks and radio; share links; and
// previews behind links that expire. Shapes: fact sheet of the sources, section 4.5 (LavaSrc, read 2026-05-22); errors
// have status 200. All names are made up. Runs in the process that starts it.

import { repeat } from "../media-files/bytes.ts";
import { mp3Frame } from "../media-files/containers.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const API_HOST = "api.deezer.com";
const SHARE_HOSTS = ["link.deezer.com", "deezer.page.link", "dzr.page.link"];
const PAGE = "https://www.deezer.com";
const PICTURES = "https://cdn-images.dzcdn.net/images";
/** Some 26 s. */
const PREVIEW_FRAMES = 1000;
const ARTIST = { id: 1, name: "A", link: `${PAGE}/artist/1`, picture_xl: `${PICTURES}/artist/1.jpg` };
const ALBUM = { id: 2, title: "Al", cover_xl: `${PICTURES}/cover/2.jpg` };
const NO_DATA: SiteAnswer = { json: { error: { type: "DataException", message: "no data", code: 800 } } };
export const QUOTA_ERROR: SiteAnswer = {
  json: { error: { type: "Exception", message: "Quota limit exceeded", code: 4 } },
};

export class DeezerSite {
  readonly server: SiteServer;
  /** The API gives no more entries of a list at once, whatever is asked for. */
  pageEntriesMax = 10_000;
  /** Entries of the playlist 9. */
  playlistLength = 3;
  /** Of the artist 1. */
  topLength = 2;
  /** Where a share link leads, by its last part. */
  readonly shares = new Map<string, string>([["song", `${PAGE}/en/track/3?utm_source=x`]]);

  static async start(): Promise<DeezerSite> {
    // Not called before the constructor has finished.
    const box: { self?: DeezerSite } = {};
    const server = await SiteServer.start((request) => box.self?.answer(request));
    box.self = new DeezerSite(server);
    return box.self;
  }

  private constructor(server: SiteServer) {
    this.server = server;
    server.addMedia("preview.mp3", { bytes: repeat(mp3Frame(), PREVIEW_FRAMES), mimeType: "audio/mpeg" });
  }

  /** For the node's `hosts`. */
  get hosts(): Record<string, string> {
    return this.server.hosts(API_HOST, ...SHARE_HOSTS);
  }

  /** As `track/<id>` has it; lists have less. */
  track(id: number): Readonly<Record<string, unknown>> {
    return {
      id,
      readable: id !== 4,
      title: `T${id}`,
      link: `${PAGE}/track/${id}`,
      isrc: isrcOf(id),
      duration: 198 + id,
      preview: this.server.link("preview.mp3"),
      artist: ARTIST,
      album: ALBUM,
      type: "track",
    };
  }

  answer({ host, path, query }: SiteRequest): SiteAnswer | undefined {
    if (host !== API_HOST) return this.#share(path);
    const [, route = ""] = /^(?:\/2\.0)?\/(.+)$/.exec(path) ?? [];
    const [, isrc] = /^track\/isrc:(\w+)$/.exec(route) ?? [];
    if (isrc !== undefined) return isrc === isrcOf(3) ? { json: this.track(3) } : NO_DATA;
    const [, id] = /^track\/([1-9]\d*)$/.exec(route) ?? [];
    if (id !== undefined) return Number(id) < 1_000_000 ? { json: this.track(Number(id)) } : NO_DATA;
    const item = this.#items[route];
    if (item !== undefined) return { json: item };
    if (route === "search/autocomplete") return { json: this.#suggestions(query) };
    const entries = this.#lists(query)[route];
    return entries === undefined ? NO_DATA : { json: this.#page(entries, { route, query }) };
  }

  close(): Promise<void> {
    return this.server.close();
  }

  #share(path: string): SiteAnswer | undefined {
    const location = this.shares.get(/[^/]+$/.exec(path)?.[0] ?? "");
    return location === undefined ? undefined : { status: 302, headers: { location } };
  }

  /** What the words are the start of. */
  #suggestions(query: URLSearchParams): Readonly<Record<string, unknown>> {
    const words = query.get("q")?.toLowerCase() ?? "";
    const { "album/2": album, "playlist/9": playlist, "artist/1": artist } = this.#items;
    const matching = (...items: readonly unknown[]): unknown => ({
      data: items.filter((item) => {
        const { title, name } = item as { readonly title?: string; readonly name?: string }; // of this site
        return (title ?? name)?.toLowerCase().startsWith(words);
      }),
    });
    const { creator: user, ...named } = playlist as Readonly<Record<string, unknown>>; // as below
    return {
      artists: matching(artist),
      albums: matching(album),
      tracks: matching(this.track(3), this.track(6)),
      playlists: matching({ ...named, user, type: "playlist" }),
    };
  }

  get #items(): Readonly<Record<string, unknown>> {
    const owner = { creator: { id: 8, name: "Owner" }, picture_xl: `${PICTURES}/playlist/9.jpg` };
    return {
      "album/2": { ...ALBUM, link: `${PAGE}/album/2`, nb_tracks: 2, artist: ARTIST, type: "album" },
      "playlist/9": { id: 9, title: "P", link: `${PAGE}/playlist/9`, nb_tracks: this.playlistLength, ...owner },
      "artist/1": { ...ARTIST, type: "artist" },
    };
  }

  #lists(query: URLSearchParams): Readonly<Record<string, readonly unknown[]>> {
    const { album: _album, artist: _artist, ...bare } = this.track(3);
    const inAlbum = { ...bare, artist: { id: 1, name: "A" } };
    const words = query.get("q")?.toLowerCase() ?? "";
    return {
      "album/2/tracks": [inAlbum, { ...inAlbum, id: 4, title: "T4", isrc: isrcOf(4), readable: false }],
      "playlist/9/tracks": Array.from({ length: this.playlistLength }, (_, index) => this.track(index + 3)),
      "artist/1/top": Array.from({ length: this.topLength }, (_, index) => this.track(index + 3)),
      "artist/1/radio": [this.track(7), this.track(3), this.track(8)],
      search: [this.track(3), this.track(6)].filter(({ title }) => String(title).toLowerCase().startsWith(words)),
    };
  }

  #page(entries: readonly unknown[], { route, query }: { route: string; query: URLSearchParams }): unknown {
    const index = Number(query.get("index") ?? 0);
    const limit = Math.min(Number(query.get("limit") ?? 25), this.pageEntriesMax);
    const end = index + limit;
    const next = `https://${API_HOST}/${route}?limit=${limit}&index=${end}`;
    return { data: entries.slice(index, end), total: entries.length, ...(end < entries.length && { next }) };
  }
}

/** Of the track with this number. */
export function isrcOf(id: number): string {
  return `XX${String(id - 2).padStart(10, "0")}`;
}
