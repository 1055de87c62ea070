// Transforms the shape of a band before it is coded: sharper or smoother in time (Haar's transform, RFC 6716 section
// 4.3.4.5), reordered by blocks, and its peaks spread by rotations (section 4.3.4.3). AssemblyScript.

import { smallCosine, smallSine } from "./approximations.ts";
import { floatAt, setFloat } from "./lists.ts";
import { REORDER } from "./memory-map.ts";

const HALF_ROOT: f32 = 0.70710677;
const QUARTER_TURN: f32 = 1.5707964;

/** Sums and differences of samples `stride` apart: `length` * `stride` floats in all, a multiple of 8. */
export function haar(shape: usize, length: i32, stride: i32): void {
  const step = usize(stride) << 2;
  const end = shape + ((usize(length) * usize(stride)) << 2);
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

/** The order of blocks that were made from one long one: 2, 4, 8 or 16 of them. */
const ORDERS = memory.data<u8>([
  1, 0, 3, 0, 2, 1, 7, 0, 4, 3, 6, 1, 5, 2, 15, 0, 8, 7, 12, 3, 11, 4, 14, 1, 9, 6, 13, 2, 10, 5,
]);

/** Converts interleaved samples of all blocks to one block after the other. */
export function sortBlocks(shape: usize, perBlock: i32, blocks: i32, isOfLongBlock: bool): void {
  const order = ORDERS + usize(blocks - 2);
  for (let block = 0; block < blocks; block++) {
    const to = (isOfLongBlock ? i32(load<u8>(order + usize(block))) : block) * perBlock;
    for (let index = 0; index < perBlock; index++) {
      setFloat(REORDER, to + index, floatAt(shape, index * blocks + block));
    }
  }
  memory.copy(shape, REORDER, usize(perBlock * blocks) << 2);
}

/** Spreads peaks of a shape that is coded with few pulses; `spread` is 1 (little) to 3 (much), or 0. */
export function spreadPeaks(shape: usize, length: i32, blocks: i32, pulses: i32, spread: i32): void {
  if (2 * pulses >= length || spread === 0) return;
  const factor = spread === 1 ? 15 : spread === 2 ? 10 : 5;
  const gain = f32(length) / f32(length + factor * pulses);
  const angle: f32 = QUARTER_TURN * 0.5 * gain * gain;
  const cosine = smallCosine(angle);
  const sine = smallSine(angle);
  let stride = 0;
  if (length >= 8 * blocks) {
    stride = 1;
    while ((stride * stride + stride) * blocks + (blocks >> 2) < length) stride++;
  }
  const perBlock = length / blocks;
  for (let block = 0; block < blocks; block++) {
    const address = shape + ((usize(block) * usize(perBlock)) << 2);
    rotate(address, perBlock, 1, cosine, -sine);
    if (stride > 0) rotate(address, perBlock, stride, sine, -cosine);
  }
}

/** Rotates each pair `stride` apart, upwards and then downwards again. */
function rotate(shape: usize, length: i32, stride: i32, cosine: f32, sine: f32): void {
  if (stride === 1) rotateNeighbours(shape, length, cosine, sine);
  else rotateFar(shape, length, stride, cosine, sine);
}

/** The result of one rotation is at once rotated with the next sample. */
function rotateNeighbours(shape: usize, length: i32, cosine: f32, sine: f32): void {
  const last = shape + (usize(length - 1) << 2);
  let address = shape;
  let carried = load<f32>(address);
  while (address < last) {
    const next = load<f32>(address, 4);
    store<f32>(address, cosine * carried - sine * next);
    carried = cosine * next + sine * carried;
    address += 4;
  }
  store<f32>(address, carried);
  if (length < 3) return;
  address -= 4;
  carried = load<f32>(address);
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
