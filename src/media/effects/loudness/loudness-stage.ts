// Brings every track to one loudness: the first step for track samples, before all filters. Sits between the queue of
// track samples and their reader: it takes 2.4 ms more from the queue than it outputs, so the limiter can look ahead
// and nothing is delayed. Audio thread; allocates only when it is switched on.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { FRAME_SAMPLES, SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import { type LoudnessKernel, sharedLoudnessKernel } from "../../kernels/loudness-kernel.ts";
import { CHUNK_SAMPLES, REACH_BEHIND_SAMPLES } from "../../kernels/numbers/loudness.ts";
import { sanitize } from "../../kernels/sane-samples.ts";
import { GainRider } from "./gain-rider.ts";
import { LoudnessMeter } from "./loudness-meter.ts";
import { AHEAD_CHUNKS, PeakLimiter } from "./peak-limiter.ts";

/**
 * Track samples taken but not yet output: the look-ahead chunks, the current one, and those that the interpolation
 * needs.
 */
const HELD_SAMPLES = (AHEAD_CHUNKS + 1) * CHUNK_SAMPLES + REACH_BEHIND_SAMPLES - 1;
const CHUNKS_PER_SECOND = SAMPLE_RATE_HZ / CHUNK_SAMPLES;
/** Switched on and off over 20 ms: this much of the gain per chunk. */
const SHARE_STEP = 1 / (CHUNKS_PER_SECOND * 0.02);

/** A queue of track samples: a StereoFifo, or this stage. */
export interface SampleQueue {
  readonly lengthSamples: number;
  /** Moves up to `lengthSamples` to the start of both arrays; returns how many there were. */
  readInto(left: Float32Array, right: Float32Array, lengthSamples: number): number;
}

export type LoudnessSettings = SettingsOf<"loudness">;

/** State while it is on. "leaving": the gain returns to 1. "draining": it is 1, held samples are output. */
interface Running {
  readonly kernel: LoudnessKernel;
  /** Where new samples enter the kernel's memory. */
  readonly newLeft: Float32Array;
  readonly newRight: Float32Array;
  /** A frame of its output. */
  readonly outLeft: Float32Array;
  readonly outRight: Float32Array;
  state: "on" | "leaving" | "draining";
  readonly rider: GainRider;
  readonly limiter: PeakLimiter;
  readonly meter: LoudnessMeter;
  /** How much of the gain is applied, 0 to 1, at the end of the current chunk, and the factors at both its ends. */
  share: number;
  fromGain: number;
  toGain: number;
}

/**
 * One per pipeline, used by it within a tick. Off at the start: then it passes everything through and retains nothing.
 */
export class LoudnessStage implements SampleQueue {
  readonly #whenOn: () => LoudnessKernel;
  readonly #heldLeft = new Float32Array(HELD_SAMPLES);
  readonly #heldRight = new Float32Array(HELD_SAMPLES);
  #running: Running | undefined;
  #track: SampleQueue | undefined;
  #taggedLufs: number | undefined;
  /** Samples at the end of the held arrays that are taken and not output. */
  #heldSamples = 0;
  /** How many of those, the last ones, are silence behind the end of the track. */
  #paddingSamples = 0;
  /** Samples output since the last jump, and the chunks whose peaks are known. */
  #outputSamples = 0;
  #judgedChunks = 0;
  #isFinished = false;

  /** Allocates nothing before the stage is switched on: few players use it. */
  constructor(kernel: () => LoudnessKernel = sharedLoudnessKernel) {
    this.#whenOn = kernel;
  }

  /** True when track samples pass unchanged. */
  get isNeutral(): boolean {
    return this.#running === undefined;
  }

  /** Track samples taken from the queue that have not been output. */
  get heldSamples(): number {
    return this.#heldSamples - this.#paddingSamples;
  }

  /** Undefined switches it off. Both take effect within 20 ms, without a click. */
  set(settings: LoudnessSettings | undefined): void {
    const running = this.#running;
    if (settings === undefined) {
      if (running?.state === "on") running.state = "leaving";
      return;
    }
    if (running === undefined || running.state === "draining") {
      this.#running = this.#create(settings);
      return;
    }
    running.state = "on";
    running.rider.setTarget(settings.target);
    running.limiter.setCeiling(settings.peak);
  }

  /** Starts another track, before any of it was played, with the loudness from its tags. */
  begin(taggedLufs: number | undefined): void {
    this.#taggedLufs = taggedLufs;
    this.jump();
    const running = this.#running;
    if (running === undefined) return;
    running.share = 1;
    running.meter.reset();
    running.rider.begin(taggedLufs);
  }

  /**
   * The same player's audio continues, perhaps with another track: a chained stream, or one that was passed through.
   */
  continueWith(taggedLufs: number | undefined): void {
    this.#isFinished = false;
    if (taggedLufs === this.#taggedLufs) return;
    this.#taggedLufs = taggedLufs;
    const running = this.#running;
    running?.meter.reset();
    if (this.#outputSamples === 0) running?.rider.begin(taggedLufs);
    else running?.rider.setTagged(taggedLufs);
  }

  /** Discards track samples that were taken but not output: a seek. The measurement stays. */
  jump(): void {
    this.#restart(0);
    this.#isFinished = false;
    this.#running?.limiter.reset();
    if (this.#running !== undefined && this.#running.state !== "on") this.#running = undefined;
  }

  /** No more audio is coming: held samples become readable. */
  finish(): void {
    this.#isFinished = true;
  }

  /** Reads from `track` from here on. */
  over(track: SampleQueue): SampleQueue {
    this.#track = track;
    return this;
  }

  get lengthSamples(): number {
    const waitingSamples = this.#track?.lengthSamples ?? 0;
    const running = this.#running;
    const isLookingAhead = running !== undefined && running.state !== "draining" && !this.#isFinished;
    return Math.max(0, this.heldSamples + waitingSamples - (isLookingAhead ? HELD_SAMPLES : 0));
  }

  /** A frame of 960 samples at most. */
  readInto(left: Float32Array, right: Float32Array, lengthSamples: number): number {
    const running = this.#running;
    if (running === undefined) return this.#readTrack(left, right, lengthSamples);
    const count = Math.min(lengthSamples, this.lengthSamples);
    if (count === 0) return 0;
    if (running.state === "draining") return this.#drain(left, right, count);
    this.#takeIn(running, count);
    this.#emit(running, { left, right, count });
    if (running.state === "leaving" && running.fromGain === 1 && running.toGain === 1) running.state = "draining";
    return count;
  }

  #create(settings: LoudnessSettings): Running {
    const rider = new GainRider(settings.target, CHUNKS_PER_SECOND);
    rider.begin(this.#taggedLufs);
    // Samples that a draining stage still holds come first.
    this.#restart(this.heldSamples);
    const limiter = new PeakLimiter(settings.peak, 1000 / CHUNKS_PER_SECOND);
    const kernel = this.#whenOn();
    const [newLeft, newRight] = [kernel.left.subarray(HELD_SAMPLES), kernel.right.subarray(HELD_SAMPLES)];
    const [outLeft, outRight] = [kernel.leftOut.subarray(0, FRAME_SAMPLES), kernel.rightOut.subarray(0, FRAME_SAMPLES)];
    const buffers = { kernel, newLeft, newRight, outLeft, outRight };
    const meter = new LoudnessMeter(kernel);
    return { state: "on", ...buffers, rider, limiter, meter, share: 0, fromGain: 1, toGain: 1 };
  }

  /** Restarts counting here. Of the held samples, keeps the last `heldSamples`, which belong to the track. */
  #restart(heldSamples: number): void {
    for (const held of [this.#heldLeft, this.#heldRight]) {
      held.copyWithin(this.#paddingSamples, 0);
      held.fill(0, 0, HELD_SAMPLES - heldSamples);
    }
    this.#heldSamples = heldSamples;
    this.#paddingSamples = 0;
    this.#outputSamples = 0;
    this.#judgedChunks = 0;
  }

  /**
   * Copies the held samples and enough new ones for `count` samples into the kernel's memory; measures, and finds the
   * peaks.
   */
  #takeIn({ kernel, newLeft, newRight, rider, meter, limiter }: Running, count: number): void {
    kernel.left.set(this.#heldLeft);
    kernel.right.set(this.#heldRight);
    const neededSamples = count + HELD_SAMPLES - this.#heldSamples;
    const newSamples = this.#track?.readInto(newLeft, newRight, neededSamples) ?? 0;
    kernel.sanitize(HELD_SAMPLES, newSamples);
    newLeft.fill(0, newSamples, neededSamples);
    newRight.fill(0, newSamples, neededSamples);
    this.#paddingSamples += neededSamples - newSamples;
    if (rider.isMeasuring && meter.measure(HELD_SAMPLES, newSamples)) rider.follow(meter);
    const takenSamples = this.#outputSamples + count + HELD_SAMPLES;
    const chunks = Math.floor((takenSamples - REACH_BEHIND_SAMPLES) / CHUNK_SAMPLES) - this.#judgedChunks;
    const start = HELD_SAMPLES + neededSamples - (takenSamples - this.#judgedChunks * CHUNK_SAMPLES);
    kernel.findPeaks(start, chunks, limiter.ceiling / rider.gainMax);
  }

  #emit(running: Running, to: { left: Float32Array; right: Float32Array; count: number }): void {
    const { kernel, limiter, rider } = running;
    // The oldest held sample is at the start of the kernel's new ones, minus the number held.
    const offset = HELD_SAMPLES - this.#heldSamples;
    const within = this.#outputSamples % CHUNK_SAMPLES;
    const chunkCount = Math.ceil((within + to.count) / CHUNK_SAMPLES);
    let peak = 0;
    for (let chunk = 0; chunk < chunkCount; chunk++) {
      // The first chunk may have started with earlier samples.
      if (chunk > 0 || within === 0) {
        while (!limiter.isReady) limiter.push(kernel.peaks[peak++]!, rider.advance());
        limiter.next();
        shareOut(running);
      }
      kernel.gains[2 * chunk] = running.fromGain;
      kernel.gains[2 * chunk + 1] = (running.toGain - running.fromGain) / CHUNK_SAMPLES;
    }
    kernel.scale(offset, to.count, within);
    this.#outputSamples += to.count;
    copyTo(to.left, running.outLeft, to.count);
    copyTo(to.right, running.outRight, to.count);
    this.#judgedChunks += peak;
    const heldStart = offset + to.count;
    for (let sample = 0; sample < HELD_SAMPLES; sample++) {
      this.#heldLeft[sample] = kernel.left[heldStart + sample]!;
      this.#heldRight[sample] = kernel.right[heldStart + sample]!;
    }
    this.#heldSamples = HELD_SAMPLES;
    this.#paddingSamples = Math.min(this.#paddingSamples, HELD_SAMPLES);
  }

  /** The gain is 1 again: outputs the held samples, then the track itself, and is off. */
  #drain(left: Float32Array, right: Float32Array, count: number): number {
    const heldCount = Math.min(count, this.heldSamples);
    const start = HELD_SAMPLES - this.#heldSamples;
    for (let sample = 0; sample < heldCount; sample++) {
      left[sample] = this.#heldLeft[start + sample]!;
      right[sample] = this.#heldRight[start + sample]!;
    }
    this.#heldSamples -= heldCount;
    if (this.heldSamples > 0) return heldCount;
    this.#restart(0);
    this.#running = undefined;
    return heldCount + this.#readTrack(left.subarray(heldCount), right.subarray(heldCount), count - heldCount);
  }

  #readTrack(left: Float32Array, right: Float32Array, lengthSamples: number): number {
    const count = this.#track?.readInto(left, right, lengthSamples) ?? 0;
    sanitize(left, right, count);
    return count;
  }
}

function copyTo(to: Float32Array, from: Float32Array, count: number): void {
  if (count === FRAME_SAMPLES) {
    to.set(from); // much faster than one by one
    return;
  }
  for (let sample = 0; sample < count; sample++) to[sample] = from[sample]!;
}

/** The chunk's factors, to the degree that the stage is switched on. */
function shareOut(running: Running): void {
  const { limiter } = running;
  const targetShare = running.state === "on" ? 1 : 0;
  running.fromGain = 1 + running.share * (limiter.startGain - 1);
  if (running.share < targetShare) running.share = Math.min(targetShare, running.share + SHARE_STEP);
  else running.share = Math.max(targetShare, running.share - SHARE_STEP);
  running.toGain = 1 + running.share * (limiter.endGain - 1);
}
