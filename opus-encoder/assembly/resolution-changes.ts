// What the flags of bands mean for their resolution of time and frequency (RFC 6716 section 4.3.1). AssemblyScript.

/**
 * How many times blocks are joined in pairs, or divided if less than 0: for each frame size, of a long block and of short
 * ones, by the frame's choice of a pair, by the band's flag.
 */
const CHANGES = memory.data<i8>([
  0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -2, 1, 0, 1, -1, 0, -2, 0, -3, 2, 0, 1, -1, 0, -2, 0, -3, 3, 0, 1, -1,
]);

export function changeFor(sizeLog: i32, isShort: bool, pair: i32, flag: i32): i32 {
  return load<i8>(CHANGES + usize(8 * sizeLog + (isShort ? 4 : 0) + 2 * pair + flag));
}

/** True: the choice of the pair makes a difference. */
export function isPairNeeded(sizeLog: i32, isShort: bool, anyFlag: i32): bool {
  return changeFor(sizeLog, isShort, 0, anyFlag) !== changeFor(sizeLog, isShort, 1, anyFlag);
}
