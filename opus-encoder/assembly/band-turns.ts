// Transforms the shape of a band before it is coded: sharper or smoother in time (Haar's transform, RFC 6716 section
// 4.3.4.5), reordered by blocks, and its peaks spread by rotations (section 4.3.4.3). AssemblyScript.

import { smallCosine, smallSine } from "./approximations.ts";
import { floatAt, setFloat } from "./lists.ts";
import { REORDER } from "./memory-map.ts";

const HALF_ROOT: f32 = 0.70710677;
const QUARTER_TURN: f32 = 1.5707964;

/** Sums and differences of samples `stride` (1, 2, 4 or 8) apart: `length` * `stride` floats in all. Its own inverse. */
export function haar(shape: usize, length: i32, stride: i32): void {
  const step = usize(stride) << 2;
  const end = shape + ((usize(length) * usize(stride)) << 2);
  if (stride < 4 && ((length * stride) & 7) !== 0) {
    haarOfFew(shape, step, end);
    return;
  }
  const factor = f32x4.splat(HALF_ROOT);
  if (stride >= 4) {
    for (let at = shape; at < end; at += 2 * step) {
      for (let address = at; address < at + step; address += 16) {
        const a = f32x4.mul(factor, v128.load(address));
        const b = f32x4.mul(factor, v128.load(address + step));
        v128.store(address, f32x4.add(a, b));
        v128.store(address + step, f32x4.sub(a, b));
      }
    }
    return;
  }
  // Eight floats at a time, pairs separated and put together again.
  for (let at = shape; at < end; at += 32) {
    const low = f32x4.mul(factor, v128.load(at));
    const high = f32x4.mul(factor, v128.load(at, 16));
    if (stride === 1) {
      const a = f32x4.shuffle(low, high, 0, 2, 4, 6);
      const b = f32x4.shuffle(low, high, 1, 3, 5, 7);
      const sum = f32x4.add(a, b);
      const difference = f32x4.sub(a, b);
      v128.store(at, f32x4.shuffle(sum, difference, 0, 4, 1, 5));
      v128.store(at, f32x4.shuffle(sum, difference, 2, 6, 3, 7), 16);
    } else {
      const a = f32x4.shuffle(low, high, 0, 1, 4, 5);
      const b = f32x4.shuffle(low, high, 2, 3, 6, 7);
      const sum = f32x4.add(a, b);
      const difference = f32x4.sub(a, b);
      v128.store(at, f32x4.shuffle(sum, difference, 0, 1, 4, 5));
      v128.store(at, f32x4.shuffle(sum, difference, 2, 3, 6, 7), 16);
    }
  }
}

/** One sample at a time, for lengths that are no multiple of 8. */
function haarOfFew(shape: usize, step: usize, end: usize): void {
  for (let at = shape; at < end; at += 2 * step) {
    for (let address = at; address < at + step; address += 4) {
      const a = HALF_ROOT * load<f32>(address);
      const b = HALF_ROOT * load<f32>(address + step);
      store<f32>(address, a + b);
      store<f32>(address + step, a - b);
    }
  }
}

/** The order of blocks that were made from one long one: 2, 4, 8 or 16 of them. */
const ORDERS = memory.data<u8>([
  1, 0, 3, 0, 2, 1, 7, 0, 4, 3, 6, 1, 5, 2, 15, 0, 8, 7, 12, 3, 11, 4, 14, 1, 9, 6, 13, 2, 10, 5,
]);

/** Converts interleaved samples of all blocks to one block after the other. */
export function sortBlocks(shape: usize, perBlock: i32, blocks: i32, isOfLongBlock: bool): void {
  for (let block = 0; block < blocks; block++) {
    const to = orderOf(block, blocks, isOfLongBlock) * perBlock;
    for (let index = 0; index < perBlock; index++) {
      setFloat(REORDER, to + index, floatAt(shape, index * blocks + block));
    }
  }
  memory.copy(shape, REORDER, usize(perBlock * blocks) << 2);
}

/** The inverse of `sortBlocks`. */
export function mergeBlocks(shape: usize, perBlock: i32, blocks: i32, isOfLongBlock: bool): void {
  for (let block = 0; block < blocks; block++) {
    const from = orderOf(block, blocks, isOfLongBlock) * perBlock;
    for (let index = 0; index < perBlock; index++) {
      setFloat(REORDER, index * blocks + block, floatAt(shape, from + index));
    }
  }
  memory.copy(shape, REORDER, usize(perBlock * blocks) << 2);
}

function orderOf(block: i32, blocks: i32, isOfLongBlock: bool): i32 {
  return isOfLongBlock ? i32(load<u8>(ORDERS + usize(blocks - 2 + block))) : block;
}

// The rotations of a shape.
let cosine: f32 = 0;
let sine: f32 = 0;
/** How far apart the second pairs are; 0: there are none. */
let stride: i32 = 0;

/** Spreads peaks of a shape that is coded with few pulses; `spread` is 1 (little) to 3 (much), or 0. */
export function spreadPeaks(shape: usize, length: i32, blocks: i32, pulses: i32, spread: i32): void {
  if (2 * pulses >= length || spread === 0) return;
  chooseRotations(length, blocks, pulses, spread);
  const perBlock = length / blocks;
  const end = shape + (usize(length) << 2);
  for (let at = shape; at < end; at += usize(perBlock) << 2) {
    rotate(at, perBlock, 1, cosine, -sine);
    if (stride > 0) rotate(at, perBlock, stride, sine, -cosine);
  }
}

/** The inverse of `spreadPeaks`. */
export function restorePeaks(shape: usize, length: i32, blocks: i32, pulses: i32, spread: i32): void {
  if (2 * pulses >= length || spread === 0) return;
  chooseRotations(length, blocks, pulses, spread);
  const perBlock = length / blocks;
  const end = shape + (usize(length) << 2);
  for (let at = shape; at < end; at += usize(perBlock) << 2) {
    if (stride > 0) rotate(at, perBlock, stride, sine, cosine);
    rotate(at, perBlock, 1, cosine, sine);
  }
}

function chooseRotations(length: i32, blocks: i32, pulses: i32, spread: i32): void {
  const factor = spread === 1 ? 15 : spread === 2 ? 10 : 5;
  const gain = f32(length) / f32(length + factor * pulses);
  const angle: f32 = QUARTER_TURN * 0.5 * gain * gain;
  cosine = smallCosine(angle);
  sine = smallSine(angle);
  stride = 0;
  if (length >= 8 * blocks) {
    stride = 1;
    while ((stride * stride + stride) * blocks + (blocks >> 2) < length) stride++;
  }
}

/** Rotates each pair `stride` apart, upwards and then downwards again. */
function rotate(shape: usize, length: i32, stride: i32, cosine: f32, sine: f32): void {
  if (stride === 1) rotateNeighbours(shape, length, cosine, sine);
  else rotateFar(shape, length, stride, cosine, sine);
}

/**
 * The result of one rotation is at once rotated with the next sample. Of four such steps, what each adds to the next ones
 * is summed within a vector, and then what the step before them adds.
 */
function rotateNeighbours(shape: usize, length: i32, cosine: f32, sine: f32): void {
  const last = shape + (usize(length - 1) << 2);
  const zero = f32x4.splat(0);
  const cosines = f32x4.splat(cosine);
  const sines = f32x4.splat(sine);
  const square = sine * sine;
  const squares = f32x4.splat(square);
  let address = shape;
  let carried = load<f32>(address);
  const powers = f32x4(sine, square, square * sine, square * square);
  for (; address + 16 <= last; address += 16) {
    const next = v128.load(address, 4);
    const turned = f32x4.mul(cosines, next);
    const pairs = f32x4.add(turned, f32x4.mul(sines, f32x4.shuffle(turned, zero, 4, 0, 1, 2)));
    const sums = f32x4.add(pairs, f32x4.mul(squares, f32x4.shuffle(pairs, zero, 4, 4, 0, 1)));
    const before = f32x4.splat(carried);
    const steps = f32x4.add(sums, f32x4.mul(before, powers));
    const earlier = f32x4.shuffle(steps, before, 4, 0, 1, 2);
    v128.store(address, f32x4.sub(f32x4.mul(cosines, earlier), f32x4.mul(sines, next)));
    carried = f32x4.extract_lane(steps, 3);
  }
  for (; address < last; address += 4) {
    const next = load<f32>(address, 4);
    store<f32>(address, cosine * carried - sine * next);
    carried = cosine * next + sine * carried;
  }
  store<f32>(address, carried);
  if (length < 3) return;
  address -= 4;
  carried = load<f32>(address);
  const cube = -square * sine;
  const downwards = f32x4(square * square, cube, square, -sine);
  for (; address >= shape + 16; address -= 16) {
    const next = v128.load(address - 16);
    const turned = f32x4.mul(cosines, next);
    const pairs = f32x4.sub(turned, f32x4.mul(sines, f32x4.shuffle(turned, zero, 1, 2, 3, 4)));
    const sums = f32x4.add(pairs, f32x4.mul(squares, f32x4.shuffle(pairs, zero, 2, 3, 4, 4)));
    const before = f32x4.splat(carried);
    const steps = f32x4.add(sums, f32x4.mul(before, downwards));
    const earlier = f32x4.shuffle(steps, before, 1, 2, 3, 4);
    v128.store(address - 12, f32x4.add(f32x4.mul(cosines, earlier), f32x4.mul(sines, next)));
    carried = f32x4.extract_lane(steps, 0);
  }
  while (address > shape) {
    address -= 4;
    const before = load<f32>(address);
    store<f32>(address, cosine * carried + sine * before, 4);
    carried = cosine * before - sine * carried;
  }
  store<f32>(address, carried);
}

function rotateFar(shape: usize, length: i32, stride: i32, cosine: f32, sine: f32): void {
  const step = usize(stride) << 2;
  const end = shape + (usize(length - stride) << 2);
  let address = shape;
  // Pairs that do not overlap can be rotated at once.
  if (stride >= 4) {
    for (; address + 16 <= end; address += 16) turnFour(address, step, cosine, sine);
  }
  for (; address < end; address += 4) turnOne(address, step, cosine, sine);
  address = shape + (usize(max(0, length - 2 * stride)) << 2);
  if (stride >= 4) {
    for (; address >= shape + 16; address -= 16) turnFour(address - 16, step, cosine, sine);
  }
  for (; address > shape; address -= 4) turnOne(address - 4, step, cosine, sine);
}

function turnFour(address: usize, step: usize, cosine: f32, sine: f32): void {
  const c = f32x4.splat(cosine);
  const s = f32x4.splat(sine);
  const a = v128.load(address);
  const b = v128.load(address + step);
  v128.store(address + step, f32x4.add(f32x4.mul(c, b), f32x4.mul(s, a)));
  v128.store(address, f32x4.sub(f32x4.mul(c, a), f32x4.mul(s, b)));
}

function turnOne(address: usize, step: usize, cosine: f32, sine: f32): void {
  const a = load<f32>(address);
  const b = load<f32>(address + step);
  store<f32>(address + step, cosine * b + sine * a);
  store<f32>(address, cosine * a - sine * b);
}
