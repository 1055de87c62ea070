// Reads the spectrum of a granule's channel: Huffman codes, then powers and scales. AssemblyScript, part of the layer III
// decoder; ISO 11172-3 sections 2.4.2.7 and 2.4.3.4.

import {
  BOOKS_BYTE,
  GAIN_ZERO,
  GAINS,
  GAINS_BYTE,
  GRANULE_SAMPLES,
  POWERS_BYTE,
  QUADS_BYTE,
} from "../../numbers/layer3.ts";
import { bitFrom, fill, peek, skip } from "../bits.ts";
import {
  BLOCK_TYPE,
  BOOK,
  END,
  FIRST_SHORT_BAND,
  fact,
  GAIN,
  HAS_EXTRA_SCALES,
  IS_MIXED,
  longStart,
  mixedLongBands,
  PAIRED_SAMPLES,
  QUADS,
  SCALE_STEP,
  SECOND_START,
  SHORT_BLOCKS,
  setFact,
  shortStart,
  THIRD_START,
  WINDOW_GAIN,
} from "./granule.ts";

/** Bits of the first look into a table. */
const LOOK_BITS: i32 = 8;
/** A value of 15 is followed by more bits, in tables that have some. */
const LARGE: i32 = 15;
/** Gain of the quantizer, in quarters of an octave, at which values are what is coded. */
const GAIN_CENTRE: i32 = 210;
/** Both sides of a pair of sum and difference are scaled by half an octave. */
const PAIR_GAIN: i32 = 2;

/**
 * Reads the codes that end at bit `endBit` of the memory at `main`, to |n|^(4/3) with sign; the rest is 0. Data that
 * goes beyond its end is left out, as decoders do.
 */
export function readSpectrum(granule: usize, spectrum: usize, main: usize, endBit: i32): void {
  const pairedEnd = fact(granule, PAIRED_SAMPLES);
  const second = fact(granule, SECOND_START);
  const third = fact(granule, THIRD_START);
  let sample = 0;
  for (let region = 0; region < 3; region++) {
    const end = min(pairedEnd, region === 0 ? second : region === 1 ? third : pairedEnd);
    if (sample < end) sample = readPairs(spectrum, sample, end, fact(granule, BOOK + region));
    if (bitFrom(main) > endBit) break;
  }
  if (bitFrom(main) <= endBit) sample = readQuads(granule, spectrum, sample, main, endBit);
  else sample = min(sample, pairedEnd);
  setFact(granule, END, sample);
  memory.fill(spectrum + 4 * sample, 0, 4 * (GRANULE_SAMPLES - sample));
}

function readPairs(spectrum: usize, from: i32, end: i32, book: i32): i32 {
  const codes: usize = load<u32>(BOOKS_BYTE + 8 * book);
  const furtherBits = load<i32>(BOOKS_BYTE + 8 * book + 4);
  const to = spectrum + 4 * end;
  let at = spectrum + 4 * from;
  if (codes === 0) {
    memory.fill(at, 0, to - at);
    return end;
  }
  do {
    fill();
    let entry = load<i32>(codes + 4 * peek(LOOK_BITS));
    if (entry < 0) {
      skip(LOOK_BITS);
      entry = load<i32>(codes + ((entry >> 5) & 0xffffff) * 4 + 4 * peek(entry & 31));
    }
    skip(entry & 31);
    store<f32>(at, value((entry >> 5) & 15, furtherBits));
    store<f32>(at + 4, value((entry >> 9) & 15, furtherBits));
    at += 8;
  } while (at < to);
  return end;
}

/** One value with its further bits and its sign. */
function value(coded: i32, furtherBits: i32): f32 {
  if (coded === 0) return 0;
  let magnitude = coded;
  if (coded === LARGE && furtherBits !== 0) {
    fill();
    magnitude += peek(furtherBits);
    skip(furtherBits);
  }
  fill();
  const power = load<f32>(POWERS_BYTE + 4 * magnitude);
  const isNegative = peek(1);
  skip(1);
  return isNegative !== 0 ? -power : power;
}

function readQuads(granule: usize, spectrum: usize, from: i32, main: usize, endBit: i32): i32 {
  const codes: usize = QUADS_BYTE + 64 * fact(granule, QUADS);
  let sample = from;
  while (sample + 4 <= GRANULE_SAMPLES && bitFrom(main) < endBit) {
    fill();
    const entry = load<u8>(codes + peek(6));
    skip(entry & 15);
    const at = spectrum + 4 * sample;
    store<f32>(at, unit(entry & 128));
    store<f32>(at + 4, unit(entry & 64));
    store<f32>(at + 8, unit(entry & 32));
    store<f32>(at + 12, unit(entry & 16));
    // The last one may be cut off.
    if (bitFrom(main) > endBit) break;
    sample += 4;
  }
  return sample;
}

function unit(isSet: i32): f32 {
  if (isSet === 0) return 0;
  const isNegative = peek(1);
  skip(1);
  return isNegative !== 0 ? -1 : 1;
}

/** Multiplies each band by its gain. `isPair`: the spectrum is of a sum or a difference. */
export function scaleSpectrum(granule: usize, scales: usize, spectrum: usize, rate: i32, isPair: bool): void {
  const end = fact(granule, END);
  const base = fact(granule, GAIN) - GAIN_CENTRE - (isPair ? PAIR_GAIN : 0);
  const step = fact(granule, SCALE_STEP) !== 0 ? 4 : 2;
  const isShort = fact(granule, BLOCK_TYPE) === SHORT_BLOCKS;
  const isMixed = fact(granule, IS_MIXED) !== 0;
  const hasExtra = fact(granule, HAS_EXTRA_SCALES) !== 0;
  const longBands = isShort ? (isMixed ? mixedLongBands(rate) : 0) : 22;
  let scale = scales;
  for (let band = 0; band < longBands; band++) {
    const start = longStart(rate, band);
    if (start >= end) return;
    const extra = hasExtra ? extraScale(band) : 0;
    const gain = base - step * (i32(load<u8>(scale)) + extra);
    multiply(spectrum + 4 * start, longStart(rate, band + 1) - start, gain);
    scale += 1;
  }
  if (!isShort) return;
  for (let band = isMixed ? FIRST_SHORT_BAND : 0; band < 13; band++) {
    const start = shortStart(rate, band);
    const width = shortStart(rate, band + 1) - start;
    for (let window = 0; window < 3; window++) {
      const at = 3 * start + window * width;
      if (at >= end) return;
      const gain = base - 8 * fact(granule, WINDOW_GAIN + window) - step * i32(load<u8>(scale));
      multiply(spectrum + 4 * at, width, gain);
      scale += 1;
    }
  }
}

/** ISO 11172-3 table B.6: what high bands are raised by. */
function extraScale(band: i32): i32 {
  if (band < 11) return 0;
  if (band < 15) return 1;
  if (band < 17) return 2;
  return band < 20 ? 3 : band === 20 ? 2 : 0;
}

function multiply(address: usize, count: i32, quarters: i32): void {
  const index = min(max(quarters + GAIN_ZERO, 0), GAINS - 1);
  const gain = load<f32>(GAINS_BYTE + 4 * index);
  const gains = f32x4.splat(gain);
  const end = address + 4 * count;
  let at = address;
  for (; at + 16 <= end; at += 16) v128.store(at, f32x4.mul(gains, v128.load(at)));
  for (; at < end; at += 4) store<f32>(at, gain * load<f32>(at));
}
