// The facts of a granule's channel, as its side information gives them, and their place in memory. AssemblyScript, part of
// the layer III decoder; ISO 11172-3 section 2.4.1.7, ISO 13818-3 section 2.4.1.7.

import {
  GRANULE_BYTES,
  GRANULE_SAMPLES,
  GRANULES_BYTE,
  LONG_BANDS,
  LONG_BANDS_BYTE,
  SCALES,
  SCALES_BYTE,
  SHORT_BANDS,
  SHORT_BANDS_BYTE,
} from "../../numbers/layer3.ts";
import { read } from "../bits.ts";

// Whole numbers, by their index.
export const DATA_BITS: i32 = 0;
/** Samples that are coded in pairs. */
export const PAIRED_SAMPLES: i32 = 1;
export const GAIN: i32 = 2;
export const SCALE_CODE: i32 = 3;
export const BLOCK_TYPE: i32 = 4;
/** The two lowest subbands are long blocks of type 0. */
export const IS_MIXED: i32 = 5;
/** Three Huffman tables, and where the second and the third begin. */
export const BOOK: i32 = 6;
export const SECOND_START: i32 = 9;
export const THIRD_START: i32 = 10;
/** Of three windows. */
export const WINDOW_GAIN: i32 = 11;
export const HAS_EXTRA_SCALES: i32 = 14;
export const SCALE_STEP: i32 = 15;
export const QUADS: i32 = 16;
/** Behind the last sample that is not 0, as far as is known. */
export const END: i32 = 17;

export const SHORT_BLOCKS: i32 = 2;
/** A mixed block begins with long bands, in place of so many bands of short blocks. */
export const FIRST_SHORT_BAND: i32 = 3;

export function granuleAt(granule: i32, channel: i32): usize {
  return GRANULES_BYTE + GRANULE_BYTES * (2 * granule + channel);
}

export function scalesAt(granule: i32, channel: i32): usize {
  return SCALES_BYTE + SCALES * (2 * granule + channel);
}

export function fact(granule: usize, index: i32): i32 {
  return load<i32>(granule + 4 * index);
}

export function setFact(granule: usize, index: i32, value: i32): void {
  store<i32>(granule + 4 * index, value);
}

/** First sample of a band of long blocks. */
export function longStart(rate: i32, band: i32): i32 {
  return load<u16>(LONG_BANDS_BYTE + 2 * (rate * LONG_BANDS + band));
}

/** First sample of a band of short blocks, in one window. */
export function shortStart(rate: i32, band: i32): i32 {
  return load<u16>(SHORT_BANDS_BYTE + 2 * (rate * SHORT_BANDS + band));
}

/** How many long bands a mixed block has. */
export function mixedLongBands(rate: i32): i32 {
  let band = 0;
  while (longStart(rate, band) < 3 * shortStart(rate, FIRST_SHORT_BAND)) band++;
  return band;
}

/** Reads the side information of a granule's channel. False: it is not valid. */
export function readGranule(granule: usize, rate: i32, isVersion1: bool): bool {
  setFact(granule, DATA_BITS, read(12));
  setFact(granule, PAIRED_SAMPLES, 2 * read(9));
  setFact(granule, GAIN, read(8));
  setFact(granule, SCALE_CODE, read(isVersion1 ? 4 : 9));
  if (read(1) === 1) {
    const type = read(2);
    if (type === 0) return false;
    const isMixed = read(1);
    setFact(granule, BLOCK_TYPE, type);
    setFact(granule, IS_MIXED, isMixed);
    setFact(granule, BOOK, read(5));
    setFact(granule, BOOK + 1, read(5));
    setFact(granule, BOOK + 2, 0);
    for (let window = 0; window < 3; window++) setFact(granule, WINDOW_GAIN + window, read(3));
    // Eight long bands, or three of each of three windows.
    const isShort = type === SHORT_BLOCKS;
    setFact(granule, SECOND_START, isShort ? 3 * shortStart(rate, 3) : longStart(rate, 8));
    setFact(granule, THIRD_START, GRANULE_SAMPLES);
  } else {
    setFact(granule, BLOCK_TYPE, 0);
    setFact(granule, IS_MIXED, 0);
    for (let region = 0; region < 3; region++) setFact(granule, BOOK + region, read(5));
    for (let window = 0; window < 3; window++) setFact(granule, WINDOW_GAIN + window, 0);
    const second = read(4) + 1;
    const third = min(second + read(3) + 1, LONG_BANDS - 1);
    setFact(granule, SECOND_START, longStart(rate, second));
    setFact(granule, THIRD_START, longStart(rate, third));
  }
  setFact(granule, HAS_EXTRA_SCALES, isVersion1 ? read(1) : 0);
  setFact(granule, SCALE_STEP, read(1));
  setFact(granule, QUADS, read(1));
  setFact(granule, END, 0);
  return fact(granule, PAIRED_SAMPLES) <= GRANULE_SAMPLES;
}
