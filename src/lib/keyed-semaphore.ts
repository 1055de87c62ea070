// Counting semaphore with limits per key and a bounded queue: how many pieces of work run at once, of each kind and in
// all. A leaf, on all threads.

import type { Clock } from "./clock.ts";
import { onAbort } from "./on-abort.ts";

interface KeyedSemaphoreOptions {
  /** Permits of all keys together. Default: no limit. */
  readonly permitsMax?: number;
  /** Callers that may wait; further ones are refused. */
  readonly waitingMax: number;
}

/** At most `max` permits with this key are held at once. Callers may give different limits for one key. */
interface Limit {
  readonly key: string;
  readonly max: number;
}

interface AcquireOptions {
  readonly limits: readonly Limit[];
  readonly signal: AbortSignal;
  /** Longest wait for the permit. Default: until the signal. */
  readonly timeout?: { readonly clock: Clock; readonly delayMs: number };
  /** Makes the error for a caller that is refused, or waits too long. */
  readonly busy: () => Error;
}

/** Counts against each of its keys until it is released. Releasing again has no effect. */
export interface Permit {
  release(): void;
  /** Frees one of its keys before the others. */
  releaseKey(key: string): void;
}

interface Waiting {
  readonly limits: readonly Limit[];
  /** Called with the permit counted already. */
  readonly admit: () => void;
}

export class KeyedSemaphore {
  readonly #permitsMax: number;
  readonly #waitingMax: number;
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #permitCount = 0;

  constructor({ permitsMax = Number.POSITIVE_INFINITY, waitingMax }: KeyedSemaphoreOptions) {
    this.#permitsMax = permitsMax;
    this.#waitingMax = waitingMax;
  }

  /**
   * Waits until every limit has a free permit. Callers are served in order, past those whose limits are reached.
   * Rejects with `busy`, or with the reason of `signal`.
   */
  async acquire(options: AcquireOptions): Promise<Permit> {
    options.signal.throwIfAborted();
    if (this.#hasCapacity(options.limits)) this.#count(options.limits);
    else await this.#wait(options);
    return this.#permit(options.limits);
  }

  #hasCapacity(limits: readonly Limit[]): boolean {
    if (this.#permitCount >= this.#permitsMax) return false;
    return limits.every(({ key, max }) => (this.#counts.get(key) ?? 0) < max);
  }

  #count(limits: readonly Limit[]): void {
    this.#permitCount++;
    for (const { key } of limits) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  #uncount(key: string): void {
    const count = (this.#counts.get(key) ?? 0) - 1;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
  }

  #permit(limits: readonly Limit[]): Permit {
    const held = new Set(limits.map(({ key }) => key));
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#permitCount--;
        for (const key of held) this.#uncount(key);
        held.clear();
        this.#admit();
      },
      releaseKey: (key) => {
        if (!held.delete(key)) return;
        this.#uncount(key);
        this.#admit();
      },
    };
  }

  #wait({ limits, signal, timeout, busy }: AcquireOptions): Promise<void> {
    if (this.#waiting.size >= this.#waitingMax) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        timer?.cancel();
        stopListening();
      };
      const waiting: Waiting = {
        limits,
        admit: () => {
          leave();
          resolve();
        },
      };
      const timer = timeout?.clock.after(timeout.delayMs, () => {
        leave();
        reject(busy());
      });
      // Not aborted yet, so this cannot be called before `stopListening` is assigned.
      const stopListening = onAbort(signal, () => {
        leave();
        reject(signal.reason);
      });
      this.#waiting.add(waiting);
    });
  }

  /**
   * Hands free permits to waiting callers. They are counted here and not when the caller resumes: otherwise a caller in
   * between could take the permit, and the one that waited would be last in the queue again.
   */
  #admit(): void {
    for (const waiting of this.#waiting) {
      if (!this.#hasCapacity(waiting.limits)) continue;
      this.#count(waiting.limits);
      waiting.admit();
    }
  }
}
