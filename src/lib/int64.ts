// The range of a signed 64-bit integer: Java's `long`, and so every id and time of the protocol. A leaf, on all
// threads.

/** Java's `Long.MIN_VALUE`, inclusive. */
export const INT64_MIN = -(2n ** 63n);
/** Java's `Long.MAX_VALUE`, inclusive. */
export const INT64_MAX = 2n ** 63n - 1n;

/** True for what such a field can hold; beyond, the protocol's readers refuse or wrap around. */
export function isInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX;
}
