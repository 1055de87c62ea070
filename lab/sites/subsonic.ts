// A fake OpenSubsonic server, with a made-up library. Shapes of answers, logins and error codes: the fact
// sheet of the sources, section 4.17 (the API's documentation as of 2026-07-24); lists within albums, playlists and
// artists after the documentation of AlbumID3, Playlist and ArtistID3. Runs in the process that starts it.

import { createHash } from "node:crypto";
import { countedSong } from "../media-files/counted-song.ts";
import { partOfFile, type StoredFile } from "./part-of-file.ts";
import { type SiteFault, type SiteOutcome, type SiteRequest, SiteServer } from "./site-server.ts";

/** A song as the API has it (Child); missing members are made up. */
type SubsonicSong = { readonly id: string } & Readonly<Record<string, unknown>>;

export interface SubsonicLibrary {
  readonly songs: readonly SubsonicSong[];
  /** Ids of songs by the playlist's id. */
  readonly playlists: Readonly<Record<string, readonly string[]>>;
  /** Ids of an artist's most played songs. */
  readonly topSongs: readonly string[];
}

export interface SubsonicSiteOptions {
  readonly library?: Partial<SubsonicLibrary>;
  readonly username?: string;
  readonly password?: string;
  readonly apiKey?: string;
}

const HOST = "subsonic.stand-in";
const SONGS: readonly SubsonicSong[] = [
  {
    id: "s1",
    title: "First Light",
    artist: "Mira Vale",
    displayArtist: "Mira Vale & Co",
    album: "Harbour",
    albumId: "a1",
    artistId: "r1",
    duration: 10,
    isrc: ["XX0000000001"],
    suffix: "ogg",
    size: 55_000,
  },
  {
    id: "s2",
    title: "Second Wave",
    artist: "Mira Vale",
    album: "Harbour",
    albumId: "a1",
    artistId: "r1",
    duration: 12,
    suffix: "ogg",
  },
  { id: "s3", title: "Third Rail", artist: "Oto Brandt", album: "Rails", albumId: "a2", artistId: "r2", duration: 8 },
];
const LIBRARY: SubsonicLibrary = { songs: SONGS, playlists: { p1: ["s3", "s1"] }, topSongs: ["s2"] };

export class SubsonicSite {
  readonly username: string;
  readonly password: string;
  readonly apiKey: string;
  readonly #library: SubsonicLibrary;
  readonly #file: StoredFile = { bytes: countedSong({ seconds: 10 }), mimeType: "audio/ogg" };
  #site!: SiteServer; // Set by `start`, which is the only constructor call.

  static async start(options: SubsonicSiteOptions = {}): Promise<SubsonicSite> {
    const stand = new SubsonicSite(options);
    stand.#site = await SiteServer.start((request) => stand.#answer(request));
    return stand;
  }

  private constructor({
    library,
    username = "ada",
    password = "correct horse",
    apiKey = "key-1234",
  }: SubsonicSiteOptions) {
    this.username = username;
    this.password = password;
    this.apiKey = apiKey;
    this.#library = { ...LIBRARY, ...library };
  }

  /** For the option `url` of a server. */
  get url(): string {
    return `${this.#site.url}/${HOST}`;
  }

  get host(): string {
    return new URL(this.#site.url).host;
  }

  /** Requests for a method, or all. */
  requests(method?: string): readonly SiteRequest[] {
    return this.#site.requestsTo(HOST, method === undefined ? undefined : `/rest/${method}.view`);
  }

  /** From now on that method fails; returns a function that undoes it. */
  fail(method: string, outcome: SiteFault["outcome"], times?: number): () => void {
    return this.#site.fail({
      at: new RegExp(`/rest/${method}\\.view$`),
      outcome,
      ...(times !== undefined && { times }),
    });
  }

  close(): Promise<void> {
    return this.#site.close();
  }

  #answer(request: SiteRequest): SiteOutcome | undefined {
    const method = /^\/rest\/(\w+)\.view$/.exec(request.path)?.[1];
    if (request.host !== HOST || method === undefined) return undefined;
    const { query } = request;
    if (query.get("f") !== "json") return { text: "<subsonic-response/>", headers: { "content-type": "text/xml" } };
    if (!query.has("v") || !query.has("c")) return subsonicError(10);
    return this.#refusal(query) ?? this.#read(method, request);
  }

  #refusal(query: URLSearchParams): SiteOutcome | undefined {
    const hasUser = query.has("u") || query.has("t") || query.has("p");
    if (query.has("apiKey")) {
      if (hasUser) return subsonicError(43);
      return query.get("apiKey") === this.apiKey ? undefined : subsonicError(44);
    }
    const salt = query.get("s") ?? "";
    const token = createHash("md5").update(`${this.password}${salt}`).digest("hex");
    const isKnown = query.get("u") === this.username && query.get("t") === token && salt.length >= 6;
    return isKnown ? undefined : subsonicError(40);
  }

  #read(method: string, { query, headers }: SiteRequest): SiteOutcome {
    const id = query.get("id") ?? "";
    switch (method) {
      case "search3":
        return ok({ searchResult3: this.#search(query) });
      case "getSong": {
        const song = this.#song(id);
        return song === undefined ? subsonicError(70) : ok({ song });
      }
      case "getAlbum":
        return this.#album(id);
      case "getPlaylist":
        return this.#playlist(id);
      case "getArtist":
        return this.#artist(id);
      case "getTopSongs":
        return ok({ topSongs: { song: this.#library.topSongs.map((known) => this.#song(known)) } });
      case "getLyricsBySongId":
        return this.#lyrics(id);
      case "stream":
        return this.#song(id) === undefined ? subsonicError(70) : partOfFile(this.#file, headers.range);
      default:
        return { status: 501 };
    }
  }

  #song(id: string): SubsonicSong | undefined {
    return this.#library.songs.find((song) => song.id === id);
  }

  #search(query: URLSearchParams): Readonly<Record<string, unknown>> {
    const words = (query.get("query") ?? "").toLowerCase();
    const found = this.#library.songs.filter((song) => `${song.title} ${song.artist}`.toLowerCase().includes(words));
    return found.length === 0 ? {} : { song: found.slice(0, Number(query.get("songCount") ?? 20)) };
  }

  #album(id: string): SiteOutcome {
    const song = this.#library.songs.filter(({ albumId }) => albumId === id);
    const [first] = song;
    if (first === undefined) return subsonicError(70);
    return ok({ album: { id, name: first.album, artist: first.artist, songCount: song.length, song } });
  }

  #playlist(id: string): SiteOutcome {
    const ids = this.#library.playlists[id];
    if (ids === undefined) return subsonicError(70);
    const entry = ids.map((known) => this.#song(known));
    return ok({ playlist: { id, name: `List ${id}`, owner: this.username, songCount: entry.length, entry } });
  }

  /** Of the extension songLyrics: without times first. */
  #lyrics(id: string): SiteOutcome {
    if (this.#song(id) === undefined) return subsonicError(70);
    if (id !== "s1") return ok({ lyricsList: {} });
    const line = [
      { start: 6500, value: "Second line" },
      { start: 1500, value: "First line" },
    ];
    const plain = { lang: "xxx", synced: false, line: [{ value: "without times" }] };
    return ok({ lyricsList: { structuredLyrics: [plain, { lang: "en", synced: true, offset: 500, line }] } });
  }

  #artist(id: string): SiteOutcome {
    const songs = this.#library.songs.filter(({ artistId }) => artistId === id);
    const [first] = songs;
    if (first === undefined) return subsonicError(70);
    const album = [...new Set(songs.map(({ albumId }) => albumId))].map((albumId) => ({ id: albumId }));
    return ok({ artist: { id, name: first.artist, albumCount: album.length, album } });
  }
}

/** HTTP 200, as all errors of this API. */
export function subsonicError(code: number): SiteOutcome {
  const error = { code, message: `made-up words for ${code}` };
  return { json: { "subsonic-response": { ...BASE, status: "failed", error } } };
}

const BASE = { version: "1.16.1", type: "stand-in", serverVersion: "0.1", openSubsonic: true };

function ok(body: Readonly<Record<string, unknown>>): SiteOutcome {
  return { json: { "subsonic-response": { ...BASE, status: "ok", ...body } } };
}
