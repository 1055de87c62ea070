// Splitting and joining vectors of four 32-bit floats. AssemblyScript, compiled into each loop that uses it; audio
// thread.

/** a0 b0 a1 b1: the first of both, then the second of both. */
export function lowPairs(a: v128, b: v128): v128 {
  return f32x4.shuffle(a, b, 0, 4, 1, 5);
}

/** a2 b2 a3 b3 */
export function highPairs(a: v128, b: v128): v128 {
  return f32x4.shuffle(a, b, 2, 6, 3, 7);
}

/** a0 a1 b0 b1 */
export function lowHalves(a: v128, b: v128): v128 {
  return f32x4.shuffle(a, b, 0, 1, 4, 5);
}

/** a2 a3 b2 b3 */
export function highHalves(a: v128, b: v128): v128 {
  return f32x4.shuffle(a, b, 2, 3, 6, 7);
}

/** Four vectors, `rowBytes` from one to the next, become the lanes of four others, `columnBytes` from one to the next. */
export function transpose(from: usize, rowBytes: usize, to: usize, columnBytes: usize): void {
  const a = v128.load(from);
  const b = v128.load(from + rowBytes);
  const c = v128.load(from + 2 * rowBytes);
  const d = v128.load(from + 3 * rowBytes);
  const ab = lowPairs(a, b);
  const cd = lowPairs(c, d);
  const abHigh = highPairs(a, b);
  const cdHigh = highPairs(c, d);
  v128.store(to, lowHalves(ab, cd));
  v128.store(to + columnBytes, highHalves(ab, cd));
  v128.store(to + 2 * columnBytes, lowHalves(abHigh, cdHigh));
  v128.store(to + 3 * columnBytes, highHalves(abHigh, cdHigh));
}

/** a0 + a2, b0 + b2, a1 + a3, b1 + b3: half of the sums of all lanes, see `sumsOfHalves`. */
export function sumsOfPairs(a: v128, b: v128): v128 {
  return f32x4.add(lowPairs(a, b), highPairs(a, b));
}

/**
 * Adds lanes 0 and 2, and 1 and 3, of both: from the results of `sumsOfPairs` for a and b, and for c and d, the sums of
 * a, b, c and d.
 */
export function sumsOfHalves(ab: v128, cd: v128): v128 {
  return f32x4.add(lowHalves(ab, cd), highHalves(ab, cd));
}
