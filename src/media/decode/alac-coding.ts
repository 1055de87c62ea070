// The arithmetic of Apple Lossless: adaptive Golomb codes for the residue, an adaptive predictor that turns it back
// into samples. After Apple's published format description ("ALAC magic cookie", ag_dec, dp_dec). Audio thread.

import type { BitReader } from "../../lib/bit-reader.ts";

interface GolombSettings {
  /**
   * How fast the mean follows (pb, scaled by the frame's factor), where it starts (mb), and the longest suffix (kb).
   */
  readonly pace: number;
  readonly meanStart: number;
  readonly suffixBitsMax: number;
}

/** Longest run of ones in front of a code; then the value follows uncoded. */
const PREFIX_MAX = 9;
const MEAN_FRACTION_BITS = 9;
const MEAN_ONE = 1 << MEAN_FRACTION_BITS;
const MEAN_CLAMP = 0xffff;
/** Below this mean (a quarter) a run of zeros is coded next. */
const ZERO_RUN_MEAN = 1 << (MEAN_FRACTION_BITS - 2);

/** State of reading one channel. */
export interface ResidueProgress {
  index: number;
  mean: number;
  /** 1 after a run of zeros: the next value cannot be zero, so all are one less. */
  offset: number;
}

/**
 * Reads signed values of at most `valueBits` bits into `residue`, on to number `end` of all `count` (or some more
 * zeros).
 */
export function readResidue(
  bits: BitReader,
  residue: Int32Array,
  options: GolombSettings & {
    readonly count: number;
    readonly valueBits: number;
    readonly progress: ResidueProgress;
    readonly end: number;
  },
): void {
  const { count, valueBits, pace, suffixBitsMax, progress, end: until } = options;
  let { index, mean, offset } = progress;
  while (index < until && !bits.isPastEnd) {
    const suffixBits = Math.min(31 - Math.clz32((mean >>> MEAN_FRACTION_BITS) + 3), suffixBitsMax);
    const code = readCode(bits, { suffixBits, multiplier: (1 << suffixBits) - 1, escapeBits: valueBits }) + offset;
    // The lowest bit is the sign.
    residue[index++] = (code & 1) === 0 ? code / 2 : -(code + 1) / 2;
    mean += pace * code - Math.floor((pace * mean) / MEAN_ONE);
    if (code - offset > MEAN_CLAMP) mean = MEAN_CLAMP;
    offset = 0;
    if (mean >= ZERO_RUN_MEAN || index >= count) continue;
    const runBits = Math.clz32(mean) - 24 + ((mean + 16) >> 6);
    const multiplier = ((1 << runBits) - 1) & ((1 << suffixBitsMax) - 1);
    const run = readCode(bits, { suffixBits: runBits, multiplier, escapeBits: 16 });
    const end = Math.min(index + run, count);
    residue.fill(0, index, end);
    index = end;
    offset = run >= 65_535 ? 0 : 1;
    mean = 0;
  }
  progress.index = index;
  progress.mean = mean;
  progress.offset = offset;
}

/** A run of ones, each worth `multiplier`, a zero, and a suffix that takes one bit less for its two smallest values. */
function readCode(
  bits: BitReader,
  { suffixBits, multiplier, escapeBits }: { suffixBits: number; multiplier: number; escapeBits: number },
): number {
  const prefix = Math.clz32(~bits.peek32());
  if (prefix >= PREFIX_MAX) {
    bits.skip(PREFIX_MAX);
    return bits.read(escapeBits);
  }
  bits.skip(prefix + 1);
  if (suffixBits === 1) return prefix * multiplier;
  const suffix = bits.peek32() >>> (32 - suffixBits);
  if (suffix < 2) {
    bits.skip(suffixBits - 1);
    return prefix * multiplier;
  }
  bits.skip(suffixBits);
  return prefix * multiplier + suffix - 1;
}

/** Each value is the difference to the one before. */
export function undoDifferences(samples: Int32Array, count: number, sampleBits: number): void {
  const shift = 32 - sampleBits;
  for (let index = 1; index < count; index++) {
    samples[index] = ((samples[index]! + samples[index - 1]!) << shift) >> shift;
  }
}

/**
 * Turns the residue in `samples` into samples, in place, from number `start` to `end`. `coefficients` (16 bit, nearest
 * sample first) are changed after every sample by one step towards the sign of the error. `scaleBits`: they are
 * fractions of 2^scaleBits.
 */
export function undoPrediction(
  samples: Int32Array,
  coefficients: Int16Array,
  { start, end, sampleBits, scaleBits }: PredictionRange,
): void {
  const order = coefficients.length;
  if (order === 0) return;
  const shift = 32 - sampleBits;
  const half = scaleBits === 0 ? 0 : 1 << (scaleBits - 1);
  if (start === 0) undoDifferences(samples, Math.min(order + 1, end), sampleBits);
  for (let index = Math.max(start, order + 1); index < end; index++) {
    const base = samples[index - order - 1]!;
    let sum = half;
    // Sums wrap at 32 bits, as in the encoder.
    for (let tap = 0; tap < order; tap++) {
      sum = (sum + Math.imul(coefficients[tap]!, samples[index - 1 - tap]! - base)) | 0;
    }
    let error = samples[index]!;
    samples[index] = ((error + base + (sum >> scaleBits)) << shift) >> shift;
    if (error === 0) continue;
    const sign = error > 0 ? 1 : -1;
    error = Math.abs(error);
    for (let tap = order - 1; tap >= 0 && error > 0; tap--) {
      const difference = base - samples[index - 1 - tap]!;
      if (difference === 0) continue;
      coefficients[tap]! -= difference > 0 ? sign : -sign;
      // The shift rounds towards minus infinity, so the sign of the error matters.
      const step = (sign * Math.abs(difference)) >> scaleBits;
      error -= (order - tap) * sign * step;
    }
  }
}

interface PredictionRange {
  readonly start: number;
  /** At least 33 behind `start` unless it is the last, so that the first samples are in one range. */
  readonly end: number;
  readonly sampleBits: number;
  readonly scaleBits: number;
}
