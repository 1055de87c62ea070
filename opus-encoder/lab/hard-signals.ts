// Signals that are hard on an encoder: unlike any music, or at the limits of arithmetic. Deterministic for a seed. Lab
// only.

import { FRAME_SAMPLES } from "../../src/media/format/audio-format.ts";
import type { Stereo } from "./ear-model.ts";

/** One sample of a side, `at` samples after the start of the signal. */
type Signal = (at: number) => number;

/** Each makes a signal that differs with every call. */
const MAKERS = {
  silence: () => () => 0,
  noise: (random) => {
    const level = 10 ** (-5 * random());
    return () => level * (2 * random() - 1);
  },
  fullScaleNoise: (random) => () => (random() < 0.5 ? -1 : 1),
  square: (random) => {
    const period = 2 + Math.floor(2000 * random() ** 3);
    return (at) => (at % period < period / 2 ? 1 : -1);
  },
  tone: (random) => {
    const [step, level] = [Math.PI * random() ** 3, random()];
    return (at) => level * Math.sin(step * at);
  },
  chord: (random) => {
    const steps = Array.from({ length: 6 }, () => 0.3 * random() ** 2);
    return (at) => steps.reduce((sum, step) => sum + 0.2 * Math.sin(step * at), 0);
  },
  chirp: (random) => {
    const speed = 1e-5 * random();
    return (at) => 0.7 * Math.sin(speed * at * at);
  },
  clicks: (random) => {
    const gap = 100 + Math.floor(20_000 * random());
    return (at) => (at % gap < 3 ? 1 : 0);
  },
  plucks: (random) => {
    const [gap, step] = [2000 + Math.floor(10_000 * random()), 0.01 + 0.2 * random()];
    return (at) => Math.exp(-(at % gap) / 800) * Math.sin(step * at);
  },
  pulses: (random) => {
    const period = 40 + Math.floor(900 * random());
    return (at) => 0.8 * Math.exp(-(at % period) / 12) + 0.001 * random();
  },
  constant: (random) => {
    const level = 2 * random() - 1;
    return () => level;
  },
  belowHearing: (random) => () => 1e-7 * (random() - 0.5),
  subnormal: (random) => () => 1e-41 * (random() - 0.5),
  beyondFullScale: (random) => {
    const level = 10 ** (30 * random());
    return () => level * (random() - 0.5);
  },
  notNumbers: (random) => () => (random() < 0.05 ? Number.NaN : random() - 0.5),
  infinite: (random) => () => (random() < 0.02 ? Number.POSITIVE_INFINITY : random() < 0.02 ? -1 / 0 : 0.1),
  lastBit: (random) => () => (random() < 0.01 ? 2 ** -20 : 2 ** -24),
} satisfies Readonly<Record<string, (random: () => number) => Signal>>;

/** All signals, by name. */
export const HARD_SIGNALS = Object.keys(MAKERS) as readonly (keyof typeof MAKERS)[]; // the keys of that very object

/** The right side, from the left's sample and a separate signal. */
const RIGHT_SIDES: readonly ((left: number, own: () => number) => number)[] = [
  (left) => left,
  (left, own) => left + 0.1 * (own() - left),
  (_left, own) => own(),
  (left) => -left,
  () => 0,
];

/** The input of an encoder, frame by frame: the sides are those of the last `next`. */
export interface AudioToEncode {
  readonly left: Float32Array;
  readonly right: Float32Array;
  next(): void;
}

/** Two sides that have all, some or nothing in common, or one side that is silent. */
export class HardSignal implements AudioToEncode {
  readonly left = new Float32Array(FRAME_SAMPLES);
  readonly right = new Float32Array(FRAME_SAMPLES);
  readonly #signals: readonly [Signal, Signal];
  readonly #rightSide: (typeof RIGHT_SIDES)[number];
  #at = 0;

  constructor(name: (typeof HARD_SIGNALS)[number], random: () => number) {
    this.#signals = [MAKERS[name](random), MAKERS[name](random)];
    this.#rightSide = RIGHT_SIDES[Math.floor(RIGHT_SIDES.length * random())]!;
  }

  next(): void {
    const [left, own] = this.#signals;
    const ownNow = (): number => own(this.#at);
    for (let index = 0; index < FRAME_SAMPLES; index++, this.#at++) {
      const value = left(this.#at);
      this.left[index] = value;
      this.right[index] = this.#rightSide(value, ownNow);
    }
  }
}

/** Music, from any position of the piece, repeated from its start at its end. */
export class PlayedMusic implements AudioToEncode {
  readonly left = new Float32Array(FRAME_SAMPLES);
  readonly right = new Float32Array(FRAME_SAMPLES);
  readonly #piece: Stereo;
  readonly #frameCount: number;
  #frame: number;

  /** `piece` has a frame at least. */
  constructor(piece: Stereo, random: () => number) {
    this.#piece = piece;
    this.#frameCount = Math.floor(piece[0].length / FRAME_SAMPLES);
    this.#frame = Math.floor(this.#frameCount * random());
  }

  next(): void {
    const from = FRAME_SAMPLES * (this.#frame++ % this.#frameCount);
    this.left.set(this.#piece[0].subarray(from, from + FRAME_SAMPLES));
    this.right.set(this.#piece[1].subarray(from, from + FRAME_SAMPLES));
  }
}
