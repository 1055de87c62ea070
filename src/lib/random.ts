// Randomness, passed in so that tests can repeat it.

import { randomBytes } from "node:crypto";

/** `systemRandom` in the node; a test's own repeats by its seed. */
export interface Random {
  /** `length` random bytes. */
  bytes(length: number): Uint8Array;
  /** A whole number from 0 to 2^32 - 1. */
  uint32(): number;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  unit(): number;
}

/** The operating system's random source. */
export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
  uint32: () => randomBytes(4).readUInt32BE(0),
  unit: () => randomBytes(4).readUInt32BE(0) / 2 ** 32,
};
