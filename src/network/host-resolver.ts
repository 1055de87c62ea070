// Resolves names for the outbound guard, in bounded time. The system resolver supports everything (hosts file, search
// domains) but runs two requests at a time in the whole process: a few names whose DNS servers never answer delay all
// others. When it is slow, DNS is also asked directly, without such a limit. Audio, probe and plugin threads.

import { type LookupAddress, type LookupOptions, Resolver, lookup as systemLookup } from "node:dns";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { ResolveHost } from "./outbound-guard.ts";

/** All have a default: the real clock, the system resolver, the system's DNS servers. */
export interface HostResolverOptions {
  readonly clock?: Clock;
  /** Replaced in tests. */
  readonly askSystem?: ResolveHost;
  /** DNS servers to ask directly, `host:port`. Default: the system's. */
  readonly servers?: readonly string[];
}

/** The system's answer normally takes a few milliseconds, through a slow network some hundred. */
const SYSTEM_PATIENCE_MS = 500;
/** The system is asked for no more names than this at once; further ones are asked of DNS only. */
const SYSTEM_PENDING_MAX = 16;
const DNS_TIMEOUT_MS = 2_000;
const DNS_TRIES = 2;
/** Without an answer by then, the name counts as not found. */
const GIVE_UP_MS = 10_000;

type Answer = Parameters<ResolveHost>[2];

/** Makes a resolver that answers within ten seconds; the bounds above are for all names that it is asked for. */
export function createHostResolver(options: HostResolverOptions = {}): ResolveHost {
  const { clock = systemClock, askSystem = systemLookup, servers } = options;
  let pendingCount = 0;
  return (hostname, lookupOptions, callback) => {
    let isAnswered = false;
    let resolver: Resolver | undefined;
    const answer: Answer = (error, addresses) => {
      if (isAnswered) return;
      isAnswered = true;
      patience.cancel();
      givingUp.cancel();
      resolver?.cancel();
      callback(error, addresses);
    };
    const isSystemAsked = pendingCount < SYSTEM_PENDING_MAX;
    const onDnsFailure = (error: NodeJS.ErrnoException): void => {
      // The system may still know the name.
      if (!isSystemAsked) answer(error, []);
    };
    const givingUp = clock.after(GIVE_UP_MS, () => answer(lookupError("EAI_AGAIN", hostname), []));
    const patience = clock.after(isSystemAsked ? SYSTEM_PATIENCE_MS : 0, () => {
      // Made only now: it reads the system's configuration.
      resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
      if (servers !== undefined) resolver.setServers(servers);
      askDns(resolver, hostname, lookupOptions).then((addresses) => answer(null, addresses), onDnsFailure);
    });
    if (!isSystemAsked) return;
    pendingCount++;
    askSystem(hostname, lookupOptions, (error, addresses) => {
      pendingCount--;
      answer(error, addresses);
    });
  };
}

/** IPv4 and IPv6 addresses, as requested. Rejects when there are none of either. */
async function askDns(resolver: Resolver, hostname: string, { family }: LookupOptions): Promise<LookupAddress[]> {
  const families = ([4, 6] as const).filter((each) => family === each || (family !== 4 && family !== 6));
  const results = await Promise.allSettled(families.map((each) => askFor(resolver, hostname, each)));
  const found = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  if (found.length === 0) throw lookupError("ENOTFOUND", hostname);
  return found;
}

function askFor(resolver: Resolver, hostname: string, family: 4 | 6): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    const onAnswer = (error: NodeJS.ErrnoException | null, addresses: string[]): void => {
      if (error === null) resolve(addresses.map((address) => ({ address, family })));
      else reject(error);
    };
    if (family === 4) resolver.resolve4(hostname, onAnswer);
    else resolver.resolve6(hostname, onAnswer);
  });
}

function lookupError(code: string, hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`looking ${hostname} up failed`), { code });
}
