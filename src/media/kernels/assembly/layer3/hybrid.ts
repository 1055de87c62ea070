// From the spectrum of a channel to samples of its 32 subbands: sorts short blocks, turns neighbouring subbands back, and
// transforms, four subbands at a time. AssemblyScript, part of the layer III decoder; ISO 11172-3 section 2.4.3.4.10.

import { VECTOR_BYTES } from "../../numbers/block.ts";
import {
  ALIASES_BYTE,
  COSINES_BYTE,
  GRANULE_SAMPLES,
  MOMENTS,
  SHORT_COSINES_BYTE,
  SHORT_WINDOW_BYTE,
  SLOTS_OF_TIME,
  SORTED_BYTE,
  SUBBANDS,
  SUBBANDS_BYTE,
  WINDOWS_BYTE,
  WORK_BYTE,
} from "../../numbers/layer3.ts";
import { highHalves, highPairs, lowHalves, lowPairs, transpose } from "../lanes.ts";
import { BLOCK_TYPE, END, FIRST_SHORT_BAND, fact, IS_MIXED, SHORT_BLOCKS, shortStart } from "./granule.ts";

const SUBBAND_BYTES: usize = 4 * SLOTS_OF_TIME;
const ALIASES: i32 = 8;
/** A vector each: the spectra of four subbands, their transform, and their samples. */
const INPUT: usize = WORK_BYTE;
const TURNED: usize = INPUT + VECTOR_BYTES * SLOTS_OF_TIME;
const SAMPLES: usize = TURNED + VECTOR_BYTES * SLOTS_OF_TIME;

/** `overlaps`: in and out, what the blocks reach into the next granule. */
export function toSubbands(granule: usize, spectrum: usize, overlaps: usize, rate: i32): void {
  const isShort = fact(granule, BLOCK_TYPE) === SHORT_BLOCKS;
  const isMixed = fact(granule, IS_MIXED) !== 0;
  let used = fact(granule, END);
  if (isShort) {
    sortShort(spectrum, rate, isMixed ? FIRST_SHORT_BAND : 0);
    used = GRANULE_SAMPLES;
  }
  let usedSubbands = (used + SLOTS_OF_TIME - 1) / SLOTS_OF_TIME;
  const turns = isShort ? (isMixed ? 1 : 0) : min(usedSubbands, SUBBANDS - 1);
  for (let subband = 1; subband <= turns; subband++) turnBack(spectrum + SUBBAND_BYTES * subband);
  if (turns === usedSubbands) usedSubbands++;
  for (let subband = 0; subband < SUBBANDS; subband += 4) {
    const overlap = overlaps + SUBBAND_BYTES * subband;
    if (subband < usedSubbands) {
      gather(spectrum + SUBBAND_BYTES * subband);
      if (isShort) transformShort(overlap);
      else transformLong(overlap, WINDOWS_BYTE + 4 * 36 * fact(granule, BLOCK_TYPE));
      if (isMixed && subband === 0) transformMixed(overlap);
    } else {
      memory.copy(SAMPLES, overlap, VECTOR_BYTES * SLOTS_OF_TIME);
    }
    finish(overlap, subband, subband < usedSubbands);
  }
}

/** In the data, bands of short blocks have one window after the other; the transform takes them line by line. */
function sortShort(spectrum: usize, rate: i32, firstBand: i32): void {
  for (let band = firstBand; band < 13; band++) {
    const start = shortStart(rate, band);
    const width = shortStart(rate, band + 1) - start;
    const from = spectrum + 12 * start;
    let to: usize = SORTED_BYTE + 12 * start;
    for (let line = 0; line < width; line++) {
      store<f32>(to, load<f32>(from + 4 * line));
      store<f32>(to + 4, load<f32>(from + 4 * (line + width)));
      store<f32>(to + 8, load<f32>(from + 4 * (line + 2 * width)));
      to += 12;
    }
  }
  const sorted: usize = 12 * shortStart(rate, firstBand);
  memory.copy(spectrum + sorted, SORTED_BYTE + sorted, 4 * GRANULE_SAMPLES - sorted);
}

function turnBack(boundary: usize): void {
  let below = boundary - 4;
  let above = boundary;
  for (let index = 0; index < ALIASES; index++) {
    const cosine = load<f32>(ALIASES_BYTE + 4 * index);
    const sine = load<f32>(ALIASES_BYTE + 4 * (ALIASES + index));
    const a = load<f32>(below);
    const b = load<f32>(above);
    store<f32>(below, a * cosine - b * sine);
    store<f32>(above, b * cosine + a * sine);
    below -= 4;
    above += 4;
  }
}

/** Four subbands side by side: their lines as lanes. */
function gather(spectrum: usize): void {
  for (let line = 0; line < SLOTS_OF_TIME; line += 4) {
    // The last four begin two earlier.
    if (line === 16) line = 14;
    transpose(spectrum + 4 * line, SUBBAND_BYTES, INPUT + VECTOR_BYTES * line, VECTOR_BYTES);
  }
}

/** To `TURNED`: `length` sums of as many lines, `stride` vectors from one line to the next. */
function turn(input: usize, length: i32, stride: i32, cosines: usize): void {
  let cosine = cosines;
  for (let index = 0; index < length; index++) {
    let sum = f32x4.splat(0);
    let from = input;
    for (let line = 0; line < length; line++) {
      sum = f32x4.add(sum, f32x4.mul(v128.load32_splat(cosine), v128.load(from)));
      cosine += 4;
      from += VECTOR_BYTES * stride;
    }
    v128.store(TURNED + VECTOR_BYTES * index, sum);
  }
}

function turned(index: i32): v128 {
  return v128.load(TURNED + VECTOR_BYTES * index);
}

/** Adds the overlap to the first 18 samples; the others are the next overlap. */
function transformLong(overlap: usize, window: usize): void {
  turn(INPUT, SLOTS_OF_TIME, 1, COSINES_BYTE);
  for (let index = 0; index < 9; index++) {
    const late = turned(9 + index);
    emit(index, late, window, overlap);
    emit(17 - index, f32x4.neg(late), window, overlap);
    const early = f32x4.neg(turned(index));
    emit(26 - index, early, window, overlap);
    emit(27 + index, early, window, overlap);
  }
}

function emit(index: i32, value: v128, window: usize, overlap: usize): void {
  let windowed = f32x4.mul(value, v128.load32_splat(window + 4 * index));
  if (index < SLOTS_OF_TIME) windowed = f32x4.add(windowed, v128.load(overlap + VECTOR_BYTES * index));
  v128.store(SAMPLES + VECTOR_BYTES * index, windowed);
}

function transformShort(overlap: usize): void {
  memory.copy(SAMPLES, overlap, VECTOR_BYTES * SLOTS_OF_TIME);
  memory.fill(SAMPLES + VECTOR_BYTES * SLOTS_OF_TIME, 0, VECTOR_BYTES * SLOTS_OF_TIME);
  for (let window = 0; window < 3; window++) {
    turn(INPUT + VECTOR_BYTES * window, 6, 3, SHORT_COSINES_BYTE);
    const first = 6 + 6 * window;
    for (let index = 0; index < 3; index++) {
      const late = turned(3 + index);
      emitShort(first, index, late);
      emitShort(first, 5 - index, f32x4.neg(late));
      const early = f32x4.neg(turned(index));
      emitShort(first, 8 - index, early);
      emitShort(first, 9 + index, early);
    }
  }
}

function emitShort(first: i32, index: i32, value: v128): void {
  const at = SAMPLES + VECTOR_BYTES * (first + index);
  v128.store(at, f32x4.add(v128.load(at), f32x4.mul(value, v128.load32_splat(SHORT_WINDOW_BYTE + 4 * index))));
}

/** The two lowest subbands of a mixed block are long: replaces their lanes. */
function transformMixed(overlap: usize): void {
  const short = SAMPLES + 2 * VECTOR_BYTES * SLOTS_OF_TIME;
  memory.copy(short, SAMPLES, 2 * VECTOR_BYTES * SLOTS_OF_TIME);
  transformLong(overlap, WINDOWS_BYTE);
  for (let index = 0; index < 2 * SLOTS_OF_TIME; index++) {
    const at: usize = SAMPLES + VECTOR_BYTES * index;
    v128.store(at, f32x4.shuffle(v128.load(at), v128.load(short + VECTOR_BYTES * index), 0, 1, 6, 7));
  }
}

/** Keeps the overlap, and puts the samples into the rows of their subbands; every other one of odd subbands is negated. */
function finish(overlap: usize, subband: i32, isHeard: bool): void {
  const bytes: usize = VECTOR_BYTES * SLOTS_OF_TIME;
  if (isHeard) memory.copy(overlap, SAMPLES + bytes, bytes);
  else memory.fill(overlap, 0, bytes);
  // Those behind the last are of the granule before.
  for (let row = 0; row < 4; row++) store<u64>(SUBBANDS_BYTE + 4 * (MOMENTS * (subband + row) + SLOTS_OF_TIME), 0);
  const signs = f32x4(1, -1, 1, -1);
  for (let moment = 0; moment < SLOTS_OF_TIME; moment += 4) {
    if (moment === 16) moment = 14;
    const from: usize = SAMPLES + VECTOR_BYTES * moment;
    const a = v128.load(from);
    const b = f32x4.mul(signs, v128.load(from + VECTOR_BYTES));
    const c = v128.load(from + 2 * VECTOR_BYTES);
    const d = f32x4.mul(signs, v128.load(from + 3 * VECTOR_BYTES));
    const ab = lowPairs(a, b);
    const cd = lowPairs(c, d);
    const abHigh = highPairs(a, b);
    const cdHigh = highPairs(c, d);
    const to: usize = SUBBANDS_BYTE + 4 * (MOMENTS * subband + moment);
    v128.store(to, lowHalves(ab, cd));
    v128.store(to + 4 * MOMENTS, highHalves(ab, cd));
    v128.store(to + 8 * MOMENTS, lowHalves(abHigh, cdHigh));
    v128.store(to + 12 * MOMENTS, highHalves(abHigh, cdHigh));
  }
}
