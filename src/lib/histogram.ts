// Counts of values in equal steps, for quantiles without keeping the values. Fixed memory.

/** Determines the memory: 4 bytes per bucket, however many values are added. */
interface HistogramShape {
  /** Width of one bucket. */
  readonly widthMs: number;
  /** Values at or above `widthMs * buckets` count in the last bucket. */
  readonly buckets: number;
}

/** Exact counts, quantiles as exact as a bucket is wide. No part of it allocates after the constructor. */
export class Histogram {
  readonly #counts: Uint32Array;
  readonly #widthMs: number;
  #total = 0;
  #sumMs = 0;
  #max = 0;

  constructor(shape: HistogramShape) {
    this.#counts = new Uint32Array(shape.buckets);
    this.#widthMs = shape.widthMs;
  }

  /** The largest value since the last `clear`, exact. 0 when there was none. */
  get max(): number {
    return this.#max;
  }

  /** All values since the last `clear`, added up. */
  get sumMs(): number {
    return this.#sumMs;
  }

  /** Counts a value in milliseconds; one below 0 counts in the first bucket. */
  add(valueMs: number): void {
    const bucket = Math.min(this.#counts.length - 1, Math.max(0, Math.floor(valueMs / this.#widthMs)));
    this.#counts[bucket]! += 1;
    this.#total += 1;
    this.#sumMs += valueMs;
    if (valueMs > this.#max) this.#max = valueMs;
  }

  /**
   * The upper edge of the bucket that holds the given share (0 to 1) of the values, never above `max`. 0 when empty.
   */
  quantile(share: number): number {
    const target = this.#total * share;
    let seen = 0;
    for (let bucket = 0; bucket < this.#counts.length && this.#total > 0; bucket++) {
      seen += this.#counts[bucket]!;
      if (seen >= target) return Math.min(this.#max, (bucket + 1) * this.#widthMs);
    }
    return this.#max;
  }

  /**
   * How many values lie in each class: above the bound before and up to this one, and last those above all. Bounds are
   * growing multiples of the bucket width; a value on a bound is counted above it, as buckets begin at theirs.
   */
  classCounts(boundsMs: readonly number[]): number[] {
    const counts = boundsMs.map(() => 0);
    counts.push(0);
    let boundIndex = 0;
    for (let bucket = 0; bucket < this.#counts.length; bucket++) {
      while (boundIndex < boundsMs.length && bucket * this.#widthMs >= boundsMs[boundIndex]!) boundIndex++;
      counts[boundIndex]! += this.#counts[bucket]!;
    }
    return counts;
  }

  /** Resets all counts. */
  clear(): void {
    this.#counts.fill(0);
    this.#total = 0;
    this.#sumMs = 0;
    this.#max = 0;
  }
}
