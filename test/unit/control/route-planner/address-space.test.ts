import { expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { AddressSpace } from "../../../../src/control/route-planner/address-space.ts";
import { formatIpAddress, type IpBlock, isBlockWithin, parseIpAddress } from "../../../../src/lib/ip-block.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { plannerBlocks } from "../../../support/planner-builders.ts";

const random = seededRandom(fuzzSeed());

function below(limit: bigint): bigint {
  return (BigInt(Math.floor(random() * 2 ** 52)) * limit) >> 52n;
}

function indexOf(space: AddressSpace, text: string): bigint | undefined {
  const address = parseIpAddress(text);
  return address && space.indexOf(address);
}

test("blocks follow each other in the order in which they were configured", () => {
  const space = new AddressSpace(plannerBlocks("192.0.2.0/30", "10.0.0.7", "10.0.0.0/31"));
  const addresses = Array.from({ length: 7 }, (_, index) => space.addressAt(BigInt(index)));
  expect(addresses).toEqual(["192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3", "10.0.0.7", "10.0.0.0", "10.0.0.1"]);
  expect(space.size).toBe(7n);
  expect(addresses.map((address) => indexOf(space, address))).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n]);
});

test("an address beside the blocks, between them or of the other family has no index", () => {
  const space = new AddressSpace(plannerBlocks("192.0.2.0/24", "192.0.4.0/24"));
  for (const text of ["192.0.1.255", "192.0.3.0", "192.0.5.0", "0.0.0.0", "255.255.255.255", "::", "::c000:200"]) {
    expect(indexOf(space, text), text).toBeUndefined();
  }
});

test("every address of random blocks has a unique index that leads back to it", () => {
  for (let round = 0; round < 300; round++) {
    const family = random() < 0.5 ? 4 : 6;
    const space = new AddressSpace(randomBlocks(family));
    for (const index of [0n, space.size - 1n, below(space.size), below(space.size)]) {
      const text = space.addressAt(index);
      expect(indexOf(space, text), `${text} of ${space.size}`).toBe(index);
    }
  }
});

/** One to eight blocks, none within another. */
function randomBlocks(family: 4 | 6): IpBlock[] {
  const blocks: IpBlock[] = [];
  const bits = family === 4 ? 32n : 128n;
  for (let count = 1 + Math.floor(random() * 8); blocks.length < count; ) {
    const size = 1n << below(bits - 4n);
    const candidate = { family, size, first: below(1n << bits) & -size };
    const isApart = (other: IpBlock) => !isBlockWithin(candidate, other) && !isBlockWithin(other, candidate);
    if (blocks.every(isApart)) blocks.push(candidate);
    else count--;
    if (count === 0) return plannerBlocks(formatIpAddress({ family, value: 7n }));
  }
  return blocks;
}
