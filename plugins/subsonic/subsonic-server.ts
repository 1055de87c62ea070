// Requests to one OpenSubsonic server. The API takes credentials in the query only: a salted hash of the password, with
// a new salt for each request, or a key. Plugin thread.

import { createHash, randomBytes } from "node:crypto";
import {
  type HttpAnswer,
  type Lyrics,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { itemsOf, textOf } from "../own-servers/read-json.ts";
import { membersIn, ServerConnection } from "../own-servers/server-connection.ts";
import { type ListKind, serverIdentifier } from "../own-servers/server-identifier.ts";
import type { CheckedServer, Login, TranscodeTo } from "../own-servers/server-options.ts";
import type { MediaServer, ServerList } from "../own-servers/servers-source.ts";
import { type Members, objectOf } from "../reading/json.ts";
import { meaningOfCode, readEnvelope, readSong, readSongs, SUBSONIC } from "./subsonic-answers.ts";
import { readLyrics } from "./subsonic-lyrics.ts";

/** The last version of the API before OpenSubsonic; all servers speak it. */
const API = { v: "1.16.1", c: "tonearm", f: "json" };
/** A playlist comes in one answer: some thousand songs of one to two KB each. */
const LIST_BYTES_MAX = 32 * 1024 * 1024;
const SALT_BYTES = 12;
const TOP_SONGS = 50;
/** Number of albums played for an artist without top songs. */
const ARTIST_ALBUMS_MAX = 20;

/** How servers answer a method that they do not have. */
const NO_METHOD: readonly number[] = [404, 405, 410, 501];

interface ServerQuery {
  readonly method: string;
  readonly query: Readonly<Record<string, string | number>>;
  readonly signal: AbortSignal;
}

export class SubsonicServer implements MediaServer {
  readonly name: string;
  readonly #connection: ServerConnection;
  readonly #login: Login;
  readonly #searchLimit: number;
  readonly #transcodeTo: TranscodeTo;

  constructor(
    host: PluginHost,
    server: CheckedServer,
    { searchLimit, transcodeTo }: { readonly searchLimit: number; readonly transcodeTo: TranscodeTo },
  ) {
    this.name = server.name;
    this.#connection = new ServerConnection(host, server);
    this.#login = server.login;
    this.#searchLimit = searchLimit;
    this.#transcodeTo = transcodeTo;
  }

  async search(words: string, signal: AbortSignal): Promise<readonly SourceTrack[]> {
    const query = { query: words, songCount: this.#searchLimit, songOffset: 0, albumCount: 0, artistCount: 0 };
    const found = objectOf((await this.#ask({ method: "search3", query, signal })).searchResult3);
    // Nothing found is an empty object, or nothing at all.
    return readSongs(found?.song, this.name).slice(0, this.#searchLimit);
  }

  async track(id: string, signal: AbortSignal): Promise<SourceTrack> {
    const song = this.#member(await this.#ask({ method: "getSong", query: { id }, signal }), "song");
    const track = readSong(song, this.name);
    if (track === undefined) throw this.#connection.trouble("unavailable", "has something else than a song of that id");
    return track;
  }

  list(kind: ListKind, id: string, signal: AbortSignal): Promise<ServerList> {
    if (kind === "album") return this.#album(id, signal);
    return kind === "playlist" ? this.#playlist(id, signal) : this.#artist(id, signal);
  }

  /** Requests the song first: `stream` sends errors instead of audio, with status 200. */
  async playable(id: string, { signal }: ResolveRequest): Promise<Playable> {
    const song = this.#member(await this.#ask({ method: "getSong", query: { id }, signal }), "song");
    const format = this.#transcodeTo === "none" ? "raw" : this.#transcodeTo;
    // Transcoding twice need not give the same bytes.
    const variant = format === "raw" ? `${this.name} ${id} ${song.size ?? ""}` : undefined;
    return { kind: "link", url: this.#connection.at(pathOf("stream"), { id, format, ...this.#query() }), variant };
  }

  /** From servers with the extension songLyrics; others say that they do not know the method, which is no failure. */
  async lyrics(id: string, signal: AbortSignal): Promise<Lyrics | undefined> {
    const request = { signal, query: { id, ...this.#query() } };
    const body = await this.#connection.ask(pathOf("getLyricsBySongId"), request, (answer) => {
      const envelope = readEnvelope(membersIn(answer.text));
      const isUnknown =
        envelope === undefined ? NO_METHOD.includes(answer.status) : "code" in envelope && isNone(envelope);
      return isUnknown ? undefined : this.#read(answer);
    });
    return body && readLyrics(body, this.name);
  }

  async #album(id: string, signal: AbortSignal): Promise<ServerList> {
    const album = this.#member(await this.#askList("getAlbum", { id }, signal), "album");
    const author = textOf(album.displayArtist) ?? textOf(album.artist);
    return this.#listOf(album, { kind: "album", id, author, tracks: readSongs(album.song, this.name) });
  }

  async #playlist(id: string, signal: AbortSignal): Promise<ServerList> {
    const playlist = this.#member(await this.#askList("getPlaylist", { id }, signal), "playlist");
    const author = textOf(playlist.owner);
    return this.#listOf(playlist, { kind: "playlist", id, author, tracks: readSongs(playlist.entry, this.name) });
  }

  /** The artist's most played songs if the server knows them; else the songs of the artist's albums. */
  async #artist(id: string, signal: AbortSignal): Promise<ServerList> {
    const artist = this.#member(await this.#askList("getArtist", { id }, signal), "artist");
    const author = textOf(artist.name);
    const top = await this.#topSongs(author, signal);
    const tracks = top.length > 0 ? top : await this.#songsOfAlbums(itemsOf(artist.album), signal);
    return this.#listOf(artist, { kind: "artist", id, author, tracks });
  }

  /** None where the server does not know, or has no such method. */
  async #topSongs(artist: string | undefined, signal: AbortSignal): Promise<readonly SourceTrack[]> {
    if (artist === undefined) return [];
    try {
      const answer = await this.#ask({ method: "getTopSongs", query: { artist, count: TOP_SONGS }, signal });
      return readSongs(objectOf(answer.topSongs)?.song, this.name).slice(0, TOP_SONGS);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SourceError)) throw error;
      return [];
    }
  }

  async #songsOfAlbums(albums: readonly Members[], signal: AbortSignal): Promise<readonly SourceTrack[]> {
    const ids = albums.map(({ id }) => textOf(id)).filter((id) => id !== undefined);
    const outcomes = await Promise.allSettled(ids.slice(0, ARTIST_ALBUMS_MAX).map((id) => this.#album(id, signal)));
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed !== undefined && outcomes.every(({ status }) => status === "rejected")) throw failed.reason;
    return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value.tracks : []));
  }

  #listOf(
    list: Members,
    {
      kind,
      id,
      author,
      tracks,
    }: { kind: ListKind; id: string; author: string | undefined; tracks: readonly SourceTrack[] },
  ): ServerList {
    const identifier = serverIdentifier(SUBSONIC, { server: this.name, kind, id });
    const pluginInfo = { type: kind, identifier, author: author ?? null, totalTracks: tracks.length };
    return { kind: "playlist", name: textOf(list.name) ?? textOf(list.title) ?? id, tracks, pluginInfo };
  }

  #askList(method: string, query: ServerQuery["query"], signal: AbortSignal): Promise<Members> {
    return this.#ask({ method, query, signal }, LIST_BYTES_MAX);
  }

  /** Returns the content of a successful envelope. */
  #ask({ method, query, signal }: ServerQuery, sizeBytesMax?: number): Promise<Members> {
    const request = { signal, query: { ...query, ...this.#query() }, sizeBytesMax };
    return this.#connection.ask(pathOf(method), request, (answer) => this.#read(answer));
  }

  #read(answer: HttpAnswer): Members {
    // Some servers send the envelope with an error status.
    const envelope = readEnvelope(membersIn(answer.text));
    if (envelope === undefined) {
      this.#connection.readMembers(answer);
      throw this.#connection.trouble("changed", "answered JSON that is not of the Subsonic API; is its address right?");
    }
    if ("body" in envelope) return envelope.body;
    const { kind, what } = meaningOfCode(envelope.code);
    throw this.#connection.trouble(kind, what);
  }

  #member(body: Members, name: string): Members {
    const member = objectOf(body[name]);
    if (member === undefined) throw this.#connection.trouble("changed", `answered no ${name} where one was expected`);
    return member;
  }

  #query(): Record<string, string> {
    if (this.#login.kind === "apiKey") return { ...API, apiKey: this.#login.apiKey };
    const { username, password } = this.#login;
    const salt = randomBytes(SALT_BYTES).toString("hex");
    // The API's own scheme; nothing here rests on MD5 being strong.
    const token = createHash("md5").update(`${password}${salt}`, "utf8").digest("hex");
    return { ...API, u: username, t: token, s: salt };
  }
}

/** Neither the login nor the right is missing: there is no such song, or no such method. */
function isNone({ code }: { readonly code: number | undefined }): boolean {
  const { kind } = meaningOfCode(code);
  return kind === "not-found" || kind === "changed";
}

/** With the ending that servers of before OpenSubsonic insist on. */
function pathOf(method: string): string {
  return `/rest/${method}.view`;
}
