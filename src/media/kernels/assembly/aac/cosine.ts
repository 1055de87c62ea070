// The inverse modified cosine transform, by a complex one of half the size: its points become lanes of four sequences,
// which a last step joins. AssemblyScript, part of the AAC decoder; ISO 14496-3 section 4.6.11.3.1.

import {
  FRAME_SAMPLES,
  LONG_STEP_BYTE,
  LONG_TURNS_BYTE,
  SHORT_SAMPLES,
  SHORT_STEP_BYTE,
  SHORT_TURNS_BYTE,
} from "../../numbers/aac.ts";
import { highHalves, highPairs, lowHalves, lowPairs } from "../lanes.ts";
import { otherThan, POINT_BYTES, POINTS, productIm, productRe, transform } from "./fourier.ts";

/** No sample is louder, so that no number in a damaged stream becomes infinite. */
const LOUDEST: f32 = 65_536;

/** `spectrum` of a long window to as many samples, the middle of the window. */
export function transformLong(spectrum: usize, samples: usize): void {
  run(spectrum, samples, FRAME_SAMPLES, LONG_TURNS_BYTE, LONG_STEP_BYTE);
}

export function transformShort(spectrum: usize, samples: usize): void {
  run(spectrum, samples, SHORT_SAMPLES, SHORT_TURNS_BYTE, SHORT_STEP_BYTE);
}

function run(spectrum: usize, samples: usize, size: i32, turns: usize, steps: usize): void {
  const half = size >> 1;
  turnIn(spectrum, size, turns);
  const points = transform(half >> 2);
  const turned = otherThan(points);
  join(points, turned, half, turns, steps);
  order(turned, samples, half);
}

/** Pairs of one line from below and one from above to complex points, turned. */
function turnIn(spectrum: usize, size: i32, turns: usize): void {
  const imaginary = turns + 2 * size;
  let low = spectrum;
  let high = spectrum + 4 * size - 32;
  let to: usize = POINTS;
  for (let at: usize = 0; at < usize(2 * size); at += 16) {
    const re = f32x4.shuffle(v128.load(low), v128.load(low + 16), 0, 2, 4, 6);
    const im = f32x4.shuffle(v128.load(high), v128.load(high + 16), 7, 5, 3, 1);
    const turnRe = v128.load(turns + at);
    const turnIm = v128.load(imaginary + at);
    v128.store(to, productRe(re, im, turnRe, turnIm));
    v128.store(to + 16, productIm(re, im, turnRe, turnIm));
    low += 32;
    high -= 32;
    to += POINT_BYTES;
  }
}

/** The last step of the transform, and the turn behind it: to `half` real parts, then as many imaginary ones. */
function join(points: usize, to: usize, half: i32, turns: usize, steps: usize): void {
  const quarterBytes: usize = half;
  const imaginary: usize = 4 * half;
  let from = points;
  let step = steps;
  for (let at: usize = 0; at < quarterBytes; at += 16) {
    const aRe = v128.load(from);
    const aIm = v128.load(from + 16);
    const bRe = v128.load(from + 32);
    const bIm = v128.load(from + 48);
    const cRe = v128.load(from + 64);
    const cIm = v128.load(from + 80);
    const dRe = v128.load(from + 96);
    const dIm = v128.load(from + 112);
    from += 4 * POINT_BYTES;
    // Lanes become vectors.
    const abRe = lowPairs(aRe, bRe);
    const cdRe = lowPairs(cRe, dRe);
    const abHighRe = highPairs(aRe, bRe);
    const cdHighRe = highPairs(cRe, dRe);
    const abIm = lowPairs(aIm, bIm);
    const cdIm = lowPairs(cIm, dIm);
    const abHighIm = highPairs(aIm, bIm);
    const cdHighIm = highPairs(cIm, dIm);
    const re0 = lowHalves(abRe, cdRe);
    const im0 = lowHalves(abIm, cdIm);
    let re = highHalves(abRe, cdRe);
    let im = highHalves(abIm, cdIm);
    let stepRe = v128.load(step);
    let stepIm = v128.load(step + 16);
    const re1 = productRe(re, im, stepRe, stepIm);
    const im1 = productIm(re, im, stepRe, stepIm);
    re = lowHalves(abHighRe, cdHighRe);
    im = lowHalves(abHighIm, cdHighIm);
    stepRe = v128.load(step + 32);
    stepIm = v128.load(step + 48);
    const re2 = productRe(re, im, stepRe, stepIm);
    const im2 = productIm(re, im, stepRe, stepIm);
    re = highHalves(abHighRe, cdHighRe);
    im = highHalves(abHighIm, cdHighIm);
    stepRe = v128.load(step + 64);
    stepIm = v128.load(step + 80);
    const re3 = productRe(re, im, stepRe, stepIm);
    const im3 = productIm(re, im, stepRe, stepIm);
    step += 96;
    const sumRe = f32x4.add(re0, re2);
    const sumIm = f32x4.add(im0, im2);
    const lessRe = f32x4.sub(re0, re2);
    const lessIm = f32x4.sub(im0, im2);
    const sum2Re = f32x4.add(re1, re3);
    const sum2Im = f32x4.add(im1, im3);
    const less2Re = f32x4.sub(re1, re3);
    const less2Im = f32x4.sub(im1, im3);
    turnOut(f32x4.add(sumRe, sum2Re), f32x4.add(sumIm, sum2Im), turns + at, to + at, imaginary);
    const second = at + quarterBytes;
    turnOut(f32x4.add(lessRe, less2Im), f32x4.sub(lessIm, less2Re), turns + second, to + second, imaginary);
    const third = second + quarterBytes;
    turnOut(f32x4.sub(sumRe, sum2Re), f32x4.sub(sumIm, sum2Im), turns + third, to + third, imaginary);
    const fourth = third + quarterBytes;
    turnOut(f32x4.sub(lessRe, less2Im), f32x4.add(lessIm, less2Re), turns + fourth, to + fourth, imaginary);
  }
}

function turnOut(re: v128, im: v128, turn: usize, to: usize, imaginary: usize): void {
  const turnRe = v128.load(turn);
  const turnIm = v128.load(turn + imaginary);
  v128.store(to, productRe(re, im, turnRe, turnIm));
  v128.store(to + imaginary, productIm(re, im, turnRe, turnIm));
}

/** Even samples are imaginary parts from below, odd ones negated real parts from above. */
function order(turned: usize, samples: usize, half: i32): void {
  let real = turned + 4 * half - 16;
  let imaginary = turned + 4 * half;
  const end = samples + 8 * half;
  for (let at = samples; at < end; at += 32) {
    const even = bound(v128.load(imaginary), LOUDEST);
    const re = v128.load(real);
    const odd = bound(f32x4.neg(f32x4.shuffle(re, re, 3, 2, 1, 0)), LOUDEST);
    v128.store(at, lowPairs(even, odd));
    v128.store(at + 16, highPairs(even, odd));
    real -= 16;
    imaginary += 16;
  }
}

/** Within `limit`; what is no number becomes one, too. */
export function bound(value: v128, limit: f32): v128 {
  return f32x4.pmax(f32x4.splat(-limit), f32x4.pmin(f32x4.splat(limit), value));
}
