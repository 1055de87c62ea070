// Positions in a file and the times that begin there, as two arrays of numbers: the result of container indexes (cues
// of Matroska, `sidx` and `mfra` of MP4). Bounded, its memory counted. Audio thread.

import type { DemuxWork } from "./demux-work.ts";

/** A seek point per second for 18 hours. */
const COUNT_MAX = 65_536;
/** Initial capacity in entries; doubled when more come. */
const FIRST_COUNT = 64;
const ENTRY_BYTES = 2 * Float64Array.BYTES_PER_ELEMENT;

/** Where a reader may begin, and the time there. */
export interface SeekPoint {
  /** In the units of the table's creator. */
  readonly time: number;
  readonly positionBytes: number;
}

/** At most 65,536 seek points, 16 bytes each, in any order. A search goes through all of them, once per seek. */
export class SeekIndex {
  readonly #work: DemuxWork;
  #times = new Float64Array(0);
  #positions = new Float64Array(0);
  #count = 0;

  constructor(work: DemuxWork) {
    this.#work = work;
  }

  /** Seek points in the table. */
  get count(): number {
    return this.#count;
  }

  /** Adds a seek point; those beyond the limit are dropped. */
  add(time: number, positionBytes: number): void {
    if (this.#count >= COUNT_MAX || Number.isNaN(time)) return;
    if (this.#count === this.#times.length) this.#grow();
    this.#times[this.#count] = time;
    this.#positions[this.#count] = positionBytes;
    this.#count += 1;
  }

  /** Keeps its memory for the seek points that are added next. */
  clear(): void {
    this.#count = 0;
  }

  /** Releases its memory, before the reader is closed. */
  close(): void {
    this.#work.release(this.#times.length * ENTRY_BYTES);
    this.#count = 0;
    this.#times = new Float64Array(0);
    this.#positions = new Float64Array(0);
  }

  /** The latest seek point at or before `time`, whatever their order; undefined when there is none. */
  before(time: number): SeekPoint | undefined {
    let found = -1;
    for (let index = 0; index < this.#count; index++) {
      const candidate = this.#times[index]!;
      if (candidate <= time && (found < 0 || candidate >= this.#times[found]!)) found = index;
    }
    return this.#at(found);
  }

  /** The earliest seek point by time; undefined when the table is empty. */
  get earliest(): SeekPoint | undefined {
    let found = 0;
    for (let index = 1; index < this.#count; index++) if (this.#times[index]! < this.#times[found]!) found = index;
    return this.#at(found);
  }

  /** The latest seek point; undefined when there is none. */
  get latest(): SeekPoint | undefined {
    return this.before(Number.POSITIVE_INFINITY);
  }

  /** The seek point that was added last. */
  get newest(): SeekPoint | undefined {
    return this.#at(this.#count - 1);
  }

  #at(index: number): SeekPoint | undefined {
    if (index < 0 || index >= this.#count) return undefined;
    return { time: this.#times[index]!, positionBytes: this.#positions[index]! };
  }

  #grow(): void {
    const before = this.#times.length;
    const after = Math.max(FIRST_COUNT, 2 * before);
    this.#work.take((after - before) * ENTRY_BYTES, "its list of seek points");
    const [times, positions] = [new Float64Array(after), new Float64Array(after)];
    times.set(this.#times);
    positions.set(this.#positions);
    [this.#times, this.#positions] = [times, positions];
  }
}
