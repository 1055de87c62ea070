// Public addresses that belong to the operator's network: those of this machine, and of its IPv6 link. A firewall does
// not protect them from the machine itself, so the outbound guard refuses them too. Any thread.

import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { type Clock, systemClock } from "../lib/clock.ts";
import { IPV6_INTERFACE_BITS } from "../lib/ip-block.ts";

/** All have a default: the real clock, no blocks, the system's interfaces. */
interface OwnNetworkOptions {
  readonly clock?: Clock;
  /** Blocks that are routed to this machine though no interface has them: CIDR, or single addresses. */
  readonly blocks?: readonly string[];
  /** Replaced in tests. */
  readonly readInterfaces?: () => NodeJS.Dict<readonly NetworkInterfaceInfo[]>;
}

type Block = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Addresses come and go (DHCP, rotation of prefixes); reading them takes about 50 µs. */
const CACHED_MS = 10_000;
/**
 * One link in IPv6. An interface may have a whole routed block to send from: only the part around the address counts as
 * own. In IPv4 only the address itself counts as own: hosting providers put thousands of customers into one network.
 */
const LINK_PREFIX_LENGTH = 128 - Number(IPV6_INTERFACE_BITS);

/**
 * Reads the interfaces when it is asked, at most every ten seconds. Where they cannot be read, only `blocks` are its
 * own.
 */
export class OwnNetwork {
  readonly #clock: Clock;
  readonly #readInterfaces: () => NodeJS.Dict<readonly NetworkInterfaceInfo[]>;
  readonly #routed: readonly Block[];
  #assigned: readonly Block[] = [];
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor({ clock = systemClock, blocks = [], readInterfaces = networkInterfaces }: OwnNetworkOptions = {}) {
    this.#clock = clock;
    this.#routed = blocks.map(parseBlock);
    this.#readInterfaces = readInterfaces;
  }

  /** True for an address of this machine, and for one of the same IPv6 link. */
  has(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
    if (this.#clock.now() - this.#readAtMs >= CACHED_MS) {
      this.#assigned = this.#read();
      this.#readAtMs = this.#clock.now();
    }
    const isWithin = ([own, length]: Block): boolean => own.kind() === address.kind() && address.match(own, length);
    return this.#routed.some(isWithin) || this.#assigned.some(isWithin);
  }

  #read(): Block[] {
    try {
      const interfaces = Object.values(this.#readInterfaces()).flatMap((infos) => infos ?? []);
      return interfaces.filter(({ address }) => ipaddr.isValid(address)).map(blockOf);
    } catch {
      // Sandboxes may hide the interfaces. The judgement by kind of address, which matters most, does not need them.
      return [];
    }
  }
}

function parseBlock(text: string): Block {
  if (text.includes("/")) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

function blockOf({ address, cidr }: NetworkInterfaceInfo): Block {
  const own = ipaddr.parse(address);
  if (own.kind() === "ipv4") return [own, 32];
  const length = Number(cidr?.split("/")[1] ?? 128);
  return [own, Math.max(length, LINK_PREFIX_LENGTH)];
}
