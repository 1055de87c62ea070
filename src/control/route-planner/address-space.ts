// All configured blocks as one row of addresses, numbered from 0 in the order in which they were configured. Main
// thread.

import { formatIpAddress, type IpAddress, type IpBlock } from "../../lib/ip-block.ts";

interface PositionedBlock extends IpBlock {
  /** Index of the first address. */
  readonly start: bigint;
}

export class AddressSpace {
  readonly family: 4 | 6;
  /** How many addresses there are. */
  readonly size: bigint;
  readonly #byStart: readonly PositionedBlock[];
  readonly #byAddress: readonly PositionedBlock[];

  /** @param blocks at least one, all of one IP version, none within another: the configuration sees to that */
  constructor(blocks: readonly IpBlock[]) {
    let size = 0n;
    this.#byStart = blocks.map((block) => {
      const positioned = { ...block, start: size };
      size += block.size;
      return positioned;
    });
    this.#byAddress = this.#byStart.toSorted((a, b) => (a.first < b.first ? -1 : 1));
    this.family = blocks[0]?.family ?? 4;
    this.size = size;
  }

  /** @param index from 0 to `size` - 1 */
  addressAt(index: bigint): string {
    const block = lastAtMost(this.#byStart, index, ({ start }) => start);
    return formatIpAddress({ family: this.family, value: (block?.first ?? 0n) + index - (block?.start ?? 0n) });
  }

  /** Undefined for an address outside. */
  indexOf({ family, value }: IpAddress): bigint | undefined {
    const block = lastAtMost(this.#byAddress, value, ({ first }) => first);
    if (family !== this.family || block === undefined || value >= block.first + block.size) return undefined;
    return block.start + value - block.first;
  }
}

/** The last block whose key is not above `sought`, by binary search: there may be thousands of single addresses. */
function lastAtMost(
  blocks: readonly PositionedBlock[],
  sought: bigint,
  keyOf: (block: PositionedBlock) => bigint,
): PositionedBlock | undefined {
  let [low, high] = [0, blocks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keyOf(blocks[middle]!) <= sought) low = middle + 1;
    else high = middle;
  }
  return blocks[low - 1];
}
