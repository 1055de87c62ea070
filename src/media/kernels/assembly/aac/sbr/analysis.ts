// From the core's audio to its 32 subbands, four slots of time side by side. AssemblyScript, part of the AAC decoder; the
// analysis filter bank of ISO 14496-3 section 4.6.18.4.1.

import {
  ANALYSIS_IN_BYTE,
  ANALYSIS_OUT_BYTE,
  ANALYSIS_WINDOW_BYTE,
  BAND_BYTES,
  FOLDED_BYTE,
  FRAME_SAMPLES,
  INPUT_BYTE,
  INPUT_PAST,
  LOW_BANDS,
  LOW_BYTE,
  PART_BYTES,
  PAST_SLOTS,
  REPLICA_INPUT,
  REPLICA_LOW,
  SLOTS_OF_TIME,
} from "../../../numbers/aac.ts";
import { transpose } from "../../lanes.ts";
import { bound } from "../cosine.ts";
import { POINT_BYTES, POINTS, productIm, productRe, transform } from "../fourier.ts";
import { FIRST, fact, OLD_FIRST } from "./facts.ts";

const PAST_BYTES: usize = 4 * PAST_SLOTS;
/** Window taps of one slot: five parts of 64. */
const SLOT_TAPS: i32 = 64;
const FOLDED_ROW: usize = 4 * SLOT_TAPS;
/** 24 dB above full scale: with more, products of subbands become infinite. */
const LOUDEST: f32 = 16;

/** `samples`: of a packet. To `LOW_BYTE`: the subbands, those of the past first. */
export function analyze(header: usize, replica: usize, samples: usize): void {
  memory.copy(INPUT_BYTE, replica + REPLICA_INPUT, 4 * INPUT_PAST);
  for (let at: usize = 0; at < 4 * FRAME_SAMPLES; at += 16) {
    v128.store(INPUT_BYTE + 4 * INPUT_PAST + at, bound(v128.load(samples + at), LOUDEST));
  }
  memory.copy(replica + REPLICA_INPUT, INPUT_BYTE + 4 * FRAME_SAMPLES, 4 * INPUT_PAST);
  for (let slot = 0; slot < SLOTS_OF_TIME; slot += 4) {
    for (let lane = 0; lane < 4; lane++) fold(INPUT_BYTE + 128 * (slot + lane), FOLDED_BYTE + FOLDED_ROW * lane);
    turnIn();
    turnOut(transform(LOW_BANDS), LOW_BYTE + PAST_BYTES + 4 * slot);
  }
  exchangePast(replica);
  // What lies above the core is not its.
  const first = fact(header, FIRST);
  const oldFirst = fact(header, OLD_FIRST);
  for (let band = min(first, oldFirst); band < LOW_BANDS; band++) {
    const at: usize = LOW_BYTE + BAND_BYTES * band;
    for (let part = at; part <= at + PART_BYTES; part += PART_BYTES) {
      if (band >= oldFirst) memory.fill(part, 0, PAST_BYTES);
      if (band >= first) memory.fill(part + PAST_BYTES, 0, PART_BYTES - PAST_BYTES);
    }
  }
}

/** The window over 320 samples, in 64 sums. */
function fold(from: usize, to: usize): void {
  for (let at: usize = 0; at < FOLDED_ROW; at += 16) {
    let tap: usize = ANALYSIS_WINDOW_BYTE + at;
    let sample = from + 4 * (4 * SLOT_TAPS) + at;
    let sum = f32x4.mul(v128.load(tap), v128.load(sample));
    for (let part = 1; part < 5; part++) {
      tap += FOLDED_ROW;
      sample -= FOLDED_ROW;
      sum = f32x4.add(sum, f32x4.mul(v128.load(tap), v128.load(sample)));
    }
    v128.store(to + at, sum);
  }
}

/** The sums are in the order of time: the last is the first of the transform. */
function turnIn(): void {
  const lanes: usize = POINTS + POINT_BYTES * LOW_BANDS;
  for (let tap = 0; tap < SLOT_TAPS; tap += 4) transpose(FOLDED_BYTE + 4 * tap, FOLDED_ROW, lanes + 16 * tap, 16);
  for (let point = 0; point < LOW_BANDS; point++) {
    const re = v128.load(lanes + 16 * (63 - point));
    const im = f32x4.neg(v128.load(lanes + 16 * (31 - point)));
    const turnRe = v128.load32_splat(ANALYSIS_IN_BYTE + 8 * point);
    const turnIm = v128.load32_splat(ANALYSIS_IN_BYTE + 8 * point + 4);
    v128.store(POINTS + POINT_BYTES * point, productRe(re, im, turnRe, turnIm));
    v128.store(POINTS + POINT_BYTES * point + 16, productIm(re, im, turnRe, turnIm));
  }
}

/** The points are the even subbands, then the odd ones from the highest on. */
function turnOut(points: usize, to: usize): void {
  for (let band = 0; band < LOW_BANDS; band++) {
    const isEven = (band & 1) === 0;
    const point = points + POINT_BYTES * (isEven ? band >> 1 : (63 - band) >> 1);
    const re = v128.load(point);
    const im = isEven ? f32x4.neg(v128.load(point + 16)) : v128.load(point + 16);
    const turnRe = v128.load32_splat(ANALYSIS_OUT_BYTE + 8 * band);
    const turnIm = v128.load32_splat(ANALYSIS_OUT_BYTE + 8 * band + 4);
    const at = to + BAND_BYTES * band;
    v128.store(at, productRe(re, im, turnRe, turnIm));
    v128.store(at + PART_BYTES, productIm(re, im, turnRe, turnIm));
  }
}

/** Puts the last slots of the packet before in front, and keeps those of this one. */
function exchangePast(replica: usize): void {
  let kept = replica + REPLICA_LOW;
  for (let band = 0; band < LOW_BANDS; band++) {
    const at: usize = LOW_BYTE + BAND_BYTES * band;
    for (let part = at; part <= at + PART_BYTES; part += PART_BYTES) {
      const last = part + 4 * SLOTS_OF_TIME;
      for (let vector: usize = 0; vector < PAST_BYTES; vector += 16) {
        v128.store(part + vector, v128.load(kept + vector));
        v128.store(kept + vector, v128.load(last + vector));
      }
      kept += PAST_BYTES;
    }
  }
}
