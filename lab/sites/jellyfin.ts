// A fake Jellyfin server, with a made-up library. Shapes of items, the authorization header, and the paths of the
// audio: the fact sheet of the sources, section 4.17 (from the server's documentation, not from its code); logins and
// pages after its OpenAPI document. Runs in the process that starts it.

import { countedSong } from "../media-files/counted-song.ts";
import { partOfFile, type StoredFile } from "./part-of-file.ts";
import { type SiteFault, type SiteOutcome, type SiteRequest, SiteServer } from "./site-server.ts";

/** A BaseItemDto; missing members are made up. */
type JellyfinItem = { readonly Id: string; readonly Type: string } & Readonly<Record<string, unknown>>;

export interface JellyfinSiteOptions {
  readonly items?: readonly JellyfinItem[];
  /** Ids of songs by the playlist's id. */
  readonly playlists?: Readonly<Record<string, readonly string[]>>;
  readonly username?: string;
  readonly password?: string;
  readonly apiKey?: string;
}

const HOST = "jellyfin.stand-in";
export const JELLYFIN_USER_ID = jellyfinId(900);

const SONG = { Type: "Audio", Album: "Harbour", AlbumId: jellyfinId(11), AlbumArtist: "Mira Vale" };
const ITEMS: readonly JellyfinItem[] = [
  {
    ...SONG,
    Id: jellyfinId(1),
    Name: "First Light",
    Artists: ["Mira Vale", "Oto Brandt"],
    Etag: "e1",
    RunTimeTicks: 100_000_000,
    ArtistItems: [{ Name: "Mira Vale", Id: jellyfinId(21) }],
  },
  {
    ...SONG,
    Id: jellyfinId(2),
    Name: "Second Wave",
    Artists: ["Mira Vale"],
    RunTimeTicks: 120_000_000,
    IndexNumber: 2,
  },
  { Id: jellyfinId(3), Type: "Audio", Name: "Third Rail", AlbumArtist: "Oto Brandt", RunTimeTicks: 80_000_000 },
  { Id: jellyfinId(11), Type: "MusicAlbum", Name: "Harbour", AlbumArtist: "Mira Vale" },
  { Id: jellyfinId(21), Type: "MusicArtist", Name: "Mira Vale" },
  { Id: jellyfinId(31), Type: "Playlist", Name: "Evening" },
  { Id: jellyfinId(41), Type: "Movie", Name: "No Song" },
];
const PLAYLISTS = { [jellyfinId(31)]: [jellyfinId(3), jellyfinId(1)] };

/** Of the first song, a LyricDto. */
const LYRICS = {
  Metadata: { IsSynced: true },
  Lyrics: [
    { Text: "First line", Start: 15_000_000 },
    { Text: "without a time" },
    { Text: "Second line", Start: 65_000_000 },
  ],
};

/** A GUID as Jellyfin writes it. */
export function jellyfinId(number: number): string {
  return number.toString(16).padStart(32, "0");
}

export class JellyfinSite {
  readonly username: string;
  readonly password: string;
  readonly apiKey: string;
  readonly #items: readonly JellyfinItem[];
  readonly #playlists: Readonly<Record<string, readonly string[]>>;
  readonly #file: StoredFile = { bytes: countedSong({ seconds: 10 }), mimeType: "audio/ogg" };
  /** The session's token by device: a new one ends the one before. */
  readonly #tokens = new Map<string, string>();
  #loginCount = 0;
  #site!: SiteServer; // Set by `start`, which is the only constructor call.

  static async start(options: JellyfinSiteOptions = {}): Promise<JellyfinSite> {
    const stand = new JellyfinSite(options);
    stand.#site = await SiteServer.start((request) => stand.#answer(request));
    return stand;
  }

  private constructor(options: JellyfinSiteOptions) {
    const { items = ITEMS, playlists = PLAYLISTS } = options;
    this.username = options.username ?? "ada";
    this.password = options.password ?? "correct horse";
    this.apiKey = options.apiKey ?? "0123456789abcdef0123456789abcdef";
    this.#items = items;
    this.#playlists = playlists;
  }

  /** For the option `url` of a server. */
  get url(): string {
    return `${this.#site.url}/${HOST}`;
  }

  get host(): string {
    return new URL(this.#site.url).host;
  }

  get loginCount(): number {
    return this.#loginCount;
  }

  /** Requests to a path, or all. */
  requests(path?: string): readonly SiteRequest[] {
    return this.#site.requestsTo(HOST, path);
  }

  /** From now on that path fails; returns a function that undoes it. */
  fail(path: string, outcome: SiteFault["outcome"], times?: number): () => void {
    return this.#site.fail({ at: new RegExp(`${HOST}${path}$`), outcome, ...(times !== undefined && { times }) });
  }

  /** As an operator does in the dashboard. */
  endSessions(): void {
    this.#tokens.clear();
  }

  close(): Promise<void> {
    return this.#site.close();
  }

  #answer(request: SiteRequest): SiteOutcome | undefined {
    const { host, path, query, headers } = request;
    if (host !== HOST) return undefined;
    const asker = /^MediaBrowser /.test(headers.authorization ?? "") ? valuesIn(headers.authorization ?? "") : {};
    if (path === "/Users/AuthenticateByName") return this.#logIn(request, asker);
    const isKnown = asker.Token === this.apiKey || [...this.#tokens.values()].some((token) => token === asker.Token);
    if (!isKnown) return { status: 401 };
    if (path === "/Items") return { json: this.#list(query) };
    if (path === `/Audio/${jellyfinId(1)}/Lyrics`) return { json: LYRICS };
    const [, id, mode] = /^\/Audio\/([0-9a-f]{32})\/(stream|universal)$/.exec(path) ?? [];
    if (mode === undefined || this.#items.every(({ Id }) => Id !== id)) return undefined;
    return partOfFile(this.#file, headers.range);
  }

  #logIn({ method, body }: SiteRequest, asker: Readonly<Record<string, string>>): SiteOutcome {
    this.#loginCount += 1;
    if (method !== "POST" || asker.DeviceId === undefined || asker.Client === undefined) return { status: 400 };
    const { Username, Pw } = JSON.parse(body) as Record<string, unknown>; // a missing body is a fault of the test
    if (Username !== this.username || Pw !== this.password) return { status: 401 };
    const token = `token${this.#loginCount}`.padEnd(32, "0");
    this.#tokens.set(asker.DeviceId, token);
    return { json: { User: { Id: JELLYFIN_USER_ID, Name: Username }, AccessToken: token, ServerId: jellyfinId(1000) } };
  }

  #list(query: URLSearchParams): unknown {
    const found = this.#select(query);
    const start = Number(query.get("startIndex") ?? 0);
    const end = start + Number(query.get("limit") ?? found.length);
    const isWhole = query.get("fields")?.split(",").includes("MediaSources");
    const items = found.slice(start, end).map((item) => (isWhole ? item : { ...item, MediaSources: undefined }));
    return { Items: items, TotalRecordCount: found.length, StartIndex: start };
  }

  #select(query: URLSearchParams): readonly JellyfinItem[] {
    const [id, parent, artist, words] = ["ids", "parentId", "artistIds", "searchTerm"].map((name) => query.get(name));
    if (id) return this.#items.filter(({ Id }) => Id === id);
    const songs = this.#items.filter(({ Type }) => Type === "Audio");
    if (artist) return songs.filter(({ ArtistItems }) => JSON.stringify(ArtistItems ?? []).includes(artist));
    if (words) return songs.filter(({ Name }) => `${Name}`.toLowerCase().includes(words.toLowerCase()));
    const listed = this.#playlists[parent ?? ""];
    if (listed !== undefined) return listed.flatMap((known) => songs.filter(({ Id }) => Id === known));
    const isAlbum = this.#items.some(({ Id, Type }) => Id === parent && Type === "MusicAlbum");
    return isAlbum ? songs.filter(({ AlbumId }) => AlbumId === parent) : songs;
  }
}

function valuesIn(header: string): Record<string, string> {
  const pairs = [...header.matchAll(/(\w+)="([^"]*)"/g)];
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, decodeURIComponent(value)]));
}
