import { describe, expect, test } from "vitest";
import type { AddressChooser, ChooserOptions } from "../../../../src/control/route-planner/address-chooser.ts";
import { BalancingIp } from "../../../../src/control/route-planner/balancing-ip.ts";
import { NanoIp } from "../../../../src/control/route-planner/nano-ip.ts";
import { RotatingIp } from "../../../../src/control/route-planner/rotating-ip.ts";
import { RotatingNanoIp } from "../../../../src/control/route-planner/rotating-nano-ip.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { createPool, unevenness } from "../../../support/planner-builders.ts";

const seed = fuzzSeed();
const SUBNET = 1n << 64n;

type Chooser = new (options: ChooserOptions) => AddressChooser;

function create(Class: Chooser, size: bigint, excluded: readonly bigint[] = []) {
  const { pool, clock, random } = createPool(size, { excluded, seed });
  const chooser = new Class({ pool, clock, random, addressAt: String });
  const fail = (index: bigint): void => {
    pool.markFailing(index, "banned");
    chooser.onFailure(index);
  };
  return { chooser, pool, clock, fail };
}

/** Indexes that a chooser gives, each failing at once. */
function rotated(size: bigint, count: number): bigint[] {
  const { chooser, fail } = create(RotatingIp, size);
  return Array.from({ length: count }, () => {
    const index = chooser.choose() ?? -1n;
    fail(index);
    return index;
  });
}

describe("RotatingIpRoutePlanner", () => {
  test("the rotating planner keeps its address until that one fails", () => {
    const { chooser, fail } = create(RotatingIp, 256n);
    expect(chooser.details()).toEqual({ rotateIndex: "0", ipIndex: "0", currentAddress: "" });
    const first = chooser.choose() ?? -1n;
    for (let request = 0; request < 100; request++) expect(chooser.choose()).toBe(first);
    fail(first);
    const second = chooser.choose() ?? -1n;
    expect(second).not.toBe(first);
    expect(chooser.choose()).toBe(second);
    expect(chooser.details()).toEqual({ rotateIndex: "1", ipIndex: String(second + 1n), currentAddress: `/${second}` });
  });

  test("the rotating planner goes to the neighbouring address in blocks of up to 128, and wraps around", () => {
    expect(rotated(128n, 128)).toEqual(Array.from({ length: 128 }, (_, index) => BigInt(index)));
    const { chooser, fail, pool } = create(RotatingIp, 3n);
    for (const expected of [0n, 1n, 2n]) {
      expect(chooser.choose()).toBe(expected);
      fail(expected);
    }
    expect(chooser.choose()).toBeUndefined();
    pool.free(1n);
    expect(chooser.choose()).toBe(1n);
  });

  test("the rotating planner skips 10 to 19 addresses in larger blocks, each as likely, and wraps around", () => {
    const counts = Array<number>(10).fill(0);
    let before = -1n;
    for (const index of rotated(1n << 96n, 5000)) {
      const step = Number(index - before);
      expect(step).toBeGreaterThanOrEqual(10);
      expect(step).toBeLessThanOrEqual(19);
      counts[step - 10]! += 1;
      before = index;
    }
    expect(unevenness(counts), `seed ${seed}`).toBeLessThan(5);
    expect(rotated(129n, 20).some((index, at, all) => index < (all[at - 1] ?? -1n))).toBe(true);
  });

  test("the rotating planner finds the last free address of a /24, then none, without looping", () => {
    const seen = rotated(256n, 256);
    expect(new Set(seen).size).toBe(256);
    expect(seen).not.toContain(-1n);
    expect(rotated(256n, 257).at(-1)).toBe(-1n);
  });

  test("the same address failing twice in a row counts once, and costs one address", () => {
    const { chooser, fail } = create(RotatingIp, 256n);
    const first = chooser.choose() ?? -1n;
    fail(first);
    const second = chooser.choose();
    fail(first);
    expect(chooser.choose()).toBe(second);
    expect(chooser.details()).toMatchObject({ rotateIndex: "1" });
  });

  test("an address that was freed again before the next request is left all the same", () => {
    const { chooser, fail, pool } = create(RotatingIp, 4n);
    chooser.choose();
    fail(0n);
    pool.freeAll();
    expect(chooser.choose()).toBe(1n);
  });
});

describe("BalancingIpRoutePlanner", () => {
  test("the balancing planner chooses every address of a small block, each as likely", () => {
    const { chooser } = create(BalancingIp, 100n);
    const counts = Array<number>(100).fill(0);
    for (let round = 0; round < 20_000; round++) counts[Number(chooser.choose())]! += 1;
    expect(unevenness(counts), `seed ${seed}`).toBeLessThan(5);
  });

  test("the balancing planner chooses every part of a huge block, each as likely", () => {
    const { chooser } = create(BalancingIp, 1n << 96n);
    const counts = Array<number>(100).fill(0);
    for (let round = 0; round < 20_000; round++) counts[Number(((chooser.choose() ?? 0n) * 100n) >> 96n)]! += 1;
    expect(unevenness(counts), `seed ${seed}`).toBeLessThan(5);
  });

  test("the balancing planner chooses no failing address, and none at all when all fail", () => {
    const { chooser, fail, pool } = create(BalancingIp, 50n, [7n]);
    const seen = new Set<bigint>();
    for (let round = 0; round < 49; round++) {
      const index = chooser.choose() ?? -1n;
      expect(seen.has(index)).toBe(false);
      seen.add(index);
      fail(index);
    }
    expect(seen.has(7n)).toBe(false);
    expect(chooser.choose()).toBeUndefined();
    pool.freeAll();
    expect(chooser.choose()).toBeDefined();
  });
});

describe("NanoIpRoutePlanner", () => {
  test("the nano planner is as far into the block as nanoseconds have passed", () => {
    const { chooser, clock } = create(NanoIp, SUBNET);
    clock.advance(2.5);
    expect(chooser.choose()).toBe(2_500_000n);
    clock.advance(1000);
    expect(chooser.details()).toEqual({ currentAddressIndex: "1002500000" });
    expect(chooser.choose()).toBe(1_002_500_000n);
  });

  test("the nano planner only ever goes up, also while the clock stands still", () => {
    const { chooser, clock } = create(NanoIp, SUBNET);
    const seen = Array.from({ length: 5000 }, (_, round) => {
      if (round % 100 === 0) clock.advance(0.00001);
      return chooser.choose() ?? -1n;
    });
    expect(seen.every((index, at) => at === 0 || index > (seen[at - 1] ?? -1n))).toBe(true);
  });

  test("the nano planner chooses no address twice on the real clock", () => {
    const { pool, random } = createPool(1n << 96n, { seed });
    const chooser = new NanoIp({ pool, clock: systemClock, random, addressAt: String });
    const seen = Array.from({ length: 20_000 }, () => chooser.choose() ?? -1n);
    expect(new Set(seen).size).toBe(20_000);
    expect(seen.every((index, at) => at === 0 || index > (seen[at - 1] ?? -1n))).toBe(true);
  });

  test("the nano planner skips excluded and failing addresses", () => {
    const { chooser, fail } = create(NanoIp, SUBNET, [0n, 1n, 3n]);
    expect(chooser.choose()).toBe(2n);
    fail(4n);
    expect(chooser.choose()).toBe(5n);
  });
});

describe("RotatingNanoIpRoutePlanner", () => {
  test("the rotating nano planner goes to the next /64 on a failure, counts from 0 there, and wraps around", () => {
    const { chooser, clock, fail } = create(RotatingNanoIp, 3n * SUBNET);
    clock.advance(5);
    expect(chooser.choose()).toBe(5_000_000n);
    expect(chooser.details()).toEqual({ blockIndex: "0", currentAddressIndex: "5000000" });
    for (const subnet of [1n, 2n, 0n, 1n]) {
      fail((chooser.choose() ?? 0n) as bigint);
      expect(chooser.details()).toEqual({ blockIndex: String(subnet), currentAddressIndex: "0" });
      clock.advance(1);
      expect(chooser.choose()).toBe(subnet * SUBNET + 1_000_000n);
    }
  });

  test("requests that fail together leave a /64 once", () => {
    const { chooser, fail } = create(RotatingNanoIp, 4n * SUBNET);
    const underWay = Array.from({ length: 20 }, () => chooser.choose() ?? -1n);
    for (const index of underWay) fail(index);
    expect(chooser.details()).toMatchObject({ blockIndex: "1" });
  });

  test("the rotating nano planner chooses no address twice while it stays in a /64", () => {
    const { chooser } = create(RotatingNanoIp, SUBNET);
    const seen = Array.from({ length: 5000 }, () => chooser.choose());
    expect(new Set(seen).size).toBe(5000);
  });

  test("the rotating nano planner skips excluded and failing addresses", () => {
    const { chooser, pool } = create(RotatingNanoIp, SUBNET, [0n, 1n]);
    pool.markFailing(2n, "banned");
    expect(chooser.choose()).toBe(3n);
  });
});

describe("every planner", () => {
  const sizes: readonly [string, Chooser, readonly bigint[]][] = [
    ["rotating", RotatingIp, [1n, 8n, 256n, 1n << 20n, 1n << 96n]],
    ["balancing", BalancingIp, [1n, 8n, 256n, 1n << 20n, 1n << 96n]],
    ["nano", NanoIp, [SUBNET, 1n << 80n]],
    ["rotating nano", RotatingNanoIp, [SUBNET, 1n << 80n]],
  ];

  test.each(sizes)(
    "the %s planner chooses only addresses neither excluded nor failing, and none exactly when none is left",
    (_name, Class, all) => {
      for (const size of all) {
        const excluded = [0n, 1n, size - 1n].filter((index) => index >= 0n && size > 3n);
        const { chooser, pool, clock, fail } = create(Class, size, excluded);
        for (let request = 0; request < 400; request++) {
          const isExhausted = pool.isExhausted;
          const index = chooser.choose();
          expect(index === undefined).toBe(isExhausted);
          if (index === undefined) {
            pool.freeAll();
            continue;
          }
          expect(index < size && pool.isFree(index), `${index} of ${size}, seed ${seed}`).toBe(true);
          expect(excluded.includes(index)).toBe(false);
          clock.advance(0.001);
          if (request % 3 > 0) fail(index);
        }
      }
    },
  );
});
