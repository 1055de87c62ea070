// A plugin's cache: values by key that expire after a while and are evicted least recently used first; concurrent equal
// requests share one. Plugin thread.

import type { Clock } from "../../../lib/clock.ts";
import { Owners } from "../../../lib/owners.ts";
import { unlessAborted } from "../../../lib/unless-aborted.ts";
import type { Cache, CacheOptions } from "../../../plugin-api/plugin.ts";
import { currentOwners, runFor } from "../current-work.ts";

/** Share of its life after which a value that is kept fresh is renewed. */
const FRESH_SHARE = 0.9;

interface Entry<Value> {
  readonly value: Value;
  readonly untilMs: number;
  readonly staleMs: number;
}

/** Stores the values of a persisted cache, and loads those that an earlier thread has stored. */
export interface CachePersistence {
  readonly left: readonly { readonly key: string; readonly value: unknown; readonly ttlMs: number }[];
  persist(key: string, value: unknown, ttlMs: number): void;
  /** `deleted`: the value that the plugin itself has deleted; undefined: there was none, or it made room for another. */
  forget(key: string, deleted?: { readonly value: unknown }): void;
  /** Says who is told of values that come from elsewhere. Undefined: none do. */
  readonly listen?: ((listener: CacheListener) => void) | undefined;
}

/** A cache, as it is told of values that come from elsewhere: they are not persisted by it. */
export interface CacheListener {
  put(key: string, value: unknown, ttlMs: number): void;
  /** Removes the value if it is that one. */
  remove(key: string, isIt: (value: unknown) => boolean): void;
}

type Make<Value> = Parameters<Cache<Value>["getOrMake"]>[1]["make"];

interface Flight<Value> {
  readonly work: Promise<Value>;
  readonly abort: AbortController;
  /** All that wait for it: it must not wait for a permit as long as the first of them deserves. */
  readonly owners: Owners;
  waiting: number;
}

/** The interface says the rest. */
export class MemoryCache<Value> implements Cache<Value> {
  readonly #options: CacheOptions;
  readonly #clock: Clock;
  readonly #persistence: CachePersistence | undefined;
  /** The one used last is the last. */
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #flights = new Map<string, Flight<Value>>();

  constructor(options: CacheOptions, clock: Clock, persistence?: CachePersistence) {
    this.#options = options;
    this.#clock = clock;
    this.#persistence = persistence;
    // Under the name of the cache and of the plugin: it is what the same code has put there.
    for (const { key, value, ttlMs } of persistence?.left ?? []) this.#put(key, value as Value, ttlMs);
    persistence?.listen?.({
      put: (key, value, ttlMs) => this.#put(key, value as Value, ttlMs), // as above
      remove: (key, isIt) => {
        const entry = this.#entries.get(key);
        if (entry !== undefined && isIt(entry.value)) this.#entries.delete(key);
      },
    });
  }

  get(key: string): Value | undefined {
    return this.#find(key)?.value;
  }

  set(key: string, value: Value, ttlMs = this.#options.ttlMs): void {
    if (ttlMs > 0) this.#persistence?.persist(key, value, ttlMs);
    else this.#persistence?.forget(key);
    this.#put(key, value, ttlMs);
  }

  #put(key: string, value: Value, ttlMs: number): void {
    this.#entries.delete(key);
    // An invalid time would keep it forever.
    if (!(ttlMs > 0)) return;
    const nowMs = this.#clock.now();
    this.#entries.set(key, { value, untilMs: nowMs + ttlMs, staleMs: nowMs + ttlMs * FRESH_SHARE });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#options.entriesMax) break;
      this.#entries.delete(oldest);
      this.#persistence?.forget(oldest);
    }
  }

  delete(key: string): void {
    this.#persistence?.forget(key, this.#entries.get(key));
    this.#entries.delete(key);
    // Requests from now on must not get values started before.
    this.#flights.delete(key);
  }

  async getOrMake(key: string, options: Parameters<Cache<Value>["getOrMake"]>[1]): Promise<Value> {
    const { signal, make, isKeptFresh = false } = options;
    signal.throwIfAborted();
    const entry = this.#find(key);
    if (entry === undefined) return this.#join(key, make, signal);
    if (isKeptFresh && this.#clock.now() >= entry.staleMs && !this.#flights.has(key)) {
      this.#refresh(key, make, entry.untilMs);
    }
    return entry.value;
  }

  #find(key: string): Entry<Value> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (this.#clock.now() >= entry.untilMs) return undefined;
    this.#entries.set(key, entry);
    return entry;
  }

  /** Waits for the value being made, or starts making it. */
  async #join(key: string, make: Make<Value>, signal: AbortSignal): Promise<Value> {
    const running = this.#flights.get(key);
    const leaveOwners = running?.owners.join(currentOwners());
    const flight = running ?? this.#begin(key, make);
    flight.waiting += 1;
    try {
      return await unlessAborted(flight.work, signal);
    } finally {
      leaveOwners?.();
      this.#leave(key, flight);
    }
  }

  /** In the background, until the old value expires: from then on it runs only while callers wait for it. */
  #refresh(key: string, make: Make<Value>, untilMs: number): void {
    const flight = this.#begin(key, make);
    flight.waiting += 1;
    const timer = this.#clock.after(untilMs - this.#clock.now(), () => this.#leave(key, flight));
    const onEnd = (): void => timer.cancel();
    flight.work.then(onEnd, onEnd);
  }

  #leave(key: string, flight: Flight<Value>): void {
    flight.waiting -= 1;
    if (flight.waiting > 0) return;
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
    flight.abort.abort(new DOMException("no caller waits for it any more", "AbortError"));
  }

  #begin(key: string, make: Make<Value>): Flight<Value> {
    const abort = new AbortController();
    const owners = new Owners(currentOwners());
    const flight: Flight<Value> = {
      abort,
      owners,
      waiting: 0,
      work: this.#make(
        key,
        () => runFor(owners, async () => make(abort.signal)),
        () => flight,
      ),
    };
    this.#flights.set(key, flight);
    return flight;
  }

  async #make(key: string, make: () => ReturnType<Make<Value>>, own: () => Flight<Value>): Promise<Value> {
    try {
      // Start only once it is registered as running.
      await Promise.resolve();
      const made = await make();
      const { value, ttlMs } = isTimed(made) ? made : { value: made as Value, ttlMs: this.#options.ttlMs }; // the rest
      if (this.#flights.get(key) === own()) this.set(key, value, ttlMs);
      return value;
    } finally {
      if (this.#flights.get(key) === own()) this.#flights.delete(key);
    }
  }
}

interface Timed<Value> {
  readonly value: Value;
  readonly ttlMs: number;
}

function isTimed<Value>(made: Value | Timed<Value>): made is Timed<Value> {
  return typeof made === "object" && made !== null && "ttlMs" in made && "value" in made;
}
