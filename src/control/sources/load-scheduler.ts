// Whose turn it is to be looked up. Looking costs little while a server lets us wait, so many run at once; but
// beginning costs, so only some begin at a time, and then it is first the turn of the client that has the fewest
// running and, within one client, of the site. Where all places are taken, what has taken long gives way to what waits.
// So neither another client's links nor a hundred servers that drip keep a good link from its answer. Main thread; used
// by the track loader.

import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";

/** Look-ups at once: each is a socket and some buffers on the probe thread. */
const RUNNING_MAX = 512;
/** Of these, one client's and one site's: somebody else always finds room. */
const CLIENT_MAX = 384;
const SITE_MAX = 256;
/**
 * Look-ups that begin within one stretch of time: connecting and reading the first bytes is what takes the thread's
 * time.
 */
const FRESH_MAX = 32;
const FRESH_MS = 100;
/** Those that wait for a place; one more, and the one that waits in the longest line is refused. */
const WAITING_MAX = 1000;
/** From this age on a look-up gives its place to one that waits. Nearly all are over in less. */
const YIELD_AFTER_MS = 2000;
const YIELD_AFTER_S = YIELD_AFTER_MS / 1000;
const YIELDED = `looking the track up took more than ${YIELD_AFTER_S} s while others waited for their turn`;

/** Who asks, and what for: what shares are counted by. */
interface LoadOwner {
  readonly client: string;
  readonly site: string;
}

interface ScheduledLoad extends LoadOwner {
  readonly start: () => void;
  /** Ends it, running or waiting. */
  readonly refuse: (reason: NodeError) => void;
  startedMs: number;
}

export class LoadScheduler {
  readonly #clock: Clock;
  readonly #running = new Crowd();
  readonly #waiting = new Crowd();
  /** Those that have begun within the last 100 ms, in order. */
  #fresh: ScheduledLoad[] = [];
  /** Run while somebody waits. */
  #yieldTimer: Timer | undefined;
  #nextStart: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Does `work` when it is its turn. Rejects with `load-busy` when it had to make room for others, or with the reason
   * of `signal`; the signal that `work` is given says so to it.
   */
  async run<T>(
    options: LoadOwner & { readonly signal: AbortSignal },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const ending = new AbortController();
    const signal = AbortSignal.any([options.signal, ending.signal]);
    signal.throwIfAborted();
    let stopListening = () => {};
    try {
      const load = await new Promise<ScheduledLoad>((resolve, reject) => {
        const { client, site } = options;
        const start = () => resolve(entry);
        const entry: ScheduledLoad = { client, site, start, refuse: (reason) => ending.abort(reason), startedMs: 0 };
        stopListening = onAbort(signal, () => {
          this.#leave(entry);
          reject(signal.reason);
        });
        this.#enter(entry);
      });
      // Ended in the same breath in which its turn came.
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
    last?.refuse(new NodeError("load-busy", `${WAITING_MAX} tracks are waiting to be looked up already`));
  }

  #leave(load: ScheduledLoad): void {
    this.#waiting.delete(load);
    if (this.#running.delete(load)) this.#serve();
  }

  /** Fills the free places, then sees to it that there will be more if somebody still waits. */
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

  /** Sees to it that those who wait are looked at again when there may be a place. */
  #arm(nowMs: number): void {
    this.#makeSpace();
    const [oldest] = this.#fresh;
    if (oldest === undefined || this.#fresh.length < FRESH_MAX) return;
    this.#nextStart = this.#clock.after(oldest.startedMs + FRESH_MS - nowMs, () => this.#serve());
  }

  /** Has the look-up that is to give way do so as soon as it is old enough. */
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

  /**
   * Of those that wait and have room: the one whose client has the fewest running, then whose site has, then the first.
   */
  #next(): ScheduledLoad | undefined {
    if (this.#running.size >= RUNNING_MAX || this.#waiting.size === 0) return undefined;
    const { ofClient, ofSite } = this.#running;
    let best: { readonly load: ScheduledLoad; readonly client: number; readonly site: number } | undefined;
    for (const load of this.#waiting.loads) {
      const [client, site] = [ofClient.of(load.client), ofSite.of(load.site)];
      if (client >= CLIENT_MAX || site >= SITE_MAX) continue;
      if (best === undefined || client < best.client || (client === best.client && site < best.site)) {
        best = { load, client, site };
      }
    }
    return best?.load;
  }

  /** The running look-up that is to give way: of those that have the most of what is short, the oldest. */
  #blocking(): ScheduledLoad | undefined {
    const [running, waiting] = [this.#running, this.#waiting];
    if (running.size >= RUNNING_MAX) return running.heaviest()[0];
    for (const load of running.loads) {
      const { client, site } = load;
      if (running.ofSite.of(site) >= SITE_MAX && waiting.ofSite.of(site) > 0) return load;
      if (running.ofClient.of(client) >= CLIENT_MAX && waiting.ofClient.of(client) > 0)
        return running.heaviest(client)[0];
    }
    return undefined;
  }
}

/** Look-ups in the order in which they came, and how many there are of each client and site. */
class Crowd {
  readonly loads = new Set<ScheduledLoad>();
  readonly ofClient = new Tally();
  readonly ofSite = new Tally();

  get size(): number {
    return this.loads.size;
  }

  has(load: ScheduledLoad): boolean {
    return this.loads.has(load);
  }

  add(load: ScheduledLoad): void {
    this.loads.add(load);
    this.ofClient.add(load.client, 1);
    this.ofSite.add(load.site, 1);
  }

  delete(load: ScheduledLoad): boolean {
    if (!this.loads.delete(load)) return false;
    this.ofClient.add(load.client, -1);
    this.ofSite.add(load.site, -1);
    return true;
  }

  /** Of the client that has the most (or of this one), those of the site that it has the most of. */
  heaviest(client = this.ofClient.largest): readonly ScheduledLoad[] {
    const ofClient = [...this.loads].filter((load) => load.client === client);
    const sites = new Tally();
    for (const { site } of ofClient) sites.add(site, 1);
    const { largest } = sites;
    return ofClient.filter(({ site }) => site === largest);
  }
}

class Tally {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, change: number): void {
    const count = this.of(name) + change;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }

  /** The first of those with the highest count. */
  get largest(): string | undefined {
    let largest: string | undefined;
    let most = 0;
    for (const [name, count] of this.#counts) {
      if (count <= most) continue;
      largest = name;
      most = count;
    }
    return largest;
  }
}
