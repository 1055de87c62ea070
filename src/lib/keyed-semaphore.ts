// Counting semaphore with limits per key, a bounded queue and shares for those who ask: how many pieces of work run at
// once, of each kind, in all and for each owner. A leaf, on all threads.

import type { Clock, Timer } from "./clock.ts";
import { Counts } from "./counts.ts";
import { onAbort } from "./on-abort.ts";
import { accountOf, moreThan, type Owner, Owners } from "./owners.ts";

interface KeyedSemaphoreOptions {
  /** Permits of all keys together. Default: no limit. */
  readonly permitsMax?: number;
  /** Callers that may wait. One more, and the last of the owner with most of them is refused. */
  readonly waitingMax: number;
  /**
   * From this age on a permit is asked back while another account waits that has fewer, and would still have no more
   * than the first. For pools in which a single account can hold everything for long. Default: never.
   */
  readonly yieldAfter?: { readonly clock: Clock; readonly ms: number };
}

/** At most `max` permits with this key are held at once. Callers may give different limits for one key. */
interface Limit {
  readonly key: string;
  readonly max: number;
  /** Of these, for one account, so that permits remain for others. Default: all. */
  readonly accountMax?: number;
}

interface AcquireOptions {
  readonly limits: readonly Limit[];
  /** Whose work it is: permits go to the owner who holds fewest. Default: nobody's. */
  readonly owners?: Owners;
  readonly signal: AbortSignal;
  /** Longest wait for the permit. Default: until the signal. */
  readonly timeout?: { readonly clock: Clock; readonly delayMs: number };
  /** Makes the caller's error. */
  readonly busy: (reason: BusyReason) => Error;
}

/** Too many wait; the caller has waited too long; its permit is asked back for others. */
export type BusyReason = "full" | "late" | "askedBack";

/** Counts against each of its keys until it is released. Releasing again has no effect. */
export interface Permit {
  /** Fires with `busy` when the permit is asked back. */
  readonly signal: AbortSignal;
  release(): void;
  /** Frees one of its keys before the others. */
  releaseKey(key: string): void;
}

interface Waiting {
  readonly options: AcquireOptions;
  readonly admit: (permit: HeldPermit) => void;
  readonly refuse: (reason: unknown) => void;
}

const NOBODY: Owner = [""];
const NOBODYS = new Owners();

export class KeyedSemaphore {
  readonly #permitsMax: number;
  readonly #waitingMax: number;
  readonly #yieldAfter: KeyedSemaphoreOptions["yieldAfter"];
  /** Permits by key, and by account and key. */
  readonly #ofKey = new Counts();
  /** By each level of their owner. */
  readonly #ofOwner = new Counts();
  /** In the order in which they were taken. */
  readonly #permits = new Set<HeldPermit>();
  readonly #waiting = new Set<Waiting>();
  #yieldTimer: Timer | undefined;

  constructor({ permitsMax = Number.POSITIVE_INFINITY, waitingMax, yieldAfter }: KeyedSemaphoreOptions) {
    this.#permitsMax = permitsMax;
    this.#waitingMax = waitingMax;
    this.#yieldAfter = yieldAfter;
  }

  /**
   * Waits until every limit has a free permit. Of the callers whose limits have one, the owner with the fewest permits
   * is served first, by account and then by client; equals are served in order. Rejects with `busy`, or with the
   * reason of `signal`.
   */
  async acquire(options: AcquireOptions): Promise<Permit> {
    options.signal.throwIfAborted();
    const owner = this.#servedOwner(options);
    return owner === undefined ? this.#wait(options) : this.#give(options, owner);
  }

  /** The owner for whom a permit is free, the one with the fewest of them; undefined: for none. */
  #servedOwner({ limits, owners = NOBODYS }: AcquireOptions): Owner | undefined {
    if (this.#permits.size >= this.#permitsMax) return undefined;
    if (limits.some(({ key, max }) => this.#ofKey.of(key) >= max)) return undefined;
    const all = owners.all;
    let lightest: Owner | undefined;
    for (const owner of all.length === 0 ? [NOBODY] : all) {
      const isFree = limits.every(
        ({ key, accountMax = Number.POSITIVE_INFINITY }) => this.#ofKey.of(accountKey(key, owner)) < accountMax,
      );
      if (isFree && (lightest === undefined || this.#isLighter(owner, lightest))) lightest = owner;
    }
    return lightest;
  }

  /** Whether it holds fewer permits than the other, at the first level at which they differ. */
  #isLighter(owner: Owner, other: Owner): boolean {
    return moreThan(owner, other, this.#ofOwner) < 0;
  }

  #give({ limits, busy }: AcquireOptions, owner: Owner): HeldPermit {
    const permit = new HeldPermit({
      owner,
      keys: new Map(limits.map(({ key }) => [key, accountKey(key, owner)])),
      busy,
      sinceMs: this.#yieldAfter?.clock.now() ?? 0,
      ofKey: this.#ofKey,
      ofOwner: this.#ofOwner,
      onFreed: (isReleased) => {
        if (isReleased) this.#permits.delete(permit);
        this.#admit();
      },
    });
    this.#permits.add(permit);
    return permit;
  }

  #wait(options: AcquireOptions): Promise<Permit> {
    const { signal, timeout, busy, owners } = options;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        timer?.cancel();
        stopListening();
        stopJoining?.();
        if (this.#waiting.size === 0) this.#stopYielding();
      };
      const refuse = (reason: unknown): void => {
        leave();
        reject(reason);
      };
      const waiting: Waiting = {
        options,
        refuse,
        admit: (permit) => {
          leave();
          resolve(permit);
        },
      };
      const timer = timeout?.clock.after(timeout.delayMs, () => refuse(busy("late")));
      // Not aborted yet, so this cannot be called before `stopListening` is assigned.
      const stopListening = onAbort(signal, () => refuse(signal.reason));
      const stopJoining = owners?.onJoined(() => this.#admit());
      this.#waiting.add(waiting);
      if (this.#waiting.size > this.#waitingMax) this.#refuseOne();
      else this.#armYield();
    });
  }

  /** The last caller of the owner with most of those that wait. */
  #refuseOne(): void {
    const counts = new Counts();
    const waiting = [...this.#waiting].map((caller) => ({ caller, owner: this.#waitingOwner(caller) }));
    for (const { owner } of waiting) counts.addEach(owner);
    let heaviest = waiting[0];
    for (const candidate of waiting) {
      if (heaviest === undefined || moreThan(candidate.owner, heaviest.owner, counts) >= 0) heaviest = candidate;
    }
    heaviest?.caller.refuse(heaviest.caller.options.busy("full"));
  }

  /** Of several, the one who holds fewest. */
  #waitingOwner({ options: { owners } }: Waiting): Owner {
    const [first = NOBODY, ...others] = owners?.all ?? [];
    return others.reduce((lightest, owner) => (this.#isLighter(owner, lightest) ? owner : lightest), first);
  }

  /**
   * Hands free permits to waiting callers. They are counted here and not when the caller resumes: otherwise a caller in
   * between could take the permit, and the one that waited would be last in the queue again.
   */
  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      next.waiting.admit(this.#give(next.waiting.options, next.owner));
    }
    this.#armYield();
  }

  #next(): { readonly waiting: Waiting; readonly owner: Owner } | undefined {
    let best: { readonly waiting: Waiting; readonly owner: Owner } | undefined;
    for (const waiting of this.#waiting) {
      const owner = this.#servedOwner(waiting.options);
      if (owner !== undefined && (best === undefined || this.#isLighter(owner, best.owner))) best = { waiting, owner };
    }
    return best;
  }

  // Asking permits back

  #armYield(): void {
    const yieldAfter = this.#yieldAfter;
    if (yieldAfter === undefined) return;
    this.#stopYielding();
    const { clock } = yieldAfter;
    const next = this.#nextToYield(yieldAfter);
    if (next === undefined) return;
    this.#yieldTimer = clock.after(Math.max(0, next.atMs - clock.now()), () => {
      // Callers may have left since.
      const due = this.#nextToYield(yieldAfter);
      if (due !== undefined && due.atMs <= clock.now()) due.permit.askBack(clock.now());
      this.#armYield();
    });
  }

  #stopYielding(): void {
    this.#yieldTimer?.cancel();
    this.#yieldTimer = undefined;
  }

  /**
   * The oldest permit of the account with most, and when to ask it back, while an account waits that has fewer: as
   * many as wait with fewer, and none whose account would then have less than the one that waits.
   */
  #nextToYield({ clock, ms }: NonNullable<KeyedSemaphoreOptions["yieldAfter"]>): Yielding | undefined {
    const waiting = [...this.#waiting].map((caller) => this.#ofOwner.of(accountOf(this.#waitingOwner(caller))));
    const fewest = Math.min(...waiting);
    const asked = [...this.#permits].filter(({ askedMs }) => askedMs !== undefined);
    const ending = new Counts();
    ending.addEach(asked.map(({ owner }) => accountOf(owner)));
    let permit: HeldPermit | undefined;
    let most = fewest;
    for (const candidate of this.#permits) {
      const account = accountOf(candidate.owner);
      const count = this.#ofOwner.of(account) - ending.of(account);
      if (candidate.askedMs !== undefined || count <= most) continue;
      // An account that has all there is may have to give its only one.
      if (count === fewest + 1 && count < this.#permits.size) continue;
      most = count;
      permit = candidate;
    }
    if (permit === undefined) return undefined;
    // Work that does not end when it is asked to is not waited for.
    const untilMs = asked.map(({ askedMs = 0 }) => askedMs + ms).filter((endMs) => endMs > clock.now());
    const isAskedOfEnough = untilMs.length >= waiting.filter((count) => count < most).length;
    return { permit, atMs: Math.max(permit.sinceMs + ms, isAskedOfEnough ? Math.min(...untilMs) : 0) };
  }
}

interface Yielding {
  readonly permit: HeldPermit;
  readonly atMs: number;
}

interface HeldPermitOptions {
  readonly owner: Owner;
  /** Its keys, each with that of its account. */
  readonly keys: Map<string, string>;
  readonly busy: AcquireOptions["busy"];
  readonly sinceMs: number;
  readonly ofKey: Counts;
  readonly ofOwner: Counts;
  /** `isReleased`: all of it. */
  readonly onFreed: (isReleased: boolean) => void;
}

class HeldPermit implements Permit {
  readonly owner: Owner;
  readonly sinceMs: number;
  /** When it was asked back. */
  askedMs: number | undefined;
  readonly #options: HeldPermitOptions;
  readonly #askedBack = new AbortController();
  #isHeld = true;

  constructor(options: HeldPermitOptions) {
    this.#options = options;
    this.owner = options.owner;
    this.sinceMs = options.sinceMs;
    options.ofOwner.addEach(options.owner);
    for (const names of options.keys) options.ofKey.addEach(names);
  }

  get signal(): AbortSignal {
    return this.#askedBack.signal;
  }

  askBack(nowMs: number): void {
    this.askedMs = nowMs;
    this.#askedBack.abort(this.#options.busy("askedBack"));
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const { ofKey, ofOwner, keys, owner, onFreed } = this.#options;
    for (const names of keys) ofKey.removeEach(names);
    ofOwner.removeEach(owner);
    keys.clear();
    onFreed(true);
  }

  releaseKey(key: string): void {
    const { ofKey, keys, onFreed } = this.#options;
    const ofAccount = keys.get(key);
    if (ofAccount === undefined) return;
    keys.delete(key);
    ofKey.removeEach([key, ofAccount]);
    onFreed(false);
  }
}

/** No account has a line break in it. */
function accountKey(key: string, owner: Owner): string {
  return `${accountOf(owner)}\n${key}`;
}
