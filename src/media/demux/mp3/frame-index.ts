// The byte position of each MP3 frame read so far: grows while the file plays and while a seek counts forward, so that
// no frame is counted twice. Audio thread.

import type { DemuxWork } from "../demux-work.ts";

/** One entry per this many frames (about 0.8 s). */
const STRIDE_FRAMES = 32;
/** 29 hours; frames behind are counted from the last entry. */
const ENTRY_COUNT_MAX = 131_072;
/** Entries per memory reservation: three minutes of music. */
const BLOCK_ENTRIES = 256;

export interface FramePosition {
  readonly frame: number;
  readonly positionBytes: number;
}

export class FrameIndex {
  readonly #work: DemuxWork;
  readonly #blocks: Float64Array[] = [];
  #count = 0;
  /** Positions from a table ahead of the frames read so far; in order of frames. */
  readonly #ahead: readonly FramePosition[];

  constructor(work: DemuxWork, ahead: readonly FramePosition[]) {
    this.#work = work;
    this.#ahead = ahead;
  }

  /** Records where a frame starts. Frames may come in any order; those that do not continue the index are dropped. */
  add(frame: number, positionBytes: number): void {
    const isNext = frame === this.#count * STRIDE_FRAMES;
    if (!isNext || this.#count >= ENTRY_COUNT_MAX) return;
    const within = this.#count % BLOCK_ENTRIES;
    if (within === 0) {
      // Without memory for more, frames behind are counted as well.
      if (!this.#work.tryTake(BLOCK_ENTRIES * Float64Array.BYTES_PER_ELEMENT, "the positions of its frames")) return;
      this.#blocks.push(new Float64Array(BLOCK_ENTRIES));
    }
    this.#blocks.at(-1)![within] = positionBytes;
    this.#count += 1;
  }

  /** The last known frame at or before `frame`; undefined before the first was added. */
  before(frame: number): FramePosition | undefined {
    const entry = Math.min(Math.floor(frame / STRIDE_FRAMES), this.#count - 1);
    const positionBytes = this.#blocks[Math.floor(entry / BLOCK_ENTRIES)]?.[entry % BLOCK_ENTRIES];
    const read = positionBytes === undefined ? undefined : { frame: entry * STRIDE_FRAMES, positionBytes };
    const ahead = this.#ahead.findLast((framePosition) => framePosition.frame <= frame);
    return ahead !== undefined && (read === undefined || ahead.frame > read.frame) ? ahead : read;
  }
}
