// Makes audio longer or shorter without changing its pitch: plays it unchanged and now and then jumps, forwards to be
// faster, backwards to be slower, with a cross-fade to a position that continues alike. Jumps only as often as the
// tempo requires, waits for a good position, and neither skips nor repeats the beginning of a drum or a click. Audio
// thread; no allocation.

import { SAMPLES_PER_MS } from "../../../format/audio-format.ts";
import { COMPARED_SAMPLES, findJump, type Jump, type JumpRange } from "./timescale-search.ts";
import { BLOCK_SAMPLES, type TimescaleWindow } from "./timescale-window.ts";

/** Length of the cross-fade at a jump: 10 ms. */
const FADE_SAMPLES = 480;
/** A jump is considered this often (5 ms). */
const CHECK_SAMPLES = 240;
/** Usual jump at moderate tempos: 20 ms, near enough to the right time and long enough for bass. */
const JUMP_SAMPLES = 20 * SAMPLES_PER_MS;
/** Shortest jump: below 4 ms repetitions would be audible as a tone. */
const JUMP_SAMPLES_MIN = 192;
/** At tempos that need more the jumps grow, so that at least 25 ms of the track lie between two. */
const RUN_SAMPLES = 1200;
/** Jumps may differ from the target by half of this: 24 ms, the period of a 42 Hz tone. */
const SEARCH_SAMPLES = 1152;
/** Likeness at which a jump is taken at once, and how late (10 ms) it may come when nothing is that good. */
const LIKENESS_GOOD = 0.97;
const PATIENCE_SAMPLES = 480;
/** How much later (35 ms) a jump may come when an onset is in the way. */
const ONSET_PATIENCE_SAMPLES = 1680;
/** Samples that belong to an onset: from 2 ms before its block to 5 ms after its beginning. */
const ONSET_BEFORE_SAMPLES = 96;
const ONSET_BODY_SAMPLES = 240;
/** At the end of the track the length may be off by this (4 ms, before pitch), for a better jump target. */
const END_SLACK_SAMPLES = 192;
/**
 * The last jump forwards comes when this much is left to output: enough for the jump before it and both cross-fades.
 */
const LAST_SAMPLES = 2 * (FADE_SAMPLES + CHECK_SAMPLES);
/** Audio retained behind the playing position, for jumps backwards: usual jump, patience and search, and a margin. */
const HISTORY_SAMPLES = 6144;

const FADE_SHARES = Float64Array.from({ length: FADE_SAMPLES }, (_, sample) => {
  return 0.5 - 0.5 * Math.cos((Math.PI * (sample + 0.5)) / FADE_SAMPLES);
});

export class TimescaleStretcher {
  readonly #window: TimescaleWindow;
  readonly #range: JumpRange = { low: 0, high: 0, target: 0 };
  readonly #jump: Jump = { samples: 0, likeness: 0 };
  /** Track samples per sample made. */
  #tempo = 1;
  /** The track sample that is made next. */
  #at = 0;
  /** The track sample that the tempo alone would output next. */
  #ideal = 0;
  #untilCheck = 0;
  /** The track sample behind the last one, once it is known. */
  #trackEnd: number | undefined;
  /** The jump being cross-faded: how far it went, the rest of its fade, and how alike both positions are. */
  #fadeJump = 0;
  #fadeLeft = 0;
  #fadeLikeness = 0;

  constructor(window: TimescaleWindow) {
    this.#window = window;
  }

  setTempo(tempo: number): void {
    this.#tempo = tempo;
    // Without jumps nothing would ever correct an offset: the current position is taken as the right one.
    if (tempo === 1) this.#ideal = this.#at;
  }

  /** The track ends before this sample; the window must hold silence from there on. */
  setEnd(trackEnd: number): void {
    this.#trackEnd = trackEnd;
    this.#untilCheck = 0;
  }

  /** The track position that the tempo requires at the end of the output so far. */
  get position(): number {
    return this.#ideal;
  }

  /** Continues at a track sample as if it had been reached by playing. */
  startAt(sample: number): void {
    this.#at = sample;
    this.#ideal = sample;
    this.#fadeJump = 0;
    this.#fadeLeft = 0;
    this.#untilCheck = 0;
    this.#trackEnd = undefined;
  }

  /** Writes up to `count` samples at `offset` of both arrays; fewer when more input is needed first. */
  read(to: { left: Float32Array; right: Float32Array }, offset: number, count: number): number {
    let done = 0;
    while (done < count) {
      if (this.#fadeLeft === 0 && this.#untilCheck <= 0) {
        if (!this.#considerJump(this.#trackEnd)) break;
        this.#untilCheck = this.#fadeLeft > 0 ? FADE_SAMPLES + CHECK_SAMPLES : CHECK_SAMPLES;
      }
      const run = this.#fadeLeft > 0 ? this.#fadeLeft : this.#untilCheck;
      const length = Math.min(count - done, run, this.#playable);
      if (length <= 0) break;
      if (this.#fadeLeft > 0) this.#fade(to, offset + done, length);
      else this.#copy(to, offset + done, length);
      done += length;
      this.#at += length;
      this.#untilCheck -= length;
      this.#ideal += length * this.#tempo;
    }
    this.#window.keepFrom = this.#at - Math.max(0, this.#fadeJump) - HISTORY_SAMPLES;
    return done;
  }

  /** The sample near the right time to which a jump would be least audible, for leaving the stretcher. */
  findExit(): number {
    const { analysedUntil, start } = this.#window;
    const drift = Math.round(this.#ideal - this.#at);
    const high = Math.min(drift + JUMP_SAMPLES / 2, analysedUntil - this.#at - COMPARED_SAMPLES);
    const low = Math.max(drift - JUMP_SAMPLES / 2, start - this.#at);
    if (low > high || this.#at < start) return Math.min(Math.max(start, this.#at + drift), this.#window.end);
    const range = this.#range;
    range.low = low;
    range.high = high;
    range.target = Math.min(Math.max(drift, low), high);
    findJump(this.#window, this.#at, range, this.#jump);
    return this.#at + this.#jump.samples;
  }

  /** Samples that can be output before the next check; while more may come, enough is held back for the last jump. */
  get #playable(): number {
    if (this.#trackEnd !== undefined) return this.#trackEnd - this.#at;
    const { end } = this.#window;
    if (this.#tempo === 1) return end - this.#at;
    return Math.floor(Math.min(end - this.#at, (end - this.#ideal) / this.#tempo)) - LAST_SAMPLES;
  }

  /** Jumps when it is time and there is a position to jump to; false when more input is needed to decide. */
  #considerJump(trackEnd: number | undefined): boolean {
    const drift = this.#ideal - this.#at;
    const stretch = Math.max(1, Math.abs(this.#tempo - 1));
    const usual = Math.max(JUMP_SAMPLES, Math.round(Math.abs(this.#tempo - 1) * RUN_SAMPLES));
    if (trackEnd !== undefined && this.#considerLastJump(trackEnd, usual)) return true;
    // An offset to the other side corrects itself with time.
    const late = drift * Math.sign(this.#tempo - 1) - usual / 2;
    if (this.#tempo === 1 || late < 0) return true;
    const range = this.#range;
    range.target = Math.round(drift + (Math.sign(drift) * usual) / 2);
    range.low = range.target - SEARCH_SAMPLES / 2;
    range.high = range.target + SEARCH_SAMPLES / 2;
    if (drift > 0) range.low = Math.max(range.low, JUMP_SAMPLES_MIN);
    else range.high = Math.min(range.high, -JUMP_SAMPLES_MIN);
    const known = this.#window.analysedUntil;
    if (this.#at + Math.max(range.high, 0) + COMPARED_SAMPLES > known) {
      if (trackEnd === undefined) return false;
      range.high = Math.min(range.high, known - COMPARED_SAMPLES - this.#at);
    }
    // Behind a jump forwards there must be space for one back, should it have gone too far.
    if (trackEnd !== undefined && drift > 0) range.high = Math.min(range.high, trackEnd - this.#at - LAST_SAMPLES);
    range.low = Math.max(range.low, this.#window.start - this.#at);
    if (late < ONSET_PATIENCE_SAMPLES * stretch) this.#spareOnsets(drift > 0);
    if (range.low > range.high) return true;
    range.target = Math.min(Math.max(range.target, range.low), range.high);
    findJump(this.#window, this.#at, range, this.#jump);
    const impatience = late / (PATIENCE_SAMPLES * stretch);
    if (impatience >= 1 || this.#jump.likeness >= LIKENESS_GOOD - 0.5 * impatience) this.#take(this.#jump);
    return true;
  }

  /** Narrows the range so that no onset is skipped (forwards) or repeated (backwards); the range may become empty. */
  #spareOnsets(isForwards: boolean): void {
    const range = this.#range;
    if (isForwards) {
      const onset = this.#window.onsetAfter(this.#at - ONSET_BODY_SAMPLES);
      const high = onset - FADE_SAMPLES - ONSET_BEFORE_SAMPLES - this.#at;
      if (high >= range.high) return;
      range.high = high;
      range.low = Math.min(range.low, Math.max(JUMP_SAMPLES_MIN, high - SEARCH_SAMPLES / 2));
    } else {
      const onset = this.#window.onsetBefore(this.#at + FADE_SAMPLES);
      const low = onset + BLOCK_SAMPLES + ONSET_BEFORE_SAMPLES - this.#at;
      if (low <= range.low) return;
      range.low = low;
      range.high = Math.max(range.high, Math.min(-JUMP_SAMPLES_MIN, low + SEARCH_SAMPLES / 2));
    }
  }

  /**
   * Near the end of the track: jumps so that the rest of it lasts as long as the tempo requires. True when no other
   * jump is to be considered.
   */
  #considerLastJump(trackEnd: number, usual: number): boolean {
    const left = trackEnd - this.#at;
    const target = Math.round((trackEnd - this.#ideal) / this.#tempo);
    const excess = left - target;
    if (Math.abs(excess) <= END_SLACK_SAMPLES) return true;
    const isLastForwards = excess > 0 && target <= Math.max(usual, LAST_SAMPLES) && target >= FADE_SAMPLES;
    const isLastBackwards = excess < 0 && left <= FADE_SAMPLES + CHECK_SAMPLES;
    if (!isLastForwards && !isLastBackwards) return false;
    const range = this.#range;
    range.target = Math.max(excess, -(usual + SEARCH_SAMPLES / 2), this.#window.start - this.#at);
    range.low = Math.max(range.target - END_SLACK_SAMPLES, this.#window.start - this.#at);
    range.high = Math.min(range.target + END_SLACK_SAMPLES, this.#window.analysedUntil - COMPARED_SAMPLES - this.#at);
    if (range.low > range.high || range.target === 0) return true;
    findJump(this.#window, this.#at, range, this.#jump);
    this.#take(this.#jump);
    return true;
  }

  #take(jump: Jump): void {
    this.#at += jump.samples;
    this.#fadeJump = jump.samples;
    this.#fadeLeft = FADE_SAMPLES;
    this.#fadeLikeness = Math.min(Math.max(jump.likeness, 0), 1);
  }

  #copy(to: { left: Float32Array; right: Float32Array }, offset: number, length: number): void {
    const { left, right, start } = this.#window;
    for (let index = 0, from = this.#at - start; index < length; index++, from++) {
      to.left[offset + index] = left[from]!;
      to.right[offset + index] = right[from]!;
    }
  }

  /** The mixture is as loud as its parts, whether they are alike (gains add) or not (powers add). */
  #fade(to: { left: Float32Array; right: Float32Array }, offset: number, length: number): void {
    const { left, right, start } = this.#window;
    const likeness = this.#fadeLikeness;
    let done = FADE_SAMPLES - this.#fadeLeft;
    for (let index = 0, from = this.#at - start; index < length; index++, from++, done++) {
      const share = FADE_SHARES[done]!;
      const rest = 1 - share;
      const gain = 1 / Math.sqrt(share * share + rest * rest + 2 * likeness * share * rest);
      const old = from - this.#fadeJump;
      to.left[offset + index] = gain * (share * left[from]! + rest * left[old]!);
      to.right[offset + index] = gain * (share * right[from]! + rest * right[old]!);
    }
    this.#fadeLeft -= length;
    if (this.#fadeLeft === 0) this.#fadeJump = 0;
  }
}
