// The position of a track between two reports of its worker, or without a worker for that of a held player. Main thread;
// one per playback of a track. It does not jump back by small amounts: where the end came sooner than estimated, or
// frames were late, it stands still.

/**
 * Reports come every 500 ms. A position is carried on for twice that and no longer: a worker that is silent may also be
 * sending nothing.
 */
const CARRY_ON_MS_MAX = 1000;
/**
 * A report at most this far behind the reported position makes the clock stand still: three frames. One that is further
 * behind is taken over.
 */
const STAND_STILL_MS_MAX = 60;
/** A report that is further from where the last one led to is a jump. */
const EXPECTED_WITHIN_MS = 250;
const POSITION_MS_MAX = Number.MAX_SAFE_INTEGER;

interface ClockReport {
  readonly positionMs: number;
  readonly epochMs: number;
  readonly rate: number;
}

export class PositionClock {
  /** Where the track ends, the highest position where that is not known. */
  readonly #lengthMs: number;
  /** Where it will be ended, Infinity for its own end. */
  #endMs = Number.POSITIVE_INFINITY;
  #positionMs: number;
  #reportedMs = 0;
  #epochMs = 0;
  #rate = 0;
  /** It has been reported to run since it was last put or stopped somewhere. */
  #hasRun = false;
  /** It runs on without reports. */
  #isAssumed = false;

  /**
   * Stands still at `startMs` until the first report. A length of 0 or less counts as unknown; positions are 2^53 - 1 at
   * most, beyond which they would not be whole milliseconds.
   */
  constructor(startMs: number, lengthMs: number) {
    this.#lengthMs = lengthMs > 0 ? Math.min(lengthMs, POSITION_MS_MAX) : POSITION_MS_MAX;
    this.#positionMs = startMs;
  }

  /**
   * Takes over a report: at `epochMs` the position was `positionMs`, moving `rate` track milliseconds a millisecond.
   */
  report(report: ClockReport): void {
    this.#positionMs = report.positionMs;
    this.#epochMs = report.epochMs;
    this.#rate = report.rate;
    this.#hasRun ||= report.rate > 0;
    this.#isAssumed = false;
  }

  /** True for a report that says nothing new: the position has run on at the same rate, or stood still. */
  expects({ positionMs, epochMs, rate }: ClockReport): boolean {
    const expectedMs = this.#positionMs + Math.max(0, epochMs - this.#epochMs) * this.#rate;
    return rate === this.#rate && Math.abs(positionMs - expectedMs) <= EXPECTED_WITHIN_MS;
  }

  /** Runs on from there at that rate, however long no report comes. */
  assume(report: ClockReport): void {
    this.report(report);
    this.#hasRun = true;
    this.#isAssumed = true;
  }

  /** Track milliseconds a millisecond; undefined: nothing has been reported since it was put or stopped somewhere. */
  get rate(): number | undefined {
    return this.#hasRun ? this.#rate : undefined;
  }

  /** The estimate never exceeds it; undefined: the track's own length is the bound. */
  setEnd(endMs: number | undefined): void {
    this.#endMs = endMs ?? Number.POSITIVE_INFINITY;
  }

  /** Stands still at `positionMs`, wherever it was before, until the next report. */
  jumpTo(positionMs: number): void {
    this.#positionMs = positionMs;
    this.#reportedMs = 0;
    this.#stop();
  }

  /** Stands still where it is at `epochMs` until the next report. */
  holdAt(epochMs: number): void {
    this.#positionMs = this.heardAt(epochMs);
    this.#stop();
  }

  /**
   * Whole milliseconds of track time at `epochMs`. A returned position is not followed by one that is slightly earlier.
   */
  at(epochMs: number): number {
    const positionMs = this.heardAt(epochMs);
    const backMs = this.#reportedMs - positionMs;
    if (backMs < 0 || backMs > STAND_STILL_MS_MAX) this.#reportedMs = positionMs;
    return this.#reportedMs;
  }

  /** The same, even where a later position has been returned before: a start from here leaves nothing out. */
  heardAt(epochMs: number): number {
    const elapsedMsMax = this.#isAssumed ? Number.POSITIVE_INFINITY : CARRY_ON_MS_MAX;
    const elapsedMs = Math.min(Math.max(0, epochMs - this.#epochMs), elapsedMsMax);
    const carriedOnMs = this.#rate === 0 ? 0 : Math.min(this.#positionMs + elapsedMs * this.#rate, this.#endMs);
    return Math.floor(Math.min(Math.max(this.#positionMs, carriedOnMs), this.#lengthMs));
  }

  #stop(): void {
    this.#rate = 0;
    this.#hasRun = false;
    this.#isAssumed = false;
  }
}
