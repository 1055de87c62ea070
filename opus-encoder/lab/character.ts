// The character of an excerpt, by simple measures of its audio, so that encoders can be compared on each kind of music.
// Lab only.

import { SAMPLE_RATE_HZ } from "../../src/media/format/audio-format.ts";
import { BIN_COUNT, WINDOW_SAMPLES } from "./ear-bands.ts";
import type { Sensation, Stereo } from "./ear-model.ts";
import { PICTURE_HOP_SAMPLES, type Picture } from "./similarity.ts";

/** Every excerpt has one of the first three, and may be wide or quiet as well. */
export const CLASSES = ["transient", "tonal", "dense", "wide", "quiet"] as const;
export type ClassName = (typeof CLASSES)[number];

/** The figures from which the classes are derived. */
export interface Character {
  /** Mean power of both channels, dB of a full-scale square wave. */
  readonly levelDb: number;
  /** Attacks in a second: columns of the picture in which the level of many bands increases at once. */
  readonly attacksPerSecond: number;
  /** 0 (lines) to 0.56 (noise): geometric by arithmetic mean of the power of neighbouring bins. */
  readonly flatness: number;
  /** Power of the side as a share of all, 0 to 1; 0.5 for two channels that have nothing in common. */
  readonly sideShare: number;
}

/** Character of the whole excerpt; tones are detected in one channel, which is enough to recognise them. */
export function characterOf(audio: Stereo, sensation: Sensation, picture: Picture): Character {
  return { ...powersOf(audio), attacksPerSecond: attacksIn(picture), flatness: flatnessOf(sensation) };
}

/** In the order of `CLASSES`. */
export function classesOf({ levelDb, attacksPerSecond, flatness, sideShare }: Character): ClassName[] {
  const held = flatness < TONAL_BELOW ? "tonal" : "dense";
  const classes: ClassName[] = [attacksPerSecond >= TRANSIENT_FROM ? "transient" : held];
  if (sideShare >= WIDE_FROM) classes.push("wide");
  if (levelDb < QUIET_BELOW_DB) classes.push("quiet");
  return classes;
}

const TRANSIENT_FROM = 2;
const TONAL_BELOW = 0.4;
const WIDE_FROM = 0.3;
const QUIET_BELOW_DB = -22;
/** An attack: the mean increase of all bands over the loudest level shortly before, dB. */
const ATTACK_DB = 5;
/** Columns that count as shortly before, 43 ms. */
const BEFORE_COLUMNS = 4;
/** Bins whose flatness is measured together: 190 Hz. */
const NEIGHBOUR_BINS = 8;

function powersOf([left, right]: Stereo): { readonly levelDb: number; readonly sideShare: number } {
  let [middle, side] = [1e-12, 1e-12];
  for (let sample = 0; sample < left.length; sample++) {
    middle += (left[sample]! + right[sample]!) ** 2;
    side += (left[sample]! - right[sample]!) ** 2;
  }
  return {
    levelDb: 10 * Math.log10((middle + side) / (4 * left.length)),
    sideShare: side / (middle + side),
  };
}

function attacksIn({ columnCount, bandCount, levels: [left, right] }: Picture): number {
  let [attacks, lastAttack] = [0, Number.NEGATIVE_INFINITY];
  for (let column = BEFORE_COLUMNS; column < columnCount; column++) {
    let increase = 0;
    for (let band = 0; band < bandCount; band++) {
      const levelAt = (back: number): number => {
        const at = (column - back) * bandCount + band;
        return Math.max(left[at]!, right[at]!, AUDIBLE_DB);
      };
      let before = levelAt(1);
      for (let back = 2; back <= BEFORE_COLUMNS; back++) before = Math.max(before, levelAt(back));
      increase += Math.max(0, levelAt(0) - before);
    }
    if (increase / bandCount < ATTACK_DB || column - lastAttack < BEFORE_COLUMNS) continue;
    attacks += 1;
    lastAttack = column;
  }
  return attacks / ((columnCount * PICTURE_HOP_SAMPLES) / SAMPLE_RATE_HZ);
}

const AUDIBLE_DB = -80;

/** From 200 Hz to 8 kHz, weighted with the root of the power, so that loud bands dominate but do not decide alone. */
function flatnessOf({ power, windowCount }: Sensation): number {
  const binOf = (hertz: number): number => Math.round((hertz * WINDOW_SAMPLES) / SAMPLE_RATE_HZ);
  let [sum, weights] = [0, 1e-12];
  for (let window = 0; window < windowCount; window++) {
    for (let bin = binOf(200); bin < binOf(8000); bin += NEIGHBOUR_BINS) {
      let [mean, logarithm] = [0, 0];
      for (let at = window * BIN_COUNT + bin, end = at + NEIGHBOUR_BINS; at < end; at++) {
        const value = power[at]! + 1e-9;
        mean += value / NEIGHBOUR_BINS;
        logarithm += Math.log(value) / NEIGHBOUR_BINS;
      }
      const weight = mean ** 0.25;
      sum += weight * (Math.exp(logarithm) / mean);
      weights += weight;
    }
  }
  return sum / weights;
}
