// A fake Spotify: its embed pages, the web player's interface, the Web API and short links, and Deezer's open index of
// recordings, small and made up. Shapes are those of the fact sheet on sources, sections 4.2 and 4.5, with the rules of
// 2026 for applications in development mode (sites-2026-11, correction 4 of sources.md).

import { type SiteAnswer, type SiteOutcome, type SiteRequest, SiteServer } from "./site-server.ts";

const WEB = "open.spotify.com";
const PLAYER = "api-partner.spotify.com";
const ACCOUNTS = "accounts.spotify.com";
const API = "api.spotify.com";
const DEEZER = "api.deezer.com";
const HOSTS = [WEB, PLAYER, ACCOUNTS, API, DEEZER, "spotify.link", "spotify.app.link"];
const EMBED_ENTRIES_MAX = 100;
const SEARCH_LIMIT_MAX = 10;
const PREVIEW = "preview.mp3";
const NBSP = "\u00a0";

type Json = Record<string, unknown>;
type ListType = "album" | "playlist" | "artist";

export interface SpotifySong {
  readonly id: string;
  readonly title: string;
  readonly artists: readonly string[];
  readonly lengthMs: number;
  readonly isrc?: string;
  readonly isPlayable?: boolean;
  /** A file of a playlist's owner. */
  readonly isLocal?: boolean;
}

interface SpotifyList {
  readonly type: ListType;
  readonly id: string;
  readonly name: string;
  readonly songs: readonly SpotifySong[];
  /** What is said of the number of songs. */
  readonly totalCount?: number;
}

/** An entry of Deezer's index. */
export interface DeezerEntry {
  readonly id: number;
  readonly title: string;
  readonly artist: string;
  readonly seconds: number;
  readonly isrc: string;
}

export const SPOTIFY_CREDENTIALS = { clientId: "an-application", clientSecret: "its-secret" } as const;
export const SPOTIFY_SONG_ID = "111111111111111111song";
export const SPOTIFY_ALBUM_ID = "11111111111111111album";
export const SPOTIFY_ARTIST_ID = "1111111111111111artist";
export const SPOTIFY_PLAYLIST_ID = "111111111111111111list";

/** 22 characters, as Spotify's. */
export function spotifyId(number: number): string {
  return String(number).padStart(22, "0");
}

export class SpotifySite {
  readonly server: SiteServer;
  /** For `tonearm.hosts`. */
  readonly hosts: Record<string, string>;
  readonly songs = new Map<string, SpotifySong>();
  readonly lists = new Map<string, SpotifyList>();
  readonly deezer: DeezerEntry[] = [];
  /** Targets of short links, by their address without a scheme. */
  readonly shortLinks = new Map<string, string>();
  /** Hashes of queries that are not known any more. */
  readonly oldHashes = new Set<string>();
  /** How it says that it does not know a hash. */
  unknownHash: SiteAnswer = { status: 400, json: { errors: [{ message: "PersistedQueryNotFound" }] } };
  /** Entries of Deezer's searches have their ISRC. */
  isIsrcInSearch = true;
  /** Entries in an answer of the web player's interface, however many are asked for. */
  pageSizeMax = 1000;
  /** Called before each answer of the web player's interface. */
  beforeQuery: (request: SiteRequest) => Promise<void> | void = () => undefined;
  #tokenCount = 0;
  #expiredCount = 0;

  static async start(): Promise<SpotifySite> {
    let site: SpotifySite | undefined;
    const server = await SiteServer.start((request) => site?.answer(request));
    site = new SpotifySite(server);
    return site;
  }

  private constructor(server: SiteServer) {
    this.server = server;
    this.hosts = server.hosts(...HOSTS);
    server.addMedia(PREVIEW, { bytes: Buffer.alloc(4096, 1), mimeType: "audio/mpeg" });
    this.#addContent();
  }

  close(): Promise<void> {
    return this.server.close();
  }

  addSong(song: SpotifySong): SpotifySong {
    this.songs.set(song.id, song);
    return song;
  }

  addList(list: SpotifyList): void {
    this.lists.set(`${list.type}:${list.id}`, list);
  }

  /** A playlist of this many songs, `Song 0`, `Song 1` … */
  addPlaylist(id: string, length: number, more: Partial<SpotifyList> = {}): void {
    const songs = Array.from({ length }, (_, index) => this.addSong(numbered(index)));
    this.addList({ type: "playlist", id, name: `Playlist of ${length}`, songs, ...more });
  }

  /** Tokens so far are refused from now on. */
  expireTokens(): void {
    this.#expiredCount = this.#tokenCount;
  }

  /** A token of a visitor, as in embed pages. */
  session(): Json {
    this.#tokenCount += 1;
    const hourMs = 60 * 60_000;
    return {
      accessToken: `visitor-${this.#tokenCount}`,
      accessTokenExpirationTimestampMs: Date.now() + hourMs,
      isAnonymous: true,
    };
  }

  /** The operations that were asked for, in order. */
  get operations(): readonly string[] {
    return this.server.requestsTo(PLAYER).map(({ body }) => String((JSON.parse(body) as Json).operationName));
  }

  answer(request: SiteRequest): SiteOutcome | undefined | Promise<SiteOutcome | undefined> {
    const { host, path } = request;
    const location = this.shortLinks.get(`${host}${path}`);
    if (location !== undefined) return { status: 307, headers: { location } };
    if (host === WEB) return path === "/api/token" ? { json: this.session() } : this.#embed(path);
    if (host === PLAYER) return this.#player(request);
    if (host === ACCOUNTS) return this.#applicationToken(request);
    if (host === API) return this.#api(request);
    return host === DEEZER ? this.#deezer(request) : undefined;
  }

  // Embed pages

  #embed(path: string): SiteAnswer | undefined {
    const [, type = "", id = ""] = /^\/embed\/([a-z]+)\/(\w+)$/.exec(path) ?? [];
    const song = type === "track" ? this.songs.get(id) : undefined;
    const list = this.lists.get(`${type}:${id}`);
    const isKnown = song !== undefined || list !== undefined || path.endsWith("/4cOdK2wGLETKBW3PvgPWqT");
    if (!isKnown) return undefined;
    const entity = song === undefined ? list && this.#embeddedList(list) : this.#embeddedSong(song);
    return { text: embedPage({ entity, session: this.session() }), headers: { "content-type": "text/html" } };
  }

  #embeddedSong(song: SpotifySong): Json {
    return {
      type: "track",
      name: song.title,
      title: song.title,
      id: song.id,
      uri: `spotify:track:${song.id}`,
      artists: song.artists.map((name) => ({ name, uri: artistUri(name) })),
      duration: song.lengthMs,
      isPlayable: song.isPlayable ?? true,
      visualIdentity: { image: pictures("song", { isMax: true }) },
      audioPreview: { url: this.server.link(PREVIEW) },
    };
  }

  #embeddedList({ type, id, name, songs }: SpotifyList): Json {
    return {
      type,
      id,
      uri: `spotify:${type}:${id}`,
      name,
      title: name,
      subtitle: type === "artist" ? "Top tracks" : "The Stand-ins",
      coverArt: { sources: pictures(type) },
      trackList: songs.slice(0, EMBED_ENTRIES_MAX).map((song) => ({
        uri: uriOf(song),
        uid: song.id.slice(-8),
        title: song.title,
        subtitle: song.artists.join(`,${NBSP}`),
        duration: song.lengthMs,
        isPlayable: song.isPlayable ?? true,
        audioPreview: { url: this.server.link(PREVIEW) },
      })),
    };
  }

  // The web player's interface

  async #player(request: SiteRequest): Promise<SiteOutcome | undefined> {
    await this.beforeQuery(request);
    const token = /^Bearer visitor-(\d+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined || Number(token) <= this.#expiredCount) return { status: 401, json: {} };
    const { operationName, variables, extensions } = JSON.parse(request.body) as Json & { variables: Json };
    const { persistedQuery } = extensions as { persistedQuery: { sha256Hash: string } };
    if (this.oldHashes.has(persistedQuery.sha256Hash)) return this.unknownHash;
    const data = this.#queried(String(operationName), variables);
    return data === undefined ? { status: 400, json: {} } : { json: { data, extensions: {} } };
  }

  #queried(operation: string, variables: Json): Json | undefined {
    const id = String(variables.uri).split(":").at(-1) ?? "";
    switch (operation) {
      case "searchDesktop": {
        const items = this.#matching(String(variables.searchTerm)).slice(0, Number(variables.limit));
        const tracksV2 = { items: items.map((song) => ({ item: { data: playerSong(song) } })) };
        return { searchV2: { tracksV2, ...this.#playerLists(variables) } };
      }
      case "getTrack": {
        const song = this.songs.get(id);
        return { trackUnion: song === undefined ? { __typename: "NotFound" } : playerSong(song, { isWhole: true }) };
      }
      case "fetchPlaylist":
        return { playlistV2: this.#playerPlaylist(id, variables) };
      case "getAlbum":
        return { albumUnion: this.#playerAlbum(id, variables) };
      case "queryArtistOverview":
        return { artistUnion: this.#playerArtist(id) };
      case "internalLinkRecommenderTrack": {
        const others = [...this.songs.values()].filter((song) => song.id !== id).slice(0, 5);
        const items = others.map((song) => ({ content: { data: playerSong(song) } }));
        return { internalLinkRecommenderTrack: { items } };
      }
      default:
        return undefined;
    }
  }

  #playerLists({ searchTerm, limit }: Json): Json {
    const entries = (type: ListType, more: (list: SpotifyList) => Json): Json => ({
      items: this.#listsNamed(type, String(searchTerm))
        .slice(0, Number(limit))
        .map((list) => ({ data: { uri: `spotify:${type}:${list.id}`, name: list.name, ...more(list) } })),
    });
    return {
      albumsV2: entries("album", () => ({
        artists: { items: [{ profile: { name: "The Stand-ins" } }] },
        coverArt: { sources: pictures("album") },
      })),
      artists: entries("artist", ({ name }) => ({
        profile: { name },
        visuals: { avatarImage: { sources: pictures("artist") } },
      })),
      playlists: entries("playlist", () => ({
        ownerV2: { data: { name: "The Stand-ins" } },
        images: { items: [{ sources: pictures("playlist") }] },
      })),
    };
  }

  #listsNamed(type: ListType, words: string): SpotifyList[] {
    return [...this.lists.values()].filter((list) => {
      return list.type === type && list.name.toLowerCase().includes(words.toLowerCase());
    });
  }

  #playerPlaylist(id: string, variables: Json): Json {
    const list = this.lists.get(`playlist:${id}`);
    if (list === undefined) return { __typename: "NotFound" };
    const items = windowOf(list.songs, variables, this.pageSizeMax).map((song) => ({
      itemV2: { data: playerSong(song) },
    }));
    return {
      __typename: "Playlist",
      name: list.name,
      ownerV2: { data: { name: "The Stand-ins" } },
      images: { items: [{ sources: pictures("playlist") }] },
      content: { totalCount: list.totalCount ?? list.songs.length, items },
    };
  }

  #playerAlbum(id: string, variables: Json): Json {
    const list = this.lists.get(`album:${id}`);
    if (list === undefined) return { __typename: "NotFound" };
    const items = windowOf(list.songs, variables, this.pageSizeMax).map((song) => ({ track: playerSong(song) }));
    return {
      __typename: "Album",
      name: list.name,
      uri: `spotify:album:${id}`,
      artists: { items: [{ profile: { name: "The Stand-ins" } }] },
      coverArt: { sources: pictures("album") },
      tracksV2: { totalCount: list.totalCount ?? list.songs.length, items },
    };
  }

  #playerArtist(id: string): Json {
    const list = this.lists.get(`artist:${id}`);
    if (list === undefined) return { __typename: "NotFound" };
    return {
      __typename: "Artist",
      profile: { name: list.name },
      visuals: { avatarImage: { sources: pictures("artist") } },
      discography: { topTracks: { items: list.songs.map((song) => ({ track: playerSong(song) })) } },
    };
  }

  // The Web API

  #applicationToken({ headers, body }: SiteRequest): SiteAnswer {
    const { clientId, clientSecret } = SPOTIFY_CREDENTIALS;
    const expected = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
    if (headers.authorization !== expected || body !== "grant_type=client_credentials") {
      return { status: 400, json: { error: "invalid_client" } };
    }
    this.#tokenCount += 1;
    const token = `application-${this.#tokenCount}`;
    return { json: { access_token: token, token_type: "Bearer", expires_in: 3600 } };
  }

  #api({ path, query, headers }: SiteRequest): SiteAnswer | undefined {
    const token = /^Bearer application-(\d+)$/.exec(headers.authorization ?? "")?.[1];
    if (token === undefined || Number(token) <= this.#expiredCount) return { status: 401, json: {} };
    const [, , kind, id = "", part] = path.split("/");
    if (kind === "playlists") return { status: 403, json: { error: { status: 403, message: "Forbidden" } } };
    if (kind === "search") {
      const limit = Number(query.get("limit") ?? 5);
      if (limit > SEARCH_LIMIT_MAX) return { status: 400, json: { error: { status: 400, message: "Invalid limit" } } };
      const items = this.#matching(query.get("q") ?? "").slice(0, limit);
      const types = (query.get("type") ?? "").split(",");
      const lists = (["album", "artist", "playlist"] as const).filter((type) => types.includes(type));
      const named = (type: ListType): SpotifyList[] => this.#listsNamed(type, query.get("q") ?? "").slice(0, limit);
      return {
        json: {
          ...(types.includes("track") && { tracks: { items: items.map((song) => apiSong(song)) } }),
          // It has null for playlists that it does not show.
          ...Object.fromEntries(lists.map((type) => [`${type}s`, { items: [null, ...named(type).map(apiList)] }])),
        },
      };
    }
    const song = kind === "tracks" ? this.songs.get(id) : undefined;
    if (song !== undefined) return { json: apiSong(song) };
    const album = kind === "albums" ? this.lists.get(`album:${id}`) : undefined;
    if (album === undefined) return undefined;
    const offset = Number(query.get("offset") ?? 0);
    const limit = Number(query.get("limit") ?? 50);
    const items = album.songs.slice(offset, offset + limit).map((entry) => simpleSong(entry));
    const tracks = { items, total: album.songs.length };
    return { json: part === "tracks" ? tracks : { ...apiAlbum(album), tracks } };
  }

  #matching(words: string): SpotifySong[] {
    const isrc = /^isrc:(.*)$/.exec(words)?.[1];
    return [...this.songs.values()].filter((song) =>
      isrc === undefined ? song.title.toLowerCase().includes(words.toLowerCase()) : song.isrc === isrc,
    );
  }

  // Deezer

  #deezer({ path, query }: SiteRequest): SiteAnswer | undefined {
    const id = /^\/2\.0\/track\/(\d+)$/.exec(path)?.[1];
    if (id !== undefined) {
      const entry = this.deezer.find((one) => one.id === Number(id));
      return { json: entry === undefined ? deezerError(800) : deezerJson(entry, { hasIsrc: true }) };
    }
    if (path !== "/2.0/search") return { json: deezerError(600) };
    const words = (query.get("q") ?? "").toLowerCase();
    const found = this.deezer.filter(({ title, artist }) =>
      [title, artist].some((text) => words.includes(text.toLowerCase())),
    );
    const data = found.map((entry) => deezerJson(entry, { hasIsrc: this.isIsrcInSearch }));
    return { json: { data, total: data.length } };
  }

  #addContent(): void {
    const song = this.addSong({
      id: SPOTIFY_SONG_ID,
      title: "Hall of Mirrors",
      artists: ["Stand In", "A Guest"],
      lengthMs: 201_040,
      isrc: "XXAAA2600001",
    });
    const more = Array.from({ length: 4 }, (_, index) => this.addSong(numbered(index)));
    const unplayable = this.addSong({ ...numbered(900), isPlayable: false });
    const local = { ...numbered(901), title: "A File", isLocal: true };
    const songs = [song, ...more];
    this.addList({ type: "album", id: SPOTIFY_ALBUM_ID, name: "Rooms", songs });
    this.addList({ type: "artist", id: SPOTIFY_ARTIST_ID, name: "Stand In", songs });
    this.addList({ type: "playlist", id: SPOTIFY_PLAYLIST_ID, name: "Mix", songs: [...songs, unplayable, local] });
    this.deezer.push(
      { id: 1, title: "Hall of Mirrors (Live)", artist: "Stand In", seconds: 201, isrc: "XXLIV2600001" },
      { id: 2, title: "Hall of Mirrors", artist: "Somebody Else", seconds: 201, isrc: "XXELS2600001" },
      { id: 3, title: "Hall of Mirrors", artist: "Stand In", seconds: 215, isrc: "XXLNG2600001" },
      { id: 4, title: "Hall of Mirrors", artist: "Stand In", seconds: 202, isrc: "XXAAA2600001" },
    );
    this.shortLinks.set("spotify.link/AbC", `https://${WEB}/track/${SPOTIFY_SONG_ID}?si=x`);
  }
}

/** An embed page with this data. */
export function embedPage({ entity, session }: { readonly entity: unknown; readonly session?: unknown }): string {
  const data = { props: { pageProps: { state: { settings: { session }, data: { entity } } } }, page: "/[...]" };
  const script = `<script id="__NEXT_DATA__" type="application/json">${JSON.stringify(data)}</script>`;
  return `<!DOCTYPE html><html><head><title>Spotify</title></head><body><div id="__next"></div>${script}</body></html>`;
}

function numbered(number: number): SpotifySong {
  return { id: spotifyId(number), title: `Song ${number}`, artists: ["The Stand-ins"], lengthMs: 180_000 + number };
}

function uriOf({ id, title, artists, isLocal = false }: SpotifySong): string {
  return isLocal ? `spotify:local:${artists[0]}::${title.replaceAll(" ", "+")}:180` : `spotify:track:${id}`;
}

function artistUri(name: string): string {
  return `spotify:artist:${name.replaceAll(/\W/g, "").padStart(22, "0")}`;
}

function pictures(name: string, { isMax = false } = {}): Json[] {
  return [64, 640, 300].map((size) => ({
    url: `https://i.scdn.co/image/${name}-${size}`,
    ...(isMax ? { maxWidth: size, maxHeight: size } : { width: size, height: size }),
  }));
}

function windowOf(songs: readonly SpotifySong[], { offset, limit }: Json, sizeMax: number): readonly SpotifySong[] {
  return songs.slice(Number(offset), Number(offset) + Math.min(Number(limit), sizeMax));
}

function playerSong(song: SpotifySong, { isWhole = false } = {}): Json {
  const artists = song.artists.map((name) => ({ uri: artistUri(name), profile: { name } }));
  const [first, ...others] = artists;
  return {
    __typename: song.isLocal === true ? "LocalTrack" : "Track",
    name: song.title,
    uri: uriOf(song),
    ...(isWhole
      ? {
          duration: { totalMilliseconds: song.lengthMs },
          firstArtist: { items: [first] },
          otherArtists: { items: others },
        }
      : { trackDuration: { totalMilliseconds: song.lengthMs }, artists: { items: artists } }),
    playability: { playable: song.isPlayable ?? true },
    albumOfTrack: {
      name: "Rooms",
      uri: `spotify:album:${SPOTIFY_ALBUM_ID}`,
      coverArt: { sources: pictures("album") },
    },
  };
}

function simpleSong(song: SpotifySong): Json {
  return {
    id: song.id,
    uri: uriOf(song),
    name: song.title,
    duration_ms: song.lengthMs,
    artists: song.artists.map((name) => ({ id: name, name, external_urls: { spotify: `https://${WEB}/artist/x` } })),
    external_urls: { spotify: `https://${WEB}/track/${song.id}` },
  };
}

function apiSong(song: SpotifySong): Json {
  const album = apiAlbum({ id: SPOTIFY_ALBUM_ID, name: "Rooms", songs: [] });
  return { ...simpleSong(song), album, external_ids: { isrc: song.isrc } };
}

function apiList({ type, id, name, songs }: SpotifyList): Json {
  const uri = `spotify:${type}:${id}`;
  if (type === "album") return apiAlbum({ id, name, songs });
  const more = { owner: { display_name: "The Stand-ins" }, tracks: { total: songs.length } };
  return { id, uri, name, images: pictures(type), ...(type === "playlist" && more) };
}

function apiAlbum({ id, name, songs }: Pick<SpotifyList, "id" | "name" | "songs">): Json {
  return {
    id,
    uri: `spotify:album:${id}`,
    name,
    images: pictures("album"),
    artists: [{ name: "The Stand-ins" }],
    total_tracks: songs.length,
    external_urls: { spotify: `https://${WEB}/album/${id}` },
  };
}

function deezerJson(
  { id, title, artist, seconds, isrc }: DeezerEntry,
  { hasIsrc }: { readonly hasIsrc: boolean },
): Json {
  const link = `https://www.deezer.com/track/${id}`;
  return {
    id,
    readable: true,
    title,
    link,
    duration: seconds,
    artist: { id: 1, name: artist },
    ...(hasIsrc && { isrc }),
  };
}

function deezerError(code: number): Json {
  return { error: { type: "DataException", message: "no data", code } };
}
