// From samples of 32 subbands to audio: a transform over the subbands, four moments at a time, and a window over 16
// moments. AssemblyScript, part of the layer III decoder; ISO 11172-3 section 2.4.3.4.11.

import { VECTOR_BYTES } from "../../numbers/block.ts";
import {
  BUTTERFLIES_BYTE,
  MOMENTS,
  ROW_MOMENTS,
  SLOTS_OF_TIME,
  SUBBANDS,
  SUBBANDS_BYTE,
  SYNTHESIS_BYTE,
  WORK_BYTE,
} from "../../numbers/layer3.ts";
import { transpose } from "../lanes.ts";

const ROW_BYTES: usize = 4 * ROW_MOMENTS;
const MOMENT_ROW_BYTES: usize = 4 * MOMENTS;
/** Moments of the past that the window reaches to. */
const PAST: i32 = 15;
const TAPS_BYTES: usize = 4 * 16;
const HALF: usize = WORK_BYTE + VECTOR_BYTES * SUBBANDS;

/** One granule of a channel, to 576 samples at `output`. `rows`: in and out, the transforms of the last 15 moments. */
export function synthesize(rows: usize, output: usize): void {
  for (let moment = 0; moment < MOMENTS; moment += 4) transform(4 * moment, rows + 4 * (PAST + moment));
  for (let sample = 0; sample <= 16; sample++) window(rows, sample);
  for (let sample = 0; sample < SUBBANDS; sample += 4) spread(sample, output + 4 * sample);
  for (let row = 0; row < SUBBANDS; row++) {
    const at = rows + ROW_BYTES * row;
    memory.copy(at, at + 4 * SLOTS_OF_TIME, 4 * PAST);
  }
}

/** The cosine transform over the subbands, of four moments. */
function transform(from: usize, to: usize): void {
  for (let subband = 0; subband < SUBBANDS; subband++) {
    v128.store(WORK_BYTE + VECTOR_BYTES * subband, v128.load(SUBBANDS_BYTE + MOMENT_ROW_BYTES * subband + from));
  }
  let source: usize = WORK_BYTE;
  let target: usize = HALF;
  let factors: usize = BUTTERFLIES_BYTE;
  for (let half = 16; half >= 1; half >>= 1) {
    for (let block = 0; block < SUBBANDS; block += 2 * half) {
      let low = source + VECTOR_BYTES * block;
      let high = low + VECTOR_BYTES * (2 * half - 1);
      let sum = target + VECTOR_BYTES * block;
      for (let index = 0; index < half; index++) {
        const a = v128.load(low);
        const b = v128.load(high);
        v128.store(sum, f32x4.add(a, b));
        v128.store(sum + VECTOR_BYTES * half, f32x4.mul(f32x4.sub(a, b), v128.load32_splat(factors + 4 * index)));
        low += VECTOR_BYTES;
        high -= VECTOR_BYTES;
        sum += VECTOR_BYTES;
      }
    }
    factors += 4 * half;
    const other = source;
    source = target;
    target = other;
  }
  for (let half = 2; half <= 16; half <<= 1) {
    for (let block = 0; block < SUBBANDS; block += 2 * half)
      merge(source + VECTOR_BYTES * block, target + VECTOR_BYTES * block, half);
    const other = source;
    source = target;
    target = other;
  }
  for (let row = 0; row < SUBBANDS; row++) v128.store(to + ROW_BYTES * row, v128.load(source + VECTOR_BYTES * row));
}

/** Even terms, and the sums of neighbours as odd ones. */
function merge(from: usize, to: usize, half: i32): void {
  const odd = from + VECTOR_BYTES * half;
  let at = to;
  for (let index = 0; index < half; index++) {
    v128.store(at, v128.load(from + VECTOR_BYTES * index));
    let term = v128.load(odd + VECTOR_BYTES * index);
    if (index + 1 < half) term = f32x4.add(term, v128.load(odd + VECTOR_BYTES * (index + 1)));
    v128.store(at + VECTOR_BYTES, term);
    at += 2 * VECTOR_BYTES;
  }
}

/** Two of the 32 samples of each moment, which are made of the same rows: to the rows of SUBBANDS_BYTE. */
function window(rows: usize, sample: i32): void {
  const mirrored = sample === 0 || sample === 16 ? sample : SUBBANDS - sample;
  const evenRow = rows + ROW_BYTES * (sample === 16 ? 0 : 16 + sample);
  const oddRow = rows + ROW_BYTES * (16 - sample);
  const taps: usize = SYNTHESIS_BYTE + TAPS_BYTES * sample;
  const mirroredTaps: usize = SYNTHESIS_BYTE + TAPS_BYTES * mirrored;
  for (let moment = 0; moment < MOMENTS; moment += 4) {
    let even = evenRow + 4 * (PAST + moment);
    let odd = oddRow + 4 * (PAST + moment - 1);
    let sum = f32x4.splat(0);
    let mirroredSum = sum;
    for (let tap: usize = 0; tap < TAPS_BYTES; tap += 8) {
      const a = v128.load(even);
      const b = v128.load(odd);
      sum = f32x4.add(sum, f32x4.mul(a, v128.load32_splat(taps + tap)));
      mirroredSum = f32x4.add(mirroredSum, f32x4.mul(a, v128.load32_splat(mirroredTaps + tap)));
      sum = f32x4.add(sum, f32x4.mul(b, v128.load32_splat(taps + tap + 4)));
      mirroredSum = f32x4.add(mirroredSum, f32x4.mul(b, v128.load32_splat(mirroredTaps + tap + 4)));
      even -= 8;
      odd -= 8;
    }
    v128.store(SUBBANDS_BYTE + MOMENT_ROW_BYTES * sample + 4 * moment, sum);
    if (mirrored !== sample) v128.store(SUBBANDS_BYTE + MOMENT_ROW_BYTES * mirrored + 4 * moment, mirroredSum);
  }
}

/** Four samples of all moments, into their places in time. */
function spread(sample: i32, output: usize): void {
  for (let moment = 0; moment < SLOTS_OF_TIME; moment += 4) {
    if (moment === 16) moment = 14;
    const from: usize = SUBBANDS_BYTE + MOMENT_ROW_BYTES * sample + 4 * moment;
    transpose(from, MOMENT_ROW_BYTES, output + 4 * SUBBANDS * moment, 4 * SUBBANDS);
  }
}
