// An HLS stream as one continuous run of packets: each segment goes through the demuxer for its container, and the
// times of its packets are joined. The next segment is fetched while one plays. Audio thread.

import { NodeError } from "../../../errors.ts";
import { onAbort } from "../../../lib/on-abort.ts";
import type { Logger } from "../../../log/log.ts";
import { BAN_STATUS } from "../../../network/site-refusals.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import type { HttpClient } from "../../input/http-client.ts";
import { refusalStatusOf, refusedAgainError } from "../../input/http-errors.ts";
import { closedError } from "../../input/read-bounds.ts";
import { RequestPace } from "../../input/request-pace.ts";
import { InputReplacedError, type TrackLink } from "../../input/track-link.ts";
import type { TrackBudget } from "../../quota/track-budget.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import type { HlsSegment } from "./hls-segment.ts";
import { CLOCK_WRAP_MS } from "./segment-clock.ts";
import { PlaylistLostError, type RenewedSegment, SegmentList } from "./segment-list.ts";
import { type LoadedSegment, SegmentLoader, wrongKeyError } from "./segment-loader.ts";

/** Opens the container of one segment; `media/probe/open-demuxer.ts` in the node. */
export type OpenSegment = (
  source: ByteSource,
  hints: {
    readonly mimeType: string | undefined;
    readonly fileName: string | undefined;
    readonly isLengthNeeded: boolean;
    readonly signal: AbortSignal;
  },
  budget: TrackBudget,
) => Promise<Demuxer>;

export interface HlsOptions {
  readonly client: HttpClient;
  readonly logger: Logger;
  readonly openSegment: OpenSegment;
  readonly budget: TrackBudget;
  /** Aborts the opening; afterwards use `close`. */
  readonly signal: AbortSignal;
  /** The plugin's track link that `url` came from. Its headers are sent with every request. */
  readonly link?: TrackLink | undefined;
  /** The address that redirected to `url`; default: `url`. */
  readonly originUrl?: URL | undefined;
  /** It is only opened to see what it is: trouble that may pass is waited for less long. */
  readonly isProbe?: boolean | undefined;
}

/** Half a second in all: the time of a load is short, and its client may load again. */
const PROBE_TRIES_MAX = 2;

/** Segments in a row that may be missing or damaged before the stream is given up. */
const BAD_SEGMENTS_MAX = 3;
/** Like the limit for failed segments, for valid segments without audio: fetching must not continue forever unheard. */
const SILENT_SEGMENTS_MAX = 10;
/** Decoded before a seek target so that it sounds right: 80 ms for Opus, a few frames for MP3 and AAC. */
const PRE_ROLL_MS = 100;
/** Rounding of the sums of segments' lengths. */
const SAME_END_MS = 1;
/** How far the first packets of a segment may lie before its start and still be encoder delay, not another clock. */
const ENCODER_DELAY_MS_MAX = 500;

/** How far the media's clock and the playlist's durations may differ and still count as the same. */
const CLOCK_ERROR_MS_MAX = 1_000;

/** A segment that is loading or ready; resolves to undefined when the stream has ended in the meantime. */
interface Fetch {
  readonly loading: Promise<FetchedSegment | undefined>;
}

/** The requested segment, or its replacement where the link has been renewed. */
interface FetchedSegment extends LoadedSegment {
  readonly requested: HlsSegment;
  readonly segment: HlsSegment;
  readonly isByTime: boolean;
}

/** The segment whose packets are being returned. */
interface OpenedSegment {
  readonly segment: HlsSegment;
  readonly demuxer: Demuxer;
  readonly clockMs: number | undefined;
  /** Offset added to its packets' times; undefined until the first packet arrives. */
  shiftMs: number | undefined;
}

export class HlsDemuxer implements Demuxer {
  readonly #options: HlsOptions;
  readonly #list: SegmentList;
  readonly #loader: SegmentLoader;
  /** Aborts requests in flight; replaced at a seek. */
  #abort = new AbortController();
  #current: OpenedSegment | undefined;
  #ahead: Promise<Fetch | undefined> | undefined;
  #stream: AudioStream | undefined;
  /** Where the next segment begins if it follows the last one; undefined: where the playlist says. */
  #timeMs: number | undefined = 0;
  #lastSegment: HlsSegment | undefined;
  /** Offset from the media's own clock to ours, measured at the first segment; valid until a discontinuity. */
  #clock: { readonly discontinuity: number; readonly offsetMs: number } | undefined;
  /** Packets that end before this are left out after a seek. */
  #fromMs = Number.NEGATIVE_INFINITY;
  /**
   * True after other segments have taken over: then packets with less than half of their audio after `#fromMs` are left
   * out too.
   */
  #isJoining = false;
  #badSegments = 0;
  /** Why the first of the bad segments failed. */
  #failure: unknown;
  #silentSegments = 0;
  #isClosed = false;

  /** Opens the playlist (master or media) at `url` and its first segment. */
  static async open(url: URL, options: HlsOptions): Promise<HlsDemuxer> {
    const retryLimits = options.isProbe === true ? { triesMax: PROBE_TRIES_MAX } : undefined;
    const access = { ...options, pace: new RequestPace(options.budget), retryLimits };
    const list = await SegmentList.open(url, access, options.signal);
    const demuxer = new HlsDemuxer(list, new SegmentLoader(access), options);
    const stopListening = onAbort(options.signal, () => demuxer.close());
    try {
      options.signal.throwIfAborted();
      if (!(await demuxer.#openNext())) throw demuxer.#failure ?? unplayableError(undefined);
      return demuxer;
    } catch (error) {
      demuxer.close();
      // A failed segment is the reason, unless the opening was ended.
      throw options.signal.aborted || demuxer.#failure === undefined ? error : unplayableError(error);
    } finally {
      stopListening();
    }
  }

  private constructor(list: SegmentList, loader: SegmentLoader, options: HlsOptions) {
    this.#list = list;
    this.#options = options;
    this.#loader = loader;
  }

  get info(): ContainerInfo {
    return {
      probeName: "m3u|hls-outer",
      title: undefined,
      author: undefined,
      isrc: undefined,
      artworkUrl: undefined,
      lengthMs: this.#list.lengthMs,
    };
  }

  get stream(): AudioStream {
    if (this.#stream === undefined) throw closedError(); // Set by `open` before it returns the demuxer.
    return this.#stream;
  }

  get isSeekable(): boolean {
    return this.#list.lengthMs !== undefined;
  }

  async next(): Promise<Packet | undefined> {
    for (;;) {
      if (this.#isClosed) throw closedError();
      const current = this.#current;
      const packet = await this.#nextOf(current);
      if (current !== this.#current) continue; // A seek happened in between.
      if (packet !== undefined && current !== undefined) {
        this.#stream = continuedStream(this.#stream, current.demuxer.stream);
        const aligned = this.#align(packet, current);
        if (this.#isNeeded(aligned)) return aligned;
        if (this.#options.budget.isSpent) await this.#options.budget.yield();
      } else {
        if (current !== undefined && current.shiftMs === undefined) this.#countSilentSegment();
        if (!(await this.#openNext())) return undefined;
      }
    }
  }

  async seek(positionMs: number): Promise<void> {
    if (this.#isClosed) throw closedError();
    if (!this.isSeekable) throw new NodeError("media-not-seekable", "seeking in a live HLS stream is not possible");
    this.#drop(closedError());
    this.#abort = new AbortController();
    this.#list.seek(Math.max(0, positionMs - PRE_ROLL_MS));
    this.#fromMs = positionMs - PRE_ROLL_MS;
    this.#isJoining = false;
    this.#timeMs = undefined;
    this.#badSegments = 0;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#drop(closedError());
    this.#list.close();
    this.#loader.close();
  }

  #drop(reason: Error): void {
    this.#abort.abort(reason);
    this.#current?.demuxer.close();
    this.#current = undefined;
    const ahead = this.#ahead;
    this.#ahead = undefined;
    // Its result is no longer needed, whether it succeeded or failed.
    ahead?.then((fetch) => fetch?.loading.then((loaded) => loaded?.source.close())).catch(() => undefined);
  }

  /** The segment's next packet, or undefined at its end, also where it is damaged. */
  async #nextOf(current: OpenedSegment | undefined): Promise<Packet | undefined> {
    try {
      return await current?.demuxer.next();
    } catch (error) {
      if (this.#isClosed || this.#current !== current) return undefined;
      this.#countBadSegment(error);
      return undefined;
    }
  }

  /** Opens the segment that follows; false at the end of the stream. */
  async #openNext(): Promise<boolean> {
    const { signal } = this.#abort;
    this.#endCurrent();
    for (;;) {
      const pending = this.#ahead ?? this.#fetchNext(signal);
      this.#ahead = undefined;
      try {
        const fetch = await pending;
        if (fetch === undefined) return false;
        const loaded = await fetch.loading;
        if (loaded === undefined) return false;
        if (signal.aborted) {
          loaded.source.close();
          return this.#afterAbort();
        }
        await this.#openSegment(loaded, signal);
        if (signal.aborted) return this.#afterAbort();
        this.#ahead = this.#fetchNext(signal);
        // Reported by the next caller that awaits it.
        this.#ahead.catch(() => undefined);
        return true;
      } catch (error) {
        if (signal.aborted) return this.#afterAbort();
        this.#countBadSegment(error);
      }
    }
  }

  /** True after a seek: the caller must check again. False after a close. */
  #afterAbort(): boolean {
    if (this.#isClosed) throw closedError();
    return true;
  }

  #endCurrent(): void {
    this.#current?.demuxer.close();
    this.#current = undefined;
  }

  async #fetchNext(signal: AbortSignal): Promise<Fetch | undefined> {
    // When nothing could be played yet, segments that may follow are not waited for: the opening fails with the reason.
    const mayWait = this.#lastSegment !== undefined || this.#badSegments === 0;
    const segment = await this.#list.next(signal, mayWait);
    if (segment === undefined) return undefined;
    const loading = this.#load(segment, signal);
    // Reported by the next caller that awaits it.
    loading.catch(() => undefined);
    return { loading };
  }

  /** Loads a segment; where the link or its address has expired, from the playlist as it is then. */
  async #load(requested: HlsSegment, signal: AbortSignal): Promise<FetchedSegment | undefined> {
    const { link } = this.#options;
    let found: RenewedSegment = { segment: requested, isByTime: false };
    if (this.#list.isStale) found = await this.#list.renew(requested, undefined, signal);
    for (let isRenewed = false; ; isRenewed = true) {
      const { segment, isByTime } = found;
      if (segment === undefined) return undefined;
      try {
        const loaded = await this.#loader.load(segment, signal);
        link?.noteGood();
        this.#list.noteLoaded();
        return { ...loaded, requested, segment, isByTime };
      } catch (error) {
        if (signal.aborted) throw error;
        const status = refusalStatusOf(error);
        if (link === undefined) {
          const fresh = await this.#list.findFresh(segment, error, signal);
          if (fresh === undefined) throw error;
          found = fresh;
        } else {
          if (status === undefined) throw error;
          if (isRenewed && status !== BAN_STATUS) throw refusedAgainError(segment.url, status);
          found = await this.#list.renew(segment, status, signal);
        }
        if (isByTime) found = { ...found, isByTime };
      }
    }
  }

  async #openSegment(loaded: FetchedSegment, signal: AbortSignal): Promise<void> {
    const { source, clockMs, requested, segment, isByTime } = loaded;
    const { openSegment, budget } = this.#options;
    const fileName = segment.url.pathname.split("/").at(-1);
    try {
      const hints = { mimeType: source.mimeType, fileName, isLengthNeeded: false, signal };
      const demuxer = await openSegment(source, hints, budget);
      if (signal.aborted) return demuxer.close();
      const before = this.#lastSegment;
      const isNeighbour = before === undefined || requested.sequence === before.sequence + 1;
      if (isByTime) this.#join();
      // In a finished stream, the segments left out in between keep their time.
      if (!isNeighbour && this.isSeekable) this.#timeMs = undefined;
      if (before !== undefined && before.discontinuity !== segment.discontinuity) this.#stream = undefined;
      this.#stream = continuedStream(this.#stream, demuxer.stream);
      this.#lastSegment = segment;
      this.#current = { segment, demuxer, clockMs, shiftMs: undefined };
    } catch (error) {
      source.close();
      const isUnknown = error instanceof NodeError && error.code === "media-unknown-format";
      throw isUnknown && segment.key !== undefined ? wrongKeyError(error) : error;
    }
  }

  /** Other segments take over: their part that was already played from the earlier ones is left out. */
  #join(): void {
    if (this.#timeMs === undefined) return; // After a seek its own position counts.
    this.#fromMs = this.#timeMs;
    this.#isJoining = true;
    this.#timeMs = undefined;
  }

  #isNeeded({ timestampMs, durationMs }: Packet): boolean {
    return timestampMs + (this.#isJoining ? durationMs / 2 : durationMs) > this.#fromMs;
  }

  /** Records the error and continues, unless it is one too many or permanent. */
  #countBadSegment(error: unknown): void {
    if (error instanceof InputReplacedError) throw error;
    if (error instanceof PlaylistLostError) throw error;
    this.#failure = this.#badSegments === 0 ? error : this.#failure;
    this.#badSegments++;
    const code = error instanceof NodeError ? error.code : "internal";
    // The segments that follow are at the same place; only a stream that plays already waits for it.
    const isHopeless = code === "input-unreachable" && this.#lastSegment === undefined;
    const isSkippable = !isHopeless && (code.startsWith("media-") || code.startsWith("input-"));
    if (!isSkippable || this.#badSegments > BAD_SEGMENTS_MAX) throw error;
    this.#options.logger.debug("HLS segment failed: skipping it", { error });
  }

  #countSilentSegment(): void {
    this.#silentSegments++;
    if (this.#silentSegments <= SILENT_SEGMENTS_MAX) return;
    const reason = `${this.#silentSegments} segments in a row hold no audio`;
    throw new NodeError("media-damaged", `following an HLS stream: ${reason}`);
  }

  #align(packet: Packet, current: OpenedSegment): Packet {
    this.#badSegments = 0;
    this.#silentSegments = 0;
    current.shiftMs ??= this.#shiftOf(packet, current);
    const timestampMs = packet.timestampMs + current.shiftMs;
    this.#timeMs = timestampMs + packet.durationMs;
    return { ...packet, timestampMs, trimEndSamples: this.#isContinued(current) ? 0 : packet.trimEndSamples };
  }

  /** A fragment of MP4 is only a part of its track: a short last sample is padded only in the last segment. */
  #isContinued({ segment, demuxer }: OpenedSegment): boolean {
    const endMs = segment.startMs + segment.durationMs;
    const isLast = endMs >= (this.#list.lengthMs ?? Number.POSITIVE_INFINITY) - SAME_END_MS;
    return !isLast && demuxer.info.probeName === "mp4";
  }

  /**
   * The offset that moves the segment's first packet to the end of the last segment, or to the segment's position in
   * the playlist.
   */
  #shiftOf({ timestampMs }: Packet, { segment, clockMs }: OpenedSegment): number {
    const expectedMs = this.#timeMs ?? segment.startMs;
    // Encoder delay at the very start keeps its negative times, to be dropped by the pipeline.
    const isDelay = expectedMs === 0 && timestampMs < 0 && timestampMs >= -ENCODER_DELAY_MS_MAX;
    const shiftMs = isDelay ? 0 : expectedMs - timestampMs;
    this.#clock ??= { discontinuity: segment.discontinuity, offsetMs: shiftMs - (clockMs ?? 0) };
    if (this.#timeMs !== undefined || this.#clock.discontinuity !== segment.discontinuity) return shiftMs;
    // Without a clock, a segment whose times begin at 0 has its own time base.
    if (clockMs === undefined && Math.abs(timestampMs) < ENCODER_DELAY_MS_MAX) return shiftMs;
    // The media's own clock is more exact than the durations of the playlist, if it continues from segment to segment.
    const distanceMs = this.#clock.offsetMs + (clockMs ?? 0) - shiftMs;
    const errorMs = distanceMs - Math.round(distanceMs / CLOCK_WRAP_MS) * CLOCK_WRAP_MS;
    return Math.abs(errorMs) <= CLOCK_ERROR_MS_MAX ? shiftMs + errorMs : shiftMs;
  }
}

/** The error for a stream of which no segment could be opened, with the reason of the first that failed. */
function unplayableError(failure: unknown): NodeError {
  const message = "opening an HLS stream: no segment of it can be played";
  if (!(failure instanceof NodeError)) return new NodeError("hls-playlist-invalid", message);
  // The playlist itself is there: to clients a missing segment is an error, not an empty result.
  const code = failure.code === "input-not-found" ? "hls-playlist-invalid" : failure.code;
  return new NodeError(code, `${message}: ${failure.message}`, { cause: failure });
}

/** The stream to report: the same object as long as nothing about it changed, so that decoders continue. */
function continuedStream(shown: AudioStream | undefined, found: AudioStream): AudioStream {
  if (shown === undefined || shown === found) return found;
  const isSame =
    shown.codec === found.codec &&
    shown.sampleRateHz === found.sampleRateHz &&
    shown.channelCount === found.channelCount &&
    JSON.stringify(shown.pcm) === JSON.stringify(found.pcm) &&
    isSameBytes(shown.description, found.description);
  return isSame ? shown : found;
}

function isSameBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return Buffer.compare(a, b) === 0;
}
