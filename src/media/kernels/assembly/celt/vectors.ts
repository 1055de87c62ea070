// Vectors of pulses: from their number to a shape (RFC 6716 section 4.3.4.2). AssemblyScript, part of the CELT decoder.

import { restorePeaks } from "../../../../../opus-encoder/assembly/band-turns.ts";
import { countRow, countRowBytes, vectorCount } from "../../../../../opus-encoder/assembly/pulse-counts.ts";
import { decodeNumber } from "./range-decoder.ts";
import { scale } from "./shapes.ts";

/**
 * Reads a shape of `length` samples with so many pulses, and of amplitude `gain`. Returns a bit for each of `blocks` that
 * has pulses.
 */
export function decodeVector(shape: usize, length: i32, pulses: i32, blocks: i32, spread: i32, gain: f32): u32 {
  writePulses(shape, length, pulses, decodeNumber(vectorCount(length, pulses)));
  const mask = blocks > 1 ? blocksWithPulses(shape, length / blocks, blocks) : 1;
  scale(shape, length, gain / Mathf.sqrt(f32(energy)));
  restorePeaks(shape, length, blocks, pulses, spread);
  return mask;
}

/** Where the vector's number lies among those of the samples that are still to be written. */
let rest: u32 = 0;
/** Bytes from the start of a row of counts to that of the pulses left. */
let left: usize = 0;
/** The sum of the squares of the samples. */
let energy: i32 = 0;

/** Writes the vector that has this number among those of its length (2 or more) and pulses. */
function writePulses(shape: usize, length: i32, pulses: i32, number: u32): void {
  const row = countRow(length, pulses);
  const lastTwo = shape + (usize(length - 2) << 2);
  rest = number;
  left = usize(pulses) << 2;
  energy = 0;
  if (2 * pulses < length) writeSparse(shape, lastTwo, row, countRowBytes(pulses));
  else writeDense(shape, lastTwo, row, countRowBytes(pulses));
  writeLastTwo(lastTwo);
}

/** Where most samples are 0. */
function writeSparse(shape: usize, end: usize, row: usize, rowBytes: usize): void {
  let number = rest;
  let at = left;
  let squares = 0;
  for (; shape < end; shape += 4) {
    let below = load<u32>(row + at);
    const positive = load<u32>(row + at, 4);
    if (number >= below && number < positive) {
      number -= below;
      store<f32>(shape, 0);
    } else {
      const isNegative = number >= positive;
      number = select<u32>(number - positive, number, isNegative);
      const before = at;
      do {
        at -= 4;
        below = load<u32>(row + at);
      } while (below > number);
      number -= below;
      const size = i32(before - at) >> 2;
      squares += size * size;
      put(shape, size, isNegative);
    }
    row -= rowBytes;
  }
  rest = number;
  left = at;
  energy = squares;
}

/** Where most samples have pulses: four sizes are compared at once, and neither they nor signs branch. */
function writeDense(shape: usize, end: usize, row: usize, rowBytes: usize): void {
  let number = rest;
  let at = left;
  let squares = 0;
  for (; shape < end; shape += 4) {
    const positive = load<u32>(row + at, 4);
    const isNegative = number >= positive;
    number = select<u32>(number - positive, number, isNegative);
    const before = at;
    let above = sizesAbove(row + at, number);
    while (above === 4) {
      at -= 16;
      above = sizesAbove(row + at, number);
    }
    at -= above << 2;
    number -= load<u32>(row + at);
    const size = i32(before - at) >> 2;
    squares += size * size;
    put(shape, size, isNegative);
    row -= rowBytes;
  }
  rest = number;
  left = at;
  energy = squares;
}

/** How many of the four counts that end at this address are above the number. */
function sizesAbove(address: usize, number: u32): usize {
  const last = usize(load<u32>(address) > number) + usize(load<u32>(address - 4) > number);
  return last + (usize(load<u32>(address - 8) > number) + usize(load<u32>(address - 12) > number));
}

function writeLastTwo(shape: usize): void {
  const pulses = i32(left >> 2);
  const positive = u32(2 * pulses + 1);
  const isNegative = rest >= positive;
  const number = select<u32>(rest - positive, rest, isNegative);
  const last = i32((number + 1) >> 1);
  const size = pulses - last;
  energy += size * size + last * last;
  put(shape, size, isNegative);
  put(shape + 4, last, last > 0 && i32(number) === 2 * last);
}

function put(shape: usize, size: i32, isNegative: bool): void {
  store<f32>(shape, f32(select<i32>(-size, size, isNegative)));
}

function blocksWithPulses(shape: usize, perBlock: i32, blocks: i32): u32 {
  let mask: u32 = 0;
  for (let block = 0; block < blocks; block++) {
    let any: u32 = 0;
    for (let index = 0; index < perBlock; index++) {
      any |= load<u32>(shape) << 1;
      shape += 4;
    }
    mask |= u32(any !== 0) << u32(block);
  }
  return mask;
}
