// A fake Apple Music: the web site, whose script has the token for the API; the API on its two hosts; and previews
// behind links that expire. Shapes: fact sheet of the sources, section 4.6 (LavaSrc, NodeLink, read 2026-05-22). All
// names are made up. Runs in the process that starts it.

import { repeat } from "../media-files/bytes.ts";
import { mp3Frame } from "../media-files/containers.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const PAGE_HOST = "music.apple.com";
const API_HOSTS = ["api.music.apple.com", "amp-api.music.apple.com"];
const PAGE = `https://${PAGE_HOST}/us`;
const NOT_FOUND: SiteAnswer = {
  status: 404,
  json: { errors: [{ id: "x", title: "Resource Not Found", status: "404", code: "40400" }] },
};
/** Some 26 s. */
const PREVIEW_FRAMES = 1000;

export class AppleMusicSite {
  readonly server: SiteServer;
  /** Those that the API takes: the one in the script, and what a test adds. */
  readonly tokens = new Set<string>();
  /** Songs of the playlist. */
  playlistLength = 3;
  /** The API gives no more entries of a list at once, whatever is asked for. */
  pageEntriesMax = 300;
  /** The API answers no sooner. */
  held: Promise<void> | undefined;
  /** How the page names its script. */
  scriptTag = '<script type="module" crossorigin src="/assets/index~4cc3bbca1d.js"></script>';
  /** In the script. */
  #token = "";

  static async start(): Promise<AppleMusicSite> {
    // Not called before the constructor has finished.
    const box: { self?: AppleMusicSite } = {};
    const server = await SiteServer.start(async (request) => {
      if (request.host !== PAGE_HOST) await box.self?.held;
      return box.self?.answer(request);
    });
    box.self = new AppleMusicSite(server);
    return box.self;
  }

  private constructor(server: SiteServer) {
    this.server = server;
    server.addMedia("preview.m4a", { bytes: repeat(mp3Frame(), PREVIEW_FRAMES), mimeType: "audio/mpeg" });
    this.changeToken(appleToken());
  }

  /** For the node's `hosts`. */
  get hosts(): Record<string, string> {
    return this.server.hosts(PAGE_HOST, ...API_HOSTS);
  }

  /** The script has this token from now on, and the API takes no other. */
  changeToken(token: string): void {
    this.#token = token;
    this.tokens.clear();
    this.tokens.add(token);
  }

  song(id: number): Readonly<Record<string, unknown>> {
    return {
      id: String(id),
      type: "songs",
      href: `/v1/catalog/us/songs/${id}`,
      attributes: {
        name: `T${id}`,
        artistName: "A",
        artistUrl: `${PAGE}/artist/a/1`,
        albumName: "Al",
        durationInMillis: 201_000,
        isrc: `XX${String(id).padStart(10, "0")}`,
        url: `${PAGE}/album/al/2?i=${id}`,
        artwork: artwork("song"),
        previews: [{ url: this.server.link("preview.m4a") }],
      },
    };
  }

  answer({ host, path, query, headers }: SiteRequest): SiteAnswer | undefined {
    if (host === PAGE_HOST) return this.#page(path);
    const isTaken = this.tokens.has(headers.authorization?.replace("Bearer ", "") ?? "");
    // A token of the web site is only good for its pages.
    if (!isTaken || headers.origin === undefined) return { status: 401, json: {} };
    const [, route = ""] = /^\/v1\/catalog\/[a-z]{2}\/(.+)$/.exec(path) ?? [];
    if (route === "search/suggestions") return { json: { results: { suggestions: this.#suggestions(query) } } };
    if (route === "search") return { json: { results: this.#found(query) } };
    const [, id] = /^songs\/([1-9]\d*)$/.exec(route) ?? [];
    if (id !== undefined && Number(id) < 1_000_000) return { json: { data: [this.song(Number(id))] } };
    const item = this.#items[route];
    if (item !== undefined) return { json: { data: [item] } };
    const count = this.#lists[route];
    return count === undefined ? NOT_FOUND : this.#list(count, { path, query });
  }

  close(): Promise<void> {
    return this.server.close();
  }

  #page(path: string): SiteAnswer | undefined {
    if (path === "/us/browse") return { text: `<!DOCTYPE html><html><head>${this.scriptTag}</head></html>` };
    const script = `const a="eyJhbGciOi",t="${this.#token}";export{t}`;
    return path.startsWith("/assets/index") ? { text: script } : undefined;
  }

  #found(query: URLSearchParams): unknown {
    const words = query.get("term")?.toLowerCase() ?? "";
    const songs = [5, 6].filter((id) => `t${id}`.startsWith(words)).map((id) => this.song(id));
    return songs.length === 0 ? {} : { songs: { data: songs } };
  }

  /** Texts, and what the words are the start of. */
  #suggestions(query: URLSearchParams): readonly unknown[] {
    const words = query.get("term")?.toLowerCase() ?? "";
    const [kinds = [], types = []] = ["kinds", "types"].map((name) => query.get(name)?.split(","));
    const texts = [{ kind: "terms", searchTerm: `${words} live`, displayTerm: `${words} live` }];
    const found = [this.song(5), ...Object.values(this.#items)].filter((item) => {
      const { type, attributes } = item as { readonly type: string; readonly attributes: { readonly name: string } }; // of this site
      return types.includes(type) && attributes.name.toLowerCase().startsWith(words);
    });
    return [
      ...(kinds.includes("terms") ? texts : []),
      ...(kinds.includes("topResults") ? found.map((content) => ({ kind: "topResults", content })) : []),
    ];
  }

  get #items(): Readonly<Record<string, unknown>> {
    const list = { url: `${PAGE}/x/1`, artwork: artwork("list") };
    return {
      "albums/2": { id: "2", type: "albums", attributes: { ...list, name: "Al", artistName: "A", trackCount: 2 } },
      "playlists/pl.9": {
        id: "pl.9",
        type: "playlists",
        attributes: { ...list, name: "P", curatorName: "Owner", trackCount: this.playlistLength },
      },
      "artists/1": { id: "1", type: "artists", attributes: { ...list, name: "A" } },
    };
  }

  get #lists(): Readonly<Record<string, number>> {
    return { "albums/2/tracks": 2, "playlists/pl.9/tracks": this.playlistLength, "artists/1/view/top-songs": 2 };
  }

  #list(count: number, { path, query }: { readonly path: string; readonly query: URLSearchParams }): SiteAnswer {
    const offset = Number(query.get("offset") ?? 0);
    if (offset >= count) return NOT_FOUND;
    const end = Math.min(offset + Math.min(Number(query.get("limit") ?? 100), this.pageEntriesMax), count);
    const data = Array.from({ length: end - offset }, (_, index) => this.song(offset + index + 5));
    return { json: { data, ...(end < count && { next: `${path}?offset=${end}` }) } };
  }
}

/** A token in Apple's form, signed by nobody. `expiresInMs`: from now. */
export function appleToken(expiresInMs = 70 * 24 * 60 * 60_000, nowMs = Date.now()): string {
  const exp = Math.floor((nowMs + expiresInMs) / 1000);
  const parts = [
    { alg: "ES256", typ: "JWT", kid: "WebPlayKid" },
    { iss: "AMPWebPlay", iat: exp - 1000, exp, root_https_origin: ["apple.com"] },
  ];
  const written = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  return [...written, "c2lnbmVkIGJ5IG5vYm9keSBhdCBhbGw"].join(".");
}

function artwork(name: string): unknown {
  return { url: `https://is1-ssl.mzstatic.com/image/${name}/{w}x{h}bb.jpg`, width: 3000, height: 2000 };
}
