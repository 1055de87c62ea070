// Requests to one Jellyfin server. Credentials go in a header, also for the audio. Plugin thread.

import type { Lyrics, Playable, PluginHost, ResolveRequest, SourceTrack } from "../../src/plugin-api/plugin.ts";
import { textOf } from "../own-servers/read-json.ts";
import { ServerConnection } from "../own-servers/server-connection.ts";
import { type ListKind, serverIdentifier } from "../own-servers/server-identifier.ts";
import type { CheckedServer, TranscodeTo } from "../own-servers/server-options.ts";
import type { MediaServer, ServerList } from "../own-servers/servers-source.ts";
import type { Members } from "../reading/json.ts";
import { isJellyfinId, JELLYFIN, type JellyfinPage, readAudio, readPage } from "./jellyfin-answers.ts";
import { type JellyfinAccess, JellyfinLogin } from "./jellyfin-login.ts";
import { readLyrics } from "./jellyfin-lyrics.ts";

const PAGE_ITEMS = 500;
/** As many tracks as the node takes of a list. */
const PAGES_MAX = 20;
const ARTIST_SONGS = 100;
/** The files: each says its length, also where the song does not. A server with many songs is slow to list them. */
const LENGTH_FIELDS = "MediaSources";
/** Bit rate of transcoded audio: the highest quality of the formats. */
const BITRATE_BPS_MAX = 320_000;

/** Jellyfin's item type for each kind of list, and the order of its songs. */
const LISTS: Readonly<Record<ListKind, { readonly type: string; readonly query: Readonly<Record<string, string>> }>> = {
  album: { type: "MusicAlbum", query: { sortBy: "ParentIndexNumber,IndexNumber,SortName" } },
  playlist: { type: "Playlist", query: {} },
  artist: { type: "MusicArtist", query: { sortBy: "PlayCount,SortName", sortOrder: "Descending,Ascending" } },
};

interface JellyfinServerOptions {
  readonly searchLimit: number;
  readonly transcodeTo: TranscodeTo;
  readonly deviceId: string;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export class JellyfinServer implements MediaServer {
  readonly name: string;
  readonly #connection: ServerConnection;
  readonly #login: JellyfinLogin;
  readonly #options: JellyfinServerOptions;

  constructor(host: PluginHost, server: CheckedServer, options: JellyfinServerOptions) {
    const { name, login } = server;
    this.name = name;
    this.#connection = new ServerConnection(host, server);
    this.#login = new JellyfinLogin({ host, connection: this.#connection, login, deviceId: options.deviceId });
    this.#options = options;
  }

  async search(words: string, signal: AbortSignal): Promise<readonly SourceTrack[]> {
    const { searchLimit: limit } = this.#options;
    const query = { searchTerm: words, includeItemTypes: "Audio", recursive: true, limit };
    return this.#songsOf(await this.#page(query, signal)).slice(0, limit);
  }

  track(id: string, signal: AbortSignal): Promise<SourceTrack> {
    return this.#login.use(async (access) => {
      return this.#songFrom(await this.#item(id, access, { fields: LENGTH_FIELDS, signal }));
    }, signal);
  }

  async list(kind: ListKind, id: string, signal: AbortSignal): Promise<ServerList> {
    const { type, query } = LISTS[kind];
    const list = await this.#login.use((access) => this.#item(id, access, { signal }), signal);
    // For an id that is not a list, the server would return all its items.
    if (list.Type !== type) throw this.#connection.trouble("unavailable", `has something else than that ${kind}`);
    const parent = kind === "artist" ? { artistIds: id, limit: ARTIST_SONGS } : { parentId: id };
    const itemQuery = { ...query, ...parent, includeItemTypes: "Audio", recursive: true };
    const tracks =
      kind === "artist" ? this.#songsOf(await this.#page(itemQuery, signal)) : await this.#pages(itemQuery, signal);
    const author = kind === "artist" ? textOf(list.Name) : textOf(list.AlbumArtist);
    const identifier = serverIdentifier(JELLYFIN, { server: this.name, kind, id });
    const pluginInfo = { type: kind, identifier, author: author ?? null, totalTracks: tracks.length };
    return { kind: "playlist", name: textOf(list.Name) ?? id, tracks, pluginInfo };
  }

  /** Requests the song first: this detects an expired session, and gives a clear error for a removed song. */
  playable(id: string, { signal }: ResolveRequest): Promise<Playable> {
    return this.#login.use(async (access) => {
      const item = await this.#item(id, access, { fields: "Etag", signal });
      this.#songFrom(item);
      return this.#linkTo(id, access, textOf(item.Etag) ?? "");
    }, signal);
  }

  /** Servers before 10.9 have no such path, and others say the same of a song without lyrics. */
  async lyrics(id: string, signal: AbortSignal): Promise<Lyrics | undefined> {
    if (!isJellyfinId(id)) return undefined;
    const answer = await this.#login.use(({ headers }) => {
      return this.#connection.ask(`/Audio/${id}/Lyrics`, { signal, headers }, (found) => {
        return found.status === 404 ? undefined : this.#connection.readMembers(found);
      });
    }, signal);
    return answer && readLyrics(answer, this.name);
  }

  #linkTo(id: string, { headers, session }: JellyfinAccess, etag: string): Playable {
    const { transcodeTo, deviceId } = this.#options;
    if (transcodeTo === "none") {
      const url = this.#connection.at(`/Audio/${id}/stream`, { static: "true" });
      return { kind: "link", url, headers, variant: `${this.name} ${id} ${etag}` };
    }
    const url = this.#connection.at(`/Audio/${id}/universal`, {
      container: transcodeTo,
      audioCodec: transcodeTo,
      transcodingProtocol: "http",
      // The server sends Opus in Ogg.
      transcodingContainer: transcodeTo === "opus" ? "ogg" : transcodeTo,
      maxStreamingBitrate: String(BITRATE_BPS_MAX),
      deviceId,
      userId: session?.userId,
    });
    // Transcoding twice need not give the same bytes.
    return { kind: "link", url, headers };
  }

  /** Throws for an item that is not a song. */
  #songFrom(item: Members): SourceTrack {
    const track = readAudio(item, this.name);
    if (track === undefined) throw this.#connection.trouble("unavailable", "has something else than a song of that id");
    return track;
  }

  async #item(
    id: string,
    access: JellyfinAccess,
    { fields, signal }: { readonly fields?: string; readonly signal: AbortSignal },
  ): Promise<Members> {
    // Others would go into paths and lists of ids as they are.
    if (!isJellyfinId(id)) throw this.#connection.trouble("not-found", "has nothing of that id");
    const { items } = await this.#ask({ ids: id, fields, limit: 1 }, access, signal);
    const [item] = items;
    if (item === undefined) throw this.#connection.trouble("not-found", "has nothing of that id");
    return item;
  }

  /** Until a page brings nothing, or the same as the one before: a server may not know of pages. */
  async #pages(query: Query, signal: AbortSignal): Promise<readonly SourceTrack[]> {
    const tracks: SourceTrack[] = [];
    let last = "";
    let seen = 0;
    for (let count = 0; count < PAGES_MAX; count++) {
      const page = await this.#page({ ...query, startIndex: seen, limit: PAGE_ITEMS }, signal);
      const ids = page.items.map(({ Id, PlaylistItemId }) => `${textOf(PlaylistItemId) ?? textOf(Id)}`).join();
      if (page.items.length === 0 || ids === last) break;
      last = ids;
      seen += page.items.length;
      tracks.push(...this.#songsOf(page));
      if (page.total === undefined ? page.items.length < PAGE_ITEMS : seen >= page.total) break;
    }
    return tracks;
  }

  /** With the files only where a song has no length. */
  #page(query: Query, signal: AbortSignal): Promise<JellyfinPage> {
    return this.#login.use(async (access) => {
      const page = await this.#ask(query, access, signal);
      if (this.#songsOf(page).every(({ lengthMs }) => lengthMs !== undefined)) return page;
      return await this.#ask({ ...query, fields: LENGTH_FIELDS }, access, signal);
    }, signal);
  }

  #ask(query: Query, { headers, session }: JellyfinAccess, signal: AbortSignal): Promise<JellyfinPage> {
    const request = { signal, headers, query: { ...query, userId: session?.userId } };
    return this.#connection.ask("/Items", request, (answer) => {
      const page = readPage(this.#connection.readMembers(answer));
      if (page === undefined) throw this.#connection.trouble("changed", "answered no list where one was expected");
      return page;
    });
  }

  /** The items that are songs. */
  #songsOf({ items }: JellyfinPage): SourceTrack[] {
    return items.map((item) => readAudio(item, this.name)).filter((track) => track !== undefined);
  }
}
