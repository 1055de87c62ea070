// Finds the place in a song that goes on most like another one does: where the time stretcher can jump to without it being
// heard. Both channels count alike and are judged together, so stereo stays whole. Audio thread; no allocation.

import { COARSE_STEP, type TimescaleWindow } from "./timescale-window.ts";

/** How much sound is compared: 16 ms, the period of a 62 Hz tone. */
export const COMPARED_SAMPLES = 768;
const COMPARED_STEPS = COMPARED_SAMPLES / COARSE_STEP;
/** The searches look at every second and fourth sample only: a part of the work, and the same place. */
const COARSE_STRIDE = 2;
const FINE_STRIDE = 4;
/** A jump as far from the wanted one as the search reaches must be this much better (likeness goes from -1 to 1). */
const DISTANCE_COST = 0.02;
/** Silence is like silence. */
const ENERGY_MIN = 1e-6;

export interface JumpRange {
  /** Shortest and longest jump, song samples, forward positive. */
  low: number;
  high: number;
  /** The best one as far as time is concerned. */
  wanted: number;
}

export interface Jump {
  samples: number;
  /** 1 for the same sound, 0 for one that has nothing to do with it. */
  likeness: number;
}

/** Writes into `best` the jump from `at` within the range (not empty) whose sound is most like what follows `at`. */
export function findJump(window: TimescaleWindow, at: number, range: JumpRange, best: Jump): void {
  const coarse = findCoarse(window, at, range);
  best.samples = coarse;
  best.likeness = Number.NEGATIVE_INFINITY;
  const low = Math.max(range.low, coarse - COARSE_STEP);
  const high = Math.min(range.high, coarse + COARSE_STEP);
  const energy = energyAt(window, at);
  for (let jump = low; jump <= high; jump++) {
    const likeness = likenessOf(window, at, jump, energy);
    if (likeness > best.likeness) {
      best.likeness = likeness;
      best.samples = jump;
    }
  }
}

/** The best jump in steps of the coarse copy. */
function findCoarse(window: TimescaleWindow, at: number, range: JumpRange): number {
  const { coarseLeft, coarseRight } = window;
  const here = Math.floor((at - window.start) / COARSE_STEP);
  const low = Math.ceil(range.low / COARSE_STEP);
  const high = Math.floor(range.high / COARSE_STEP);
  const costPerStep = (DISTANCE_COST * COARSE_STEP) / Math.max(COARSE_STEP, range.high - range.low);
  let hereEnergy = ENERGY_MIN;
  let thereEnergy = ENERGY_MIN;
  for (let step = 0, there = here + low; step < COMPARED_STEPS; step++) {
    hereEnergy += coarseLeft[here + step]! ** 2 + coarseRight[here + step]! ** 2;
    thereEnergy += coarseLeft[there + step]! ** 2 + coarseRight[there + step]! ** 2;
  }
  let best = Number.NEGATIVE_INFINITY;
  let bestJump = range.wanted;
  for (let jump = low; jump <= high; jump++) {
    const there = here + jump;
    let product = ENERGY_MIN / COARSE_STRIDE;
    for (let step = 0; step < COMPARED_STEPS; step += COARSE_STRIDE) {
      product += coarseLeft[here + step]! * coarseLeft[there + step]!;
      product += coarseRight[here + step]! * coarseRight[there + step]!;
    }
    const cost = costPerStep * Math.abs(jump - range.wanted / COARSE_STEP);
    const likeness = (2 * COARSE_STRIDE * product) / (hereEnergy + thereEnergy) - cost;
    if (likeness > best) {
      best = likeness;
      bestJump = jump * COARSE_STEP;
    }
    const next = there + COMPARED_STEPS;
    thereEnergy +=
      coarseLeft[next]! ** 2 + coarseRight[next]! ** 2 - coarseLeft[there]! ** 2 - coarseRight[there]! ** 2;
  }
  return Math.min(Math.max(bestJump, range.low), range.high);
}

function energyAt({ left, right, start }: TimescaleWindow, at: number): number {
  let energy = ENERGY_MIN / 2;
  for (let index = at - start, end = index + COMPARED_SAMPLES; index < end; index += FINE_STRIDE) {
    energy += left[index]! ** 2 + right[index]! ** 2;
  }
  return energy;
}

function likenessOf(window: TimescaleWindow, at: number, jump: number, hereEnergy: number): number {
  const { left, right, start } = window;
  let energy = hereEnergy;
  let product = ENERGY_MIN / 2;
  for (let here = at - start, end = here + COMPARED_SAMPLES; here < end; here += FINE_STRIDE) {
    const l = left[here + jump]!;
    const r = right[here + jump]!;
    product += left[here]! * l + right[here]! * r;
    energy += l * l + r * r;
  }
  return (2 * product) / (energy + ENERGY_MIN / 2);
}
