// The last milliseconds of audio, in a ring buffer: the memory of the echo. Audio thread; allocates only when created.

/** 5 ms. */
const FADE_SAMPLES = 240;

export class DelayLine {
  readonly left: Float32Array;
  readonly right: Float32Array;
  /** Any position, also a negative one, `&` this is an index. */
  readonly mask: number;
  /** Where the next sample goes; the one written last is just before it. */
  at = 0;

  /**
   * Holds at least `delaySamples`, and 5 ms more, which a longer line that continues this one fades in (together
   * rounded up to a power of two); initially filled with the samples that `previous` holds.
   */
  constructor(delaySamples: number, previous?: DelayLine) {
    const length = 2 ** Math.ceil(Math.log2(delaySamples + FADE_SAMPLES + 1));
    this.left = new Float32Array(length);
    this.right = new Float32Array(length);
    this.mask = length - 1;
    if (previous !== undefined) this.#continue(previous);
  }

  clear(): void {
    this.left.fill(0);
    this.right.fill(0);
  }

  #continue(previous: DelayLine): void {
    const count = Math.min(this.left.length, previous.left.length);
    const oldest = (previous.at - count) & previous.mask;
    const isSplit = oldest + count > previous.left.length;
    const firstCount = isSplit ? previous.left.length - oldest : count;
    for (const side of ["left", "right"] as const) {
      this[side].set(previous[side].subarray(oldest, oldest + firstCount));
      this[side].set(previous[side].subarray(0, count - firstCount), firstCount);
    }
    this.at = count & this.mask;
    if (count < this.left.length) this.#fadeStart(count);
  }

  /** Before the samples that `previous` holds there is silence: the first of them are faded in. */
  #fadeStart(count: number): void {
    const fadeSamples = Math.min(FADE_SAMPLES, count);
    for (let sample = 0; sample < fadeSamples; sample++) {
      this.left[sample]! *= sample / fadeSamples;
      this.right[sample]! *= sample / fadeSamples;
    }
  }
}

/**
 * Added to values stored in a feedback loop and subtracted again: rounds 64-bit numbers to -240 dB, so that a decaying
 * signal becomes silence and never a subnormal number, which would be slow.
 */
export const ROUNDING = 4096;
