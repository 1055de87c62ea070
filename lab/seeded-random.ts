// Repeatable randomness for hostile cases, generators and fuzz tests: a failure is reported with its seed.

/** A generator of numbers from 0 (inclusive) to 1 (exclusive), always the same for one seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}
