// Computes by how much each chunk of audio must be turned down so that no peak is above the ceiling. Looks some chunks
// ahead, so that the gain is already low when a peak comes, and then increases it slowly. Works on chunks; the samples
// are the caller's. Audio thread; no allocation once created.

/** Chunks of look-ahead, over which the gain decreases. */
export const AHEAD_CHUNKS = 6;
/** Time constant of the gain's return to 1: two thirds of it in this time. */
const RELEASE_MS = 150;
/** A gain this near to 1 counts as 1. */
const RELEASED = 0.9999;
/** The next power of two above the look-ahead. */
const RING_CHUNKS = 8;
const RING_MASK = RING_CHUNKS - 1;
/** How much higher than the detected peak the true peak of audio up to 20 kHz may be. */
const MARGIN_DB = 0.1;

export class PeakLimiter {
  readonly #releaseShare: number;
  #ceiling: number;
  /** Ring buffers of the waiting chunks: the requested gain, and the highest that the peak allows, up to 1. */
  readonly #gains = new Float64Array(RING_CHUNKS);
  readonly #limits = new Float64Array(RING_CHUNKS);
  /** Limits of the last chunks output; their mean is applied. */
  readonly #recent = new Float64Array(RING_CHUNKS);
  #pushedCount = 0;
  #outputCount = 0;
  /** The last chunk that was turned down. */
  #lastLoud = 0;
  #isFresh = true;
  #startGain = 1;
  #endGain = 1;

  constructor(ceilingDbtp: number, chunkMs: number) {
    this.#releaseShare = 1 - Math.exp(-chunkMs / RELEASE_MS);
    this.#ceiling = ceilingOf(ceilingDbtp);
  }

  get ceiling(): number {
    return this.#ceiling;
  }

  /** Sets the ceiling of the peaks that follow. */
  setCeiling(ceilingDbtp: number): void {
    this.#ceiling = ceilingOf(ceilingDbtp);
  }

  /** Adds the next input chunk: its highest peak, and the factor it is to be multiplied by. */
  push(peak: number, gain: number): void {
    const index = this.#pushedCount++ & RING_MASK;
    const isLoud = peak * gain > this.#ceiling;
    this.#gains[index] = gain;
    this.#limits[index] = isLoud ? this.#ceiling / (peak * gain) : 1;
    if (isLoud) this.#lastLoud = this.#pushedCount;
  }

  /** True when enough chunks are ahead for `next`. */
  get isReady(): boolean {
    return this.#pushedCount - this.#outputCount > AHEAD_CHUNKS;
  }

  /** The factors at both ends of the last chunk that `next` was called for; in between they lie on a line. */
  get startGain(): number {
    return this.#startGain;
  }
  get endGain(): number {
    return this.#endGain;
  }

  /** Advances to the next output chunk. Only when ready. */
  next(): void {
    const chunk = this.#outputCount++;
    const gain = this.#gains[chunk & RING_MASK]!;
    const limit = this.#limitFor(chunk);
    if (this.#isFresh) {
      this.#isFresh = false;
      this.#recent.fill(limit);
      this.#endGain = limit * gain;
    }
    this.#startGain = this.#endGain;
    this.#endGain = this.#smooth(chunk, limit) * Math.min(gain, this.#gains[(chunk + 1) & RING_MASK]!);
  }

  /** Discards the pushed chunks: a seek. */
  reset(): void {
    this.#pushedCount = 0;
    this.#outputCount = 0;
    this.#lastLoud = 0;
    this.#isFresh = true;
  }

  /** The lowest limit from a chunk to the last one ahead. */
  #limitFor(chunk: number): number {
    if (this.#lastLoud <= chunk) return 1;
    let lowest = 1;
    for (let ahead = 0; ahead <= AHEAD_CHUNKS; ahead++) {
      const limit = this.#limits[(chunk + ahead) & RING_MASK]!;
      if (limit < lowest) lowest = limit;
    }
    return lowest;
  }

  /**
   * The mean of the last chunks' limits. Each of them was the lowest of the chunks from its own to the last one ahead,
   * so none is above the limit of the output chunk.
   */
  #smooth(chunk: number, limit: number): number {
    const recent = this.#recent;
    const last = recent[(chunk - 1) & RING_MASK]!;
    const released = last + (1 - last) * this.#releaseShare;
    recent[chunk & RING_MASK] = Math.min(limit, released > RELEASED ? 1 : released);
    let sum = 0;
    for (let behind = 0; behind < AHEAD_CHUNKS; behind++) sum += recent[(chunk - behind) & RING_MASK]!;
    return sum / AHEAD_CHUNKS;
  }
}

function ceilingOf(ceilingDbtp: number): number {
  return 10 ** ((ceilingDbtp - MARGIN_DB) / 20);
}
