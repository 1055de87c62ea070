// The part of a player that handles a track that its own source does not play: it looks for the same recording elsewhere, and for
// the next one when that fails, also in the middle. Main thread; one per player. Where and how:
// control/sources/mirrors.ts.

import { toWireError, type WireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import type { Track } from "../../track/track.ts";
import type { LoadedTrack } from "./loaded-track.ts";
import type { TrackMirror } from "./player-intent.ts";
import type { MirrorProvider } from "./player-providers.ts";

/** Mirrors of one track, and how long listeners wait in silence for the next one. */
const TRIES = { countMax: 5, timeMaxMs: 20_000 };
const SHOWN_LENGTH_MAX = 300;

interface TrackMirrorsOptions {
  /** Undefined: no track is looked for. */
  readonly mirrors: MirrorProvider | undefined;
  readonly owner: Owner;
  /** Counts its memory. Throws `memory-exhausted`. */
  readonly storeMirror: (track: Track) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What to do next: play this instead, or report this error of the client's own track. */
type NextStep =
  | { readonly mirror: TrackMirror; readonly error?: undefined }
  /** `wasAudible`: some of the track was. */
  | { readonly error: WireError; readonly wasAudible: boolean; readonly mirror?: undefined };

/** What has been tried for one track. */
interface Attempts {
  /** The failure of the client's own track; undefined: it has no audio, or a restored player does not know. */
  readonly error: WireError | undefined;
  readonly tried: Track[];
  readonly abort: AbortController;
  /** When the last search may begin, unless some of its mirror becomes audible before. */
  untilMs: number;
  wasAudible: boolean;
}

export class TrackMirrors {
  readonly #options: TrackMirrorsOptions;
  #attempts: Attempts | undefined;
  #isSearching = false;
  #isCounted = false;

  constructor(options: TrackMirrorsOptions) {
    this.#options = options;
  }

  /** A track is looked for: nothing is to be started meanwhile. */
  get isSearching(): boolean {
    return this.#isSearching;
  }

  /** Whether its source has no audio, and nothing plays instead so far. */
  isNeeded({ track, mirror }: LoadedTrack): boolean {
    return mirror === undefined && this.#options.mirrors?.isNeeded(track) === true;
  }

  /**
   * Whether this failure, if it ends the track, is a reason to look elsewhere. The client's own track is not left once
   * it has been audible; its mirror is.
   */
  isFor({ track, mirror, hasBeenAudible }: LoadedTrack, error: WireError): boolean {
    const hasMirror = mirror !== undefined;
    if (hasBeenAudible && !hasMirror) return false;
    return this.#options.mirrors?.isFor(track, error, { hasMirror }) === true;
  }

  /**
   * The next step after a failure for which `isFor` is true, or without one where `isNeeded` is. Never rejects;
   * pointless after `reset`.
   */
  async next(loaded: LoadedTrack, error: WireError | undefined): Promise<NextStep> {
    const attempts = this.#begin(loaded, error);
    this.#isSearching = true;
    let missText = "";
    try {
      const found = await this.#find(loaded, attempts);
      if (typeof found !== "string") return { mirror: found };
      missText = found;
    } catch (failure) {
      const reason = shown(toWireError(failure).message);
      missText = `Looking for the same recording elsewhere failed: ${reason}`;
      if (!attempts.abort.signal.aborted) this.#options.logger.warn("looking for a mirror failed", { reason });
    } finally {
      if (this.#attempts === attempts) this.#isSearching = false;
    }
    if (!attempts.abort.signal.aborted) this.#count(loaded.track, undefined);
    return { error: finalError(attempts, { last: error, missText }), wasAudible: attempts.wasAudible };
  }

  /** The loaded track reports its position: once it is heard, its mirror counts. */
  onPosition({ track, mirror, hasBeenAudible }: LoadedTrack): void {
    if (mirror !== undefined && hasBeenAudible) this.#count(track, mirror.track);
  }

  /** The mirror of the loaded track, if it has one, has failed: others do not get it. */
  forget({ track, mirror }: LoadedTrack): void {
    if (mirror !== undefined) this.#options.mirrors?.forget(track, mirror.track);
  }

  /** The track is over, whatever is being looked for. */
  reset(): void {
    this.#attempts?.abort.abort();
    this.#attempts = undefined;
    this.#isSearching = false;
    this.#isCounted = false;
  }

  #count(track: Track, mirror: Track | undefined): void {
    if (this.#isCounted) return;
    this.#isCounted = true;
    this.#options.mirrors?.count(track, mirror);
  }

  #begin(loaded: LoadedTrack, error: WireError | undefined): Attempts {
    const { clock, logger } = this.#options;
    const { mirror, hasBeenAudible } = loaded;
    this.forget(loaded);
    const untilMs = clock.now() + TRIES.timeMaxMs;
    this.#attempts ??= {
      error: mirror === undefined ? error : undefined,
      tried: [],
      abort: new AbortController(),
      untilMs,
      wasAudible: false,
    };
    if (mirror !== undefined) {
      this.#attempts.tried.push(mirror.track);
      const { sourceName, uri } = mirror.track.info;
      logger.info("mirror failed", { mirror: sourceName, uri: shown(uri ?? ""), reason: shown(error?.message ?? "") });
    }
    if (hasBeenAudible) {
      this.#attempts.untilMs = untilMs;
      this.#attempts.wasAudible = true;
    }
    return this.#attempts;
  }

  /** A text says why there is none. */
  async #find(
    { track, mirror: last }: LoadedTrack,
    { error, tried, untilMs, abort }: Attempts,
  ): Promise<TrackMirror | string> {
    const { mirrors, owner, storeMirror, clock, logger } = this.#options;
    if (mirrors === undefined || tried.length >= TRIES.countMax || clock.now() > untilMs) return "";
    const { signal } = abort;
    const result = await mirrors.find(track, { owner, tried, signal, untilMs });
    if (result.mirror === undefined) {
      const { missText: reason, isLogged } = result;
      const { title, sourceName: source } = track.info;
      if (isLogged) logger.info("no mirror found", { title: shown(title), source, reason });
      return reason;
    }
    signal.throwIfAborted();
    storeMirror(result.mirror.track);
    const failure = error === undefined ? last?.failure : shown(error.message);
    this.#log(track, { ...result.mirror, failure });
    return { ...result.mirror, failure };
  }

  #log({ info }: Track, { track, provider, score, failure }: TrackMirror): void {
    const { logger } = this.#options;
    const { sourceName, uri } = track.info;
    const fields = { title: shown(info.title), source: info.sourceName, uri: shown(uri ?? "") };
    if (failure === undefined)
      logger.debug("track plays from a mirror", { ...fields, mirror: sourceName, provider, score });
    else {
      const message = "track could not be started: played from its fallback instead";
      logger.info(message, { ...fields, reason: failure, fallback: sourceName });
    }
  }
}

function finalError(
  { error, tried }: Attempts,
  { last, missText }: { readonly last: WireError | undefined; readonly missText: string },
): WireError {
  const sources = [...new Set(tried.map(({ info }) => info.sourceName))].join(", ");
  const lastText = shown(last?.message ?? "");
  if (error === undefined) {
    const more = tried.length === 0 ? missText : `What was found (${sources}) could not be played: ${lastText}`;
    return toWireError(new NodeError("mirror-not-found", `No mirror found for track. ${more}`));
  }
  const more =
    tried.length === 0 ? missText : `It could not be played from its fallback (${sources}) either: ${lastText}`;
  const { message } = error;
  return { ...error, message: `${message}${/[.!?]$/.test(message) ? "" : "."} ${more}` };
}

function shown(text: string): string {
  return text.slice(0, SHOWN_LENGTH_MAX);
}
