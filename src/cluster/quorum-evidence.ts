// Proof that NATS is away for every machine: so many servers refuse connections that those that may still run are too
// few for the bucket to have a leader. Asked by nats-link.ts when a machine cannot renew its lease. Main thread.

import { lookup } from "node:dns/promises";
import { connect, isIP } from "node:net";
import { addressOf, type NatsServer } from "./nats-servers.ts";

const PROBE_MS_MAX = 500;
/** Addresses of one name that are asked. */
const ADDRESSES_MAX = 16;

/**
 * Whether no `replicaCount` of these servers can hold the bucket with a leader. An address counts as away only if it
 * refuses connections: one that is silent, or a name that cannot be resolved, may be there for others.
 * `servers`: all of the cluster; with fewer than `replicaCount` they are not all, and prove nothing.
 */
export async function isQuorumRefused(servers: readonly NatsServer[], replicaCount: number): Promise<boolean> {
  const resolved = await Promise.all(servers.map(addressesOf));
  if (resolved.some((addresses) => addresses.length === 0)) return false;
  const addresses = [...new Map(resolved.flat().map((server) => [addressOf(server), server])).values()];
  // A server may have an address of each family, so neither their sum nor their names are the number of servers.
  const version6 = addresses.filter(({ host }) => isIP(host) === 6).length;
  if (Math.max(version6, addresses.length - version6) < replicaCount) return false;
  const refusals = await Promise.all(addresses.map(refuses));
  return refusals.filter((isRefused) => !isRefused).length < Math.floor(replicaCount / 2) + 1;
}

async function addressesOf({ host, port }: NatsServer): Promise<readonly NatsServer[]> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), PROBE_MS_MAX).unref());
  try {
    const found = await Promise.race([lookup(host, { all: true }), late]);
    return (found ?? []).slice(0, ADDRESSES_MAX).map(({ address }) => ({ host: address, port }));
  } catch {
    // Unknown, so it may be there for others.
    return [];
  }
}

function refuses({ host, port }: NatsServer): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (isRefused: boolean) => {
      socket.destroy();
      resolve(isRefused);
    };
    socket.setTimeout(PROBE_MS_MAX, () => settle(false));
    socket.on("connect", () => settle(false));
    socket.on("error", (error) => settle("code" in error && error.code === "ECONNREFUSED"));
  });
}
