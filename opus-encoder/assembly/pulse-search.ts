// Finds the integer vector, with a given sum of absolute values, that is closest in direction to a shape (RFC 6716
// section 4.3.4.2), and codes its number. AssemblyScript.

import { F32_BYTES, VECTOR_BYTES } from "../src/numbers.ts";
import { sumOfLanes } from "./lists.ts";
import { SEARCH, SEARCH_DOUBLES, SEARCH_PULSES } from "./memory-map.ts";
import { countRow, countRowBytes, vectorCount } from "./pulse-counts.ts";
import { encodeNumber } from "./range-encoder.ts";

/** Behind the end of a vector whose length is no multiple of four: a pulse there is worth nothing. */
const WORTHLESS: f32 = 1e30;
/** The sum of absolute values of a valid shape lies between these. */
const SUM_MIN: f32 = 1e-15;
const SUM_MAX: f32 = 64;

let product: f32 = 0;
let energy: f32 = 0;

/**
 * Codes `shape`, 2 to 176 floats (of length 1, or a part of such, or nothing but 0), with 1 to 128 pulses. Returns how
 * much of it lies along the coded shape.
 */
export function codeShape(shape: usize, length: i32, pulses: i32): f32 {
  findPulses(shape, length, pulses);
  encodeNumber(numberOf(length, pulses), vectorCount(length, pulses));
  return product / Mathf.sqrt(energy);
}

function findPulses(shape: usize, length: i32, pulses: i32): void {
  const bytes = F32_BYTES * ((usize(length) + 3) & ~3);
  takeAbsolutes(shape, length, bytes);
  let left = pulses;
  product = 0;
  energy = 0;
  if (pulses > length >> 1) left -= project(bytes, pulses);
  if (length & 3) {
    for (let index = length; index & 3; index++) store<f32>(SEARCH_DOUBLES + (usize(index) << 2), WORTHLESS);
  }
  if (left > length + 3) {
    // Only zeros, or nearly.
    store<i32>(SEARCH_PULSES, load<i32>(SEARCH_PULSES) + left);
    energy = 1;
    left = 0;
  }
  while (left > 0) {
    addPulse(bytes);
    left--;
  }
  applySigns(shape, bytes);
}

function takeAbsolutes(shape: usize, length: i32, bytes: usize): void {
  const zero = f32x4.splat(0);
  // The last vector may be read from beyond the shape's end, so it is read first and then cut off.
  for (let at: usize = 0; at < bytes; at += VECTOR_BYTES) {
    v128.store(SEARCH + at, f32x4.abs(v128.load(shape + at)));
    v128.store(SEARCH_DOUBLES + at, zero);
    v128.store(SEARCH_PULSES + at, zero);
  }
  for (let index = length; index & 3; index++) store<f32>(SEARCH + (usize(index) << 2), 0);
}

/** Most of the pulses at once, by rounding down. Returns how many. */
function project(bytes: usize, pulses: i32): i32 {
  let sums = f32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += VECTOR_BYTES) sums = f32x4.add(sums, v128.load(SEARCH + at));
  const sum = sumOfLanes(sums);
  if (!(sum > SUM_MIN && sum < SUM_MAX)) {
    for (let at: usize = 0; at < bytes; at += VECTOR_BYTES) v128.store(SEARCH + at, f32x4.splat(0));
    store<f32>(SEARCH, 1);
    return 0;
  }
  // Rounded down these cannot exceed the pulses there are.
  const factor = f32x4.splat((f32(pulses) + 0.8) / sum);
  let counts = i32x4.splat(0);
  let products = f32x4.splat(0);
  let energies = f32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += VECTOR_BYTES) {
    const x = v128.load(SEARCH + at);
    const whole = i32x4.trunc_sat_f32x4_s(f32x4.mul(x, factor));
    const y = f32x4.convert_i32x4_s(whole);
    counts = i32x4.add(counts, whole);
    products = f32x4.add(products, f32x4.mul(x, y));
    energies = f32x4.add(energies, f32x4.mul(y, y));
    v128.store(SEARCH_PULSES + at, whole);
    v128.store(SEARCH_DOUBLES + at, f32x4.add(y, y));
  }
  product = sumOfLanes(products);
  energy = sumOfLanes(energies);
  const halves = i32x4.add(counts, i32x4.shuffle(counts, counts, 2, 3, 0, 1));
  return i32x4.extract_lane(halves, 0) + i32x4.extract_lane(halves, 1);
}

/** Adds one pulse where the angle to the shape gets smallest: compares its squared cosine. */
function addPulse(bytes: usize): void {
  const products = f32x4.splat(product);
  const energies = f32x4.splat(energy + 1);
  let best = f32x4.splat(-1);
  let bestPositions = i32x4.splat(0);
  let positions = i32x4(0, 4, 8, 12);
  const step = i32x4.splat(16);
  for (let at: usize = 0; at < bytes; at += VECTOR_BYTES) {
    const along = f32x4.add(products, v128.load(SEARCH + at));
    const score = f32x4.div(f32x4.mul(along, along), f32x4.add(energies, v128.load(SEARCH_DOUBLES + at)));
    bestPositions = v128.bitselect(positions, bestPositions, f32x4.gt(score, best));
    best = f32x4.pmax(best, score);
    positions = i32x4.add(positions, step);
  }
  let bestIndex: usize = i32x4.extract_lane(bestPositions, 0);
  let highest = f32x4.extract_lane(best, 0);
  if (f32x4.extract_lane(best, 1) > highest) {
    highest = f32x4.extract_lane(best, 1);
    bestIndex = i32x4.extract_lane(bestPositions, 1);
  }
  if (f32x4.extract_lane(best, 2) > highest) {
    highest = f32x4.extract_lane(best, 2);
    bestIndex = i32x4.extract_lane(bestPositions, 2);
  }
  if (f32x4.extract_lane(best, 3) > highest) bestIndex = i32x4.extract_lane(bestPositions, 3);
  const double = load<f32>(SEARCH_DOUBLES + bestIndex);
  product += load<f32>(SEARCH + bestIndex);
  energy += 1 + double;
  store<f32>(SEARCH_DOUBLES + bestIndex, double + 2);
  store<i32>(SEARCH_PULSES + bestIndex, load<i32>(SEARCH_PULSES + bestIndex) + 1);
}

function applySigns(shape: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += VECTOR_BYTES) {
    const sign = i32x4.shr_s(v128.load(shape + at), 31);
    const pulses = v128.load(SEARCH_PULSES + at);
    v128.store(SEARCH_PULSES + at, i32x4.sub(v128.xor(pulses, sign), sign));
  }
}

/**
 * The number of the vector among all of this length and sum (RFC 6716 section 4.3.4.2), from its end to its beginning.
 */
function numberOf(length: i32, pulses: i32): u32 {
  const rowBytes = countRowBytes(pulses);
  let row = countRow(1, pulses);
  let bestIndex = SEARCH_PULSES + F32_BYTES * usize(length - 1);
  const last = load<i32>(bestIndex);
  let sum = usize(abs(last)) << 2;
  let number = u32(last) >> 31;
  do {
    bestIndex -= F32_BYTES;
    row += rowBytes;
    number += load<u32>(row + sum);
    const value = load<i32>(bestIndex);
    sum += usize(abs(value)) << 2;
    // Without a branch: a sign is unpredictable.
    number += load<u32>(row + sum, F32_BYTES) & u32(value >> 31);
  } while (bestIndex > SEARCH_PULSES);
  return number;
}
