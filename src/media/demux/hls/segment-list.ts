// Which HLS segment comes next: walks a finished playlist, and for a live one loads it again as the standard says,
// starts near the live edge and catches up when it fell out of the window. Audio thread.

import { NodeError } from "../../../errors.ts";
import { pause } from "../../../lib/pause.ts";
import type { Logger } from "../../../log.ts";
import type { HttpClient } from "../../input/http-client.ts";
import { type Downloaded, download, downloadIfChanged } from "../../input/http-download.ts";
import type { Validator } from "../../input/http-headers.ts";
import type { RequestPace } from "../../input/request-pace.ts";
import { type HlsMaster, readHlsPlaylist } from "./hls-playlist.ts";
import type { HlsSegment } from "./hls-segment.ts";
import type { MediaPlaylist } from "./media-playlist.ts";
import { chooseVariants } from "./variant-choice.ts";

export interface SegmentListOptions {
  readonly client: HttpClient;
  readonly pace: RequestPace;
  readonly logger: Logger;
}

/** A hundred thousand segments at 80 bytes each, or ten thousand with signed addresses. */
const PLAYLIST_BYTES_MAX = 8 * 1024 * 1024;
/** How many streams of a master playlist are tried. */
const VARIANTS_TRIED_MAX = 3;
/** A live playlist that has not moved for this long is given up; at least IDLE_MS_MIN. */
const IDLE_TARGETS_MAX = 10;
const IDLE_MS_MIN = 60_000;
/** A live playlist is loaded again no sooner than this, and a large one not until reading it was worth the while. */
const RELOAD_MS_MIN = 1_000;
const RELOAD_BYTES_PER_MS = 512;
/** Caches may hand out an old playlist once or twice; after that the stream has begun anew. */
const BACKWARD_LOADS_MAX = 3;

interface Loaded<Playlist> {
  readonly playlist: Playlist;
  readonly url: URL;
  readonly validator: Validator;
}

/** What to hand out next. */
type Next =
  | { readonly kind: "sequence"; readonly sequence: number }
  | { readonly kind: "position"; readonly positionMs: number }
  | { readonly kind: "live edge" };

export class SegmentList {
  readonly #options: SegmentListOptions;
  readonly #url: URL;
  #playlist: MediaPlaylist;
  #validator: Validator;
  #loadedAtMs: number;
  /** When the playlist last brought something new. */
  #movedAtMs: number;
  #hasMoved = true;
  #next: Next;
  #backwardLoads = 0;

  /**
   * Opens the playlist at `url`, or of a master playlist the stream that suits best and can be loaded.
   * @throws NodeError "hls-playlist-invalid", "hls-unsupported" and those of downloads
   */
  static async open(url: URL, options: SegmentListOptions, signal: AbortSignal): Promise<SegmentList> {
    const outer = await loadPlaylist(url, options, signal);
    if (isMedia(outer)) return new SegmentList(outer, options);
    const candidates = outer.playlist.kind === "master" ? chooseVariants(outer.playlist) : [];
    let failure: unknown;
    for (const candidate of candidates.slice(0, VARIANTS_TRIED_MAX)) {
      try {
        const inner = await loadPlaylist(candidate, options, signal);
        if (isMedia(inner)) return new SegmentList(inner, options);
        failure = new NodeError("hls-playlist-invalid", "reading an HLS playlist: a master playlist within another");
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    throw failure;
  }

  private constructor({ url, playlist, validator }: Loaded<MediaPlaylist>, options: SegmentListOptions) {
    if (playlist.segmentCount === 0 && playlist.isEnded) {
      playlist.close();
      throw new NodeError("hls-playlist-invalid", "reading an HLS playlist: it names no segments");
    }
    this.#options = options;
    this.#url = url;
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
    return this.#playlist.isEnded && this.#playlist.segmentCount > 0 ? this.#playlist.endMs : undefined;
  }

  /** The segment that follows, or undefined after the last. Of a live stream it may take a while to appear. */
  async next(signal: AbortSignal): Promise<HlsSegment | undefined> {
    for (;;) {
      const segment = await this.#find();
      signal.throwIfAborted();
      if (segment !== undefined) {
        this.#next = { kind: "sequence", sequence: segment.sequence + 1 };
        return segment;
      }
      if (this.#playlist.isEnded) return undefined;
      await this.#reload(signal);
    }
  }

  /** Makes the segment that holds this position (of a finished playlist) the next one. */
  seek(positionMs: number): void {
    this.#next = { kind: "position", positionMs };
  }

  /** Gives the memory of the playlist back. */
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
    this.#options.logger.debug("fell behind a live stream, going on near its edge");
    return playlist.liveStart();
  }

  /** Loads the playlist again: a target duration after the last time, half of one if that brought nothing new. */
  async #reload(signal: AbortSignal): Promise<void> {
    const { clock, upstream } = this.#options.pace.budget;
    const { targetDurationMs, sizeBytes } = this.#playlist;
    const wantedMs = this.#hasMoved ? targetDurationMs : targetDurationMs / 2;
    const dueMs = this.#loadedAtMs + Math.max(RELOAD_MS_MIN, sizeBytes / RELOAD_BYTES_PER_MS, wantedMs);
    if (dueMs > clock.now()) await upstream.await(pause(clock, dueMs - clock.now(), signal));
    signal.throwIfAborted();
    const loaded = await loadPlaylistIfChanged(this.#url, this.#options, { signal, known: this.#validator });
    if (loaded !== undefined && !isMedia(loaded)) {
      throw new NodeError("hls-playlist-invalid", "reading an HLS playlist: it changed kind");
    }
    if (signal.aborted) loaded?.playlist.close();
    signal.throwIfAborted();
    this.#accept(loaded);
    if (clock.now() - this.#movedAtMs > Math.max(IDLE_TARGETS_MAX * targetDurationMs, IDLE_MS_MIN)) {
      throw new NodeError("input-interrupted", "following a live stream: its playlist has not moved for a long time");
    }
  }

  /** @param loaded undefined: nothing has changed */
  #accept(loaded: Loaded<MediaPlaylist> | undefined): void {
    this.#loadedAtMs = this.#nowMs;
    this.#hasMoved = false;
    if (loaded === undefined) return;
    const { playlist, validator } = loaded;
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
    this.#playlist = playlist;
    this.#validator = validator;
  }
}

function lastSequenceOf(playlist: MediaPlaylist): number {
  return playlist.segmentCount === 0 ? -1 : playlist.lastSequence;
}

function isMedia(loaded: Loaded<HlsMaster | MediaPlaylist>): loaded is Loaded<MediaPlaylist> {
  return loaded.playlist.kind === "media";
}

async function loadPlaylist(
  url: URL,
  options: SegmentListOptions,
  signal: AbortSignal,
): Promise<Loaded<HlsMaster | MediaPlaylist>> {
  const { client, pace } = options;
  return read(await download(url, { client, pace, signal, sizeBytesMax: PLAYLIST_BYTES_MAX }), pace);
}

/** Undefined: it is as it was. */
async function loadPlaylistIfChanged(
  url: URL,
  { client, pace }: SegmentListOptions,
  options: { readonly signal: AbortSignal; readonly known: Validator },
): Promise<Loaded<HlsMaster | MediaPlaylist> | undefined> {
  const loaded = await downloadIfChanged(url, { client, pace, ...options, sizeBytesMax: PLAYLIST_BYTES_MAX });
  return loaded && read(loaded, pace);
}

async function read(loaded: Downloaded, { budget }: RequestPace): Promise<Loaded<HlsMaster | MediaPlaylist>> {
  const { data, url, validator } = loaded;
  return { playlist: await readHlsPlaylist(data, url, budget), url, validator };
}
