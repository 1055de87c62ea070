// Determines the next HLS segment: walks a finished playlist, and for a live one reloads it as the standard says,
// starts near the live edge, catches up after falling out of the window, and outlasts answers that are no playlist. When
// the link to the playlist is renewed, it finds the same segment again in the playlist behind the new link. Audio thread.

import { NodeError } from "../../../errors.ts";
import { pause } from "../../../lib/pause.ts";
import { isWorthRetrying, refusalStatusOf } from "../../input/http-errors.ts";
import type { Validator } from "../../input/http-headers.ts";
import type { RequestDestination } from "../../input/link-destination.ts";
import { InputReplacedError } from "../../input/track-link.ts";
import type { HlsSegment } from "./hls-segment.ts";
import type { MediaPlaylist } from "./media-playlist.ts";
import {
  BAD_ANSWER_CODES,
  type LoadedPlaylist,
  loadAgain,
  loadLinked,
  loadStream,
  type PlaylistAccess,
} from "./playlist-loading.ts";

/** A segment in a playlist that has been replaced. */
export interface RenewedSegment {
  /** Undefined: the stream ended before it. */
  readonly segment: HlsSegment | undefined;
  /** True when the playlist has other segments: this one holds the moment at which the requested one began. */
  readonly isByTime: boolean;
}

/** A live playlist without new segments for this long is given up; at least IDLE_MS_MIN. */
const IDLE_TARGETS_MAX = 10;
const IDLE_MS_MIN = 60_000;
/** A live playlist is reloaded no sooner than this, and a large one only when the cost of reading it is acceptable. */
const RELOAD_MS_MIN = 1_000;
const RELOAD_BYTES_PER_MS = 512;
/** When its address is refused or leads nowhere, it is given up sooner; at least MISSING_MS_MIN. */
const MISSING_TARGETS_MAX = 3;
const MISSING_MS_MIN = 20_000;
/** Answers in a row that are no playlist, after which the address it came from is asked. */
const BAD_ANSWERS_MAX = 2;
/** Caches may return an old playlist once or twice; after that the stream counts as restarted. */
const BACKWARD_LOADS_MAX = 3;
/** Starts of segments this close are the same: durations have six digits at most. */
const SAME_START_MS = 1;

/** The next segment to return. */
type Next =
  | { readonly kind: "sequence"; readonly sequence: number }
  | { readonly kind: "position"; readonly positionMs: number }
  | { readonly kind: "live edge" };

/** A live playlist is given up. */
export class PlaylistLostError extends NodeError {}

export class SegmentList {
  readonly #options: PlaylistAccess;
  /** Address that led to the playlist first: most often that of the master playlist. */
  readonly #originUrl: URL;
  #url: URL;
  /** Address the playlist was requested at. */
  #requestedUrl: URL;
  /** The link's destination when it last led to the playlist. */
  #destination: RequestDestination | undefined;
  #playlist: MediaPlaylist;
  #validator: Validator;
  #loadedAtMs: number;
  /** When the playlist last had new segments. */
  #movedAtMs: number;
  #hasMoved = true;
  #next: Next;
  /** The playlist was loaded again for a segment, and none has been loaded since. */
  #isUnproven = false;
  #backwardLoads = 0;
  /** Reloads that have failed since the last playlist, and why the last one failed. */
  #failedLoads = 0;
  #failure: unknown;

  /**
   * Opens the playlist at `url`; for a master playlist, the best suited stream that can be loaded.
   * @throws NodeError "hls-playlist-invalid", "hls-unsupported" and the errors of downloads and links
   */
  static async open(url: URL, access: PlaylistAccess, signal: AbortSignal): Promise<SegmentList> {
    const { link, originUrl = url } = access;
    const load = async (from: URL): Promise<SegmentList> => {
      const loaded = await loadStream(from, access, { signal, isRenewed: link === undefined });
      return new SegmentList(originUrl, loaded, access);
    };
    try {
      // A link is followed from its start: its headers are meant for that site.
      return await load(link?.destination.url ?? url);
    } catch (error) {
      signal.throwIfAborted();
      if (link === undefined && originUrl.href !== url.href && mayPass(error)) return load(originUrl);
      const status = refusalStatusOf(error);
      if (link === undefined || status === undefined) throw error;
      await link.renewRefused(status, signal);
      return new SegmentList(originUrl, await loadLinked(link, access, { signal, isRenewed: true }), access);
    }
  }

  private constructor(originUrl: URL, loaded: LoadedPlaylist, access: PlaylistAccess) {
    const { url, requestedUrl, playlist, validator } = loaded;
    if (playlist.segmentCount === 0 && playlist.isEnded) {
      playlist.close();
      throw new NodeError("hls-playlist-invalid", "reading an HLS playlist: it names no segments");
    }
    this.#options = access;
    this.#originUrl = originUrl;
    this.#url = url;
    this.#requestedUrl = requestedUrl;
    this.#destination = access.link?.destination;
    this.#playlist = playlist;
    this.#validator = validator;
    this.#loadedAtMs = this.#nowMs;
    this.#movedAtMs = this.#loadedAtMs;
    this.#next = playlist.isEnded ? { kind: "sequence", sequence: playlist.firstSequence } : { kind: "live edge" };
  }

  get #nowMs(): number {
    return this.#options.pace.budget.clock.now();
  }

  /** Whole length in milliseconds; undefined while live. */
  get lengthMs(): number | undefined {
    const { isEnded, endMs } = this.#playlist;
    return isEnded && endMs > 0 ? endMs : undefined;
  }

  /**
   * The next segment, or undefined after the last. In a live stream it may take a while to appear.
   * @param mayWait false: undefined as well when it is not in the playlist yet
   */
  async next(signal: AbortSignal, mayWait = true): Promise<HlsSegment | undefined> {
    for (;;) {
      const segment = await this.#find();
      signal.throwIfAborted();
      if (segment !== undefined) {
        this.#next = { kind: "sequence", sequence: segment.sequence + 1 };
        return segment;
      }
      if (this.#playlist.isEnded || !mayWait) return undefined;
      await this.#reload(signal);
    }
  }

  /** Makes the segment that holds this position (of a finished playlist) the next one. */
  seek(positionMs: number): void {
    this.#next = { kind: "position", positionMs };
  }

  /** True when `renew` is due: the link is about to expire, or leads to a playlist that has not been loaded yet. */
  get isStale(): boolean {
    const { link } = this.#options;
    return link !== undefined && (link.isExpiring || link.destination !== this.#destination);
  }

  /**
   * Renews the link, and finds a segment again in the playlist that it leads to now.
   * @param status HTTP status that refused the segment; undefined: the list is stale, and when it cannot be renewed for
   * now, the segment stays as it is
   */
  async renew(segment: HlsSegment, status: number | undefined, signal: AbortSignal): Promise<RenewedSegment> {
    const { link, logger } = this.#options;
    const asItIs: RenewedSegment = { segment, isByTime: false };
    if (link === undefined) return asItIs;
    if (status !== undefined) await link.renewRefused(status, signal);
    else await link.keepFresh(signal);
    if (status === undefined && link.destination === this.#destination) return asItIs;
    try {
      const loaded = await loadLinked(link, this.#options, { signal, isRenewed: status !== undefined });
      return await this.#findAgain(segment, loaded, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (status !== undefined || error instanceof InputReplacedError) throw error;
      logger.debug("HLS playlist could not be loaded from its renewed link: continuing with the old one", { error });
      return asItIs;
    }
  }

  /**
   * For a segment that is refused, or missing in a finished playlist: its address may have expired. Finds it in the
   * playlist to which the address that led here leads now. Undefined: it cannot be found so, or the last time was no use.
   */
  async findFresh(segment: HlsSegment, error: unknown, signal: AbortSignal): Promise<RenewedSegment | undefined> {
    const { isEnded } = this.#playlist;
    const isExpired = isEnded ? isMissing(error) : refusalStatusOf(error) !== undefined;
    if (!isExpired || this.#isUnproven) return undefined;
    this.#isUnproven = true;
    try {
      const loaded = await this.#loadFromOrigin(signal);
      const { playlist } = loaded;
      const hasIt = !isEnded || (playlist.isEnded && playlist.endMs > segment.startMs);
      if (hasIt) return await this.#findAgain(segment, loaded, signal);
      playlist.close();
    } catch (failure) {
      signal.throwIfAborted();
      this.#options.logger.debug("HLS playlist could not be loaded again for an expired segment", { error: failure });
    }
    return undefined;
  }

  /** Notes that a segment has been loaded: the addresses are good. */
  noteLoaded(): void {
    this.#isUnproven = false;
  }

  /** Releases the memory of the playlist. */
  close(): void {
    this.#playlist.close();
  }

  async #find(): Promise<HlsSegment | undefined> {
    const playlist = this.#playlist;
    if (playlist.segmentCount === 0) return undefined;
    try {
      return await playlist.segmentFrom(await this.#sequenceOf(this.#next, playlist));
    } finally {
      this.#options.pace.budget.pause();
    }
  }

  async #sequenceOf(next: Next, playlist: MediaPlaylist): Promise<number> {
    if (next.kind === "position") return playlist.sequenceAt(next.positionMs);
    if (next.kind === "live edge") return playlist.liveStart();
    if (playlist.isEnded || next.sequence >= playlist.firstSequence) return next.sequence;
    this.#options.logger.debug("live HLS stream fell behind: continuing near its live edge");
    return playlist.liveStart();
  }

  /** Reloads the playlist: a target duration after the last time, half of one if that had nothing new. */
  async #reload(signal: AbortSignal): Promise<void> {
    const { clock, upstream } = this.#options.pace.budget;
    const { targetDurationMs, sizeBytes } = this.#playlist;
    const neededMs = this.#hasMoved ? targetDurationMs : targetDurationMs / 2;
    const dueMs = this.#loadedAtMs + Math.max(RELOAD_MS_MIN, sizeBytes / RELOAD_BYTES_PER_MS, neededMs);
    if (dueMs > clock.now()) await upstream.await(pause(clock, dueMs - clock.now(), signal));
    signal.throwIfAborted();
    try {
      const loaded = await this.#loadAgain(signal);
      if (signal.aborted) loaded?.playlist.close();
      signal.throwIfAborted();
      this.#accept(loaded);
      this.#failedLoads = 0;
      this.#failure = undefined;
    } catch (error) {
      signal.throwIfAborted();
      this.#noteFailure(error);
    }
    if (clock.now() - this.#movedAtMs > this.#idleMsMax) throw idleError(this.#failure);
  }

  /** How long the playlist may be without new segments. */
  get #idleMsMax(): number {
    const { targetDurationMs } = this.#playlist;
    return isMissing(this.#failure)
      ? Math.max(MISSING_TARGETS_MAX * targetDurationMs, MISSING_MS_MIN)
      : Math.max(IDLE_TARGETS_MAX * targetDurationMs, IDLE_MS_MIN);
  }

  /** A failed reload is like one with nothing new, if the failure may pass. */
  #noteFailure(error: unknown): void {
    if (!mayPass(error)) throw error;
    this.#loadedAtMs = this.#nowMs;
    this.#hasMoved = false;
    this.#failedLoads++;
    this.#failure = error;
    this.#options.logger.debug("live HLS playlist could not be reloaded: trying again", { error });
  }

  /** Undefined: nothing has changed. */
  async #loadAgain(signal: AbortSignal): Promise<LoadedPlaylist | undefined> {
    const { link } = this.#options;
    await link?.keepFresh(signal);
    if (link !== undefined && link.destination !== this.#destination) {
      return loadLinked(link, this.#options, { signal, isRenewed: false });
    }
    if (this.#failedLoads >= BAD_ANSWERS_MAX) return this.#loadFromOrigin(signal);
    try {
      return await loadAgain(this.#url, this.#options, {
        requestedUrl: this.#requestedUrl,
        signal,
        known: this.#validator,
        before: this.#playlist,
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!isMissing(error)) throw error;
      const status = refusalStatusOf(error);
      if (link === undefined || status === undefined) return this.#loadFromOrigin(signal);
      await link.renewRefused(status, signal);
      return loadLinked(link, this.#options, { signal, isRenewed: true });
    }
  }

  /** The address of the playlist may have expired: the one that led to it may lead to another. */
  async #loadFromOrigin(signal: AbortSignal): Promise<LoadedPlaylist> {
    const { link } = this.#options;
    if (link !== undefined) return loadLinked(link, this.#options, { signal, isRenewed: false });
    return loadStream(this.#originUrl, this.#options, { signal, isRenewed: true });
  }

  /** Switches to a playlist loaded from a renewed link, at the segment that was requested from the previous one. */
  async #findAgain(
    { sequence, startMs }: HlsSegment,
    loaded: LoadedPlaylist,
    signal: AbortSignal,
  ): Promise<RenewedSegment> {
    const { playlist } = loaded;
    // Numbers of finished playlists may start differently; a live one continues them.
    const isFinished = this.#playlist.isEnded && playlist.isEnded;
    const requested = isFinished ? playlist.firstSequence + sequence - this.#playlist.firstSequence : sequence;
    const candidate = isFinished ? await playlist.segmentFrom(requested) : undefined;
    const isSame = candidate?.sequence === requested && Math.abs(candidate.startMs - startMs) <= SAME_START_MS;
    const found = isSame || !isFinished ? requested : await playlist.sequenceAt(startMs);
    if (signal.aborted) playlist.close();
    signal.throwIfAborted();
    this.#playlist.close();
    this.#replace(loaded);
    this.#loadedAtMs = this.#nowMs;
    this.#movedAtMs = this.#loadedAtMs;
    const hasIt = isFinished || followsOn(found, playlist);
    this.#next = hasIt ? { kind: "sequence", sequence: found } : { kind: "live edge" };
    return { segment: await this.next(signal), isByTime: isFinished && !isSame };
  }

  #replace({ playlist, validator, url, requestedUrl }: LoadedPlaylist): void {
    this.#requestedUrl = requestedUrl;
    this.#playlist = playlist;
    this.#validator = validator;
    this.#url = url;
    this.#destination = this.#options.link?.destination;
  }

  /** @param loaded undefined: nothing has changed */
  #accept(loaded: LoadedPlaylist | undefined): void {
    this.#loadedAtMs = this.#nowMs;
    this.#hasMoved = false;
    if (loaded === undefined) return;
    const { playlist } = loaded;
    if (playlist.segmentCount === 0 && !playlist.isEnded) {
      playlist.close();
      return;
    }
    const [lastBefore, last] = [lastSequenceOf(this.#playlist), lastSequenceOf(playlist)];
    this.#hasMoved = last !== lastBefore || playlist.isEnded;
    if (last < lastBefore) {
      this.#backwardLoads++;
      if (this.#backwardLoads < BACKWARD_LOADS_MAX) {
        playlist.close();
        return;
      }
      this.#next = { kind: "live edge" };
    }
    this.#backwardLoads = 0;
    if (this.#hasMoved) this.#movedAtMs = this.#loadedAtMs;
    this.#playlist.close();
    this.#replace(loaded);
  }
}

/** A live stream continues with one of its numbers, or with the next, which may not be there yet. */
function followsOn(sequence: number, { firstSequence, lastSequence }: MediaPlaylist): boolean {
  return sequence >= firstSequence && sequence <= lastSequence + 1;
}

function lastSequenceOf(playlist: MediaPlaylist): number {
  return playlist.segmentCount === 0 ? -1 : playlist.lastSequence;
}

/** Nothing is at the playlist's address any more, or it is refused. */
function isMissing(error: unknown): boolean {
  return refusalStatusOf(error) !== undefined || (error instanceof NodeError && error.code === "input-not-found");
}

/** A later reload may succeed. */
function mayPass(error: unknown): boolean {
  if (error instanceof InputReplacedError) return false;
  const isBadAnswer = error instanceof NodeError && BAD_ANSWER_CODES.includes(error.code);
  return isBadAnswer || isMissing(error) || isWorthRetrying(error);
}

function idleError(failure: unknown): PlaylistLostError {
  const reason = failure instanceof Error ? `; the last attempt: ${failure.message}` : "";
  const message = `following a live stream: its playlist has had no new segments for too long${reason}`;
  return new PlaylistLostError("input-interrupted", message, { cause: failure });
}
