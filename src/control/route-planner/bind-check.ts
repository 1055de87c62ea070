// Checks whether this machine can send from the configured blocks: an address must be assigned to it, or the system
// must treat the whole block as local. Run once at start, and by `tonearm doctor`. Main thread.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { formatIpBlock, type IpBlock, parseIpBlock } from "../../lib/ip-block.ts";
import type { Random } from "../../lib/random.ts";
import { AddressSpace } from "./address-space.ts";
import { FreeIndexes } from "./free-indexes.ts";

/** More blocks than this are likely alike. */
const BLOCKS_MAX = 64;
const GUIDE = "docs/reference/route-planner.md has the whole set-up";

interface BindTrouble {
  /** Which blocks it concerns, with an address and the system's error. */
  readonly found: string;
  /** The system setting that is missing. */
  readonly advice: string;
}

interface BindCheckOptions {
  readonly random: Random;
  /** Default: the platform of this process. */
  readonly platform?: NodeJS.Platform;
  /** Takes an address for a moment: the system's error code, or undefined. Replaced in tests. */
  readonly tryAddress?: (address: string, family: 4 | 6) => Promise<string | undefined>;
}

/** Tries a random address of each block, up to 64 of them. Undefined when all can be sent from. */
export async function findBindTrouble(
  blocks: readonly string[],
  { random, platform = process.platform, tryAddress = bindForAMoment }: BindCheckOptions,
): Promise<BindTrouble | undefined> {
  const tried = blocks.slice(0, BLOCKS_MAX);
  const broken = await Promise.all(
    tried.map(async (text) => {
      const block = parseIpBlock(text);
      if (block === undefined) return [];
      const address = anyAddressOf(block, random);
      const code = await tryAddress(address, block.family);
      return code === undefined ? [] : [{ text, block, address, code }];
    }),
  ).then((results) => results.flat());
  const [first] = broken;
  if (first === undefined) return undefined;
  const which = broken.length === 1 ? first.text : `${broken.length} of ${tried.length} blocks, such as ${first.text},`;
  const found = `${which} cannot be sent from: binding ${first.address} failed (${first.code})`;
  return { found, advice: adviceFor({ ...first, platform }) };
}

interface Failure {
  readonly block: IpBlock;
  readonly code: string;
  readonly platform: NodeJS.Platform;
}

function adviceFor({ block, code, platform }: Failure): string {
  const { family } = block;
  if (code === "EAFNOSUPPORT") return `this machine has no IPv${family}; enable it`;
  if (code !== "EADDRNOTAVAIL") return GUIDE;
  if (platform !== "linux")
    return "assign every address of the blocks to this machine: only Linux can use whole blocks";
  const route = `ip route add local ${formatIpBlock(block)} dev lo`;
  // IPv4 follows the routing table, IPv6 the assigned addresses unless configured otherwise.
  if (family === 4) return `run "${route}"; ${GUIDE}`;
  return `run "${route}" and "sysctl -w net.ipv6.ip_nonlocal_bind=1"; ${GUIDE}`;
}

function anyAddressOf(block: IpBlock, random: Random): string {
  return new AddressSpace([block]).addressAt(new FreeIndexes(block.size).pick(random) ?? 0n);
}

/** UDP and TCP are alike in this; nothing is sent. */
async function bindForAMoment(address: string, family: 4 | 6): Promise<string | undefined> {
  const socket = createSocket(family === 4 ? "udp4" : "udp6");
  try {
    socket.bind(0, address);
    await once(socket, "listening");
    return undefined;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  } finally {
    socket.close();
  }
}
