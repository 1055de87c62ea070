// The complex Fourier transform, of four sequences at a time: each vector holds a point of all four. AssemblyScript, part
// of the AAC decoder.

import { ROOTS, ROOTS_BYTE, WORK_BYTE, WORK_BYTES } from "../../numbers/aac.ts";

/** Vectors of real and imaginary parts. */
export const POINT_BYTES: usize = 32;
/** Where the points are put to be transformed. */
export const POINTS: usize = WORK_BYTE;
const OTHER_POINTS: usize = WORK_BYTE + WORK_BYTES;

/** Transforms `count` points, a power of two up to 128, with exp(-2πi/count). Returns where they are then. */
export function transform(count: i32): usize {
  let from: usize = POINTS;
  let to: usize = OTHER_POINTS;
  let size = count;
  let stride = 1;
  for (; size >= 4; size >>= 2) {
    quarter(from, to, size, stride);
    stride <<= 2;
    const other = from;
    from = to;
    to = other;
  }
  if (size === 1) return from;
  const bytes = POINT_BYTES * stride;
  for (let at: usize = 0; at < bytes; at += 16) {
    const a = v128.load(from + at);
    const b = v128.load(from + at + bytes);
    v128.store(to + at, f32x4.add(a, b));
    v128.store(to + at + bytes, f32x4.sub(a, b));
  }
  return to;
}

/** From the area that is free, of the two that `transform` uses, one behind the other. */
export function otherThan(points: usize): usize {
  return points === POINTS ? OTHER_POINTS : POINTS;
}

/** One step: `size` points in a row to four times a quarter of them; `stride` such rows lie side by side. */
function quarter(from: usize, to: usize, size: i32, stride: i32): void {
  const quarterBytes = POINT_BYTES * ((size * stride) >> 2);
  const strideBytes = POINT_BYTES * stride;
  const step = ROOTS / size;
  let source = from;
  let target = to;
  for (let point = 0; point < size >> 2; point++) {
    const root: usize = ROOTS_BYTE + 8 * (step * point);
    const root2: usize = ROOTS_BYTE + 16 * (step * point);
    const root3: usize = ROOTS_BYTE + 24 * (step * point);
    const re1 = v128.load32_splat(root);
    const im1 = v128.load32_splat(root + 4);
    const re2 = v128.load32_splat(root2);
    const im2 = v128.load32_splat(root2 + 4);
    const re3 = v128.load32_splat(root3);
    const im3 = v128.load32_splat(root3 + 4);
    const end = source + strideBytes;
    let second = target + strideBytes;
    let third = second + strideBytes;
    let fourth = third + strideBytes;
    do {
      const b = source + quarterBytes;
      const c = b + quarterBytes;
      const d = c + quarterBytes;
      const sumRe = f32x4.add(v128.load(source), v128.load(c));
      const sumIm = f32x4.add(v128.load(source + 16), v128.load(c + 16));
      const lessRe = f32x4.sub(v128.load(source), v128.load(c));
      const lessIm = f32x4.sub(v128.load(source + 16), v128.load(c + 16));
      const sum2Re = f32x4.add(v128.load(b), v128.load(d));
      const sum2Im = f32x4.add(v128.load(b + 16), v128.load(d + 16));
      const less2Re = f32x4.sub(v128.load(b), v128.load(d));
      const less2Im = f32x4.sub(v128.load(b + 16), v128.load(d + 16));
      v128.store(target, f32x4.add(sumRe, sum2Re));
      v128.store(target + 16, f32x4.add(sumIm, sum2Im));
      storeProduct(second, f32x4.add(lessRe, less2Im), f32x4.sub(lessIm, less2Re), re1, im1);
      storeProduct(third, f32x4.sub(sumRe, sum2Re), f32x4.sub(sumIm, sum2Im), re2, im2);
      storeProduct(fourth, f32x4.sub(lessRe, less2Im), f32x4.add(lessIm, less2Re), re3, im3);
      source += POINT_BYTES;
      target += POINT_BYTES;
      second += POINT_BYTES;
      third += POINT_BYTES;
      fourth += POINT_BYTES;
    } while (source < end);
    target += 3 * strideBytes;
  }
}

export function productRe(aRe: v128, aIm: v128, bRe: v128, bIm: v128): v128 {
  return f32x4.sub(f32x4.mul(aRe, bRe), f32x4.mul(aIm, bIm));
}

export function productIm(aRe: v128, aIm: v128, bRe: v128, bIm: v128): v128 {
  return f32x4.add(f32x4.mul(aRe, bIm), f32x4.mul(aIm, bRe));
}

function storeProduct(at: usize, aRe: v128, aIm: v128, bRe: v128, bIm: v128): void {
  v128.store(at, productRe(aRe, aIm, bRe, bIm));
  v128.store(at + 16, productIm(aRe, aIm, bRe, bIm));
}
