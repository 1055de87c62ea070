// A bounded queue of stereo audio, planar 32-bit float: a decoder writes blocks of any length, the pipeline reads
// frames of 960 samples. The samples read last can be put back. It allocates no memory for samples once it has grown to
// the size that a stream needs. Audio thread.

/** In samples of each channel; 8 bytes of memory for one. */
interface StereoFifoOptions {
  /** Initial capacity; grows by doubling up to `capacitySamplesMax`. Default 8192 (64 kB). */
  readonly capacitySamples?: number;
  /** Bound. Default 524288: 10.9 s at 48 kHz, 4 MB; more than the longest FLAC block at 8 kHz resamples to. */
  readonly capacitySamplesMax?: number;
}

/** Independent of the sample rate: it only stores samples. One writer and one reader, on one thread. */
export class StereoFifo {
  readonly #capacityMax: number;
  #left: Float32Array;
  #right: Float32Array;
  #start = 0;
  #length = 0;
  #dropped = 0;
  #read = 0;
  /** Samples before the first one that have been read and are still there. */
  #behind = 0;
  #retainedMax = 0;

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

  /** Samples read or discarded since the start, less those put back. */
  get readSamples(): number {
    return this.#read;
  }

  /** How many of the samples read last `unread` can put back. */
  get unreadableSamples(): number {
    return this.#behind;
  }

  /**
   * From now on at least this many read samples are retained, as far as the bound allows; more while there is space.
   * Default 0.
   */
  keepRead(lengthSamples: number): void {
    this.#retainedMax = lengthSamples;
  }

  /**
   * Copies `lengthSamples` from `offset` of both arrays to the end; what does not fit is dropped and counted. (Four
   * arguments and no options object: this is called for every block.)
   */
  append(left: Float32Array, right: Float32Array, offset: number, lengthSamples: number): void {
    const length = Math.min(lengthSamples, this.writableSamples);
    this.#dropped += lengthSamples - length;
    const needed = this.#length + length + Math.min(this.#behind, this.#retainedMax);
    if (needed > this.#left.length) this.#grow(needed);
    const capacity = this.#left.length;
    const to = (this.#start + this.#length) % capacity;
    const toEnd = Math.min(length, capacity - to);
    copy(left, offset, { to: this.#left, at: to, length: toEnd });
    copy(right, offset, { to: this.#right, at: to, length: toEnd });
    copy(left, offset + toEnd, { to: this.#left, at: 0, length: length - toEnd });
    copy(right, offset + toEnd, { to: this.#right, at: 0, length: length - toEnd });
    this.#length += length;
    this.#behind = Math.min(this.#behind, capacity - this.#length);
  }

  /** Moves up to `length` samples to the start of both arrays; returns how many there were. */
  readInto(left: Float32Array, right: Float32Array, length: number): number {
    const count = Math.min(length, this.#length);
    const capacity = this.#left.length;
    const toEnd = Math.min(count, capacity - this.#start);
    copy(this.#left, this.#start, { to: left, at: 0, length: toEnd });
    copy(this.#right, this.#start, { to: right, at: 0, length: toEnd });
    copy(this.#left, 0, { to: left, at: toEnd, length: count - toEnd });
    copy(this.#right, 0, { to: right, at: toEnd, length: count - toEnd });
    this.#start = (this.#start + count) % capacity;
    this.#moveOn(count);
    return count;
  }

  /** Forgets the first `length` samples (all, if there are fewer); returns how many. */
  discard(length: number): number {
    const count = Math.min(length, this.#length);
    this.#start = (this.#start + count) % this.#left.length;
    this.#moveOn(count);
    return count;
  }

  /** Puts the last `length` of the samples read back in front (as many as there are); returns how many. */
  unread(length: number): number {
    const count = Math.min(length, this.#behind);
    this.#start = (this.#start - count + this.#left.length) % this.#left.length;
    this.#moveOn(-count);
    return count;
  }

  /** Forgets all samples, those read too; the memory stays, and so do the counts. */
  clear(): void {
    this.#start = 0;
    this.#length = 0;
    this.#behind = 0;
  }

  #moveOn(count: number): void {
    this.#length -= count;
    this.#behind += count;
    this.#read += count;
  }

  #grow(needed: number): void {
    let capacity = this.#left.length;
    while (capacity < needed) capacity *= 2;
    capacity = Math.min(capacity, this.#capacityMax);
    if (capacity === this.#left.length) return;
    const left = new Float32Array(capacity);
    const right = new Float32Array(capacity);
    const behind = this.#behind;
    this.unread(behind);
    const length = this.readInto(left, right, this.#length);
    this.#left = left;
    this.#right = right;
    this.#start = 0;
    this.#length = length;
    this.#behind = 0;
    this.#read -= length;
    this.discard(behind);
  }
}

interface CopyTarget {
  readonly to: Float32Array;
  readonly at: number;
  readonly length: number;
}

/** A copy by the engine is thirty times as fast as a loop over samples. */
function copy(from: Float32Array, offset: number, { to, at, length }: CopyTarget): void {
  if (length > 0) to.set(length === from.length ? from : from.subarray(offset, offset + length), at);
}
