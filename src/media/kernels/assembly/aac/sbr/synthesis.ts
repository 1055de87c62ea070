// From 64 subbands to audio at twice the core's rate: a transform, four slots of time side by side, and a window over ten
// slots. AssemblyScript, part of the AAC decoder; the synthesis filter bank of ISO 14496-3 section 4.6.18.4.2.

import {
  BAND_BYTES,
  BANDS,
  PART_BYTES,
  REPLICA_ROWS,
  ROW_BYTES,
  ROW_PAST,
  ROWS,
  ROWS_BYTE,
  SLOTS_OF_TIME,
  SYNTHESIS_IN_BYTE,
  SYNTHESIS_OUT_BYTE,
  SYNTHESIS_WINDOW_BYTE,
  WORK_BYTE,
} from "../../../numbers/aac.ts";
import { transpose } from "../../lanes.ts";
import { bound } from "../cosine.ts";
import { POINT_BYTES, POINTS, productIm, productRe, transform } from "../fourier.ts";

const PAST_BYTES: usize = 4 * ROW_PAST;
const ROWS_END: usize = ROWS_BYTE + ROW_BYTES * ROWS;
const HALF_ROWS: usize = ROW_BYTES * BANDS;
/** Samples of four rows, before they are put in order. */
const LINES: usize = WORK_BYTE;
const LINE_BYTES: usize = 4 * SLOTS_OF_TIME;
/** No subband is louder, so that no number in a damaged stream becomes infinite. */
const LOUDEST: f32 = 2147483648;

/** `subbands`: of a channel. `output`: 2048 samples. */
export function synthesize(replica: usize, subbands: usize, output: usize): void {
  let kept = replica + REPLICA_ROWS;
  for (let row: usize = ROWS_BYTE; row < ROWS_END; row += ROW_BYTES) {
    copyPast(row, kept);
    kept += PAST_BYTES;
  }
  for (let slot = 0; slot < SLOTS_OF_TIME; slot += 4) {
    turnIn(subbands + 4 * slot);
    turnOut(transform(BANDS), ROWS_BYTE + PAST_BYTES + 4 * slot);
  }
  for (let sample = 0; sample < BANDS; sample += 4) {
    for (let line = 0; line < 4; line++) window(sample + line, LINES + LINE_BYTES * line);
    for (let slot = 0; slot < SLOTS_OF_TIME; slot += 4) {
      transpose(LINES + 4 * slot, LINE_BYTES, output + 4 * (BANDS * slot + sample), 4 * BANDS);
    }
  }
  kept = replica + REPLICA_ROWS;
  for (let row: usize = ROWS_BYTE; row < ROWS_END; row += ROW_BYTES) {
    copyPast(kept, row + LINE_BYTES);
    kept += PAST_BYTES;
  }
}

function copyPast(to: usize, from: usize): void {
  for (let at: usize = 0; at < PAST_BYTES; at += 16) v128.store(to + at, v128.load(from + at));
}

/** Points are the even subbands, conjugated, then the odd ones from the highest on. */
function turnIn(subbands: usize): void {
  for (let band = 0; band < BANDS; band++) {
    const at = subbands + BAND_BYTES * band;
    const re = bound(v128.load(at), LOUDEST);
    const im = bound(v128.load(at + PART_BYTES), LOUDEST);
    const turnRe = v128.load32_splat(SYNTHESIS_IN_BYTE + 8 * band);
    const turnIm = v128.load32_splat(SYNTHESIS_IN_BYTE + 8 * band + 4);
    const isEven = (band & 1) === 0;
    const point = POINTS + POINT_BYTES * (isEven ? band >> 1 : (127 - band) >> 1);
    const turned = productIm(re, im, turnRe, turnIm);
    v128.store(point, productRe(re, im, turnRe, turnIm));
    v128.store(point + 16, isEven ? f32x4.neg(turned) : turned);
  }
}

/** Each point gives one row of the first half, and one of the second. */
function turnOut(points: usize, to: usize): void {
  let row = to;
  for (let point = 0; point < BANDS; point++) {
    const re = v128.load(points + POINT_BYTES * point);
    const im = v128.load(points + POINT_BYTES * point + 16);
    const cosine = v128.load32_splat(SYNTHESIS_OUT_BYTE + 8 * point);
    const sine = v128.load32_splat(SYNTHESIS_OUT_BYTE + 8 * point + 4);
    v128.store(row, f32x4.neg(f32x4.add(f32x4.mul(cosine, re), f32x4.mul(sine, im))));
    v128.store(row + HALF_ROWS, f32x4.sub(f32x4.mul(sine, re), f32x4.mul(cosine, im)));
    row += ROW_BYTES;
  }
}

/** One of the 64 samples of each slot: of every other slot the first half, of those between the second. */
function window(sample: i32, to: usize): void {
  const even: usize = ROWS_BYTE + ROW_BYTES * sample + PAST_BYTES;
  const odd = even + HALF_ROWS - 4;
  const taps: usize = SYNTHESIS_WINDOW_BYTE + 4 * sample;
  const a0 = v128.load32_splat(taps);
  const b0 = v128.load32_splat(taps + 256);
  const a1 = v128.load32_splat(taps + 512);
  const b1 = v128.load32_splat(taps + 768);
  const a2 = v128.load32_splat(taps + 1024);
  const b2 = v128.load32_splat(taps + 1280);
  const a3 = v128.load32_splat(taps + 1536);
  const b3 = v128.load32_splat(taps + 1792);
  const a4 = v128.load32_splat(taps + 2048);
  const b4 = v128.load32_splat(taps + 2304);
  for (let at: usize = 0; at < LINE_BYTES; at += 16) {
    const first = even + at;
    const second = odd + at;
    let sum = f32x4.mul(a0, v128.load(first));
    sum = f32x4.add(sum, f32x4.mul(b0, v128.load(second)));
    sum = f32x4.add(sum, f32x4.mul(a1, v128.load(first - 8)));
    sum = f32x4.add(sum, f32x4.mul(b1, v128.load(second - 8)));
    sum = f32x4.add(sum, f32x4.mul(a2, v128.load(first - 16)));
    sum = f32x4.add(sum, f32x4.mul(b2, v128.load(second - 16)));
    sum = f32x4.add(sum, f32x4.mul(a3, v128.load(first - 24)));
    sum = f32x4.add(sum, f32x4.mul(b3, v128.load(second - 24)));
    sum = f32x4.add(sum, f32x4.mul(a4, v128.load(first - 32)));
    sum = f32x4.add(sum, f32x4.mul(b4, v128.load(second - 32)));
    v128.store(to + at, sum);
  }
}
