// Reads the spectrum of a channel: Huffman codes, noise, pulses; and scales it. AssemblyScript, part of the AAC decoder;
// ISO 14496-3 sections 4.6.1, 4.6.2, 4.6.3 and 4.6.13.

import {
  FRAME_SAMPLES,
  PAIRS_7_BYTE,
  PAIRS_12_BYTE,
  PAIRS_16_BYTE,
  PLAIN_QUADS_BYTE,
  POWERS,
  POWERS_BYTE,
  SHORT_SAMPLES,
  SIGNED_PAIRS_BYTE,
  SIGNED_QUADS_BYTE,
} from "../../numbers/aac.ts";
import { fill, peek, skip } from "../bits.ts";
import {
  BANDS,
  bandStart,
  bookOf,
  fact,
  GROUPS,
  gainOf,
  groupSize,
  INVERTED_BOOK,
  NOISE_BOOK,
  PULSE_LINE,
  PULSE_SIZE,
  PULSES,
  SILENT_BOOK,
} from "./channel.ts";
import { bookAt, readIndex } from "./codes.ts";

const WINDOW_BYTES: usize = 4 * SHORT_SAMPLES;
/** Books from here on have pairs in place of fours. */
const FIRST_PAIR_BOOK: i32 = 5;
const ESCAPE_BOOK: i32 = 11;
/** A value of 16 in the last book is followed by a larger one. */
const ESCAPE: f32 = 40.317474; // 16^(4/3)
const ESCAPE_PREFIX_MAX: i32 = 8;
/** ISO 14496-3 does not say which random numbers; these are FFmpeg's, so that both can be compared. */
const NOISE_START: u32 = 0x1f2e3d4c;
const NOISE_FACTOR: u32 = 1664525;
const NOISE_STEP: u32 = 1013904223;

/** `noise`: address of the state of the noise generator, 0 before its first number. */
export function readSpectrum(channel: usize, spectrum: usize, noise: usize): void {
  memory.fill(spectrum, 0, 4 * FRAME_SAMPLES);
  const groups = fact(channel, GROUPS);
  const bands = fact(channel, BANDS);
  let index = 0;
  let windows = spectrum;
  for (let group = 0; group < groups; group++) {
    const size = groupSize(channel, group);
    for (let band = 0; band < bands; band++) {
      const book = bookOf(channel, index);
      const start = bandStart(channel, band);
      const count = bandStart(channel, band + 1) - start;
      const gain = gainOf(channel, index);
      if (book !== SILENT_BOOK && book < INVERTED_BOOK) {
        let at = windows + 4 * start;
        for (let window = 0; window < size; window++) {
          if (book === NOISE_BOOK) makeNoise(at, count, gain, noise);
          else readBand(book, at, at + 4 * count);
          at += WINDOW_BYTES;
        }
      }
      index++;
    }
    windows += WINDOW_BYTES * size;
  }
  const pulses = fact(channel, PULSES);
  for (let pulse = 0; pulse < pulses; pulse++) {
    addPulse(channel, spectrum, fact(channel, PULSE_LINE + pulse), fact(channel, PULSE_SIZE + pulse));
  }
  scale(channel, spectrum);
}

function readBand(book: i32, from: usize, to: usize): void {
  const codes = bookAt(book);
  if (book < FIRST_PAIR_BOOK) {
    if (book < 3) readQuads(codes, from, to);
    else readPlainQuads(codes, from, to);
  } else if (book < 7) readPairs(codes, from, to);
  else if (book < ESCAPE_BOOK) readPlainPairs(codes, book < 9 ? PAIRS_7_BYTE : PAIRS_12_BYTE, from, to);
  else readEscapedPairs(codes, from, to);
}

function readQuads(codes: usize, at: usize, to: usize): void {
  do {
    v128.store(at, v128.load(SIGNED_QUADS_BYTE + 16 * readIndex(codes)));
    at += 16;
  } while (at < to);
}

function readPlainQuads(codes: usize, at: usize, to: usize): void {
  do {
    const values = PLAIN_QUADS_BYTE + 16 * readIndex(codes);
    store<u32>(at, signed(load<u32>(values)));
    store<u32>(at + 4, signed(load<u32>(values + 4)));
    store<u32>(at + 8, signed(load<u32>(values + 8)));
    store<u32>(at + 12, signed(load<u32>(values + 12)));
    at += 16;
  } while (at < to);
}

function readPairs(codes: usize, at: usize, to: usize): void {
  do {
    store<u64>(at, load<u64>(SIGNED_PAIRS_BYTE + 8 * readIndex(codes)));
    at += 8;
  } while (at < to);
}

function readPlainPairs(codes: usize, pairs: usize, at: usize, to: usize): void {
  do {
    const values = pairs + 8 * readIndex(codes);
    store<u32>(at, signed(load<u32>(values)));
    store<u32>(at + 4, signed(load<u32>(values + 4)));
    at += 8;
  } while (at < to);
}

function readEscapedPairs(codes: usize, at: usize, to: usize): void {
  do {
    const values = PAIRS_16_BYTE + 8 * readIndex(codes);
    store<u32>(at, signed(load<u32>(values)));
    store<u32>(at + 4, signed(load<u32>(values + 4)));
    // Both signs come before what continues the values.
    if (load<f32>(values) === ESCAPE) continueValue(at);
    if (load<f32>(values + 4) === ESCAPE) continueValue(at + 4);
    at += 8;
  } while (at < to);
}

/** The bits of a number with its sign, which is stored unless the number is 0. */
function signed(bits: u32): u32 {
  const count = i32(bits !== 0);
  const sign = u32(peek(1)) & u32(count);
  skip(count);
  return bits | (sign << 31);
}

/** Replaces the number by what follows: as many bits as ones come first, and four. */
function continueValue(at: usize): void {
  fill();
  let prefix = 0;
  while (prefix < ESCAPE_PREFIX_MAX && peek(1) !== 0) {
    skip(1);
    prefix++;
  }
  skip(1);
  const bits = prefix + 4;
  const value = min((1 << bits) + peek(bits), POWERS - 1);
  skip(bits);
  const power = load<f32>(POWERS_BYTE + 4 * value);
  store<f32>(at, load<f32>(at) < 0 ? -power : power);
}

function makeNoise(from: usize, count: i32, gain: f32, noise: usize): void {
  let state = load<u32>(noise);
  if (state === 0) state = NOISE_START;
  let energy: f32 = 0;
  const to = from + 4 * count;
  for (let at = from; at < to; at += 4) {
    state = state * NOISE_FACTOR + NOISE_STEP;
    const value = f32(i32(state));
    energy += value * value;
    store<f32>(at, value);
  }
  store<u32>(noise, state);
  const factor = gain / Mathf.sqrt(max<f32>(energy, 1));
  for (let at = from; at < to; at += 4) store<f32>(at, load<f32>(at) * factor);
}

/** The spectrum is not scaled yet: the value there is a whole number, raised to 4/3. */
function addPulse(channel: usize, spectrum: usize, line: i32, size: i32): void {
  let band = 0;
  while (band < fact(channel, BANDS) && bandStart(channel, band + 1) <= line) band++;
  if (band === fact(channel, BANDS)) return;
  const book = bookOf(channel, band);
  if (book === SILENT_BOOK || book >= NOISE_BOOK) return;
  const at = spectrum + 4 * line;
  const power = load<f32>(at);
  const value = min(wholeOf(Mathf.abs(power)) + size, POWERS - 1);
  const sum = load<f32>(POWERS_BYTE + 4 * value);
  store<f32>(at, power > 0 ? sum : -sum);
}

/** The number that was raised to 4/3. */
function wholeOf(power: f32): i32 {
  let low = 0;
  let high = POWERS - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (load<f32>(POWERS_BYTE + 4 * middle) < power) low = middle + 1;
    else high = middle;
  }
  return low;
}

function scale(channel: usize, spectrum: usize): void {
  const groups = fact(channel, GROUPS);
  const bands = fact(channel, BANDS);
  let index = 0;
  let windows = spectrum;
  for (let group = 0; group < groups; group++) {
    const size = groupSize(channel, group);
    for (let band = 0; band < bands; band++) {
      const book = bookOf(channel, index);
      if (book !== SILENT_BOOK && book < NOISE_BOOK) {
        const start = bandStart(channel, band);
        const bytes: usize = 4 * (bandStart(channel, band + 1) - start);
        const gain = f32x4.splat(gainOf(channel, index));
        let at = windows + 4 * start;
        for (let window = 0; window < size; window++) {
          const to = at + bytes;
          for (let line = at; line < to; line += 16) v128.store(line, f32x4.mul(gain, v128.load(line)));
          at += WINDOW_BYTES;
        }
      }
      index++;
    }
    windows += WINDOW_BYTES * size;
  }
}
