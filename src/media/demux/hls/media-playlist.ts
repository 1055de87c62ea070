// The segments of an HLS media playlist, stored as the received text: a hundred thousand of them take no more memory
// than their bytes. The text is walked through once, in time slices, and later from the nearest position recorded on
// the way. Audio thread.

import type { ByteWindow } from "../../input/byte-window.ts";
import type { TrackBudget } from "../../quota/track-budget.ts";
import { parseAttributes, parseByteRange, parseHex } from "./hls-attributes.ts";
import type { HlsKey, HlsPart, HlsSegment } from "./hls-segment.ts";
import { invalidPlaylist } from "./playlist-errors.ts";
import { PlaylistLines } from "./playlist-lines.ts";
import { resolveUrl } from "./resolve-url.ts";
import { type FoundSegment, SegmentWalk, WALK_START, type WalkPosition } from "./segment-walk.ts";

/** A day of one-second segments. */
const SEGMENTS_MAX = 100_000;
/** A position is recorded once per this many segments; it takes about this many bytes of memory. */
const SEGMENTS_PER_POSITION = 64;
const NEWLINE = 0x0a;
const POSITION_BYTES = 256;
const TARGET_MS_MIN = 1_000;
const TARGET_MS_MAX = 60_000;
/** RFC 8216 section 6.3.3: live playback starts at least this many target durations before the end. */
const LIVE_EDGE_TARGETS = 3;

/** False: the last line may be cut off. */
export function endsInNewline(data: ByteWindow): boolean {
  const { endBytes } = data;
  return endBytes > 0 && data.read(endBytes - 1, 1)?.[0] === NEWLINE;
}

export class MediaPlaylist {
  readonly kind = "media";
  readonly #data: ByteWindow;
  readonly #base: URL;
  readonly #budget: TrackBudget;
  /** Recorded positions, in order. */
  readonly #positions: WalkPosition[] = [WALK_START];
  /** The last walk, while unused: most often the next one continues from there. */
  #walk: SegmentWalk | undefined;
  #firstSequence = 0;
  #segmentCount = 0;
  #endMs = 0;
  #targetDurationMs = 0;
  #isEnded = false;

  /**
   * Takes ownership of the text and walks through it once. Undefined: it is a master playlist.
   * @throws NodeError "hls-playlist-invalid", "hls-unsupported", "memory-exhausted"
   */
  static async read(data: ByteWindow, base: URL, budget: TrackBudget): Promise<MediaPlaylist | undefined> {
    const playlist = new MediaPlaylist(data, base, budget);
    try {
      return (await playlist.#recordAll()) ? playlist : undefined;
    } finally {
      budget.pause();
    }
  }

  private constructor(data: ByteWindow, base: URL, budget: TrackBudget) {
    this.#data = data;
    this.#base = base;
    this.#budget = budget;
  }

  get sizeBytes(): number {
    return this.#data.endBytes;
  }

  get segmentCount(): number {
    return this.#segmentCount;
  }

  get firstSequence(): number {
    return this.#firstSequence;
  }

  /** Sequence number of the last segment; one less than the first when there is none. */
  get lastSequence(): number {
    return this.#firstSequence + this.#segmentCount - 1;
  }

  get targetDurationMs(): number {
    return this.#targetDurationMs;
  }

  /** True: nothing will be added any more. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** False: its last line may be cut off. */
  get endsInNewline(): boolean {
    return endsInNewline(this.#data);
  }

  /** Where the last segment ends. */
  get endMs(): number {
    return this.#endMs;
  }

  /** The first available segment from this number on; undefined when there is none. */
  async segmentFrom(sequence: number): Promise<HlsSegment | undefined> {
    const walk = this.#walkFrom((position) => position.sequence <= sequence, sequence);
    for (;;) {
      const found = await this.#nextOn(walk);
      if (found === undefined) return undefined;
      const segment = found.sequence < sequence || found.isGap ? undefined : this.#resolve(found);
      if (segment === undefined) continue;
      this.#walk = walk;
      return segment;
    }
  }

  /** Number of the segment that holds this position, or the one after the last. */
  async sequenceAt(positionMs: number): Promise<number> {
    const walk = this.#walkFrom(({ startMs }) => startMs <= positionMs);
    for (;;) {
      const found = await this.#nextOn(walk);
      if (found === undefined) return this.lastSequence + 1;
      if (positionMs < found.startMs + found.durationMs) return found.sequence;
    }
  }

  /** Number of the last segment that begins three target durations or more before the end, or of the first. */
  async liveStart(): Promise<number> {
    const latestMs = this.#endMs - LIVE_EDGE_TARGETS * this.#targetDurationMs;
    const walk = this.#walkFrom(({ startMs }) => startMs <= latestMs);
    let sequence = Math.max(this.#firstSequence, walk.sequence);
    for (;;) {
      const found = await this.#nextOn(walk);
      if (found === undefined || found.startMs > latestMs) return sequence;
      sequence = found.sequence;
    }
  }

  /** Releases the memory; nothing is found afterwards. */
  close(): void {
    this.#budget.memory.release((this.#positions.length - 1) * POSITION_BYTES);
    this.#positions.length = 1;
    this.#data.reset(0);
  }

  async #recordAll(): Promise<boolean> {
    const walk = new SegmentWalk(this.#data, this.#base, WALK_START);
    let longestMs = 0;
    for (let found = await this.#nextOn(walk); found !== undefined; found = await this.#nextOn(walk)) {
      if (walk.isMaster) return false;
      if (this.#segmentCount === 0) this.#firstSequence = found.sequence;
      if (++this.#segmentCount > SEGMENTS_MAX) throw invalidPlaylist(`it has more than ${SEGMENTS_MAX} segments`);
      longestMs = Math.max(longestMs, found.durationMs);
      this.#endMs = found.startMs + found.durationMs;
      if (this.#segmentCount % SEGMENTS_PER_POSITION === 0) this.#recordPosition(walk.position);
    }
    const targetMs = this.#targetMsOf(walk.targetDurationMs, longestMs);
    this.#targetDurationMs = Math.min(Math.max(targetMs, TARGET_MS_MIN), TARGET_MS_MAX);
    this.#isEnded = walk.isEnded;
    return !walk.isMaster;
  }

  /**
   * No segment is longer than the target duration, says the standard. Some playlists omit it or declare one that has
   * nothing to do with their segments: then these count.
   */
  #targetMsOf(declaredMs: number, longestMs: number): number {
    if (longestMs <= declaredMs) return longestMs || declaredMs;
    const usualMs = this.#endMs / this.#segmentCount;
    return declaredMs === 0 ? longestMs : Math.max(declaredMs, usualMs);
  }

  #recordPosition(position: WalkPosition): void {
    this.#budget.memory.take(POSITION_BYTES, "its playlist");
    this.#positions.push(position);
  }

  /** A walk from the last recorded position that fits, or the previous walk when that is nearer to this number. */
  #walkFrom(isBefore: (position: WalkPosition) => boolean, sequence?: number): SegmentWalk {
    let [low, high] = [0, this.#positions.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (isBefore(this.#positions[middle]!)) low = middle;
      else high = middle - 1;
    }
    const position = this.#positions[low]!;
    const known = this.#walk;
    const isNear =
      known !== undefined &&
      sequence !== undefined &&
      known.sequence <= sequence &&
      known.sequence >= position.sequence;
    if (!isNear) return new SegmentWalk(this.#data, this.#base, position);
    this.#walk = undefined;
    return known;
  }

  async #nextOn(walk: SegmentWalk): Promise<FoundSegment | undefined> {
    for (;;) {
      if (this.#budget.isSpent) await this.#budget.yield();
      const found = walk.step();
      if (found === "end") return undefined;
      if (found !== "none") return found;
    }
  }

  #resolve(found: FoundSegment): HlsSegment | undefined {
    const url = resolveUrl(found.address(), this.#base);
    if (url === undefined) return undefined;
    const { sequence, durationMs, startMs, discontinuity, range } = found;
    const key = this.#keyAt(found.keyAtBytes);
    const map = this.#mapAt(found.mapAtBytes, found.mapKeyAtBytes);
    return { url, range, key, map, sequence, durationMs, startMs, discontinuity };
  }

  #keyAt(atBytes: number | undefined): HlsKey | undefined {
    const attributes = this.#attributesAt(atBytes);
    const url = resolveUrl(attributes?.get("URI") ?? "", this.#base);
    return url && { url, iv: parseHex(attributes?.get("IV"), 16) };
  }

  #mapAt(atBytes: number | undefined, keyAtBytes: number | undefined): HlsPart | undefined {
    const attributes = this.#attributesAt(atBytes);
    const url = resolveUrl(attributes?.get("URI") ?? "", this.#base);
    return url && { url, range: parseByteRange(attributes?.get("BYTERANGE"), 0), key: this.#keyAt(keyAtBytes) };
  }

  #attributesAt(atBytes: number | undefined): ReturnType<typeof parseAttributes> | undefined {
    const line = atBytes === undefined ? undefined : new PlaylistLines(this.#data, atBytes).next();
    return line && parseAttributes(line.text());
  }
}
