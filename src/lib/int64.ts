// The range of a signed 64-bit integer: Java's `long`, and so every id and time of the protocol. A leaf, on all threads.

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

export function isInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX;
}
