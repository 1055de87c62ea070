// Decides by how much a track is made louder or quieter, and moves there inaudibly. With a tag the gain is right from
// the first sample on; otherwise it starts from the loudness of most masters and follows the integrated, gated
// measurement, so that silence and fade-outs do not move it. It increases slowly, as a quiet beginning may get loud,
// and decreases faster. Audio thread; no allocation.

import type { LoudnessMeter } from "./loudness-meter.ts";

/** The usual mastering level of music: the gain starts from there. */
const INITIAL_LUFS = -12;
/** Limit for raising a measured track: the rest may be louder than the part so far. */
const MEASURED_GAIN_DB_MAX = 12;
/** Limit with a tag, which covers the whole track. */
const TAGGED_GAIN_DB_MAX = 20;
/** Audio below this is not measured: noise before the music, not music. */
const MEASURED_LUFS_MIN = -50;
/** The gain does not increase while the last 400 ms are this far below the track: a pause or its end. */
const PAUSE_LU = -10;
/** The last 400 ms are not made louder than the target by more. */
const SURPRISE_LU = 8;
const INCREASE_DB_PER_S = 3;
const DECREASE_DB_PER_S = 10;
/** A requested change takes effect at once: 12 dB in 20 ms. */
const RUSH_DB_PER_S = 600;

export class GainRider {
  readonly #chunksPerSecond: number;
  #targetLufs: number;
  #taggedLufs: number | undefined;
  /** The measurement so far, or the initial estimate. */
  #measuredLufs = INITIAL_LUFS;
  #targetDb = 0;
  #gainDb = 0;
  #gain = 1;
  #isRushing = false;

  /** `chunksPerSecond`: how often `advance` will be called per second of audio. */
  constructor(targetLufs: number, chunksPerSecond: number) {
    this.#targetLufs = targetLufs;
    this.#chunksPerSecond = chunksPerSecond;
    this.begin(undefined);
  }

  /** True as long as the measurement decides. */
  get isMeasuring(): boolean {
    return this.#taggedLufs === undefined;
  }

  /** The highest factor that `advance` can return until another method is called. */
  get gainMax(): number {
    return this.#targetDb > this.#gainDb ? factorOf(this.#targetDb) : this.#gain;
  }

  /** Starts another track, before any of it was played: the gain applies at once. */
  begin(taggedLufs: number | undefined): void {
    this.#taggedLufs = taggedLufs;
    this.#measuredLufs = INITIAL_LUFS;
    this.#aim();
    this.#gainDb = this.#targetDb;
    this.#gain = factorOf(this.#gainDb);
    this.#isRushing = false;
  }

  /** The playing audio has, or from here on no longer has, a tag. */
  setTagged(taggedLufs: number | undefined): void {
    // The next measurement starts where the gain is.
    if (taggedLufs === undefined) this.#measuredLufs = this.#targetLufs - this.#targetDb;
    this.#taggedLufs = taggedLufs;
    this.#aim();
  }

  setTarget(targetLufs: number): void {
    if (targetLufs === this.#targetLufs) return;
    this.#targetLufs = targetLufs;
    this.#isRushing = true;
    this.#aim();
  }

  /** The meter has new results. */
  follow(meter: LoudnessMeter): void {
    const { integratedLufs, momentaryLufs } = meter;
    if (integratedLufs === undefined || integratedLufs < MEASURED_LUFS_MIN) return;
    this.#measuredLufs = integratedLufs;
    this.#aim();
    this.#targetDb = Math.min(this.#targetDb, this.#targetLufs + SURPRISE_LU - momentaryLufs);
    // A gain increase in progress waits at its current value.
    if (momentaryLufs < integratedLufs + PAUSE_LU) this.#targetDb = Math.min(this.#targetDb, this.#gainDb);
  }

  /** The factor for the next chunk of audio. */
  advance(): number {
    if (this.#gainDb === this.#targetDb) return this.#gain;
    const differenceDb = this.#targetDb - this.#gainDb;
    const slowDbPerS = differenceDb > 0 ? INCREASE_DB_PER_S : DECREASE_DB_PER_S;
    const stepDb = (this.#isRushing ? RUSH_DB_PER_S : slowDbPerS) / this.#chunksPerSecond;
    if (Math.abs(differenceDb) > stepDb) this.#gainDb += Math.sign(differenceDb) * stepDb;
    else {
      this.#gainDb = this.#targetDb;
      this.#isRushing = false;
    }
    this.#gain = factorOf(this.#gainDb);
    return this.#gain;
  }

  #aim(): void {
    this.#targetDb =
      this.#taggedLufs === undefined
        ? Math.min(this.#targetLufs - this.#measuredLufs, MEASURED_GAIN_DB_MAX)
        : Math.min(this.#targetLufs - this.#taggedLufs, TAGGED_GAIN_DB_MAX);
  }
}

function factorOf(gainDb: number): number {
  return 10 ** (gainDb / 20);
}
