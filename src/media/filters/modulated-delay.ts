// The sound beside itself a little later, by a delay that swings: chorus and flanger. The right side swings a quarter of a
// turn ahead of the left one, which makes it wide. Third-order Hermite interpolation between samples. Audio thread; no
// allocation once made.

import type { AudioFilter } from "./audio-filter.ts";
import { DelayLine, ROUNDING } from "./delay-line.ts";
import { Oscillator } from "./oscillator.ts";

/** 5 ms: a step in the delay or in what is fed back would be heard. */
const GLIDE_SAMPLES = 240;
/** The interpolation looks at the sample before and the two behind. */
const DELAY_SAMPLES_MIN = 3;

export interface ModulatedDelaySettings {
  readonly frequencyHz: number;
  /** The delay swings between these two; cut to three samples at least. */
  readonly delaySamplesMin: number;
  readonly delaySamplesMax: number;
  /** Share of the delayed sound that is delayed again, below 1. */
  readonly feedback: number;
  /** Share of the delayed sound in what is heard. */
  readonly mix: number;
}

export class ModulatedDelay implements AudioFilter {
  readonly #mix: number;
  readonly #oscillator: Oscillator;
  readonly #line: DelayLine;
  readonly #target: Drive;
  /** On its way to the target for as long as a glide lasts. */
  readonly #now: { -readonly [Member in keyof Drive]: Drive[Member] };
  #glideSamplesLeft = GLIDE_SAMPLES;

  constructor(settings: ModulatedDelaySettings, previous: ModulatedDelay | undefined) {
    const longest = Math.max(settings.delaySamplesMax, DELAY_SAMPLES_MIN);
    const shortest = Math.max(settings.delaySamplesMin, DELAY_SAMPLES_MIN);
    const { frequencyHz, feedback, mix } = settings;
    this.#mix = mix;
    this.#target = { centre: (longest + shortest) / 2, swing: (longest - shortest) / 2, feedback, input: 1 };
    this.#now = previous === undefined ? { ...this.#target, input: 0 } : { ...previous.#now };
    this.#oscillator = new Oscillator(frequencyHz, previous === undefined ? undefined : previous.#oscillator);
    this.#line = new DelayLine(
      Math.max(longest, this.#now.centre + this.#now.swing) + 2,
      previous === undefined ? undefined : previous.#line,
    );
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const glideSamples = Math.min(this.#glideSamplesLeft, lengthSamples);
    if (glideSamples > 0) this.#run(left, right, { start: 0, end: glideSamples });
    if (glideSamples < lengthSamples) this.#run(left, right, { start: glideSamples, end: lengthSamples });
  }

  reset(): void {
    this.#line.clear();
    this.#oscillator.reset();
    Object.assign(this.#now, this.#target);
    // Sound is faded into the empty line.
    this.#now.input = 0;
    this.#glideSamplesLeft = GLIDE_SAMPLES;
  }

  /** Either all of it gliding or nothing. */
  #run(left: Float32Array, right: Float32Array, { start, end }: { start: number; end: number }): void {
    const now = this.#now;
    const target = this.#target;
    const mix = this.#mix;
    const line = this.#line;
    const { left: lineLeft, right: lineRight, mask } = line;
    const oscillator = this.#oscillator;
    const share = this.#glideSamplesLeft === 0 ? 0 : 1 / this.#glideSamplesLeft;
    const centreStep = (target.centre - now.centre) * share;
    const swingStep = (target.swing - now.swing) * share;
    const feedbackStep = (target.feedback - now.feedback) * share;
    const inputStep = (target.input - now.input) * share;
    oscillator.startBlock(end - start);
    const { stepSine, stepCosine } = oscillator;
    let { sine, cosine } = oscillator;
    let { centre, swing, feedback, input } = now;
    let { at } = line;
    for (let sample = start; sample < end; sample++) {
      const l = left[sample]!;
      const r = right[sample]!;
      // Never negative, so that `| 0` rounds down.
      const placeLeft = at + mask + 1 - centre - swing * sine;
      const placeRight = at + mask + 1 - centre - swing * cosine;
      const delayedLeft = valueAt(lineLeft, mask, placeLeft);
      const delayedRight = valueAt(lineRight, mask, placeRight);
      lineLeft[at] = l * input + delayedLeft * feedback + ROUNDING - ROUNDING;
      lineRight[at] = r * input + delayedRight * feedback + ROUNDING - ROUNDING;
      at = (at + 1) & mask;
      left[sample] = l + mix * (delayedLeft - l);
      right[sample] = r + mix * (delayedRight - r);
      const next = sine * stepCosine + cosine * stepSine;
      cosine = cosine * stepCosine - sine * stepSine;
      sine = next;
      centre += centreStep;
      swing += swingStep;
      feedback += feedbackStep;
      input += inputStep;
    }
    line.at = at;
    if (share !== 0) this.#glideOn({ centre, swing, feedback, input }, end - start);
  }

  #glideOn(reached: Drive, samples: number): void {
    this.#glideSamplesLeft -= samples;
    Object.assign(this.#now, this.#glideSamplesLeft === 0 ? this.#target : reached);
  }
}

/** What drives the loop: the delay in samples (its centre and how far it swings from it), and gains into the line. */
interface Drive {
  readonly centre: number;
  readonly swing: number;
  readonly feedback: number;
  readonly input: number;
}

function valueAt(line: Float32Array, mask: number, place: number): number {
  const index = place | 0;
  const t = place - index;
  const before = line[(index - 1) & mask]!;
  const here = line[index & mask]!;
  const next = line[(index + 1) & mask]!;
  const last = line[(index + 2) & mask]!;
  const bend = 2 * before - 5 * here + 4 * next - last + t * (3 * (here - next) + last - before);
  return here + 0.5 * t * (next - before + t * bend);
}
