// Which numbers below a size are free, where the size may be 2^128: taking, returning and picking a random one cost the
// same however many numbers exist or are taken. Main thread.
//
// The numbers form a virtual row, the free ones in front. Only those that are not at their own position are stored:
// free ones whose position is among the taken, and taken ones. So there are at most two entries for each taken number.

import type { Random } from "../../lib/random.ts";

const BITS_OF_BYTE = 8;

export class FreeIndexes {
  readonly size: bigint;
  #freeCount: bigint;
  readonly #indexAt = new Map<bigint, bigint>();
  readonly #positionOf = new Map<bigint, bigint>();

  constructor(size: bigint) {
    this.size = size;
    this.#freeCount = size;
  }

  get freeCount(): bigint {
    return this.#freeCount;
  }

  isFree(index: bigint): boolean {
    return this.#position(index) < this.#freeCount;
  }

  /** Without effect when it is taken. */
  take(index: bigint): void {
    if (!this.isFree(index)) return;
    this.#freeCount--;
    this.#swap(index, this.#freeCount);
  }

  /** Without effect when it is free. */
  release(index: bigint): void {
    if (this.isFree(index)) return;
    const joined = this.#freeCount++;
    this.#swap(index, joined);
    // Restores numbers that may now be at their own position, so that nothing remains stored of a number once taken.
    if (index < joined) this.#swap(index, index);
    if (this.isFree(joined)) this.#swap(joined, joined);
  }

  /** How many numbers are remembered: for a test of what this costs. */
  get displacedCount(): number {
    return this.#indexAt.size;
  }

  /** Any free one, each as likely as the others; undefined when there is none. */
  pick(random: Random): bigint | undefined {
    if (this.#freeCount === 0n) return undefined;
    const position = randomBelow(this.#freeCount, random);
    return this.#indexAt.get(position) ?? position;
  }

  /** Puts `index` at `position`, and what stood there where `index` was. */
  #swap(index: bigint, position: bigint): void {
    const other = this.#indexAt.get(position) ?? position;
    const oldPosition = this.#position(index);
    this.#put(other, oldPosition);
    this.#put(index, position);
  }

  #put(index: bigint, position: bigint): void {
    if (index === position) {
      this.#indexAt.delete(position);
      this.#positionOf.delete(index);
    } else {
      this.#indexAt.set(position, index);
      this.#positionOf.set(index, position);
    }
  }

  #position(index: bigint): bigint {
    return this.#positionOf.get(index) ?? index;
  }
}

/** A whole number from 0 to `limit` - 1, each as likely: numbers beyond are drawn again, less than once on average. */
function randomBelow(limit: bigint, random: Random): bigint {
  const bits = (limit - 1n).toString(2).length;
  const mask = (1n << BigInt(bits)) - 1n;
  const bytes = Math.ceil(bits / BITS_OF_BYTE);
  for (;;) {
    const drawn = BigInt(`0x${Buffer.from(random.bytes(bytes)).toString("hex")}`) & mask;
    if (drawn < limit) return drawn;
  }
}
