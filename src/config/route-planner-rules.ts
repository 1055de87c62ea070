// The rules that the address blocks of `lavalink.server.ratelimit` and the strategy have to keep together
// (protocol-v4.md section 3.8). Main thread, at start.

import {
  IPV6_INTERFACE_BITS,
  type IpBlock,
  isBlockWithin,
  isInBlock,
  parseIpAddress,
  parseIpBlock,
} from "../lib/ip-block.ts";
import type { KeyValues } from "./keys/all-keys.ts";

type RoutePlannerValues = KeyValues["routePlanner"];

const BLOCKS_KEY = "lavalink.server.ratelimit.ipBlocks";
const EXCLUDED_KEY = "lavalink.server.ratelimit.excludedIps";
/** Addresses of a /64 of IPv6: as many as there are nanoseconds in 584 years. */
const SUBNET_SIZE = 1n << IPV6_INTERFACE_BITS;

/** Receives the rules that the values break. */
interface RuleReport {
  warn(message: string): void;
  /** Stops the start. */
  reject(key: string, message: string): void;
}

interface NamedBlock extends IpBlock {
  /** As it was written. */
  readonly text: string;
}

/**
 * Returns the values with blocks that fit each other and the strategy: all of one IP version, none within another;
 * excluded addresses are all in one of them. Warns of what is left out.
 */
export function checkedRoutePlanner(values: RoutePlannerValues, report: RuleReport): RoutePlannerValues {
  const { excludedIps, strategy } = values;
  const blocks = withoutNested(values.ipBlocks.flatMap(named), report);
  const broken = brokenRule(blocks, strategy);
  if (broken !== undefined) report.reject(BLOCKS_KEY, broken);
  return {
    ...values,
    ipBlocks: blocks.map(({ text }) => text),
    excludedIps: excludedWithin(blocks, excludedIps, report),
  };
}

function named(text: string): NamedBlock | [] {
  const block = parseIpBlock(text);
  return block === undefined ? [] : { ...block, text };
}

/** Blocks overlap only when one contains another, which then adds nothing. Of two equal blocks the first stays. */
function withoutNested(blocks: readonly NamedBlock[], report: RuleReport): NamedBlock[] {
  const nested = new Set<NamedBlock>();
  let outer: NamedBlock | undefined;
  // Sorted: a block is followed by the blocks within it.
  for (const block of blocks.toSorted(byLocation)) {
    if (outer !== undefined && isBlockWithin(block, outer)) {
      nested.add(block);
      report.warn(`${BLOCKS_KEY}: ${block.text} is within ${outer.text}; leaving it out`);
    } else outer = block;
  }
  return blocks.filter((block) => !nested.has(block));
}

/** By family and first address, of the same ones the largest block first. */
function byLocation(a: NamedBlock, b: NamedBlock): number {
  if (a.family !== b.family) return a.family - b.family;
  if (a.first !== b.first) return a.first < b.first ? -1 : 1;
  return Number(b.size > a.size) - Number(b.size < a.size);
}

/** The rule that blocks and strategy break, if any. */
function brokenRule(blocks: readonly NamedBlock[], strategy: RoutePlannerValues["strategy"]): string | undefined {
  const [first] = blocks;
  if (first === undefined) return undefined;
  const other = blocks.find(({ family }) => family !== first.family);
  if (other !== undefined) {
    return (
      `all blocks must be of one IP version, but ${first.text} is IPv${first.family} and ${other.text} ` +
      `IPv${other.family}`
    );
  }
  if (strategy === "RotatingNanoSwitch") {
    const small = blocks.find(({ size }) => size < SUBNET_SIZE);
    return small && `strategy RotatingNanoSwitch needs IPv6 blocks of a /64 or larger, but ${small.text} is not`;
  }
  const size = blocks.reduce((sum, block) => sum + block.size, 0n);
  if (strategy === "NanoSwitch" && size < SUBNET_SIZE) {
    const needed = `as many addresses as a /64 of IPv6 has (${SUBNET_SIZE})`;
    return `strategy NanoSwitch needs ${needed}, but the blocks have ${size}`;
  }
  return undefined;
}

/**
 * The excluded addresses that are within a block. One outside is a harmless slip; when all addresses are excluded,
 * nothing could be sent.
 */
function excludedWithin(blocks: readonly NamedBlock[], texts: readonly string[], report: RuleReport): string[] {
  if (blocks.length === 0) return [...texts];
  const excluded = new Map<string, string>();
  for (const text of texts) {
    const address = parseIpAddress(text);
    if (address !== undefined && blocks.some((block) => isInBlock(address, block))) {
      excluded.set(`${address.family} ${address.value}`, text);
    } else report.warn(`${EXCLUDED_KEY}: ${text} is in none of the blocks; leaving it out`);
  }
  const size = blocks.reduce((sum, block) => sum + block.size, 0n);
  if (BigInt(excluded.size) === size) report.reject(EXCLUDED_KEY, "leaves no address of the blocks to send from");
  return [...excluded.values()];
}
