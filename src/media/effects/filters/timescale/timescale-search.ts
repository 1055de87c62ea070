// Finds the position in a track whose continuation is most similar to another's: where the time stretcher can jump to
// inaudibly. Both channels count alike and are judged together, so stereo stays intact. The loops are in
// timescale-search-kernel.ts. Audio thread.

import { type Stereo, sharedSearchKernel } from "../../../kernels/timescale-search-kernel.ts";
import { COARSE_STEP, type TimescaleWindow } from "./timescale-window.ts";

/** Length of audio compared: 16 ms, the period of a 62 Hz tone. */
export const COMPARED_SAMPLES = 768;
const COMPARED_STEPS = COMPARED_SAMPLES / COARSE_STEP;
/** A jump as far from the target as the search reaches must be this much better (likeness goes from -1 to 1). */
const DISTANCE_COST = 0.02;
/** Two silent stretches count as similar. */
const ENERGY_MIN = 1e-6;

export interface JumpRange {
  /** Shortest and longest jump, whole track samples, forward positive; at most 1200 apart. */
  low: number;
  high: number;
  /** The best jump by time alone. */
  target: number;
}

export interface Jump {
  samples: number;
  /** 1 for identical audio, 0 for unrelated audio. */
  likeness: number;
}

/**
 * Writes into `best` the jump from `at` within the range (not empty) whose audio is most similar to that after `at`.
 */
export function findJump(window: TimescaleWindow, at: number, range: JumpRange, best: Jump): void {
  const coarse = findCoarse(window, at, range, best);
  search(
    window,
    {
      here: at - window.start,
      length: COMPARED_SAMPLES,
      low: Math.max(range.low, coarse - COARSE_STEP),
      high: Math.min(range.high, coarse + COARSE_STEP),
      target: coarse,
      costPerStep: 0,
    },
    best,
  );
}

/** The best jump in steps of the coarse copy; uses `best`. */
function findCoarse(window: TimescaleWindow, at: number, range: JumpRange, best: Jump): number {
  best.samples = range.target / COARSE_STEP;
  search(
    { left: window.coarseLeft, right: window.coarseRight },
    {
      here: Math.floor((at - window.start) / COARSE_STEP),
      length: COMPARED_STEPS,
      low: Math.ceil(range.low / COARSE_STEP),
      high: Math.floor(range.high / COARSE_STEP),
      target: range.target / COARSE_STEP,
      costPerStep: (DISTANCE_COST * COARSE_STEP) / Math.max(COARSE_STEP, range.high - range.low),
    },
    best,
  );
  return Math.min(Math.max(best.samples * COARSE_STEP, range.low), range.high);
}

interface Search {
  /** Index and length of the compared audio. */
  readonly here: number;
  readonly length: number;
  readonly low: number;
  readonly high: number;
  /** The jump aimed at, and the cost of each step away from it. */
  readonly target: number;
  readonly costPerStep: number;
}

/** Leaves `best.samples` unchanged when there is nowhere to jump to. */
function search(audio: Stereo, { here, length, low, high, target, costPerStep }: Search, best: Jump): void {
  best.likeness = Number.NEGATIVE_INFINITY;
  if (low > high) return;
  const { left, right } = audio;
  const kernel = sharedSearchKernel();
  const hereEnergy = energyAt(audio, here, length);
  let thereEnergy = energyAt(audio, here + low, length);
  kernel.compare(audio, { here, there: here + low, length, count: high - low + 1 });
  for (let jump = low; jump <= high; jump++) {
    const product = kernel.products[jump - low]! + ENERGY_MIN;
    const likeness = (2 * product) / (hereEnergy + thereEnergy) - costPerStep * Math.abs(jump - target);
    if (likeness > best.likeness) {
      best.likeness = likeness;
      best.samples = jump;
    }
    const there = here + jump;
    const next = there + length;
    thereEnergy += left[next]! ** 2 + right[next]! ** 2 - left[there]! ** 2 - right[there]! ** 2;
  }
}

function energyAt({ left, right }: Stereo, at: number, length: number): number {
  let energy = ENERGY_MIN;
  for (let index = at, end = at + length; index < end; index++) energy += left[index]! ** 2 + right[index]! ** 2;
  return energy;
}
