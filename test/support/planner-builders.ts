// Helpers for the tests of the route planner: blocks from texts, a pool, a planner with given settings, repeatable
// randomness, and the check whether counts are as even as chance makes them.

import { seededRandom } from "../../lab/seeded-random.ts";
import type { NodeConfig } from "../../src/config/node-config.ts";
import { AddressPool } from "../../src/control/route-planner/address-pool.ts";
import { RoutePlanner } from "../../src/control/route-planner/route-planner.ts";
import { type IpBlock, parseIpBlock } from "../../src/lib/ip-block.ts";
import type { Random } from "../../src/lib/random.ts";
import { type Logger, silentLogger } from "../../src/log/log.ts";
import { FakeClock } from "./fake-clock.ts";

export function plannerBlocks(...texts: string[]): IpBlock[] {
  return texts.flatMap((text) => parseIpBlock(text) ?? []);
}

/** Always the same for one seed. */
export function repeatableRandom(seed: number): Random {
  const unit = seededRandom(seed);
  const uint32 = () => Math.floor(unit() * 2 ** 32);
  return { unit, uint32, bytes: (length) => Uint8Array.from({ length }, () => Math.floor(unit() * 256)) };
}

interface PoolParts {
  readonly pool: AddressPool;
  readonly clock: FakeClock;
  readonly random: Random;
}

export function createPool(size: bigint, options: { excluded?: readonly bigint[]; seed: number }): PoolParts {
  const clock = new FakeClock();
  const random = repeatableRandom(options.seed);
  const { excluded = [] } = options;
  return { pool: new AddressPool({ size, excluded, addressAt: String, clock, random }), clock, random };
}

export function createPlanner(
  settings: Partial<NodeConfig["routePlanner"]>,
  {
    seed = 1,
    clock = new FakeClock(),
    logger = silentLogger,
  }: { seed?: number; clock?: FakeClock; logger?: Logger } = {},
): { planner: RoutePlanner; clock: FakeClock } {
  const all = {
    ipBlocks: ["192.0.2.0/24"],
    excludedIps: [],
    strategy: "RotateOnBan",
    isTriggeredBySearch: true,
    retriesMax: 10,
    sources: ["http"],
    ...settings,
  } as const;
  return { planner: new RoutePlanner({ settings: all, clock, random: repeatableRandom(seed), logger }), clock };
}

/**
 * How uneven counts are, in standard deviations of what chance makes of even ones (chi-square, by Wilson and Hilferty's
 * approximation): above 5 once in three million fair runs. Needs ten or more of each.
 */
export function unevenness(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  const freedom = counts.length - 1;
  const spread = 2 / (9 * freedom);
  return (Math.cbrt(chiSquare / freedom) - (1 - spread)) / Math.sqrt(spread);
}
