// What a player does about a track that cannot be started: looks for the same recording elsewhere, and for the next one
// when that cannot be started either. Main thread; one per player. Where and how: control/sources/fallbacks.ts.

import { toWireError, type WireError } from "../../bridge/wire-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import type { Track } from "../../track/track.ts";
import type { LoadedTrack } from "./loaded-track.ts";
import type { TrackFallback } from "./player-intent.ts";
import type { FallbackProvider } from "./player-providers.ts";

/** Tracks that are tried in place of one, and when the last one may be looked for. */
const TRIES = { countMax: 3, timeMaxMs: 20_000 };
const SHOWN_LENGTH_MAX = 300;

interface TrackFallbacksOptions {
  /** Undefined: no track is looked for. */
  readonly fallbacks: FallbackProvider | undefined;
  readonly owner: Owner;
  /** Counts its memory. Throws `memory-exhausted`. */
  readonly store: (track: Track) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What to do next: play this instead, or report this error of the client's own track. */
type NextStep =
  | { readonly fallback: TrackFallback; readonly error?: undefined }
  | { readonly error: WireError; readonly fallback?: undefined };

/** The failure of the client's own track, and what has been tried since. */
interface Attempts {
  readonly error: WireError;
  readonly tried: Track[];
  readonly untilMs: number;
  readonly abort: AbortController;
}

export class TrackFallbacks {
  readonly #options: TrackFallbacksOptions;
  #attempts: Attempts | undefined;
  #isSearching = false;

  constructor(options: TrackFallbacksOptions) {
    this.#options = options;
  }

  /** A track is looked for: nothing is to be started meanwhile. */
  get isSearching(): boolean {
    return this.#isSearching;
  }

  /** Whether this failure, if it ends the track, is a reason to look elsewhere. None of the track has been audible. */
  isFor(loaded: LoadedTrack, error: WireError): boolean {
    if (loaded.hasBeenAudible || this.#options.fallbacks?.isFor(loaded.track, error) !== true) return false;
    // A restored player plays a fallback of which the attempts are not known.
    return this.#attempts !== undefined || loaded.played === loaded.track;
  }

  /** The next step after a failure for which `isFor` is true. Never rejects; pointless after `reset`. */
  async next(loaded: LoadedTrack, error: WireError): Promise<NextStep> {
    const { clock } = this.#options;
    const { track, played } = loaded;
    const untilMs = clock.now() + TRIES.timeMaxMs;
    this.#attempts ??= { error, tried: [], untilMs, abort: new AbortController() };
    const attempts = this.#attempts;
    if (played !== track) attempts.tried.push(played);
    this.#isSearching = true;
    let missText = "";
    try {
      const found = await this.#find(track, attempts);
      if (typeof found !== "string") return { fallback: found };
      missText = found;
    } catch (failure) {
      const reason = shown(toWireError(failure).message);
      missText = `Looking for the same recording elsewhere failed: ${reason}`;
      if (!attempts.abort.signal.aborted) this.#options.logger.warn("looking for a fallback failed", { reason });
    } finally {
      if (this.#attempts === attempts) this.#isSearching = false;
    }
    return { error: finalError(attempts, { last: error, missText }) };
  }

  /** The track is over, whatever is being looked for. */
  reset(): void {
    this.#attempts?.abort.abort();
    this.#attempts = undefined;
    this.#isSearching = false;
  }

  /** A text says why there is none. */
  async #find(track: Track, { error, tried, untilMs, abort }: Attempts): Promise<TrackFallback | string> {
    const { fallbacks, owner, store, clock, logger } = this.#options;
    if (fallbacks === undefined || tried.length >= TRIES.countMax || clock.now() > untilMs) return "";
    const result = await fallbacks.find(track, { owner, tried, signal: abort.signal });
    if (result.track === undefined) return result.missText;
    const { track: found } = result;
    abort.signal.throwIfAborted();
    store(found);
    const { title, sourceName } = track.info;
    const { sourceName: fallback, uri } = found.info;
    const reason = shown(error.message);
    const fields = { title: shown(title), source: sourceName, reason, fallback, uri: shown(uri ?? "") };
    logger.info("track could not be started: played from its fallback instead", fields);
    return { track: found, reason };
  }
}

function finalError(
  { error, tried }: Attempts,
  { last, missText }: { readonly last: WireError; readonly missText: string },
): WireError {
  const sources = [...new Set(tried.map(({ info }) => info.sourceName))].join(", ");
  const more =
    tried.length === 0
      ? missText
      : `It could not be played from its fallback (${sources}) either: ${shown(last.message)}`;
  const { message } = error;
  return { ...error, message: `${message}${/[.!?]$/.test(message) ? "" : "."} ${more}` };
}

function shown(text: string): string {
  return text.slice(0, SHOWN_LENGTH_MAX);
}
