import { describe, expect, test } from "vitest";
import { FreeIndexes } from "../../../../src/control/route-planner/free-indexes.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { repeatableRandom, unevenness } from "../../../support/planner-builders.ts";

const seed = fuzzSeed();

describe("numbers that are free", () => {
  test("free indexes are those never taken or returned, in any order, and few entries are stored", () => {
    const random = repeatableRandom(seed);
    for (let round = 0; round < 200; round++) {
      const size = 1 + Math.floor(random.unit() * 40);
      const free = new FreeIndexes(BigInt(size));
      const taken = new Set<number>();
      for (let step = 0; step < 150; step++) {
        const index = Math.floor(random.unit() * size);
        if (random.unit() < 0.5) {
          free.take(BigInt(index));
          taken.add(index);
        } else {
          free.release(BigInt(index));
          taken.delete(index);
        }
        expect(free.freeCount).toBe(BigInt(size - taken.size));
        expect(free.displacedCount).toBeLessThanOrEqual(2 * taken.size);
        const picked = free.pick(random);
        if (picked === undefined) expect(taken.size).toBe(size);
        else expect(taken.has(Number(picked)), `${picked} picked`).toBe(false);
      }
      for (let index = 0; index < size; index++) expect(free.isFree(BigInt(index))).toBe(!taken.has(index));
    }
  });

  test("each free index is picked equally often, also when most are taken", () => {
    const random = repeatableRandom(seed);
    for (const takenShare of [0, 0.3, 0.9]) {
      const free = new FreeIndexes(200n);
      for (let index = 0; index < 200; index++) if (random.unit() < takenShare) free.take(BigInt(index));
      const counts = new Map<bigint, number>();
      for (let round = 0; round < 20_000; round++) {
        const index = free.pick(random) ?? -1n;
        counts.set(index, (counts.get(index) ?? 0) + 1);
      }
      expect(counts.size).toBe(Number(free.freeCount));
      expect(unevenness([...counts.values()]), `seed ${seed}`).toBeLessThan(5);
    }
  });

  test("free indexes are picked evenly over the whole of 2^96", () => {
    const random = repeatableRandom(seed);
    const free = new FreeIndexes(1n << 96n);
    for (let index = 0n; index < 5000n; index++) free.take(index);
    const high = Array<number>(64).fill(0);
    const low = Array<number>(64).fill(0);
    for (let round = 0; round < 20_000; round++) {
      const index = free.pick(random) ?? 0n;
      high[Number(index >> 90n)]! += 1;
      low[Number(index & 63n)]! += 1;
    }
    expect(unevenness(high), `seed ${seed}`).toBeLessThan(5);
    expect(unevenness(low), `seed ${seed}`).toBeLessThan(5);
  });
});
