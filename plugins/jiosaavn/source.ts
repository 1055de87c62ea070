// The source `jiosaavn`: what each identifier asks of JioSaavn's API, its answers as tracks and playlists, and the links
// of their audio, which the API signs. Plugin thread.

import {
  type Cache,
  type LoadRequest,
  type OptionValues,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { membersOf, trimmedText } from "../reading/json.ts";
import { listInfo, topTracksOf } from "../reading/list-info.ts";
import { valueOrTrouble } from "../reading/trouble.ts";
import { type PageKind, parseIdentifier, songId } from "./identifier.ts";
import type { JIOSAAVN_MANIFEST } from "./manifest.ts";
import { pictureOf, previewOf, type Song, type SongMedia, songsByKey, songsIn, textOf, webLink } from "./songs.ts";

const API = "https://www.jiosaavn.com/api.php";
const COMMON = { _format: "json", _marker: "0", cc: "in", ctx: "web6dot0", api_version: "4" };
/** Its radio stations are for its apps. */
const STATION = { ctx: "android" };
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const LINK_LENGTH_MAX = 8192;
const SEARCH_TRACKS = 20;
const ARTIST_TRACKS = 50;
const PAGE_TRACKS = 500;
const PAGES_MAX = 20;
const MEDIA = { ttlMs: 30 * 60_000, entriesMax: 3000 };
const NO_AUDIO =
  "JioSaavn gives this node no audio of the song: many are for India only (plugins.jiosaavn.proxy can name a proxy there)";
/** Where the answers to its kinds of pages have the songs. */
const LISTS: Readonly<Record<PageKind, readonly string[]>> = {
  song: ["songs"],
  album: ["list", "songs"],
  playlist: ["list", "songs"],
  artist: ["topSongs"],
};

export type JioSaavnOptions = OptionValues<typeof JIOSAAVN_MANIFEST.config>;

export class JioSaavnSource {
  readonly #host: PluginHost<JioSaavnOptions>;
  readonly #media: Cache<SongMedia>;

  constructor(host: PluginHost<JioSaavnOptions>) {
    this.#host = host;
    this.#media = host.cache("media", MEDIA);
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const request = parseIdentifier(identifier);
    switch (request?.kind) {
      case undefined:
        return undefined;
      case "search": {
        const { query, isPreview } = request;
        if (query === "") return { kind: "empty" };
        const answer = await this.#get("search.getResults", { q: query, n: SEARCH_TRACKS, p: 1 }, signal);
        return { kind: "search", tracks: this.#tracks(songsIn(answer, ["results"]), isPreview) };
      }
      case "recommendations":
        return this.#recommendations(request.id, signal);
      case "page":
        return this.#page(request, signal);
    }
  }

  /** Rejects with `unavailable` for what JioSaavn gives no audio of. */
  async resolve({ track, reason, variant, signal }: ResolveRequest): Promise<Playable> {
    const id = songId(track.identifier);
    if (id === undefined) throw new SourceError("invalid", "the track names no song of JioSaavn");
    const known = reason === "start" ? this.#media.get(id) : undefined;
    const media = known ?? (await this.#song(id, signal)).media;
    if (track.fields?.isPreview === true) {
      if (media.previewUrl === null) throw new SourceError("unavailable", "JioSaavn has no preview of the song");
      return { kind: "link", url: media.previewUrl, variant: "preview" };
    }
    if (media.encryptedUrl === undefined) throw new SourceError("unavailable", NO_AUDIO);
    const bitrates = media.isHigh && variant !== "128" ? ["320", "128"] : ["128"];
    let trouble = new SourceError("unavailable", NO_AUDIO);
    for (const bitrate of bitrates) {
      try {
        const link = await this.#link(media.encryptedUrl, bitrate, signal);
        if (link !== undefined) return link;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SourceError)) throw error;
        trouble = error;
      }
    }
    throw trouble;
  }

  async #page(
    { page, token, isPreview }: { readonly page: PageKind; readonly token: string; readonly isPreview: boolean },
    signal: AbortSignal,
  ): Promise<SourceAnswer> {
    const { answer, songs } =
      page === "playlist" ? await this.#playlist(token, signal) : await this.#pageOnce(page, token, signal);
    const tracks = this.#tracks(songs, isPreview);
    const [first] = tracks;
    if (first === undefined) return { kind: "empty" };
    if (page === "song") return { kind: "track", track: first };
    const head = membersOf(answer);
    const more = membersOf(head.more_info);
    const title = textOf(head.title) ?? textOf(head.listname) ?? textOf(head.name) ?? token;
    const user = textOf(more.firstname) ?? textOf(more.username) ?? textOf(head.username);
    const author = page === "artist" ? title : page === "album" ? first.author : user;
    return {
      kind: "playlist",
      name: page === "artist" ? topTracksOf(title) : title,
      tracks,
      pluginInfo: listInfo({
        type: page,
        url: webLink(head.perma_url ?? membersOf(head.urls).overview),
        artworkUrl: pictureOf(head.image),
        author,
        tracks,
      }),
    };
  }

  async #pageOnce(page: PageKind, token: string, signal: AbortSignal) {
    const count = page === "artist" ? { n_song: ARTIST_TRACKS, p: 0 } : {};
    const answer = await this.#get("webapi.get", { token, type: page, ...count }, signal);
    return { answer, songs: songsIn(answer, LISTS[page]) };
  }

  /** Page by page, as large as the site makes them. What could be read is returned if a later page fails. */
  async #playlist(token: string, signal: AbortSignal) {
    const limit = this.#host.options.playlistTrackLimit;
    const songs = new Map<string, Song>();
    let head: unknown;
    for (let p = 1; p <= PAGES_MAX; p++) {
      const n = Math.min(limit, PAGE_TRACKS);
      const before = songs.size;
      const asked = this.#get("webapi.get", { token, type: "playlist", p, n }, signal);
      const answer = before === 0 ? await asked : await valueOrTrouble(asked, signal);
      if (answer instanceof SourceError) {
        this.#host.log.info(`a list was cut at ${before} tracks: ${answer.message}`);
        break;
      }
      head ??= answer;
      for (const song of songsIn(answer, LISTS.playlist)) songs.set(song.id, song);
      const total = Number(membersOf(answer).list_count);
      // A page without anything new is one that was answered before.
      if (songs.size === before || songs.size >= limit || !(total > songs.size)) break;
    }
    return { answer: head, songs: [...songs.values()].slice(0, limit) };
  }

  /** A radio station made of the song; where it has nothing, other songs of its artists. */
  async #recommendations(id: string, signal: AbortSignal): Promise<SourceAnswer> {
    const limit = this.#host.options.recommendationsTrackLimit;
    const songs = await valueOrTrouble(this.#station(id, limit, signal), signal);
    const hasSongs = !(songs instanceof SourceError) && songs.length > 0;
    const found = hasSongs ? songs : await this.#ofSameArtists(id, signal);
    const tracks = this.#tracks(found.slice(0, limit), false);
    if (tracks.length === 0) return { kind: "empty" };
    const pluginInfo = listInfo({ type: "recommendations", author: "Saavn Editor", tracks });
    return { kind: "playlist", name: "JioSaavn Recommendations", tracks, pluginInfo };
  }

  async #station(id: string, limit: number, signal: AbortSignal): Promise<Song[]> {
    const entity = { ...STATION, entity_id: JSON.stringify([id]), entity_type: "queue" };
    const answer = await this.#get("webradio.createEntityStation", entity, signal);
    const stationid = trimmedText(membersOf(answer).stationid);
    if (stationid === undefined) return [];
    return songsByKey(await this.#get("webradio.getSong", { ...STATION, stationid, k: limit }, signal));
  }

  async #ofSameArtists(id: string, signal: AbortSignal): Promise<Song[]> {
    const { artistIds } = await this.#song(id, signal);
    if (artistIds.length === 0) return [];
    const query = { artist_ids: artistIds.join(","), song_id: id, language: "unknown" };
    return songsIn(await this.#get("search.artistOtherTopSongs", query, signal), ["songs", "results"]);
  }

  /** Rejects with `not-found`. */
  async #song(id: string, signal: AbortSignal): Promise<Song> {
    const answer = await this.#get("song.getDetails", { pids: id }, signal);
    const songs = Array.isArray(membersOf(answer).songs) ? songsIn(answer, LISTS.song) : songsByKey(answer);
    const song = songs.find((found) => found.id === id);
    if (song === undefined)
      throw new SourceError("not-found", "This track is not available: JioSaavn does not have it here");
    return song;
  }

  /** Undefined: not in this bit rate. */
  async #link(encryptedUrl: string, bitrate: string, signal: AbortSignal): Promise<Playable | undefined> {
    const body = new URLSearchParams({ __call: "song.generateAuthToken", _format: "json", bitrate, url: encryptedUrl });
    const { http } = this.#host;
    const answer = await this.#host.backend("www.jiosaavn.com").run(() => http.json(API, { signal, body }));
    const text = trimmedText(membersOf(answer).auth_url) ?? "";
    const url = text.length > LINK_LENGTH_MAX ? undefined : webAddressIn(text);
    if (url === undefined) return undefined;
    const expiresS = Number(url.searchParams.get("Expires") ?? Number.NaN);
    return { kind: "link", url: url.href, variant: bitrate, expiresAtMs: expiresS > 0 ? expiresS * 1000 : undefined };
  }

  #get(call: string, query: Readonly<Record<string, string | number>>, signal: AbortSignal): Promise<unknown> {
    const { http } = this.#host;
    const request = { signal, query: { __call: call, ...COMMON, ...query }, sizeBytesMax: ANSWER_BYTES_MAX };
    return this.#host.backend("www.jiosaavn.com").run(() => http.json(API, request));
  }

  #tracks(songs: readonly Song[], isPreview: boolean): SourceTrack[] {
    for (const { id, media } of songs) if (media.encryptedUrl !== undefined) this.#media.set(id, media);
    return songs.flatMap((song) => (isPreview ? (previewOf(song) ?? []) : [song.track]));
  }
}
