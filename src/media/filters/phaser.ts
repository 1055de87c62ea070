// Tonearm's filter of that name: four all-pass stages beside the sound itself, so that two notches sweep through it. The
// right side sweeps a quarter of a turn ahead of the left one. Audio thread; no allocation.

import type { TonearmSettings } from "../../bridge/tonearm-filters.ts";
import type { AudioFilter } from "./audio-filter.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { Oscillator } from "./oscillator.ts";
import { isPresent, tonearmSettings } from "./setting.ts";

/** Where each stage turns by a quarter: the notches lie at 0.41 and 2.41 times that. */
const CENTRE_HZ = 800;
/** How far the centre sweeps at depth 1: two octaves up and down. */
const SWEEP = Math.log(4);
/** The stages are tuned this often, and glide in between. */
const BLOCK_SAMPLES = 64;
/** Below this (-400 dB) sound is none: smaller numbers would in the end be subnormal and slow. */
const SILENCE = 1e-20;

class PhaserFilter implements AudioFilter {
  readonly #depth: number;
  readonly #feedbackTarget: number;
  readonly #mix: number;
  readonly #oscillator: Oscillator;
  readonly #left: Stages;
  readonly #right: Stages;
  #feedback: number;
  #hasStarted: boolean;

  constructor({ frequency, depth, feedback, mix }: TonearmSettings<"phaser">, previous: PhaserFilter | undefined) {
    this.#depth = depth;
    this.#feedbackTarget = feedback;
    this.#mix = mix;
    this.#oscillator = new Oscillator(frequency, previous === undefined ? undefined : previous.#oscillator);
    this.#feedback = previous === undefined ? feedback : previous.#feedback;
    this.#hasStarted = previous === undefined ? false : previous.#hasStarted;
    this.#left = { ...(previous === undefined ? SILENT : previous.#left) };
    this.#right = { ...(previous === undefined ? SILENT : previous.#right) };
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    for (let start = 0; start < lengthSamples; start += BLOCK_SAMPLES) {
      this.#processBlock(left, right, { start, end: Math.min(start + BLOCK_SAMPLES, lengthSamples) });
    }
  }

  reset(): void {
    this.#oscillator.reset();
    Object.assign(this.#left, SILENT);
    Object.assign(this.#right, SILENT);
    this.#hasStarted = false;
  }

  /**
   * A stage: y = a x + z, then z = x - a y. What is fed back is two samples old: with one, each sample would have to wait
   * for all stages of the sample before.
   */
  #processBlock(left: Float32Array, right: Float32Array, { start, end }: Span): void {
    const [sideLeft, sideRight, oscillator] = [this.#left, this.#right, this.#oscillator];
    oscillator.startBlock(end - start);
    const targetLeft = tuningOf(this.#depth * oscillator.sine);
    const targetRight = tuningOf(this.#depth * oscillator.cosine);
    let a = this.#hasStarted ? sideLeft.tuning : targetLeft;
    let b = this.#hasStarted ? sideRight.tuning : targetRight;
    let feedback = this.#feedback;
    const aStep = (targetLeft - a) / (end - start);
    const bStep = (targetRight - b) / (end - start);
    const feedbackStep = (this.#feedbackTarget - feedback) / (end - start);
    const mix = this.#mix;
    let { z1: l1, z2: l2, z3: l3, z4: l4, last: lastLeft, before: beforeLeft } = sideLeft;
    let { z1: r1, z2: r2, z3: r3, z4: r4, last: lastRight, before: beforeRight } = sideRight;
    for (let sample = start; sample < end; sample++) {
      const l = left[sample]!;
      const r = right[sample]!;
      const leftIn = l + feedback * beforeLeft;
      const rightIn = r + feedback * beforeRight;
      beforeLeft = lastLeft;
      beforeRight = lastRight;
      const left1 = a * leftIn + l1;
      const right1 = b * rightIn + r1;
      l1 = leftIn - a * left1;
      r1 = rightIn - b * right1;
      const left2 = a * left1 + l2;
      const right2 = b * right1 + r2;
      l2 = left1 - a * left2;
      r2 = right1 - b * right2;
      const left3 = a * left2 + l3;
      const right3 = b * right2 + r3;
      l3 = left2 - a * left3;
      r3 = right2 - b * right3;
      lastLeft = a * left3 + l4;
      lastRight = b * right3 + r4;
      l4 = left3 - a * lastLeft;
      r4 = right3 - b * lastRight;
      left[sample] = l + mix * (lastLeft - l);
      right[sample] = r + mix * (lastRight - r);
      a += aStep;
      b += bStep;
      feedback += feedbackStep;
    }
    keep(sideLeft, { z1: l1, z2: l2, z3: l3, z4: l4, last: lastLeft, before: beforeLeft, tuning: targetLeft });
    keep(sideRight, { z1: r1, z2: r2, z3: r3, z4: r4, last: lastRight, before: beforeRight, tuning: targetRight });
    this.#feedback = this.#feedbackTarget;
    this.#hasStarted = true;
  }
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** What one side remembers: a number per stage, what the last one gave last and before that, and how they were tuned. */
interface Stages {
  z1: number;
  z2: number;
  z3: number;
  z4: number;
  last: number;
  before: number;
  tuning: number;
}

const SILENT: Readonly<Stages> = { z1: 0, z2: 0, z3: 0, z4: 0, last: 0, before: 0, tuning: 0 };

/** The copy costs nothing: the compiler takes the object apart. */
function keep(stages: Stages, { z1, z2, z3, z4, last, before, tuning }: Readonly<Stages>): void {
  const loudest = Math.max(Math.abs(z1), Math.abs(z2), Math.abs(z3), Math.abs(z4), Math.abs(last));
  const isSilent = loudest < SILENCE;
  stages.z1 = isSilent ? 0 : z1;
  stages.z2 = isSilent ? 0 : z2;
  stages.z3 = isSilent ? 0 : z3;
  stages.z4 = isSilent ? 0 : z4;
  stages.last = isSilent ? 0 : last;
  stages.before = isSilent ? 0 : before;
  stages.tuning = tuning;
}

/** The stages' coefficient for a sweep of -1 to 1: (t - 1) / (t + 1), t the tangent of half the angle per sample. */
function tuningOf(sweep: number): number {
  const half = ((Math.PI * CENTRE_HZ) / 48_000) * Math.exp(SWEEP * sweep);
  // The tangent to five digits, as far up as the sweep goes.
  const square = half * half;
  const t = half * (1 + (square / 3) * (1 + 0.4 * square));
  return (t - 1) / (t + 1);
}

export const phaser: FilterDefinition = {
  plugin: "tonearm",
  name: "phaser",
  isEnabled: (settings) => isPresent(settings) && tonearmSettings("phaser", settings).mix !== 0,
  create: (settings, previous) =>
    new PhaserFilter(tonearmSettings("phaser", settings), previous instanceof PhaserFilter ? previous : undefined),
};
