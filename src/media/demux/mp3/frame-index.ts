// Which byte each MP3 frame starts at, as far as it was read: grows while the file plays and while a seek counts its
// way forward, so that no frame is counted twice. Audio thread.

/** One entry per this many frames (about 0.8 s). */
const STRIDE_FRAMES = 32;
/** 29 hours; what lies behind is counted from the last entry. */
const ENTRY_COUNT_MAX = 131_072;

export interface FramePlace {
  readonly frame: number;
  readonly positionBytes: number;
}

export class FrameIndex {
  readonly #positions: number[] = [];
  readonly #extra: FramePlace[] = [];

  /** Notes where a frame starts. Frames may come in any order; what does not continue the index is let go. */
  add(frame: number, positionBytes: number): void {
    const isNext = frame === this.#positions.length * STRIDE_FRAMES;
    if (isNext && this.#positions.length < ENTRY_COUNT_MAX) this.#positions.push(positionBytes);
  }

  /** Notes a frame known from a table, ahead of what was read; in order of frames. */
  addAhead(frame: number, positionBytes: number): void {
    if (this.#extra.length < ENTRY_COUNT_MAX) this.#extra.push({ frame, positionBytes });
  }

  /** The last known frame at or before `frame`; undefined before the first was added. */
  before(frame: number): FramePlace | undefined {
    const entry = Math.min(Math.floor(frame / STRIDE_FRAMES), this.#positions.length - 1);
    const positionBytes = this.#positions[entry];
    const read = positionBytes === undefined ? undefined : { frame: entry * STRIDE_FRAMES, positionBytes };
    const ahead = this.#extra.findLast((place) => place.frame <= frame);
    return ahead !== undefined && (read === undefined || ahead.frame > read.frame) ? ahead : read;
  }
}
