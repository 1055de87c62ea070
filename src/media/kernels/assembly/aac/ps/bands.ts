// The bands of parametric stereo: the lowest subbands are split further, the others are taken as they are. AssemblyScript,
// part of the AAC decoder; the hybrid filter bank of ISO 14496-3 section 8.6.4.3.

import {
  BAND_BYTES,
  MIXED_BYTE,
  MIXED_BYTES,
  PART_BYTES,
  SLOTS_OF_TIME,
  SPLIT_BANDS,
  SPLIT_BYTE,
  SPLIT_BYTES,
  SPLITS_BYTE,
  STEREO_INPUT,
  WORK_BYTE,
} from "../../../numbers/aac.ts";

/** What is split, with 6 slots of the past in front. */
const INPUT: usize = WORK_BYTE;
const PAST_BYTES: usize = 4 * 6;
/** Filters in the table, behind the 8 for 20 parameters. */
const TWELVE: i32 = 8;
const EIGHT: i32 = 20;
const FOUR: i32 = 28;
const SLOTS_BYTES: usize = 4 * SLOTS_OF_TIME;
const BOTH_PARTS: usize = 2 * PART_BYTES;
/** The filter that splits a subband in two: the taps that are not 0, and the one in the middle. */
const HALF_1: f32 = 0.01899487526049;
const HALF_3: f32 = -0.07293139167538;
const HALF_5: f32 = 0.30596630545168;
const HALF_6: f32 = 0.5;

export function bandCount(is34: bool): i32 {
  return is34 ? 91 : 71;
}

/** Of all bands, so many are parts of the lowest subbands, of which there are three or five. */
function splitCount(is34: bool): i32 {
  return is34 ? 32 : 10;
}

/** Real parts of a band; the imaginary ones lie `PART_BYTES` behind. `side`: 0 is left. */
export function bandAt(side: i32, band: i32, is34: bool): usize {
  if (band < splitCount(is34)) return SPLIT_BYTE + BAND_BYTES * (SPLIT_BANDS * side + band);
  return MIXED_BYTE + MIXED_BYTES * side + BAND_BYTES * (band - (is34 ? 27 : 7));
}

/** Splits the lowest subbands of the left side. */
export function split(stereo: usize, is34: bool): void {
  for (let subband = 0; subband < 5; subband++) {
    readInput(stereo, subband);
    if (is34) {
      if (subband === 0) splitBy(TWELVE, 0, 12);
      else if (subband === 1) splitBy(EIGHT, 12, 8);
      else splitBy(FOUR, 20 + 4 * (subband - 2), 4);
    } else if (subband === 0) {
      splitBy(0, 10, 8);
      joinSix();
    } else if (subband < 3) halve(subband === 1 ? 7 : 8, subband === 1 ? 6 : 9);
  }
}

function readInput(stereo: usize, subband: i32): void {
  let kept = stereo + STEREO_INPUT + 2 * PAST_BYTES * subband;
  for (let part: usize = 0; part < BOTH_PARTS; part += PART_BYTES) {
    memory.copy(INPUT + part, kept, PAST_BYTES);
    memory.copy(INPUT + part + PAST_BYTES, MIXED_BYTE + BAND_BYTES * subband + part, PART_BYTES - PAST_BYTES);
    memory.copy(kept, INPUT + part + SLOTS_BYTES, PAST_BYTES);
    kept += PAST_BYTES;
  }
}

/** To the bands from `to` on. */
function splitBy(firstFilter: i32, to: i32, count: i32): void {
  for (let band = 0; band < count; band++) {
    const taps: usize = SPLITS_BYTE + SPLIT_BYTES * (firstFilter + band);
    const output: usize = SPLIT_BYTE + BAND_BYTES * (to + band);
    const middle = v128.load32_splat(taps + 48);
    for (let at: usize = 0; at < SLOTS_BYTES; at += 16) {
      const input = INPUT + at;
      let re = f32x4.mul(middle, v128.load(input + 24));
      let im = f32x4.mul(middle, v128.load(input + 24 + PART_BYTES));
      for (let tap = 0; tap < 6; tap++) {
        const early = input + 4 * tap;
        const late = input + 4 * (12 - tap);
        const tapRe = v128.load32_splat(taps + 8 * tap);
        const tapIm = v128.load32_splat(taps + 8 * tap + 4);
        const aRe = v128.load(early);
        const aIm = v128.load(early + PART_BYTES);
        const bRe = v128.load(late);
        const bIm = v128.load(late + PART_BYTES);
        re = f32x4.add(re, f32x4.mul(tapRe, f32x4.add(aRe, bRe)));
        re = f32x4.sub(re, f32x4.mul(tapIm, f32x4.sub(aIm, bIm)));
        im = f32x4.add(im, f32x4.mul(tapRe, f32x4.add(aIm, bIm)));
        im = f32x4.add(im, f32x4.mul(tapIm, f32x4.sub(aRe, bRe)));
      }
      v128.store(output + at, re);
      v128.store(output + at + PART_BYTES, im);
    }
  }
}

/** Eight bands, which lie from the tenth on, to six: the upper ones belong together in pairs. */
function joinSix(): void {
  take(0, 6);
  take(1, 7);
  take(2, 0);
  take(3, 1);
  take(4, 2);
  add(4, 5);
  take(5, 3);
  add(5, 4);
}

function take(to: i32, from: i32): void {
  memory.copy(SPLIT_BYTE + BAND_BYTES * to, SPLIT_BYTE + BAND_BYTES * (10 + from), BAND_BYTES);
}

function add(to: i32, from: i32): void {
  addBand(SPLIT_BYTE + BAND_BYTES * to, SPLIT_BYTE + BAND_BYTES * (10 + from));
}

function addBand(to: usize, from: usize): void {
  for (let at: usize = 0; at < SLOTS_BYTES; at += 16) {
    v128.store(to + at, f32x4.add(v128.load(to + at), v128.load(from + at)));
    const part = at + PART_BYTES;
    v128.store(to + part, f32x4.add(v128.load(to + part), v128.load(from + part)));
  }
}

/** To two bands: the sum of what is in phase and out of phase, and the difference. */
function halve(sumBand: i32, differenceBand: i32): void {
  const sum: usize = SPLIT_BYTE + BAND_BYTES * sumBand;
  const difference: usize = SPLIT_BYTE + BAND_BYTES * differenceBand;
  for (let part: usize = 0; part < BOTH_PARTS; part += PART_BYTES) {
    for (let at: usize = 0; at < SLOTS_BYTES; at += 16) {
      const input = INPUT + part + at;
      const inPhase = f32x4.mul(f32x4.splat(HALF_6), v128.load(input + 24));
      let outOfPhase = f32x4.mul(f32x4.splat(HALF_1), f32x4.add(v128.load(input + 4), v128.load(input + 44)));
      outOfPhase = f32x4.add(
        outOfPhase,
        f32x4.mul(f32x4.splat(HALF_3), f32x4.add(v128.load(input + 12), v128.load(input + 36))),
      );
      outOfPhase = f32x4.add(
        outOfPhase,
        f32x4.mul(f32x4.splat(HALF_5), f32x4.add(v128.load(input + 20), v128.load(input + 28))),
      );
      v128.store(sum + part + at, f32x4.add(inPhase, outOfPhase));
      v128.store(difference + part + at, f32x4.sub(inPhase, outOfPhase));
    }
  }
}

/** Joins what was split, of one side. */
export function join(side: i32, is34: bool): void {
  const subbands = is34 ? 5 : 3;
  let band = 0;
  for (let subband = 0; subband < subbands; subband++) {
    const to: usize = MIXED_BYTE + MIXED_BYTES * side + BAND_BYTES * subband;
    const parts = is34 ? (subband === 0 ? 12 : subband === 1 ? 8 : 4) : subband === 0 ? 6 : 2;
    memory.copy(to, bandAt(side, band, is34), SLOTS_BYTES);
    memory.copy(to + PART_BYTES, bandAt(side, band, is34) + PART_BYTES, SLOTS_BYTES);
    for (let part = 1; part < parts; part++) addBand(to, bandAt(side, band + part, is34));
    band += parts;
  }
}
