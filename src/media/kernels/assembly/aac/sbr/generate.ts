// Makes the upper subbands of the core's: copies patches, without what is tonal. AssemblyScript, part of the AAC decoder;
// the high frequency generator of ISO 14496-3 section 4.6.18.6.

import { BAND_BYTES, HIGH_BYTE, LOW_BYTE, PART_BYTES, PREDICTION_BYTE } from "../../../numbers/aac.ts";
import { productIm, productRe } from "../fourier.ts";
import {
  BORDER,
  CHIRP,
  COUNT,
  ENVELOPES,
  entry,
  FILTERING,
  FIRST,
  fact,
  MASTER_FIRST,
  NOISE_COUNT,
  NOISE_TABLE,
  OLD_FILTERING,
  PATCH_COUNT,
  PATCH_SIZES,
  PATCH_STARTS,
} from "./facts.ts";

const PREDICTION_BYTES: usize = 16;
/** A subband lies so many slots behind its envelopes. */
const OFFSET: i32 = 2;
const LAST_VECTOR: i32 = 33;
const LARGE: f32 = 16;

/** To `HIGH_BYTE`: the subbands, from slot `OFFSET` on; what lies outside of the envelopes is 0. */
export function generate(header: usize, replica: usize): void {
  const first = fact(header, FIRST);
  const end = first + fact(header, COUNT);
  memory.fill(HIGH_BYTE + BAND_BYTES * first, 0, BAND_BYTES * (end - first));
  for (let band = 0; band < fact(header, MASTER_FIRST); band++) predict(band);
  chirp(header, replica);
  const start = 2 * fact(replica, BORDER);
  const stop = 2 * fact(replica, BORDER + fact(replica, ENVELOPES));
  let band = first;
  for (let patch = 0; patch < fact(header, PATCH_COUNT); patch++) {
    const from = entry(header, PATCH_STARTS, patch);
    for (let index = 0; index < entry(header, PATCH_SIZES, patch) && band < end; index++) {
      copyUp(from + index, band, load<f32>(replica + 4 * (CHIRP + noiseBand(header, band))), start, stop);
      band++;
    }
  }
}

function noiseBand(header: usize, subband: i32): i32 {
  const count = fact(header, NOISE_COUNT);
  let band = 0;
  while (band + 1 < count && subband >= entry(header, NOISE_TABLE, band + 1)) band++;
  return band;
}

/** How much of each noise band is filtered. */
function chirp(header: usize, replica: usize): void {
  for (let band = 0; band < fact(header, NOISE_COUNT); band++) {
    const now = fact(replica, FILTERING + band);
    let next: f32 = now === 0 ? 0 : now === 1 ? 0.75 : now === 2 ? 0.9 : 0.98;
    if (now + fact(replica, OLD_FILTERING + band) === 1) next = 0.6;
    const at = replica + 4 * (CHIRP + band);
    const old = load<f32>(at);
    next = next < old ? 0.75 * next + 0.25 * old : 0.90625 * next + 0.09375 * old;
    store<f32>(at, next < 0.015625 ? 0 : next);
  }
}

/** The prediction of each slot of a subband from the two before it: the first coefficient, then the second. */
function predict(band: i32): void {
  const re: usize = LOW_BYTE + BAND_BYTES * band;
  const im = re + PART_BYTES;
  let energies = f32x4.splat(0);
  let re1s = energies;
  let im1s = energies;
  let re2s = energies;
  let im2s = energies;
  for (let slot = 1; slot <= LAST_VECTOR; slot += 4) {
    const at: usize = 4 * slot;
    const aRe = v128.load(re + at);
    const aIm = v128.load(im + at);
    const bRe = v128.load(re + at + 4);
    const bIm = v128.load(im + at + 4);
    const cRe = v128.load(re + at + 8);
    const cIm = v128.load(im + at + 8);
    energies = f32x4.add(energies, f32x4.add(f32x4.mul(aRe, aRe), f32x4.mul(aIm, aIm)));
    re1s = f32x4.add(re1s, f32x4.add(f32x4.mul(aRe, bRe), f32x4.mul(aIm, bIm)));
    im1s = f32x4.add(im1s, f32x4.sub(f32x4.mul(aRe, bIm), f32x4.mul(aIm, bRe)));
    re2s = f32x4.add(re2s, f32x4.add(f32x4.mul(aRe, cRe), f32x4.mul(aIm, cIm)));
    im2s = f32x4.add(im2s, f32x4.sub(f32x4.mul(aRe, cIm), f32x4.mul(aIm, cRe)));
  }
  const energy = sum(energies) + product(re, im, 37, 37);
  const re1 = sum(re1s) + product(re, im, 37, 38);
  const im1 = sum(im1s) + cross(re, im, 37, 38);
  const re2 = sum(re2s) + product(re, im, 37, 39) + product(re, im, 0, 2);
  const im2 = sum(im2s) + cross(re, im, 37, 39) + cross(re, im, 0, 2);
  const early = energy + product(re, im, 0, 0);
  const late = energy + product(re, im, 38, 38);
  const earlyRe = re1 + product(re, im, 0, 1);
  const earlyIm = im1 + cross(re, im, 0, 1);
  const lateRe = re1 + product(re, im, 38, 39);
  const lateIm = im1 + cross(re, im, 38, 39);
  const determinant = early * late - (earlyRe * earlyRe + earlyIm * earlyIm) / <f32>1.000001;
  let secondRe: f32 = 0;
  let secondIm: f32 = 0;
  if (determinant !== 0) {
    secondRe = (lateRe * earlyRe - lateIm * earlyIm - re2 * late) / determinant;
    secondIm = (lateRe * earlyIm + lateIm * earlyRe - im2 * late) / determinant;
  }
  let firstRe: f32 = 0;
  let firstIm: f32 = 0;
  if (late !== 0) {
    firstRe = -(lateRe + secondRe * earlyRe + secondIm * earlyIm) / late;
    firstIm = -(lateIm + secondIm * earlyRe - secondRe * earlyIm) / late;
  }
  const isSmall = firstRe * firstRe + firstIm * firstIm < LARGE && secondRe * secondRe + secondIm * secondIm < LARGE;
  const at: usize = PREDICTION_BYTE + PREDICTION_BYTES * band;
  store<f32>(at, isSmall ? firstRe : 0);
  store<f32>(at + 4, isSmall ? firstIm : 0);
  store<f32>(at + 8, isSmall ? secondRe : 0);
  store<f32>(at + 12, isSmall ? secondIm : 0);
}

function sum(values: v128): f32 {
  return (
    f32x4.extract_lane(values, 0) +
    f32x4.extract_lane(values, 1) +
    (f32x4.extract_lane(values, 2) + f32x4.extract_lane(values, 3))
  );
}

/** Real part of a slot's conjugate times another. */
function product(re: usize, im: usize, a: i32, b: i32): f32 {
  return load<f32>(re + 4 * a) * load<f32>(re + 4 * b) + load<f32>(im + 4 * a) * load<f32>(im + 4 * b);
}

function cross(re: usize, im: usize, a: i32, b: i32): f32 {
  return load<f32>(re + 4 * a) * load<f32>(im + 4 * b) - load<f32>(im + 4 * a) * load<f32>(re + 4 * b);
}

function copyUp(from: i32, to: i32, factor: f32, start: i32, stop: i32): void {
  const at: usize = PREDICTION_BYTE + PREDICTION_BYTES * from;
  const firstRe = f32x4.splat(load<f32>(at) * factor);
  const firstIm = f32x4.splat(load<f32>(at + 4) * factor);
  const secondRe = f32x4.splat(load<f32>(at + 8) * factor * factor);
  const secondIm = f32x4.splat(load<f32>(at + 12) * factor * factor);
  const low: usize = LOW_BYTE + BAND_BYTES * from;
  const high: usize = HIGH_BYTE + BAND_BYTES * to;
  for (let slot = start; slot < stop; slot += 4) {
    const re = low + 4 * slot;
    const im = re + PART_BYTES;
    let real = v128.load(re + 8);
    real = f32x4.add(real, productRe(v128.load(re + 4), v128.load(im + 4), firstRe, firstIm));
    real = f32x4.add(real, productRe(v128.load(re), v128.load(im), secondRe, secondIm));
    let imaginary = v128.load(im + 8);
    imaginary = f32x4.add(imaginary, productIm(v128.load(re + 4), v128.load(im + 4), firstRe, firstIm));
    imaginary = f32x4.add(imaginary, productIm(v128.load(re), v128.load(im), secondRe, secondIm));
    v128.store(high + 4 * (slot + OFFSET), real);
    v128.store(high + 4 * (slot + OFFSET) + PART_BYTES, imaginary);
  }
}
