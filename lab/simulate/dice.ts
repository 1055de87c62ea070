// Repeatable randomness for a simulation: the node's own, and that of the injected faults. A leaf.

import type { Random } from "../../src/lib/random.ts";
import { seededRandom } from "../seeded-random.ts";

export class Dice implements Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seededRandom(seed);
  }

  unit(): number {
    return this.#next();
  }

  uint32(): number {
    return Math.floor(this.#next() * 2 ** 32);
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(this.#next() * 256));
  }

  /** A number from `min` (inclusive) to `max` (exclusive). */
  between(min: number, max: number): number {
    return min + this.#next() * (max - min);
  }

  /** A whole number, both ends inclusive. */
  whole(min: number, max: number): number {
    return Math.floor(this.between(min, max + 1));
  }

  /** True so often, 0 to 1. */
  chance(share: number): boolean {
    return this.#next() < share;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#next() * items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  /** Another generator, whose numbers do not depend on how many are drawn from this one later. */
  branch(): Dice {
    return new Dice(this.uint32());
  }
}
