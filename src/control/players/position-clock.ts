// Where a track is now, between two reports of its worker. Main thread; one per playing of a track.

/**
 * Reports come every 500 ms. A position is carried on for twice that and no longer: a worker that is silent may also be
 * sending nothing.
 */
const CARRY_ON_MS_MAX = 1000;

export class PositionClock {
  /** Where the track ends, Infinity for streams: no position lies beyond. */
  readonly #lengthMs: number;
  #positionMs: number;
  #epochMs = 0;
  #rate = 0;

  /** Stands still at `startMs` until the first report. */
  constructor(startMs: number, lengthMs: number) {
    this.#lengthMs = lengthMs;
    this.#positionMs = startMs;
  }

  /** Takes over a report: at `epochMs` the position was `positionMs`, moving `rate` track milliseconds a millisecond. */
  report(report: { readonly positionMs: number; readonly epochMs: number; readonly rate: number }): void {
    this.#positionMs = report.positionMs;
    this.#epochMs = report.epochMs;
    this.#rate = report.rate;
  }

  /** Stands still at `positionMs` until the next report. */
  holdAt(positionMs: number): void {
    this.#positionMs = positionMs;
    this.#rate = 0;
  }

  /** Whole milliseconds of track time at `epochMs`. */
  at(epochMs: number): number {
    const elapsedMs = Math.min(Math.max(0, epochMs - this.#epochMs), CARRY_ON_MS_MAX);
    const positionMs = this.#rate === 0 ? this.#positionMs : this.#positionMs + elapsedMs * this.#rate;
    return Math.floor(Math.max(0, Math.min(positionMs, this.#lengthMs)));
  }
}
