// Looks for the same recording elsewhere when a track cannot be started: on the sources that the operator has named as
// the fallback of the track's plugin. Main thread; one for the node, used by players.

import { toWireError, type WireError } from "../../bridge/wire-error.ts";
import { type ErrorCode, NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import { searchTextOf } from "../../recordings/recording-words.ts";
import { hasSameIsrc, isSameRecording } from "../../recordings/same-recording.ts";
import { decodeTrack, type Track } from "../../track/track.ts";
import type { TrackInfo } from "../../track/track-info.ts";
import { isWritten, readPart } from "../../track/written-tracks.ts";
import type { AllowedSources } from "../access/identity.ts";
import type { LoadResult } from "./load-result.ts";
import type { LoadOptions } from "./track-loader.ts";

/** How long one look for a track takes at most, shared out among the prefixes that are left. */
const SEARCH_TIMEOUT_MS = 20_000;
/** Results of a search that are compared. */
const RESULTS_MAX = 10;
const SHOWN_LENGTH_MAX = 200;

/**
 * Errors that say that a track cannot be played from its source. The others are about its client (a key that may not
 * use the source, a share that is used up), the node, or an attack, and another source would not change them.
 */
const REASONS: ReadonlySet<string> = new Set<ErrorCode>([
  "hls-playlist-invalid",
  "hls-unsupported",
  "input-answer-invalid",
  "input-http-status",
  "input-interrupted",
  "input-not-found",
  "input-redirects",
  "input-unreachable",
  "link-invalid",
  "link-refused",
  "load-timeout",
  "media-damaged",
  "media-decode-failed",
  "media-no-audio",
  "media-unknown-format",
  "media-unsupported-codec",
  "plugin-failed",
  "plugin-lost",
  "plugin-off",
  "routes-exhausted",
  "site-busy",
  "site-changed",
  "site-unavailable",
  "site-unreachable",
  "source-unavailable",
  "worker-timeout",
]);

/** What one look has led to. */
export type FallbackResult =
  | { readonly track: Track }
  /** `missText`: a sentence for the client: where was looked, and why not elsewhere. */
  | { readonly track: undefined; readonly missText: string };

/** The answer of one search; `reason`: why there was none. */
interface SearchAnswer {
  readonly found?: Track | undefined;
  readonly reason?: string;
}

/** The fallback of one plugin. */
export interface PluginFallback {
  /** The key that sets it, for messages: `plugins.youtube.fallback`. */
  readonly path: string;
  /** The names of the plugin's sources. */
  readonly sourceNames: readonly string[];
  /** Search prefixes without a colon, in the order in which they are asked. */
  readonly prefixes: readonly string[];
}

/** How often tracks of a source were played from another one. `to`: "none" where the recording was not found. */
export interface FallbackCount {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

interface FallbacksOptions {
  readonly loader: {
    load(identifier: string, options: LoadOptions): Promise<LoadResult>;
    /** The name of the source that an identifier is for. */
    claimantOf(identifier: string): string | undefined;
  };
  /** At this moment: plugins may learn of their sources late. */
  readonly list: () => readonly PluginFallback[];
  /** The sources that an owner may use at this moment; undefined: all. */
  readonly allowedFor: (owner: Owner) => AllowedSources | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface FallbackSearch {
  /** Whose player it is. */
  readonly owner: Owner;
  /** Found before, and not playable either. */
  readonly tried: readonly Track[];
  readonly signal: AbortSignal;
}

export class Fallbacks {
  readonly #options: FallbacksOptions;
  readonly #counts = new Map<string, FallbackCount>();

  constructor(options: FallbacksOptions) {
    this.#options = options;
  }

  get counts(): readonly FallbackCount[] {
    return [...this.#counts.values()];
  }

  /** Whether a track that failed with this error before any of it was audible is looked for elsewhere. */
  isFor({ info }: Track, { code }: Pick<WireError, "code">): boolean {
    return !info.isStream && REASONS.has(code) && this.#prefixesFor(info.sourceName).length > 0;
  }

  /**
   * The same recording on another source that its owner may use. Takes 20 s at most. Rejects with the reason of the
   * signal.
   */
  async find(track: Track, search: FallbackSearch): Promise<FallbackResult> {
    const { clock } = this.#options;
    const endMs = clock.now() + SEARCH_TIMEOUT_MS;
    const searched: string[] = [];
    const skipped: string[] = [];
    const note = (prefix: string, reason: string) => skipped.push(`${prefix} could not be searched (${reason})`);
    // Those that cannot be asked take no share of the time.
    const prefixes = this.#prefixesFor(track.info.sourceName).filter((prefix) => {
      const obstacle = this.#obstacleTo(prefix, track, search.owner);
      if (obstacle !== undefined) note(prefix, obstacle);
      return obstacle === undefined;
    });
    for (const [index, prefix] of prefixes.entries()) {
      // One that does not answer leaves the others their time.
      const timeoutMs = (endMs - clock.now()) / (prefixes.length - index);
      const { found, reason } = await this.#ask(prefix, track, { ...search, timeoutMs });
      if (found !== undefined) {
        this.#count(track.info.sourceName, found.info.sourceName);
        return { track: found };
      }
      if (reason === undefined) searched.push(prefix);
      else note(prefix, reason);
    }
    if (search.tried.length === 0) this.#count(track.info.sourceName, "none");
    const start = `The same recording was looked for elsewhere (${searched.join(", ")}) and not found`;
    const missed =
      searched.length > 0
        ? [start, ...skipped]
        : [`The same recording was not found: ${skipped[0]}`, ...skipped.slice(1)];
    return { track: undefined, missText: `${missed.join("; ")}.` };
  }

  /** Logs a warning for each prefix that leads nowhere. */
  warnOfUnknown(): void {
    for (const { path, sourceNames, prefixes } of this.#options.list()) {
      for (const prefix of prefixes) {
        const claimant = this.#options.loader.claimantOf(`${prefix}:song`);
        const start = `${path}: ${prefix} has no effect`;
        if (claimant === undefined) {
          this.#options.logger.warn(`${start}: no source has this search prefix, or the source that has it is off`);
        } else if (sourceNames.every((name) => name === claimant)) {
          this.#options.logger.warn(`${start}: it searches ${claimant}, whose tracks it is for`);
        }
      }
    }
  }

  #prefixesFor(sourceName: string): readonly string[] {
    return this.#options.list().find(({ sourceNames }) => sourceNames.includes(sourceName))?.prefixes ?? [];
  }

  /** Why a prefix cannot be asked; undefined if it can. */
  #obstacleTo(prefix: string, { info }: Track, owner: Owner): string | undefined {
    const { loader, allowedFor } = this.#options;
    const text = searchTextOf(info);
    if (text === "") return "the track has no title";
    const claimant = loader.claimantOf(`${prefix}:${text}`);
    if (claimant === undefined) return "no source has this prefix, or its source is off";
    if (claimant === info.sourceName) return "it is the source of the track itself";
    return allowedFor(owner)?.has(claimant) === false ? `this key may not use ${claimant}` : undefined;
  }

  async #ask(
    prefix: string,
    track: Track,
    { owner, tried, signal, timeoutMs }: FallbackSearch & { readonly timeoutMs: number },
  ): Promise<SearchAnswer> {
    const allowed = this.#options.allowedFor(owner);
    const identifier = `${prefix}:${searchTextOf(track.info)}`;
    const result = await this.#load(identifier, { owner, signal, timeoutMs, allowed });
    if (result.kind === "error") {
      const reason = result.error.message.slice(0, SHOWN_LENGTH_MAX);
      this.#options.logger.info("fallback search failed", { prefix, reason });
      return { reason };
    }
    const wanted = track.info;
    const others = candidatesOf(result).filter(({ info }) => {
      const isTried = tried.some((other) => isSameItem(other.info, info));
      return info.sourceName !== wanted.sourceName && allowed?.has(info.sourceName) !== false && !isTried;
    });
    const chosen =
      others.find(({ info }) => !info.isStream && hasSameIsrc(info, wanted)) ??
      others.find(({ info }) => isSameRecording(info, wanted));
    return { found: chosen === undefined ? undefined : decodeTrack(chosen.encoded) };
  }

  /** A failure is a result, not a rejection; only `signal` makes it reject. */
  async #load(
    identifier: string,
    { signal, timeoutMs, ...options }: LoadOptions & { readonly timeoutMs: number },
  ): Promise<LoadResult> {
    const { clock, loader } = this.#options;
    const deadline = new AbortController();
    const timer = clock.after(timeoutMs, () => {
      deadline.abort(new NodeError("load-timeout", `no answer within ${(timeoutMs / 1000).toFixed(1)} s`));
    });
    try {
      return await loader.load(identifier, { ...options, signal: AbortSignal.any([signal, deadline.signal]) });
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "error", error: toWireError(error) };
    } finally {
      timer.cancel();
    }
  }

  #count(from: string, to: string): void {
    const key = JSON.stringify([from, to]);
    this.#counts.set(key, { from, to, count: (this.#counts.get(key)?.count ?? 0) + 1 });
  }
}

/** The first results of a search. */
function candidatesOf(result: LoadResult): readonly { readonly encoded: string; readonly info: TrackInfo }[] {
  if (result.kind === "track") return [result.track];
  if (result.kind !== "search") return [];
  const { tracks } = result;
  const [part] = isWritten(tracks) ? tracks.parts : [];
  const listed = isWritten(tracks) ? (part === undefined ? [] : readPart(part)) : tracks;
  return listed.slice(0, RESULTS_MAX);
}

function isSameItem(a: TrackInfo, b: TrackInfo): boolean {
  return a.sourceName === b.sourceName && a.identifier === b.identifier;
}
