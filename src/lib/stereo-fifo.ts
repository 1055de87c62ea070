// A bounded queue of stereo sound, planar 32-bit float: what a decoder produces in blocks of any length, the pipeline
// takes in frames of 960 samples. Once it has grown to what a stream needs it allocates nothing. Audio thread.

/** In samples of each channel; 8 bytes of memory for one. */
export interface StereoFifoOptions {
  /** Room at the start; grows by doubling up to `capacitySamplesMax`. Default 8192 (64 kB). */
  readonly capacitySamples?: number;
  /** Bound. Default 524288: 10.9 s at 48 kHz, 4 MB; more than the longest FLAC block at 8 kHz resamples to. */
  readonly capacitySamplesMax?: number;
}

/** The rate is the owner's affair: samples are only kept. One writer and one reader, on one thread. */
export class StereoFifo {
  readonly #capacityMax: number;
  #left: Float32Array;
  #right: Float32Array;
  #start = 0;
  #length = 0;
  #dropped = 0;

  constructor(options: StereoFifoOptions = {}) {
    this.#capacityMax = options.capacitySamplesMax ?? 524_288;
    const capacity = Math.min(options.capacitySamples ?? 8192, this.#capacityMax);
    this.#left = new Float32Array(capacity);
    this.#right = new Float32Array(capacity);
  }

  /** Samples (per channel) that wait to be read. */
  get lengthSamples(): number {
    return this.#length;
  }

  /** How many samples can be appended before the bound. */
  get writableSamples(): number {
    return this.#capacityMax - this.#length;
  }

  /** Samples thrown away at the bound since the start: 0 as long as the owner heeds `writableSamples`. */
  get droppedSamples(): number {
    return this.#dropped;
  }

  /**
   * Copies `lengthSamples` from `offset` of both arrays to the end; what does not fit is dropped and counted. (Four
   * arguments and no options object: this is called for every block, and allocates nothing.)
   */
  append(left: Float32Array, right: Float32Array, offset: number, lengthSamples: number): void {
    const length = Math.min(lengthSamples, this.writableSamples);
    this.#dropped += lengthSamples - length;
    if (this.#length + length > this.#left.length) this.#grow(this.#length + length);
    const ownLeft = this.#left;
    const ownRight = this.#right;
    let to = this.#start + this.#length;
    if (to >= ownLeft.length) to -= ownLeft.length;
    for (let from = offset, end = offset + length; from < end; from++) {
      ownLeft[to] = left[from]!;
      ownRight[to] = right[from]!;
      if (++to === ownLeft.length) to = 0;
    }
    this.#length += length;
  }

  /** Moves up to `length` samples to the start of both arrays; returns how many there were. */
  readInto(left: Float32Array, right: Float32Array, length: number): number {
    const count = Math.min(length, this.#length);
    const ownLeft = this.#left;
    const ownRight = this.#right;
    let from = this.#start;
    for (let to = 0; to < count; to++) {
      left[to] = ownLeft[from]!;
      right[to] = ownRight[from]!;
      if (++from === ownLeft.length) from = 0;
    }
    this.#start = from;
    this.#length -= count;
    return count;
  }

  /** Forgets the first `length` samples (all, if there are fewer); returns how many. */
  discard(length: number): number {
    const count = Math.min(length, this.#length);
    this.#start = (this.#start + count) % this.#left.length;
    this.#length -= count;
    return count;
  }

  /** Forgets all samples; the memory stays, and so does the count of those dropped. */
  clear(): void {
    this.#start = 0;
    this.#length = 0;
  }

  #grow(needed: number): void {
    let capacity = this.#left.length;
    while (capacity < needed) capacity *= 2;
    capacity = Math.min(capacity, this.#capacityMax);
    const left = new Float32Array(capacity);
    const right = new Float32Array(capacity);
    const length = this.readInto(left, right, this.#length);
    this.#left = left;
    this.#right = right;
    this.#start = 0;
    this.#length = length;
  }
}
