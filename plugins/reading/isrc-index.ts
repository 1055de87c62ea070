// The ISRC of a recording from Deezer's open index, by title, artist and length: for sites that do not say it. Plugin
// thread.

import { createHash } from "node:crypto";
import { type Cache, type PluginHost, SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { scoreRecording } from "../../src/recordings/same-recording.ts";
import { throwDeezerError } from "./deezer-error.ts";
import { type Members, membersOf, numberOf, objectsOf, trimmedText } from "./json.ts";

const API = "https://api.deezer.com/2.0";
/** For all requests of one recording: less than the node waits for, so that an outage is noticed here. */
const TIMEOUT_MS = 2000;
const RESULTS_MAX = 50;
const QUERY_LENGTH_MAX = 200;
/** What is read of a title or an author: a client may have written them. */
const TEXT_LENGTH_MAX = 300;
const LENGTH_DIFFERENCE_MS = 3000;
/** Of a code that decides which recording is played. */
const SCORE_MIN = 0.85;
const KNOWN_MS = 30 * 24 * 60 * 60_000;
const UNKNOWN_MS = 60 * 60_000;
const ENTRIES_MAX = 4000;
const FEATURED = /\s*[([](?:feat|ft|featuring|with)\b[^)\]]*[)\]]/i;
const ISRC = /^[A-Z]{2}[A-Z\d]{3}\d{7}$/;

type WantedTrack = Pick<SourceTrack, "identifier" | "title" | "author" | "lengthMs">;

export class IsrcIndex {
  readonly #host: Pick<PluginHost, "http" | "backend" | "clock">;
  /** By `keyOf`; empty: there is none. */
  readonly #known: Cache<string>;

  constructor(host: Pick<PluginHost, "http" | "backend" | "clock" | "cache">) {
    this.#host = host;
    this.#known = host.cache("ISRCs", { ttlMs: KNOWN_MS, entriesMax: ENTRIES_MAX, persist: true });
  }

  /** Undefined: not known, or the index does not answer. Rejects only with the reason of `signal`. */
  async find(asked: WantedTrack, signal: AbortSignal): Promise<string | undefined> {
    const [title = "", author] = [asked.title, asked.author].map((text) => text?.slice(0, TEXT_LENGTH_MAX));
    const track: WantedTrack = { identifier: asked.identifier, title, author, lengthMs: asked.lengthMs };
    try {
      const found = await this.#known.getOrMake(keyOf(track), {
        signal,
        make: async (shared) => {
          const isrc = await this.#host.backend("ISRC index of Deezer").run(() => this.#ask(track, shared));
          return isrc === undefined ? { value: "", ttlMs: UNKNOWN_MS } : { value: isrc, ttlMs: KNOWN_MS };
        },
      });
      return found === "" ? undefined : found;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SourceError)) throw error;
      return undefined;
    }
  }

  async #ask(track: WantedTrack, signal: AbortSignal): Promise<string | undefined> {
    const deadlineMs = this.#host.clock.now() + TIMEOUT_MS;
    const { data } = await this.#get("search", { signal, deadlineMs, query: { q: searchTextOf(track) } });
    const found = bestOf(objectsOf(data, RESULTS_MAX), track);
    if (found === undefined) return undefined;
    const id = numberOf(found.id) ?? trimmedText(found.id);
    const isrc = isrcOf(found);
    if (isrc !== undefined || !/^[1-9]\d{0,19}$/.test(String(id))) return isrc;
    return isrcOf(await this.#get(`track/${id}`, { signal, deadlineMs }));
  }

  async #get(
    path: string,
    options: {
      readonly signal: AbortSignal;
      readonly deadlineMs: number;
      readonly query?: Readonly<Record<string, string>>;
    },
  ): Promise<Members> {
    const { signal, deadlineMs, query } = options;
    const timeoutMs = Math.max(deadlineMs - this.#host.clock.now(), 1);
    const answer = membersOf(await this.#host.http.json(`${API}/${path}`, { signal, query, timeoutMs }));
    throwDeezerError(answer);
    return answer;
  }
}

/** Of all that is compared: a client can write any of it, and must not decide for others. */
function keyOf({ lengthMs, identifier, title, author }: WantedTrack): string {
  return createHash("sha256")
    .update(JSON.stringify([lengthMs, identifier, title, author]))
    .digest("base64url");
}

/** The first artist and the title, without guests. */
function searchTextOf({ title, author = "" }: WantedTrack): string {
  const [artist = ""] = author.split(/, |;/);
  return `${artist} ${title.replace(FEATURED, "")}`.slice(0, QUERY_LENGTH_MAX).trim();
}

/** The entry that is surely the same recording. */
function bestOf(entries: readonly Members[], { title, author = "", lengthMs }: WantedTrack): Members | undefined {
  if (lengthMs === undefined) return undefined;
  const wanted = { title, author, length: lengthMs, isStream: false, isrc: null };
  const scored = entries.flatMap((entry) => {
    const seconds = numberOf(entry.duration);
    const name = trimmedText(entry.title);
    const artist = trimmedText(membersOf(entry.artist).name);
    if (seconds === undefined || name === undefined || artist === undefined) return [];
    const length = Math.round(seconds * 1000);
    if (Math.abs(length - lengthMs) > LENGTH_DIFFERENCE_MS) return [];
    const { score } = scoreRecording(wanted, { title: name, author: artist, length, isStream: false, isrc: null });
    return score >= SCORE_MIN ? [{ entry, score }] : [];
  });
  return scored.toSorted((a, b) => b.score - a.score)[0]?.entry;
}

function isrcOf({ isrc }: Members): string | undefined {
  const text = trimmedText(isrc)?.replaceAll("-", "").toUpperCase() ?? "";
  return ISRC.test(text) ? text : undefined;
}
