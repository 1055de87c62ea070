// Which HLS segment comes next: walks a finished playlist, and for a live one loads it again as the standard says, starts
// near the live edge and catches up when it fell out of the window. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../log.ts";
import type { HttpClient } from "../http-client.ts";
import { download } from "../http-download.ts";
import { decodeText } from "../legacy-text.ts";
import { pause } from "../retry-budget.ts";
import { type HlsMedia, type HlsSegment, parseHlsPlaylist } from "./hls-playlist.ts";
import { chooseVariants } from "./variant-choice.ts";

export interface SegmentListOptions {
  readonly client: HttpClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** SEGMENTS_MAX of hls-playlist.ts at 80 bytes each. */
const PLAYLIST_BYTES_MAX = 8 * 1024 * 1024;
/** How many streams of a master playlist are tried. */
const VARIANTS_TRIED_MAX = 3;
/** RFC 8216 section 6.3.3: live playback starts at least this many target durations before the end. */
const LIVE_EDGE_TARGETS = 3;
/** A live playlist that has not moved for this long is given up; at least IDLE_MS_MIN. */
const IDLE_TARGETS_MAX = 10;
const IDLE_MS_MIN = 60_000;
/** Caches may hand out an old playlist once or twice; after that the stream has begun anew. */
const BACKWARD_LOADS_MAX = 3;

export class SegmentList {
  readonly #options: SegmentListOptions;
  readonly #url: URL;
  #playlist: HlsMedia;
  #loadedAtMs: number;
  /** When the playlist last brought something new. */
  #movedAtMs: number;
  #hasMoved = true;
  /** Number of the segment to hand out next. */
  #next: number;
  #backwardLoads = 0;

  /**
   * Opens the playlist at `url`, or of a master playlist the stream that suits best and can be loaded.
   * @throws NodeError "hls-playlist-invalid", "hls-unsupported" and those of downloads
   */
  static async open(url: URL, options: SegmentListOptions, signal: AbortSignal): Promise<SegmentList> {
    const outer = await loadPlaylist(url, options, signal);
    if (outer.playlist.kind === "media") return new SegmentList(outer.url, outer.playlist, options);
    let failure: unknown;
    for (const candidate of chooseVariants(outer.playlist).slice(0, VARIANTS_TRIED_MAX)) {
      try {
        const inner = await loadPlaylist(candidate, options, signal);
        if (inner.playlist.kind === "media") return new SegmentList(inner.url, inner.playlist, options);
        failure = new NodeError("hls-playlist-invalid", "reading an HLS playlist: a master playlist within another");
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    throw failure;
  }

  private constructor(url: URL, playlist: HlsMedia, options: SegmentListOptions) {
    if (playlist.segments.length === 0 && playlist.isEnded) {
      throw new NodeError("hls-playlist-invalid", "reading an HLS playlist: it names no segments");
    }
    this.#options = options;
    this.#url = url;
    this.#playlist = playlist;
    this.#loadedAtMs = options.clock.now();
    this.#movedAtMs = this.#loadedAtMs;
    this.#next = playlist.isEnded ? (playlist.segments[0]?.sequence ?? 0) : liveStart(playlist);
  }

  /** Whole length in milliseconds; undefined while live. */
  get lengthMs(): number | undefined {
    const last = this.#playlist.segments.at(-1);
    return this.#playlist.isEnded && last !== undefined ? last.startMs + last.durationMs : undefined;
  }

  /** The segment that follows, or undefined after the last. Of a live stream it may take a while to appear. */
  async next(signal: AbortSignal): Promise<HlsSegment | undefined> {
    for (;;) {
      const segment = this.#find();
      if (segment !== undefined) {
        this.#next = segment.sequence + 1;
        return segment;
      }
      if (this.#playlist.isEnded) return undefined;
      await this.#reload(signal);
    }
  }

  /** Makes the segment that holds this position (of a finished playlist) the next one, and answers it. */
  seek(positionMs: number): HlsSegment | undefined {
    const { segments } = this.#playlist;
    const found = segments.find(({ startMs, durationMs }) => positionMs < startMs + durationMs);
    this.#next = found?.sequence ?? (segments.at(-1)?.sequence ?? 0) + 1;
    return found;
  }

  #find(): HlsSegment | undefined {
    const { segments, isEnded } = this.#playlist;
    const first = segments[0];
    if (first === undefined) return undefined;
    if (!isEnded && this.#next < first.sequence) {
      this.#options.logger.debug("fell behind a live stream, going on near its edge");
      this.#next = liveStart(this.#playlist);
    }
    return segments.find(({ sequence, isGap }) => sequence >= this.#next && !isGap);
  }

  /** Loads the playlist again: a target duration after the last time, half of one if that brought nothing new. */
  async #reload(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const { targetDurationMs } = this.#playlist;
    const dueMs = this.#loadedAtMs + (this.#hasMoved ? targetDurationMs : targetDurationMs / 2);
    if (dueMs > clock.now()) await pause(clock, dueMs - clock.now(), signal);
    signal.throwIfAborted();
    const { playlist } = await loadPlaylist(this.#url, this.#options, signal);
    if (playlist.kind !== "media")
      throw new NodeError("hls-playlist-invalid", "reading an HLS playlist: it changed kind");
    this.#accept(playlist);
    if (clock.now() - this.#movedAtMs > Math.max(IDLE_TARGETS_MAX * targetDurationMs, IDLE_MS_MIN)) {
      throw new NodeError("input-interrupted", "following a live stream: its playlist has not moved for a long time");
    }
  }

  #accept(playlist: HlsMedia): void {
    const { clock } = this.#options;
    const lastBefore = this.#playlist.segments.at(-1)?.sequence ?? -1;
    const last = playlist.segments.at(-1)?.sequence ?? -1;
    this.#loadedAtMs = clock.now();
    this.#hasMoved = last !== lastBefore || playlist.isEnded;
    if (last < lastBefore) {
      this.#backwardLoads++;
      if (this.#backwardLoads < BACKWARD_LOADS_MAX) return;
      this.#next = liveStart(playlist);
    }
    this.#backwardLoads = 0;
    if (this.#hasMoved) this.#movedAtMs = this.#loadedAtMs;
    this.#playlist = playlist;
  }
}

/** Number of the last segment that begins three target durations or more before the end, or of the first. */
function liveStart({ segments, targetDurationMs }: HlsMedia): number {
  const last = segments.at(-1);
  if (last === undefined) return 0;
  const latestMs = last.startMs + last.durationMs - LIVE_EDGE_TARGETS * targetDurationMs;
  return (segments.findLast(({ startMs }) => startMs <= latestMs) ?? segments[0] ?? last).sequence;
}

async function loadPlaylist(
  url: URL,
  { client, clock }: SegmentListOptions,
  signal: AbortSignal,
): Promise<{ readonly playlist: ReturnType<typeof parseHlsPlaylist>; readonly url: URL }> {
  const loaded = await download(url, { client, clock, signal, sizeBytesMax: PLAYLIST_BYTES_MAX });
  return { playlist: parseHlsPlaylist(decodeText(loaded.bytes), loaded.url), url: loaded.url };
}
