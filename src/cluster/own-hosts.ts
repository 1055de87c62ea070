// The IP addresses at which other machines can probably connect to this one. Asked by life-listener.ts with each renewal.
// A leaf.

import { isIP } from "node:net";
import type { NetworkInterfaceInfo } from "node:os";

const HOSTS_MAX = 4;

type Interfaces = Readonly<Record<string, readonly Pick<NetworkInterfaceInfo, "address" | "internal">[] | undefined>>;

/**
 * `seenAs`: the address that this machine has for the NATS server that it is connected to. If it is one of the machine's
 * own it is used alone: others come from that network, too. Otherwise all that the machine has, 4 at most.
 */
export function ownHosts(interfaces: Interfaces, seenAs: string | undefined): readonly string[] {
  const all = Object.values(interfaces).flatMap((addresses = []) => addresses);
  const seen = all.find(({ address }) => address === seenAs);
  if (seen !== undefined && !seen.internal) return [seen.address];
  const outer = all.filter(({ address, internal }) => !internal && isIP(address) !== 0 && !isLinkLocal(address));
  // The machines that share that server may all be on one host.
  const hosts = [...(seen === undefined ? [] : [seen]), ...outer];
  return hosts.map(({ address }) => address).slice(0, HOSTS_MAX);
}

/** It means something else on each machine. */
function isLinkLocal(address: string): boolean {
  return /^(fe[89ab][0-9a-f]:|169\.254\.)/i.test(address);
}
