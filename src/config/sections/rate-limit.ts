// `lavalink.server.ratelimit`: sending requests from changing addresses of the operator's own blocks. The rules that blocks
// and strategy have to keep together are checked here (protocol-v4.md section 3.8).

import { type IpBlock, isBlockWithin, isInBlock, parseIpAddress, parseIpBlock } from "../../lib/ip-block.ts";
import { choiceKey, flagKey, integerKey, listKey } from "../key.ts";
import type { NodeConfig, RoutePlannerStrategy } from "../node-config.ts";
import { defineSection, type SectionValues } from "../section.ts";
import { addressBlockType, addressType } from "../value-type.ts";

/** What Lavalink's `retryLimit: -1` means. */
const RETRIES_DEFAULT = 10;
const BLOCKS_KEY = "lavalink.server.ratelimit.ipBlocks";
const EXCLUDED_KEY = "lavalink.server.ratelimit.excludedIps";
/** Addresses of a /64 of IPv6: as many as there are nanoseconds in 584 years. */
const SUBNET_SIZE = 1n << 64n;

export const rateLimitSection = defineSection("lavalink.server.ratelimit", {
  ipBlocks: listKey({
    meaning:
      "Address blocks of this machine to send requests from in turn, all of one IP version. Empty: off. docs/reference/route-planner.md says what the system needs.",
    defaultValue: [],
    type: addressBlockType,
  }),
  excludedIps: listKey({
    meaning: "Addresses in these blocks to leave out.",
    defaultValue: [],
    type: addressType,
    misspeltVariables: ["LAVALINK_SERVER_RATELIMIT_EXCLUDE_IPS"],
  }),
  strategy: choiceKey({
    meaning:
      "How the next address is chosen. RotateOnBan: another one when one is banned. LoadBalance: a random one per request. NanoSwitch: another one with every nanosecond; needs a /64 of IPv6. RotatingNanoSwitch: the same within one /64, and the next /64 on a ban.",
    names: ["RotateOnBan", "LoadBalance", "NanoSwitch", "RotatingNanoSwitch"],
    defaultValue: "RotateOnBan",
  }),
  searchTriggersFail: flagKey({
    meaning: "Whether a refused search marks its address as failing.",
    defaultValue: true,
    misspeltVariables: ["LAVALINK_SERVER_RATELIMIT_SEARCH_TRIGGERS_FAIK"],
  }),
  retryLimit: integerKey({
    meaning: "How often a refused request is sent again, each time from another address. -1: 10; 0: for a minute.",
    defaultValue: -1,
    min: -1,
    max: 1_000_000,
  }),
});

/** Where rules that are broken are told. */
interface RuleReport {
  warn(message: string): void;
  /** Stops the start. */
  reject(key: string, message: string): void;
}

interface NamedBlock extends IpBlock {
  /** As it was written. */
  readonly text: string;
}

export function routePlannerOf(
  values: SectionValues<typeof rateLimitSection>,
  options: { readonly sources: readonly string[]; readonly report: RuleReport },
): NodeConfig["routePlanner"] {
  const { excludedIps, strategy, searchTriggersFail, retryLimit } = values;
  const { sources, report } = options;
  const blocks = withoutNested(values.ipBlocks.flatMap(named), report);
  const broken = brokenRule(blocks, strategy);
  if (broken !== undefined) report.reject(BLOCKS_KEY, broken);
  const limitOrEndless = retryLimit === 0 ? undefined : retryLimit;
  return {
    ipBlocks: blocks.map(({ text }) => text),
    excludedIps: excludedWithin(blocks, excludedIps, report),
    strategy,
    isTriggeredBySearch: searchTriggersFail,
    retriesMax: retryLimit === -1 ? RETRIES_DEFAULT : limitOrEndless,
    sources,
  };
}

function named(text: string): NamedBlock | [] {
  const block = parseIpBlock(text);
  return block === undefined ? [] : { ...block, text };
}

/** Blocks overlap only when one is in another: then it adds nothing. Of two that are the same, the first stays. */
function withoutNested(blocks: readonly NamedBlock[], report: RuleReport): NamedBlock[] {
  const nested = new Set<NamedBlock>();
  let outer: NamedBlock | undefined;
  // What is in a block follows it here.
  for (const block of blocks.toSorted(byPlace)) {
    if (outer !== undefined && isBlockWithin(block, outer)) {
      nested.add(block);
      report.warn(`${BLOCKS_KEY}: ${block.text} is within ${outer.text}; leaving it out`);
    } else outer = block;
  }
  return blocks.filter((block) => !nested.has(block));
}

/** By family and first address, of the same ones the largest block first. */
function byPlace(a: NamedBlock, b: NamedBlock): number {
  if (a.family !== b.family) return a.family - b.family;
  if (a.first !== b.first) return a.first < b.first ? -1 : 1;
  return Number(b.size > a.size) - Number(b.size < a.size);
}

/** The rule that blocks and strategy break, if any. */
function brokenRule(blocks: readonly NamedBlock[], strategy: RoutePlannerStrategy): string | undefined {
  const [first] = blocks;
  if (first === undefined) return undefined;
  const other = blocks.find(({ family }) => family !== first.family);
  if (other !== undefined) {
    return `all blocks must be of one IP version, but ${first.text} is IPv${first.family} and ${other.text} IPv${other.family}`;
  }
  if (strategy === "RotatingNanoSwitch") {
    const small = blocks.find(({ size }) => size < SUBNET_SIZE);
    return small && `strategy RotatingNanoSwitch needs IPv6 blocks of a /64 or larger, but ${small.text} is not`;
  }
  const size = blocks.reduce((sum, block) => sum + block.size, 0n);
  if (strategy === "NanoSwitch" && size < SUBNET_SIZE) {
    return `strategy NanoSwitch needs as many addresses as a /64 of IPv6 has (${SUBNET_SIZE}), but the blocks have ${size}`;
  }
  return undefined;
}

/** Those that count. One outside is a slip that harms nobody; without any address left nothing could be sent. */
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
