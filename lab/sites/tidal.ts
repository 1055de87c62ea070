// A fake Tidal: its login for applications and its API for programs, with made-up music. Shapes: JSON:API documents of
// openapi.tidal.com/v2 as TIDAL's own SDKs read them (2026-08): attributes, relationships with references, `included`
// in no order, pages of 20 with `links.next` relative to `/v2`, tokens that end. Runs in the process that starts it.

import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const API = "openapi.tidal.com";
const LOGIN = "auth.tidal.com";
const PAGE_TRACKS = 20;
const PICTURES = "https://resources.tidal.com/images/a";

type Resource = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string };

export class TidalSite {
  readonly server: SiteServer;
  readonly clientId = "tidal-client";
  readonly clientSecret = "tidal:secret/1";
  /** Ids of the tracks in each list: `albums/1`, `playlists/<uuid>`, `artists/7`, `tracks/11` (similar ones). */
  readonly lists = new Map<string, readonly string[]>();
  /** In the path, as it was until 2026-08. */
  searchesByPath = false;
  readonly #resources = new Map<string, Resource>();
  #tokens = 0;

  static async start(): Promise<TidalSite> {
    const box: { self?: TidalSite } = {};
    const server = await SiteServer.start((request) => box.self?.answer(request));
    box.self = new TidalSite(server);
    return box.self;
  }

  private constructor(server: SiteServer) {
    this.server = server;
    this.add({
      type: "artists",
      id: "7",
      attributes: { name: "Harbour Lights" },
      ...related({ profileArt: ["artworks p7"] }),
    });
    this.add({ type: "artists", id: "8", attributes: { name: "Ada" } });
    this.add({
      type: "albums",
      id: "1",
      attributes: { title: "Low Tide", duration: "PT1H2M3S" },
      ...related({ artists: ["artists 7"], coverArt: ["artworks c1"] }),
    });
    for (const id of ["c1", "p7"]) {
      const files = [80, 1280, 640].map((width) => ({
        href: `${PICTURES}/${id}/${width}x${width}.jpg`,
        meta: { width, height: width },
      }));
      this.add({ type: "artworks", id, attributes: { mediaType: "IMAGE", files } });
    }
    this.addTrack("11", { title: "Harbour", isrc: "QZTST2600011" });
    this.addTrack("12", { title: "Undertow", version: "Live", isrc: "QZTST2600012" });
    this.lists.set("albums/1", ["11", "12"]);
    this.lists.set("artists/7", ["12", "11"]);
    this.lists.set("tracks/11", ["12"]);
  }

  /** For `tonearm.hosts`. */
  get hosts(): Record<string, string> {
    return this.server.hosts(API, LOGIN);
  }

  add(resource: Resource): void {
    this.#resources.set(`${resource.type} ${resource.id}`, resource);
  }

  addTrack(id: string, attributes: Readonly<Record<string, unknown>>): void {
    const links = related({ artists: ["artists 7", "artists 8"], albums: ["albums 1"] });
    const more = { duration: "PT3M21S", explicit: false, availability: ["STREAM"], ...attributes };
    this.add({ type: "tracks", id, attributes: more, ...links });
  }

  /** A public playlist of so many tracks; returns their ids. */
  addPlaylist(id: string, count: number): readonly string[] {
    const ids = Array.from({ length: count }, (_, index) => String(1000 + index));
    for (const track of ids) this.addTrack(track, { title: `Song ${track}` });
    this.add({ type: "playlists", id, attributes: { name: "Evening", playlistType: "USER", numberOfItems: count } });
    this.lists.set(`playlists/${id}`, ids);
    return ids;
  }

  /** Tokens given so far are refused from now on. */
  endTokens(): void {
    this.#tokens += 1;
  }

  answer(request: SiteRequest): SiteAnswer | undefined {
    const { host, path, headers } = request;
    if (host === LOGIN && path === "/v1/oauth2/token") return this.#logIn(request);
    if (host !== API || !path.startsWith("/v2/")) return undefined;
    if (headers.authorization !== `Bearer token-${this.#tokens}`) return { status: 401, json: errors("UNAUTHORIZED") };
    if (request.query.get("countryCode") === null) return { status: 400, json: errors("BAD_REQUEST") };
    return this.#document(decodeURIComponent(path.slice("/v2/".length)), request.query);
  }

  #logIn({ headers, body }: SiteRequest): SiteAnswer {
    const keys = Buffer.from(`${this.clientId}:${this.clientSecret}`).toString("base64");
    if (headers.authorization !== `Basic ${keys}` || body !== "grant_type=client_credentials") {
      return { status: 401, json: { status: 401, error: "invalid_client" } };
    }
    this.#tokens += 1;
    return { json: { access_token: `token-${this.#tokens}`, token_type: "Bearer", expires_in: 86_400 } };
  }

  #document(path: string, query: URLSearchParams): SiteAnswer | undefined {
    const included = query.get("include")?.split(",") ?? [];
    const [, words] = /^searchResults\/(.*)\/relationships\/tracks$/.exec(path) ?? [];
    if (path === "searchResults" && !this.searchesByPath)
      return this.#search(query.get("filter[query]") ?? "", included);
    if (words !== undefined && this.searchesByPath) return this.#page(this.#idsFor(words), { path, query, included });
    const [, list, relationship = ""] = /^(\w+\/[\w-]+)\/relationships\/(\w+)$/.exec(path) ?? [];
    const ids = list === undefined ? undefined : this.lists.get(list);
    if (ids !== undefined && (relationship !== "tracks" || query.get("collapseBy") !== null)) {
      return this.#page(ids, { path, query, included });
    }
    const resource = this.#resources.get(path.replace("/", " "));
    return resource === undefined ? undefined : { json: { data: resource, included: this.#parts(resource, included) } };
  }

  #search(words: string, included: readonly string[]): SiteAnswer {
    const references = this.#idsFor(words).map((id) => ({ type: "tracks", id }));
    const data = {
      type: "searchResults",
      id: "opaque",
      attributes: { trackingId: "t" },
      relationships: { tracks: { data: references } },
    };
    return { json: { data: [data], included: this.#parts(data, included) } };
  }

  #idsFor(words: string): string[] {
    const found = [...this.#resources.values()].filter(({ type, attributes }) => {
      return type === "tracks" && JSON.stringify(attributes).toLowerCase().includes(words.toLowerCase());
    });
    return found.map(({ id }) => id).slice(0, PAGE_TRACKS);
  }

  #page(
    ids: readonly string[],
    {
      path,
      query,
      included,
    }: { readonly path: string; readonly query: URLSearchParams; readonly included: readonly string[] },
  ): SiteAnswer {
    const start = Number(query.get("page[cursor]")?.slice(1) ?? 0);
    const data = ids
      .slice(start, start + PAGE_TRACKS)
      .map((id) => ({ type: "tracks", id, meta: { itemId: `i${id}` } }));
    const self = { relationships: { [path.split("/").at(-1) ?? ""]: { data } } };
    const end = start + PAGE_TRACKS;
    const next = `/${path}?countryCode=US&page%5Bcursor%5D=c${end}`;
    const links = { self: `/${path}`, ...(end < ids.length && { next, meta: { nextCursor: `c${end}` } }) };
    return { json: { data, links, included: this.#parts(self, included) } };
  }

  /** What paths such as `items.albums` lead to, each once, the last first. */
  #parts(from: Readonly<Record<string, unknown>>, paths: readonly string[]): readonly Resource[] {
    const found = new Set<Resource>();
    for (const path of paths) {
      let level: readonly Readonly<Record<string, unknown>>[] = [from];
      for (const name of path.split(".")) {
        level = level.flatMap((resource) => this.#relatedTo(resource, name));
        for (const resource of level) found.add(resource as Resource);
      }
    }
    return [...found].toReversed();
  }

  #relatedTo(resource: Readonly<Record<string, unknown>>, name: string): readonly Resource[] {
    const relationships = (resource.relationships ?? {}) as Readonly<Record<string, { data?: readonly Resource[] }>>;
    return (relationships[name]?.data ?? []).flatMap(({ type, id }) => this.#resources.get(`${type} ${id}`) ?? []);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

/** Relationships to `type id` each. */
function related(names: Readonly<Record<string, readonly string[]>>) {
  const entries = Object.entries(names).map(([name, keys]) => {
    const data = keys.map((key) => ({ type: key.split(" ")[0], id: key.split(" ")[1] }));
    return [name, { data, links: { self: `/${name}` } }];
  });
  return { relationships: Object.fromEntries(entries) };
}

function errors(code: string) {
  return { errors: [{ id: "1", status: "400", code, detail: "made up" }] };
}
