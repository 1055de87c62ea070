// Searches with the API behind the search box of bandcamp.com, which programs may use without the bot wall. Plugin thread.

import { type Backend, type PluginHost, SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { listOf, type Members, membersOf, numberOf, objectsOf, trimmedText } from "../reading/json.ts";
import { BROWSER_HEADERS, wallError } from "./bot-wall.ts";
import { parseTrackAddress } from "./links.ts";
import { artworkOf } from "./release-page.ts";

const API = "https://bandcamp.com/api/bcsearch_public_api/1/autocomplete_elastic";
/** Read at most; the site sends 50. */
const ENTRIES_MAX = 1000;
const TRACKS_MAX = 50;
/** A load ends after 20 s: leaves time for the search page. */
const TIMEOUT_MS = 5000;
const ARTWORK_LENGTH_MAX = 2048;

export class BandcampSearchApi {
  readonly #http: PluginHost["http"];
  readonly #backend: Backend;

  constructor({ http, backend }: Pick<PluginHost, "http" | "backend">) {
    this.#http = http;
    this.#backend = backend("search API");
  }

  /** The tracks found, the best first. Rejects with a SourceError. */
  find(query: string, signal: AbortSignal): Promise<SourceTrack[]> {
    const body = { search_text: query, search_filter: "t", full_page: false, fan_id: null };
    const headers = { ...BROWSER_HEADERS, accept: "application/json" };
    return this.#backend.run(async () => {
      const answer = await this.#http.request(API, { signal, body, headers, timeoutMs: TIMEOUT_MS });
      const wall = wallError(answer);
      if (wall !== undefined) throw wall;
      if (answer.status >= 200 && answer.status <= 299) return readSearchAnswer(answer.text);
      const error = this.#http.statusError(answer);
      // That there is no such address is not an answer to what was asked.
      throw error.kind === "busy" ? error : new SourceError("changed", error.message);
    });
  }
}

/** The tracks in an answer of the API. How long they are is not said there. Throws a SourceError `changed`. */
export function readSearchAnswer(text: string): SourceTrack[] {
  const { auto, results } = membersOf(parsed(text));
  const entries = membersOf(auto).results ?? results;
  if (!Array.isArray(entries)) {
    throw new SourceError("changed", "Bandcamp's search API did not answer JSON with a list auto.results");
  }
  const tracks = objectsOf(listOf(entries), ENTRIES_MAX).flatMap((entry) => trackOf(entry) ?? []);
  return tracks.slice(0, TRACKS_MAX);
}

/** Undefined for albums, artists, and tracks without a title or a page. */
function trackOf(entry: Members): SourceTrack | undefined {
  const { type = "t" } = entry;
  const title = trimmedText(entry.name);
  const root = webAddressIn(trimmedText(entry.item_url_root) ?? "")?.href;
  // The "path" is a whole address; where it is none, it belongs to the artist's site.
  const uri = parseTrackAddress(trimmedText(entry.item_url_path) ?? "", root);
  if (type !== "t" || title === undefined || uri === undefined) return undefined;
  const albumName = trimmedText(entry.album_name);
  return {
    identifier: uri,
    uri,
    title,
    isStream: false,
    author: trimmedText(entry.band_name),
    artworkUrl: artworkOf(numberOf(entry.art_id)) ?? imageOf(entry.img),
    pluginInfo: albumName === undefined ? {} : { albumName },
  };
}

function imageOf(value: unknown): string | null {
  const text = trimmedText(value) ?? "";
  const isImage = text.length <= ARTWORK_LENGTH_MAX && webAddressIn(text)?.protocol === "https:";
  return isImage ? text : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports the missing list.
    return undefined;
  }
}
