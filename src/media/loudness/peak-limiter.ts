// Says by how much each chunk of sound must be turned down so that no peak is above the ceiling. Looks some chunks ahead, so
// that the gain is already low when a peak comes, and lets it rise again slowly. Works on chunks; the samples are the
// caller's. Audio thread; no allocation once made.

/** Chunks looked ahead, over which the gain comes down. */
export const AHEAD_CHUNKS = 6;
/** The gain's way back to 1: two thirds of it in this time. */
const RELEASE_MS = 150;
/** By which peaks of sound up to 20 kHz may lie higher than what is found of them. */
const MARGIN_DB = 0.1;

export class PeakLimiter {
  readonly #releaseShare: number;
  #ceiling: number;
  /** Of the chunk given out next and those behind it: the gain asked for, and the highest that its peak allows, up to 1. */
  readonly #gains = new Float64Array(AHEAD_CHUNKS + 1);
  readonly #limits = new Float64Array(AHEAD_CHUNKS + 1);
  #waitingCount = 0;
  /** What the limits of the last chunks came to; their mean is what is heard. */
  readonly #recent = new Float64Array(AHEAD_CHUNKS);
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

  /** For the peaks that come from now on. */
  setCeiling(ceilingDbtp: number): void {
    this.#ceiling = ceilingOf(ceilingDbtp);
  }

  /** The next chunk that comes in: its highest peak, and the factor it is to be multiplied by. */
  push(peak: number, gain: number): void {
    const place = this.#waitingCount++;
    this.#gains[place] = gain;
    this.#limits[place] = peak * gain > this.#ceiling ? this.#ceiling / (peak * gain) : 1;
  }

  /** True when as much lies ahead as `next` looks at. */
  get isReady(): boolean {
    return this.#waitingCount > AHEAD_CHUNKS;
  }

  /** The factors at both ends of the chunk that `next` was called for last; in between they lie on a line. */
  get startGain(): number {
    return this.#startGain;
  }
  get endGain(): number {
    return this.#endGain;
  }

  /** Goes on to the next chunk that goes out. Only when ready. */
  next(): void {
    const limits = this.#limits;
    let lowest = limits[0]!;
    for (let place = 1; place <= AHEAD_CHUNKS; place++) lowest = Math.min(lowest, limits[place]!);
    if (this.#isFresh) {
      this.#isFresh = false;
      this.#recent.fill(lowest);
      this.#endGain = lowest * this.#gains[0]!;
    }
    this.#startGain = this.#endGain;
    this.#endGain = this.#smooth(lowest) * Math.min(this.#gains[0]!, this.#gains[1]!);
    this.#dropFirst();
  }

  /**
   * The mean of the last chunks' limits. Each of them was the lowest of the chunks from its own to the last one ahead, so
   * none is above that of the chunk that goes out.
   */
  #smooth(lowest: number): number {
    const recent = this.#recent;
    const last = recent[AHEAD_CHUNKS - 1]!;
    const released = last + (1 - last) * this.#releaseShare;
    recent.copyWithin(0, 1);
    recent[AHEAD_CHUNKS - 1] = Math.min(lowest, released);
    let sum = 0;
    for (let place = 0; place < AHEAD_CHUNKS; place++) sum += recent[place]!;
    return sum / AHEAD_CHUNKS;
  }

  /** Forgets what was pushed: a seek. */
  reset(): void {
    this.#waitingCount = 0;
    this.#isFresh = true;
  }

  #dropFirst(): void {
    this.#waitingCount -= 1;
    this.#gains.copyWithin(0, 1);
    this.#limits.copyWithin(0, 1);
  }
}

function ceilingOf(ceilingDbtp: number): number {
  return 10 ** ((ceilingDbtp - MARGIN_DB) / 20);
}
