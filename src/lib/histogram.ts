// Counts of values in equal steps, for quantiles without keeping the values. Fixed memory.

/** Decides the memory: 4 bytes a bucket, however many values are added. */
export interface HistogramShape {
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
  #max = 0;

  constructor(shape: HistogramShape) {
    this.#counts = new Uint32Array(shape.buckets);
    this.#widthMs = shape.widthMs;
  }

  /** The largest value since the last `clear`, exact. 0 when there was none. */
  get max(): number {
    return this.#max;
  }

  /** Counts a value in milliseconds; one below 0 counts in the first bucket. */
  add(valueMs: number): void {
    const bucket = Math.min(this.#counts.length - 1, Math.max(0, Math.floor(valueMs / this.#widthMs)));
    this.#counts[bucket]! += 1;
    this.#total += 1;
    if (valueMs > this.#max) this.#max = valueMs;
  }

  /** The upper edge of the bucket that holds the given share (0 to 1) of the values, never above `max`. 0 when empty. */
  quantile(share: number): number {
    const wanted = this.#total * share;
    let seen = 0;
    for (let bucket = 0; bucket < this.#counts.length && this.#total > 0; bucket++) {
      seen += this.#counts[bucket]!;
      if (seen >= wanted) return Math.min(this.#max, (bucket + 1) * this.#widthMs);
    }
    return this.#max;
  }

  /** As if it were new. */
  clear(): void {
    this.#counts.fill(0);
    this.#total = 0;
    this.#max = 0;
  }
}
