// The asking end of every request between threads: numbers the requests, bounds how many are pending and how long, and
// matches the replies. The owner of a port posts the numbered messages and reads the replies. All threads.

import type { Clock, Timer } from "../lib/clock.ts";
import { Counts } from "../lib/counts.ts";
import { onAbort } from "../lib/on-abort.ts";
import { moreThan, type Owner } from "../lib/owners.ts";

/** Numbers fit in 31 bits, as some are written into shared memory (Heartbeat). */
const ID_MAX = 0x7fff_ffff;

const NOBODY: Owner = [""];

interface PendingRequest {
  readonly owner: Owner;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Cancels the timer and the listener of the signal. */
  readonly release: () => void;
  /** Rejects it, as the other end may stop working for it. */
  readonly abandon: (error: unknown) => void;
}

interface PendingRequestsOptions {
  readonly clock: Clock;
  /**
   * Of more than `pendingMax` at once, the last one of the owner with most is refused with `error`. Undefined: the caller
   * bounds how many are pending.
   */
  readonly bound?: { readonly pendingMax: number; readonly error: () => Error };
  /** Called whenever the last pending request is settled. */
  readonly onIdle?: () => void;
}

/** Ends of a request other than its reply; without any it waits until `rejectAll`. */
interface RequestOptions {
  /** After `ms`, above 0, the request rejects with `error`. */
  readonly timeLimit?: { readonly ms: number; readonly error: () => Error };
  /** Whose it is. Default: nobody's. */
  readonly owner?: Owner | undefined;
  /** When it fires, the request rejects with its reason. */
  readonly signal?: AbortSignal;
  /**
   * Called before the rejection when the time is over, the signal fires or `send` throws: the other end may stop working
   * for it.
   */
  readonly onAbandoned?: (id: number) => void;
}

/** One for each kind of request of a port. `Replies` maps the type of a request to that of the reply's value. */
export class PendingRequests<Replies> {
  readonly #options: PendingRequestsOptions;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #ofOwner = new Counts();
  #lastId = 0;

  constructor(options: PendingRequestsOptions) {
    this.#options = options;
  }

  /** Requests that wait for their reply. */
  get count(): number {
    return this.#pending.size;
  }

  /**
   * Calls `send` with a new request number, unless the bound is reached by this owner or the signal has fired. Rejects
   * with their errors, that of the time limit, the one given to `reject` or `rejectAll`, or what `send` throws.
   */
  request<Type extends keyof Replies>(
    _type: Type,
    { timeLimit, owner = NOBODY, signal, onAbandoned }: RequestOptions,
    send: (id: number) => void,
  ): Promise<Replies[Type]> {
    const { clock, bound } = this.#options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (bound !== undefined && this.#pending.size >= bound.pendingMax) {
      const refused = this.#heaviest(owner);
      if (refused === undefined) return Promise.reject(bound.error());
      refused.abandon(bound.error());
    }
    this.#lastId = (this.#lastId % ID_MAX) + 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const abandon = (error: unknown): void => {
        const request = this.#take(id);
        if (request === undefined) return;
        onAbandoned?.(id);
        request.reject(error);
      };
      let timer: Timer | undefined;
      if (timeLimit !== undefined) timer = clock.after(timeLimit.ms, () => abandon(timeLimit.error()));
      const stopListening = signal === undefined ? undefined : onAbort(signal, () => abandon(signal.reason));
      const release = (): void => {
        timer?.cancel();
        stopListening?.();
      };
      // The reply's type follows from the request's: both ends are compiled with the same contract.
      this.#pending.set(id, { owner, resolve: resolve as (value: unknown) => void, reject, release, abandon });
      this.#ofOwner.addEach(owner);
      try {
        send(id);
      } catch (error) {
        abandon(error);
      }
    });
  }

  /** Settles a request with its reply. False, and without effect, for one that is not pending any more. */
  resolve(id: number, value: Replies[keyof Replies]): boolean {
    const request = this.#take(id);
    request?.resolve(value);
    return request !== undefined;
  }

  /** Settles a request with an error. Without effect for one that is not pending any more. */
  reject(id: number, error: unknown): void {
    this.#take(id)?.reject(error);
  }

  /** Rejects all pending requests, for when the other end is gone. */
  rejectAll(error: unknown): void {
    for (const id of [...this.#pending.keys()]) this.reject(id, error);
  }

  /** The last request of the owner with most, if that is not the one whose request is to come. */
  #heaviest(next: Owner): PendingRequest | undefined {
    this.#ofOwner.addEach(next);
    let heaviest: PendingRequest | undefined;
    for (const request of this.#pending.values()) {
      if (moreThan(request.owner, heaviest?.owner ?? request.owner, this.#ofOwner) >= 0) heaviest = request;
    }
    const isOthers = heaviest !== undefined && moreThan(heaviest.owner, next, this.#ofOwner) > 0;
    this.#ofOwner.removeEach(next);
    return isOthers ? heaviest : undefined;
  }

  #take(id: number): PendingRequest | undefined {
    const request = this.#pending.get(id);
    if (request === undefined) return undefined;
    this.#pending.delete(id);
    this.#ofOwner.removeEach(request.owner);
    request.release();
    if (this.#pending.size === 0) this.#options.onIdle?.();
    return request;
  }
}
