// Resolves names for the outbound guard, in bounded time. The system resolver supports everything (hosts file, search
// domains, mDNS) and is always asked, but runs two requests at a time in the whole process: a few names whose DNS
// servers never answer delay all others. So each name is asked for once, however many wait for it, and when the system
// is slow, DNS is also asked directly, without such a limit. Audio, probe and plugin threads.

import { type LookupAddress, type LookupOptions, Resolver, lookup as systemLookup } from "node:dns";
import { type Clock, systemClock } from "../lib/clock.ts";
import { Counts } from "../lib/counts.ts";
import { onAbort } from "../lib/on-abort.ts";
import type { ResolveHost } from "./outbound-guard.ts";

type AllLookupOptions = Parameters<ResolveHost>[1];

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
/** Names that the system is asked for at once. Further ones wait: it cannot be told that an answer is not needed. */
const SYSTEM_PENDING_MAX = 16;
/** Of these, names of one site, so that its silent DNS servers leave some to other sites. */
const SYSTEM_PENDING_OF_SITE_MAX = 12;
/** How long a name that DNS does not know waits for the system to be asked for it. */
const SYSTEM_QUEUE_PATIENCE_MS = 2_000;
/** Names that are asked for at once, with those that wait. Of more, the last one of the site with most is refused. */
const NAMES_MAX = 4_096;
const DNS_TIMEOUT_MS = 2_000;
const DNS_TRIES = 2;
/** DNS has no such name, or no such address of it. */
const NOT_FOUND_CODES: readonly string[] = ["ENOTFOUND", "ENODATA"];
/** Without an answer by then, the name counts as not found. */
const GIVE_UP_MS = 10_000;

/** Makes a resolver that answers within ten seconds; the bounds above are for all names that it is asked for. */
export function createHostResolver(options: HostResolverOptions = {}): ResolveHost {
  const resolver = new HostResolver(options);
  return (hostname, lookupOptions, callback) => {
    resolver.resolve(hostname, lookupOptions).then(
      (addresses) => callback(null, [...addresses]),
      (error) => callback(error, []),
    );
  };
}

interface Question {
  readonly site: string;
  readonly answer: Promise<readonly LookupAddress[]>;
  readonly refusal: AbortController;
}

/** One question per name, whose answer all who wait for it get. */
class HostResolver {
  readonly #clock: Clock;
  readonly #servers: readonly string[] | undefined;
  readonly #system: SystemResolver;
  readonly #questions = new Map<string, Question>();
  readonly #ofSite = new Counts();

  constructor({ clock = systemClock, askSystem = systemLookup, servers }: HostResolverOptions) {
    this.#clock = clock;
    this.#servers = servers;
    this.#system = new SystemResolver(askSystem);
  }

  resolve(hostname: string, options: AllLookupOptions): Promise<readonly LookupAddress[]> {
    const key = questionOf(hostname, options);
    const asked = this.#questions.get(key);
    if (asked !== undefined) return asked.answer;
    const site = siteOf(hostname);
    if (this.#questions.size >= NAMES_MAX && !this.#refuseOneFor(site)) {
      return Promise.reject(lookupError("EAI_AGAIN", hostname));
    }
    const refusal = new AbortController();
    const answer = this.#ask(key, { hostname, options, signal: refusal.signal }).finally(() => {
      if (this.#questions.get(key)?.refusal === refusal) this.#remove(key);
    });
    this.#questions.set(key, { site, answer, refusal });
    this.#ofSite.addEach([site]);
    return answer;
  }

  #remove(key: string): void {
    const question = this.#questions.get(key);
    if (question === undefined) return;
    this.#questions.delete(key);
    this.#ofSite.removeEach([question.site]);
  }

  /** Refuses the last name of the site with most. False: no site has more than this one. */
  #refuseOneFor(site: string): boolean {
    const greediest = this.#ofSite.largest;
    if (greediest === undefined || this.#ofSite.of(greediest) <= this.#ofSite.of(site) + 1) return false;
    const last = [...this.#questions].findLast(([, question]) => question.site === greediest);
    if (last === undefined) return false;
    const [key, { refusal }] = last;
    this.#remove(key);
    refusal.abort(lookupError("EAI_AGAIN", greediest));
    return true;
  }

  #ask(key: string, { hostname, options, signal }: SystemQuestion): Promise<readonly LookupAddress[]> {
    let resolver: Resolver | undefined;
    const over = new AbortController();
    return new Promise<readonly LookupAddress[]>((resolve, reject) => {
      const giveUp = this.#clock.after(GIVE_UP_MS, () => reject(lookupError("EAI_AGAIN", hostname)));
      const patience = this.#clock.after(SYSTEM_PATIENCE_MS, () => {
        // Made only now: it reads the system's configuration.
        resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
        if (this.#servers !== undefined) resolver.setServers(this.#servers);
        askDns(resolver, hostname, options).then(resolve, onUnknown);
      });
      // The system may still know the name.
      let isLate = false;
      let unknown: NodeJS.ErrnoException | undefined;
      const giveUpQueued = (): void => {
        if (isLate && unknown?.code === "ENOTFOUND" && this.#system.isQueued(key)) reject(unknown);
      };
      const onUnknown = (error: NodeJS.ErrnoException): void => {
        unknown = error;
        giveUpQueued();
      };
      const late = this.#clock.after(SYSTEM_QUEUE_PATIENCE_MS, () => {
        isLate = true;
        giveUpQueued();
      });
      const stopListening = onAbort(signal, () => reject(signal.reason));
      onAbort(over.signal, () => {
        stopListening();
        giveUp.cancel();
        late.cancel();
        patience.cancel();
      });
      this.#system.ask(key, { hostname, options, signal: over.signal }).then(resolve, reject);
    }).finally(() => {
      over.abort();
      resolver?.cancel();
    });
  }
}

interface SystemQuestion {
  readonly hostname: string;
  readonly options: AllLookupOptions;
  /** The answer is not needed any more. */
  readonly signal: AbortSignal;
}

/** Asks the system, for so many names at once. */
class SystemResolver {
  readonly #askSystem: ResolveHost;
  /** Not answered yet. They may outlive the question: then the next one for the same name waits for the same answer. */
  readonly #pending = new Map<string, Promise<readonly LookupAddress[]>>();
  /** Start those that wait, by name, in their order. */
  readonly #queue = new Map<string, { readonly site: string; readonly start: () => void }>();
  /** Names that are pending. */
  readonly #ofSite = new Counts();

  constructor(askSystem: ResolveHost) {
    this.#askSystem = askSystem;
  }

  /** True while the system has not been asked yet. */
  isQueued(key: string): boolean {
    return this.#queue.has(key);
  }

  async ask(key: string, question: SystemQuestion): Promise<readonly LookupAddress[]> {
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const site = siteOf(question.hostname);
    if (!this.#isFreeFor(site)) await this.#whenFree(key, site, question.signal);
    const answer = this.#send(question).finally(() => {
      this.#pending.delete(key);
      this.#ofSite.removeEach([site]);
      this.#startNext();
    });
    this.#pending.set(key, answer);
    this.#ofSite.addEach([site]);
    return answer;
  }

  #send({ hostname, options }: SystemQuestion): Promise<readonly LookupAddress[]> {
    return new Promise((resolve, reject) => {
      this.#askSystem(hostname, options, (error, addresses) => {
        if (error === null) resolve(addresses);
        else reject(error);
      });
    });
  }

  #isFreeFor(site: string): boolean {
    return this.#pending.size < SYSTEM_PENDING_MAX && this.#ofSite.of(site) < SYSTEM_PENDING_OF_SITE_MAX;
  }

  #whenFree(key: string, site: string, signal: AbortSignal): Promise<void> {
    return new Promise((start) => {
      this.#queue.set(key, { site, start });
      onAbort(signal, () => this.#queue.delete(key));
    });
  }

  /** The first one of the site with fewest. */
  #startNext(): void {
    let next: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const [key, { site }] of this.#queue) {
      const count = this.#ofSite.of(site);
      if (count >= fewest || !this.#isFreeFor(site)) continue;
      next = key;
      fewest = count;
    }
    if (next === undefined) return;
    const start = this.#queue.get(next)?.start;
    this.#queue.delete(next);
    start?.();
  }
}

/** The last two labels: the owner of a domain has any number of names below it. */
function siteOf(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, "").split(".").slice(-2).join(".");
}

/** Names the questions that have the same answer. */
function questionOf(hostname: string, { family, hints, order, verbatim }: AllLookupOptions): string {
  return [hostname.toLowerCase(), family ?? 0, hints ?? 0, order ?? "", verbatim ?? ""].join(" ");
}

/** IPv4 and IPv6 addresses, as requested. Rejects when there are none of either, with `ENOTFOUND` if that is certain. */
async function askDns(resolver: Resolver, hostname: string, { family }: LookupOptions): Promise<LookupAddress[]> {
  const families = ([4, 6] as const).filter((each) => family === each || (family !== 4 && family !== 6));
  const results = await Promise.allSettled(families.map((each) => askFor(resolver, hostname, each)));
  const found = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  if (found.length > 0) return found;
  const isCertain = results.every(
    (result) => result.status === "rejected" && NOT_FOUND_CODES.includes(result.reason.code),
  );
  throw lookupError(isCertain ? "ENOTFOUND" : "EAI_AGAIN", hostname);
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
