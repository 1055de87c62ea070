// Lyrics from LRCLIB (https://lrclib.net/docs): the exact entry first, then, where it has no times, a search, whose
// interface is overloaded at times. What is found is cached, and so is that nothing is. Plugin thread.

import {
  type Backend,
  type Lyrics,
  type LyricsRequest,
  type OptionValues,
  type PluginHost,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { isRefusal, throwSiteFailure } from "../reading/site-down.ts";
import { valueOrTrouble } from "../reading/trouble.ts";
import { chooseEntry, type LyricsEntry, lyricsOf, readEntries, readEntry } from "./entries.ts";
import type { LRCLIB_MANIFEST } from "./manifest.ts";
import { type WantedSong, wantedSong } from "./wanted-song.ts";

/** Three requests fit into the time of a provider. */
const TIMEOUT_MS = 4000;
const ANSWER_BYTES_MAX = 2 * 1024 * 1024;
const FOUND_TTL_MS = 24 * 60 * 60_000;
const NONE_TTL_MS = 60 * 60_000;
/** What failed may work again. */
const PARTIAL_TTL_MS = 10 * 60_000;
const CACHE = { ttlMs: FOUND_TTL_MS, entriesMax: 300 };
/** Longer lyrics are not cached. */
const CACHED_LENGTH_MAX = 32 * 1024;

type LrclibOptions = OptionValues<typeof LRCLIB_MANIFEST.config>;
type Query = Readonly<Record<string, string | number | undefined>>;

export class LrclibLyrics {
  readonly #host: PluginHost<LrclibOptions>;
  readonly #userAgent: string;
  readonly #exact: Backend;
  readonly #search: Backend;

  constructor(host: PluginHost<LrclibOptions>) {
    const contact = host.options.contact.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200);
    this.#host = host;
    this.#userAgent = contact === "" ? host.userAgent : `${host.userAgent} (${contact})`;
    this.#exact = host.backend("get");
    this.#search = host.backend("search");
  }

  async load({ track, signal }: LyricsRequest): Promise<Lyrics | undefined> {
    const wanted = wantedSong(track);
    if (wanted === undefined) return undefined;
    const { title, artist, lengthMs } = wanted;
    const key = JSON.stringify([title.toLowerCase(), artist.toLowerCase(), secondsOf(lengthMs)]);
    const cache = this.#host.cache<{ readonly lyrics: Lyrics | undefined }>("lyrics", CACHE);
    const { lyrics } = await cache.getOrMake(key, {
      signal,
      make: async (shared) => {
        const { isPartial = false, ...value } = await this.#find(wanted, shared);
        return { value, ttlMs: ttlOf(value.lyrics, isPartial) };
      },
    });
    return lyrics;
  }

  /** `isPartial`: there may be others, or some with times, but one of the two ways of asking failed. */
  async #find(
    wanted: WantedSong,
    signal: AbortSignal,
  ): Promise<{ readonly lyrics: Lyrics | undefined; readonly isPartial?: boolean }> {
    // A server may know the search only.
    const exact = await valueOrTrouble(this.#exactEntry(wanted, signal), signal);
    if (exact instanceof SourceError) {
      if (!isRefusal(exact)) throw exact;
      const searched = await this.#searchedEntry(wanted, signal);
      return { lyrics: searched && lyricsOf(searched, wanted.lengthMs), isPartial: true };
    }
    const lyrics = exact && lyricsOf(exact, wanted.lengthMs);
    if (exact?.isInstrumental || lyrics?.lines !== undefined) return { lyrics };
    try {
      const searched = await this.#searchedEntry(wanted, signal);
      const others = searched && lyricsOf(searched, wanted.lengthMs);
      return { lyrics: others?.lines === undefined ? (lyrics ?? others) : others };
    } catch (error) {
      if (lyrics === undefined || signal.aborted) throw error;
      return { lyrics, isPartial: true };
    }
  }

  /** Undefined where it has none with lyrics; one that says that there are none decides. */
  async #exactEntry(wanted: WantedSong, signal: AbortSignal): Promise<LyricsEntry | undefined> {
    const { title, artist, firstName, album, lengthMs } = wanted;
    for (const name of new Set([artist, firstName])) {
      const query = { track_name: title, artist_name: name, album_name: album, duration: secondsOf(lengthMs) };
      const entry = await this.#ask(this.#exact, query, signal, readEntry);
      if (entry?.isInstrumental || entry?.synced !== undefined || entry?.plain !== undefined) return entry;
    }
    return undefined;
  }

  async #searchedEntry(wanted: WantedSong, signal: AbortSignal): Promise<LyricsEntry | undefined> {
    const { title, artist, firstName, lengthMs } = wanted;
    const entries = await this.#ask(this.#search, { track_name: title, artist_name: firstName }, signal, readEntries);
    return chooseEntry(entries ?? [], { title, author: artist, lengthMs });
  }

  /** Undefined: there is nothing. `read`: undefined where the answer has another form. */
  async #ask<Value>(
    backend: Backend,
    query: Query,
    signal: AbortSignal,
    read: (answer: unknown) => Value | undefined,
  ): Promise<Value | undefined> {
    const { http, options } = this.#host;
    const url = `${options.server}/api/${backend.name}`;
    const headers = { "user-agent": this.#userAgent };
    const request = { query, headers, timeoutMs: TIMEOUT_MS, sizeBytesMax: ANSWER_BYTES_MAX };
    try {
      return await backend.run(async () => {
        const value = read(await http.json(url, { ...request, signal }).catch(throwSiteFailure));
        if (value === undefined) throw new SourceError("changed", "LRCLIB answered something else than lyrics");
        return value;
      });
    } catch (error) {
      if (error instanceof SourceError && error.kind === "not-found") return undefined;
      throw error;
    }
  }
}

function ttlOf(lyrics: Lyrics | undefined, isPartial: boolean): number {
  if ((lyrics?.text ?? "").length > CACHED_LENGTH_MAX) return 0;
  if (isPartial) return PARTIAL_TTL_MS;
  return lyrics === undefined ? NONE_TTL_MS : FOUND_TTL_MS;
}

function secondsOf(lengthMs: number | undefined): number | undefined {
  return lengthMs === undefined ? undefined : Math.round(lengthMs / 1000);
}
