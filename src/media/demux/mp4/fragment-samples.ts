// The samples of one movie fragment, as arrays of numbers; their memory is counted. Audio thread.

import type { DemuxWork } from "../demux-work.ts";

/** Samples in one fragment that are accepted: 3 hours of AAC, which FFmpeg writes as one unless it is told to split. */
export const SAMPLE_COUNT_MAX = 2 ** 19;
/** Initial capacity in samples; doubled when more come. */
const FIRST_COUNT = 128;
/** Position, time, duration and size of a sample: 64 bits each. */
const SAMPLE_NUMBERS = 4;

export interface FragmentSample {
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  readonly ticks: number;
  readonly durationTicks: number;
}

export class FragmentSamples {
  readonly #work: DemuxWork;
  #numbers = new Float64Array(0);
  #count = 0;
  #startTicks: number | undefined;
  #endTicks = 0;

  constructor(work: DemuxWork) {
    this.#work = work;
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= SAMPLE_COUNT_MAX;
  }

  /** Start time of the first sample; undefined when there is none. */
  get startTicks(): number | undefined {
    return this.#startTicks;
  }

  /** End time of the last sample. */
  get endTicks(): number {
    return this.#endTicks;
  }

  /** A sample without content only takes its time. */
  add({ offsetBytes, sizeBytes, ticks, durationTicks }: FragmentSample): void {
    this.#startTicks ??= ticks;
    this.#endTicks = ticks + durationTicks;
    if (sizeBytes === 0) return;
    const at = this.#count * SAMPLE_NUMBERS;
    if (at === this.#numbers.length) this.#grow();
    this.#numbers[at] = offsetBytes;
    this.#numbers[at + 1] = sizeBytes;
    this.#numbers[at + 2] = ticks;
    this.#numbers[at + 3] = durationTicks;
    this.#count += 1;
  }

  at(index: number): FragmentSample | undefined {
    if (index < 0 || index >= this.#count) return undefined;
    const at = index * SAMPLE_NUMBERS;
    const number = (field: number) => this.#numbers[at + field] ?? 0;
    return { offsetBytes: number(0), sizeBytes: number(1), ticks: number(2), durationTicks: number(3) };
  }

  /** Releases its memory: the next fragment has arrived. */
  close(): void {
    this.#work.release(this.#numbers.byteLength);
    this.#numbers = new Float64Array(0);
    this.#count = 0;
    this.#startTicks = undefined;
  }

  #grow(): void {
    const before = this.#numbers.length;
    const after = Math.max(FIRST_COUNT * SAMPLE_NUMBERS, 2 * before);
    this.#work.take((after - before) * Float64Array.BYTES_PER_ELEMENT, "the samples of a fragment");
    const numbers = new Float64Array(after);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }
}
