// How steady packets arrive: lateness of each against the absolute schedule its RTP timestamp promises (20 ms for 960
// ticks), counted in a histogram of fixed size so that hours of 500 streams cost no memory.

/** Lateness in steps of 0.1 ms up to 200 ms; later packets go to the last bucket (the maximum is kept exactly). */
const BUCKET_MS = 0.1;
const BUCKET_COUNT = 2001;
/** Packets closer together than this count as a bunch. */
const BUNCHED_BELOW_MS = 5;
const TICKS_PER_MS = 48;

/** Plain data: it survives a structured clone. Times in milliseconds; all 0 without packets. */
export interface ArrivalSummary {
  readonly packets: number;
  readonly latenessMsP50: number;
  readonly latenessMsP99: number;
  readonly latenessMsP999: number;
  readonly latenessMsMax: number;
  /** Packets later than one frame, and later than three. */
  readonly packetsLate20Ms: number;
  readonly packetsLate60Ms: number;
  /** Longest time between two packets of one run of audio. */
  readonly gapMsMax: number;
  /** Packets that arrived less than 5 ms after the one before. */
  readonly bunchedPackets: number;
}

export class ArrivalStatistics {
  readonly #buckets = new Uint32Array(BUCKET_COUNT);
  #packets = 0;
  #latenessMsMax = 0;
  #gapMsMax = 0;
  #bunchedPackets = 0;

  #hasRun = false;
  #lastArrivalMs = 0;
  #lastTimestamp = 0;
  /** Where this packet would be due if the earliest packet of the run so far was on time. */
  #dueMs = 0;

  /**
   * A packet of the current stretch. The schedule is anchored at its earliest packet, so lateness is never negative.
   */
  add(timestamp: number, arrivalMs: number): void {
    this.#packets++;
    if (!this.#hasRun) {
      this.#hasRun = true;
      this.#dueMs = arrivalMs;
    } else {
      this.#dueMs += ((timestamp - this.#lastTimestamp) | 0) / TICKS_PER_MS;
      const gapMs = arrivalMs - this.#lastArrivalMs;
      if (gapMs > this.#gapMsMax) this.#gapMsMax = gapMs;
      if (gapMs < BUNCHED_BELOW_MS) this.#bunchedPackets++;
    }
    this.#lastArrivalMs = arrivalMs;
    this.#lastTimestamp = timestamp;
    const latenessMs = Math.max(0, arrivalMs - this.#dueMs);
    this.#dueMs = Math.min(this.#dueMs, arrivalMs);
    if (latenessMs > this.#latenessMsMax) this.#latenessMsMax = latenessMs;
    const bucket = Math.min(BUCKET_COUNT - 1, Math.floor(latenessMs / BUCKET_MS));
    this.#buckets[bucket] = this.#buckets[bucket]! + 1;
  }

  /** The audio stopped: the next packet starts a new schedule. */
  endRun(): void {
    this.#hasRun = false;
  }

  /** Adds what `other` counted to this one. */
  merge(other: ArrivalStatistics): void {
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) {
      this.#buckets[bucket] = this.#buckets[bucket]! + other.#buckets[bucket]!;
    }
    this.#packets += other.#packets;
    this.#latenessMsMax = Math.max(this.#latenessMsMax, other.#latenessMsMax);
    this.#gapMsMax = Math.max(this.#gapMsMax, other.#gapMsMax);
    this.#bunchedPackets += other.#bunchedPackets;
  }

  /** Clears everything counted so far, for measuring after a warm-up; the current schedule continues. */
  clear(): void {
    this.#buckets.fill(0);
    this.#packets = 0;
    this.#latenessMsMax = 0;
    this.#gapMsMax = 0;
    this.#bunchedPackets = 0;
  }

  summary(): ArrivalSummary {
    return {
      packets: this.#packets,
      latenessMsP50: this.#quantile(0.5),
      latenessMsP99: this.#quantile(0.99),
      latenessMsP999: this.#quantile(0.999),
      latenessMsMax: this.#latenessMsMax,
      packetsLate20Ms: this.#countFrom(20),
      packetsLate60Ms: this.#countFrom(60),
      gapMsMax: this.#gapMsMax,
      bunchedPackets: this.#bunchedPackets,
    };
  }

  #countFrom(latenessMs: number): number {
    return this.#buckets.subarray(Math.round(latenessMs / BUCKET_MS)).reduce((sum, count) => sum + count, 0);
  }

  /** The upper edge of the bucket holding the quantile, never above the maximum. */
  #quantile(share: number): number {
    let remaining = Math.ceil(this.#packets * share);
    if (remaining === 0) return 0;
    for (let bucket = 0; bucket < BUCKET_COUNT - 1; bucket++) {
      remaining -= this.#buckets[bucket]!;
      if (remaining <= 0) return Math.min((bucket + 1) * BUCKET_MS, this.#latenessMsMax);
    }
    return this.#latenessMsMax;
  }
}
