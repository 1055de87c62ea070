// The part of the track that the time stretcher can read: the samples themselves, a coarse copy of them for the search
// of similar positions, and where onsets (a drum, a click) are. Positions are track samples since the start. Audio
// thread; allocates only while it grows to the size that a tempo needs.

/** Samples averaged into one of the coarse copy: 6 kHz are enough to find the vicinity of the best position. */
export const COARSE_STEP = 8;
/** Samples checked for onsets at once: 2.7 ms. */
export const BLOCK_SAMPLES = 128;
const BLOCK_STEPS = BLOCK_SAMPLES / COARSE_STEP;
const CAPACITY_SAMPLES = 16_384;
/** A block counts as an onset when its treble is this much stronger than that of the 50 ms before it. */
const ONSET_RATIO = 10;
const ONSET_MEMORY = 0.05;
/** Steps below this (-55 dB or so) never count as an onset: this excludes noise in a pause. */
const ONSET_ENERGY_MIN = 5e-4;
/** Onsets stored, in order; older ones have been played long ago. */
const ONSETS_MAX = 64;

export class TimescaleWindow {
  left: Float32Array = new Float32Array(CAPACITY_SAMPLES);
  right: Float32Array = new Float32Array(CAPACITY_SAMPLES);
  coarseLeft: Float32Array = new Float32Array(CAPACITY_SAMPLES / COARSE_STEP);
  coarseRight: Float32Array = new Float32Array(CAPACITY_SAMPLES / COARSE_STEP);
  /** Track sample at index 0 of the arrays, a whole number of blocks. */
  start = 0;
  /** Track sample behind the last one here. */
  end = 0;
  /** Up to here the coarse copy and the onsets are known. */
  analysedUntil = 0;
  /** Samples before this one may be dropped when space is needed; the owner advances it. */
  keepFrom = 0;
  readonly #onsets = new Float64Array(ONSETS_MAX).fill(Number.NEGATIVE_INFINITY);
  #onsetCount = 0;
  #treble = 0;
  #lastLeft = 0;
  #lastRight = 0;

  append(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    if (this.end - this.start + lengthSamples > this.left.length) this.#makeSpace(lengthSamples);
    let at = this.end - this.start;
    if (lengthSamples === left.length && lengthSamples === right.length) {
      // Copying whole arrays is fast and creates no view.
      this.left.set(left, at);
      this.right.set(right, at);
    } else {
      for (let sample = 0; sample < lengthSamples; sample++, at++) {
        this.left[at] = left[sample]!;
        this.right[at] = right[sample]!;
      }
    }
    this.end += lengthSamples;
    while (this.analysedUntil + BLOCK_SAMPLES <= this.end) this.#analyseBlock();
  }

  /** The first onset at or after a track sample, or Infinity. */
  onsetAfter(sample: number): number {
    let first = Number.POSITIVE_INFINITY;
    for (const onset of this.#onsets) if (onset >= sample && onset < first) first = onset;
    return first;
  }

  /** The last onset before a track sample, or -Infinity. */
  onsetBefore(sample: number): number {
    let last = Number.NEGATIVE_INFINITY;
    for (const onset of this.#onsets) if (onset < sample && onset > last) last = onset;
    return last;
  }

  clear(): void {
    this.start = 0;
    this.end = 0;
    this.analysedUntil = 0;
    this.keepFrom = 0;
    this.#onsets.fill(Number.NEGATIVE_INFINITY);
    this.#onsetCount = 0;
    this.#treble = 0;
    this.#lastLeft = 0;
    this.#lastRight = 0;
  }

  #makeSpace(lengthSamples: number): void {
    const dropped = Math.max(0, Math.floor((this.keepFrom - this.start) / BLOCK_SAMPLES)) * BLOCK_SAMPLES;
    const needed = this.end - this.start - dropped + lengthSamples;
    let capacity = this.left.length;
    while (needed > capacity) capacity *= 2;
    this.left = moved(this.left, dropped, capacity);
    this.right = moved(this.right, dropped, capacity);
    this.coarseLeft = moved(this.coarseLeft, dropped / COARSE_STEP, capacity / COARSE_STEP);
    this.coarseRight = moved(this.coarseRight, dropped / COARSE_STEP, capacity / COARSE_STEP);
    this.start += dropped;
  }

  #analyseBlock(): void {
    const from = this.analysedUntil - this.start;
    const { left, right } = this;
    let energy = 0;
    let lastLeft = this.#lastLeft;
    let lastRight = this.#lastRight;
    for (let step = 0, at = from; step < BLOCK_STEPS; step++) {
      let sumLeft = 0;
      let sumRight = 0;
      for (let sample = 0; sample < COARSE_STEP; sample++, at++) {
        const l = left[at]!;
        const r = right[at]!;
        sumLeft += l;
        sumRight += r;
        energy += (l - lastLeft) * (l - lastLeft) + (r - lastRight) * (r - lastRight);
        lastLeft = l;
        lastRight = r;
      }
      this.coarseLeft[from / COARSE_STEP + step] = sumLeft;
      this.coarseRight[from / COARSE_STEP + step] = sumRight;
    }
    this.#lastLeft = lastLeft;
    this.#lastRight = lastRight;
    if (energy > ONSET_ENERGY_MIN && energy > ONSET_RATIO * this.#treble) {
      this.#onsets[this.#onsetCount++ % ONSETS_MAX] = this.analysedUntil;
    }
    this.#treble += ONSET_MEMORY * (energy - this.#treble);
    this.analysedUntil += BLOCK_SAMPLES;
  }
}

function moved(samples: Float32Array, dropped: number, capacity: number): Float32Array {
  if (capacity === samples.length) return samples.copyWithin(0, dropped);
  const larger = new Float32Array(capacity);
  larger.set(samples.subarray(dropped));
  return larger;
}
