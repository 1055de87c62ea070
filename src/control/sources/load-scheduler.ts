// Schedules loads. A load costs little while it waits for a server, so many run at once. Starting one is expensive, so
// only some start at a time: first the account with the fewest running loads, then its client with the fewest, then the
// site with the fewest. When all permits are taken, long-running loads yield to waiting ones. So neither another
// client's links nor a hundred slow servers delay the answer for a good link. Main thread; used by the track loader.

import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Counts } from "../../lib/counts.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { accountOf, moreThan, type Owner } from "../../lib/owners.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";

/** Concurrent loads: each is a socket and some buffers on the probe thread. */
const RUNNING_MAX = 512;
/** Of these, for one account and for one site, so that permits remain for others. */
const ACCOUNT_MAX = 384;
const SITE_MAX = 384;
/** Of the loads of one site, for one account. What is no address, such as words to search for, is one site. */
const ACCOUNT_SITE_MAX = 256;
/** Loads that start within one interval: connecting and reading the first bytes takes most of the thread's time. */
const FRESH_MAX = 32;
const FRESH_MS = 100;
/** Loads that wait for a permit. One more, and a waiting load of the longest queue is refused. */
const WAITING_MAX = 1000;
/** From this age on a load yields its permit to a waiting one. Nearly all finish sooner. */
const YIELD_AFTER_MS = 2000;
const YIELD_AFTER_S = YIELD_AFTER_MS / 1000;
const YIELDED = `loading the track took more than ${YIELD_AFTER_S} s while other loads were waiting; try again later`;

/** By which shares are counted. */
interface LoadShares {
  readonly owner: Owner;
  readonly site: string;
}

interface ScheduledLoad extends LoadShares {
  readonly start: () => void;
  /** Ends it, running or waiting. */
  readonly refuse: (reason: NodeError) => void;
  startedMs: number;
}

export class LoadScheduler {
  readonly #clock: Clock;
  readonly #running = new Crowd();
  readonly #waiting = new Crowd();
  /** Loads that started within the last 100 ms, in order. */
  #fresh: ScheduledLoad[] = [];
  /** Runs while loads are waiting. */
  #yieldTimer: Timer | undefined;
  #nextStart: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs `work` when it gets a permit. Rejects with `load-busy` when it had to yield to others, or with the reason of
   * `signal`; the signal passed to `work` aborts with it.
   */
  async run<T>(
    options: LoadShares & { readonly signal: AbortSignal },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const ending = new AbortController();
    const signal = AbortSignal.any([options.signal, ending.signal]);
    signal.throwIfAborted();
    let stopListening = () => {};
    try {
      const load = await new Promise<ScheduledLoad>((resolve, reject) => {
        const { owner, site } = options;
        const start = () => resolve(entry);
        const entry: ScheduledLoad = { owner, site, start, refuse: (reason) => ending.abort(reason), startedMs: 0 };
        stopListening = onAbort(signal, () => {
          this.#leave(entry);
          reject(signal.reason);
        });
        this.#enter(entry);
      });
      // Aborted in the same moment in which it got its permit.
      signal.throwIfAborted();
      return await unlessAborted(work(signal), signal).finally(() => this.#leave(load));
    } finally {
      stopListening();
    }
  }

  #enter(load: ScheduledLoad): void {
    this.#waiting.add(load);
    this.#serve();
    if (this.#waiting.size <= WAITING_MAX) return;
    const last = this.#waiting.heaviest().at(-1);
    last?.refuse(new NodeError("load-busy", `${WAITING_MAX} loads are already waiting; try again later`));
  }

  #leave(load: ScheduledLoad): void {
    this.#waiting.delete(load);
    if (this.#running.delete(load)) this.#serve();
  }

  /** Gives out free permits, then arranges for more to become free if loads are still waiting. */
  #serve(): void {
    const nowMs = this.#clock.now();
    this.#fresh = this.#fresh.filter((load) => this.#running.has(load) && nowMs - load.startedMs < FRESH_MS);
    while (this.#fresh.length < FRESH_MAX) {
      const next = this.#next();
      if (next === undefined) break;
      this.#waiting.delete(next);
      this.#running.add(next);
      this.#fresh.push(next);
      next.startedMs = nowMs;
      next.start();
    }
    this.#nextStart?.cancel();
    if (this.#waiting.size > 0) this.#arm(nowMs);
    else this.#stopMakingSpace();
  }

  /** Sets the timer for the next moment at which a permit may become free for waiting loads. */
  #arm(nowMs: number): void {
    this.#makeSpace();
    const [oldest] = this.#fresh;
    if (oldest === undefined || this.#fresh.length < FRESH_MAX) return;
    this.#nextStart = this.#clock.after(oldest.startedMs + FRESH_MS - nowMs, () => this.#serve());
  }

  /** Makes the load that must yield do so when it is old enough. */
  #makeSpace(): void {
    if (this.#yieldTimer !== undefined) return;
    const blocking = this.#blocking();
    if (blocking === undefined) return;
    const delayMs = Math.max(0, blocking.startedMs + YIELD_AFTER_MS - this.#clock.now());
    this.#yieldTimer = this.#clock.after(delayMs, () => {
      this.#yieldTimer = undefined;
      // Much may have changed since.
      const oldest = this.#blocking();
      const ageMs = oldest === undefined ? 0 : this.#clock.now() - oldest.startedMs;
      if (ageMs >= YIELD_AFTER_MS) oldest?.refuse(new NodeError("load-busy", YIELDED));
      else this.#makeSpace();
    });
  }

  #stopMakingSpace(): void {
    this.#yieldTimer?.cancel();
    this.#yieldTimer = undefined;
  }

  /** The waiting load with a free permit whose account has the fewest running, then its client, its site, then the first. */
  #next(): ScheduledLoad | undefined {
    if (this.#running.size >= RUNNING_MAX || this.#waiting.size === 0) return undefined;
    let best: ScheduledLoad | undefined;
    for (const load of this.#waiting.loads) {
      const isFree =
        this.#running.ofAccount(load) < ACCOUNT_MAX &&
        this.#running.ofSite(load) < SITE_MAX &&
        this.#running.ofAccountSite(load) < ACCOUNT_SITE_MAX;
      if (isFree && (best === undefined || this.#running.isLighter(load, best))) best = load;
    }
    return best;
  }

  /** The running load that must yield: the oldest of those with the largest share of the exhausted permits. */
  #blocking(): ScheduledLoad | undefined {
    const [running, waiting] = [this.#running, this.#waiting];
    if (running.size >= RUNNING_MAX) return running.heaviest()[0];
    for (const load of running.loads) {
      const { owner, site } = load;
      if (running.ofAccountSite(load) >= ACCOUNT_SITE_MAX && waiting.ofAccountSite(load) > 0)
        return running.heaviest({ account: accountOf(owner), site })[0];
      if (running.ofSite(load) >= SITE_MAX && waiting.ofSite(load) > 0) return running.heaviest({ site })[0];
      if (running.ofAccount(load) >= ACCOUNT_MAX && waiting.ofAccount(load) > 0)
        return running.heaviest({ account: accountOf(owner) })[0];
    }
    return undefined;
  }
}

/** Loads in the order of their arrival, and their number per account, client and site. */
class Crowd {
  readonly loads = new Set<ScheduledLoad>();
  readonly #ofOwner = new Counts();
  /** By site, and by account and site. */
  readonly #ofSite = new Counts();

  get size(): number {
    return this.loads.size;
  }

  has(load: ScheduledLoad): boolean {
    return this.loads.has(load);
  }

  add(load: ScheduledLoad): void {
    this.loads.add(load);
    this.#ofOwner.addEach(load.owner);
    this.#ofSite.addEach([load.site, accountSiteOf(load)]);
  }

  delete(load: ScheduledLoad): boolean {
    if (!this.loads.delete(load)) return false;
    this.#ofOwner.removeEach(load.owner);
    this.#ofSite.removeEach([load.site, accountSiteOf(load)]);
    return true;
  }

  /** How many its account has here. */
  ofAccount({ owner }: ScheduledLoad): number {
    return this.#ofOwner.of(accountOf(owner));
  }

  ofSite({ site }: ScheduledLoad): number {
    return this.#ofSite.of(site);
  }

  ofAccountSite(load: ScheduledLoad): number {
    return this.#ofSite.of(accountSiteOf(load));
  }

  /** Whether the owner of `load`, or else its site, has fewer here than that of the other. */
  isLighter(load: ScheduledLoad, other: ScheduledLoad): boolean {
    return (moreThan(load.owner, other.owner, this.#ofOwner) || this.ofSite(load) - this.ofSite(other)) < 0;
  }

  /** Those of the account with the most (or of this one), of its client with the most, of its site with the most. */
  heaviest({ account, site }: { readonly account?: string; readonly site?: string } = {}): readonly ScheduledLoad[] {
    const loads = [...this.loads].filter((load) => site === undefined || load.site === site);
    const ofAccount =
      account === undefined
        ? most(loads, ({ owner }) => accountOf(owner))
        : loads.filter(({ owner }) => accountOf(owner) === account);
    const ofClient = most(ofAccount, ({ owner }) => owner.at(-1) ?? "");
    return most(ofClient, ({ site }) => site);
  }
}

/** Those that share the name which most of them have. */
function most(loads: readonly ScheduledLoad[], nameOf: (load: ScheduledLoad) => string): readonly ScheduledLoad[] {
  const counts = new Counts();
  counts.addEach(loads.map(nameOf));
  const { largest } = counts;
  return loads.filter((load) => nameOf(load) === largest);
}

/** No account has a line break in it. */
function accountSiteOf({ owner, site }: ScheduledLoad): string {
  return `${accountOf(owner)}\n${site}`;
}
