// Semaphore that shares its permits out between the accounts whose work the plugin does, with errors that plugins know.
// Plugin thread; used for requests, programs and the plugin's pools.

import type { Clock } from "../../../lib/clock.ts";
import { type BusyReason, KeyedSemaphore, type Permit } from "../../../lib/keyed-semaphore.ts";
import { currentOwners } from "../current-work.ts";
import { OwnLimitError } from "./own-limit-error.ts";

/** Part of the permits that one account may hold. */
const ACCOUNT_SHARE = 3 / 4;
/** Timers hold no longer time: they would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

interface SemaphoreOptions {
  readonly runningMax: number;
  readonly waitingMax: number;
  /** So long an account may hold a permit while another waits that has fewer; infinite: as long as it likes. */
  readonly yieldAfterMs: number;
  /** "requests", for the error. */
  readonly what: string;
}

export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #semaphore: KeyedSemaphore;

  constructor(clock: Clock, options: SemaphoreOptions) {
    this.#options = options;
    const { yieldAfterMs: ms, ...bounds } = options;
    this.#semaphore = new KeyedSemaphore({ ...bounds, ...(ms <= TIMER_MS_MAX && { yieldAfter: { clock, ms } }) });
  }

  /**
   * Runs `work` when the current work has a permit. `runningMax`: fewer or more than usual, at least 1. The signal given
   * to `work` also fires when the permit is asked back. Rejects as `work`, with a SourceError `busy` if too many of its
   * account wait or the permit was asked back, or with the reason of `signal`.
   */
  async run<Value>(
    work: (signal: AbortSignal) => Promise<Value>,
    { signal, runningMax = this.#options.runningMax }: { readonly signal: AbortSignal; readonly runningMax?: number },
  ): Promise<Value> {
    const permit = await this.#acquire(signal, runningMax);
    try {
      return await work(AbortSignal.any([signal, permit.signal]));
    } catch (error) {
      signal.throwIfAborted();
      permit.signal.throwIfAborted();
      throw error;
    } finally {
      permit.release();
    }
  }

  #acquire(signal: AbortSignal, runningMax: number): Promise<Permit> {
    const { what } = this.#options;
    // NaN must not mean no limit.
    const max = Math.max(1, runningMax || 1);
    return this.#semaphore.acquire({
      limits: [{ key: what, max, accountMax: Math.ceil(max * ACCOUNT_SHARE) }],
      owners: currentOwners(),
      signal,
      busy: (reason) => new OwnLimitError(this.#textOf(reason)),
    });
  }

  #textOf(reason: BusyReason): string {
    const { what, waitingMax, yieldAfterMs } = this.#options;
    if (reason !== "askedBack") return `more than ${waitingMax} ${what} of this plugin wait already`;
    return `${what} of this plugin took more than ${yieldAfterMs / 1000} s while others waited; try again later`;
  }
}
