// Counting semaphore with limits per key, a bounded queue and shares for those who ask: how many pieces of work run at
// once, of each kind, in all and for each owner. A leaf, on all threads.

import type { Clock, Timer } from "./clock.ts";
import { Counts } from "./counts.ts";
import { onAbort } from "./on-abort.ts";
import { accountOf, type Owner, Owners } from "./owners.ts";

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

/** What counts under one name: a key, an account's part of a key, or a level of an owner. Forgotten with the last. */
interface Tally {
  readonly name: string;
  permits: number;
  waiting: number;
  /** Number of the last permit: in a pool of one permit nobody who waits holds any. 0: none yet. */
  lastServed: number;
}

interface Gate {
  readonly tally: Tally;
  readonly permitsMax: number;
}

/** What a permit for one of the caller's owners counts against, beside its keys. */
interface Claim {
  /** The tallies of the owner, the account's first. */
  readonly levels: readonly Tally[];
  /** The account's parts of the keys, in their order. */
  readonly parts: readonly Gate[];
}

interface Caller {
  readonly options: AcquireOptions;
  readonly keys: readonly Gate[];
  /** One for each owner. */
  claims: readonly Claim[];
}

interface Waiting extends Caller {
  /** Counts up: who has waited longer has a smaller one. */
  readonly number: number;
  readonly admit: (permit: HeldPermit) => void;
  readonly refuse: (reason: unknown) => void;
}

/** Callers that wait for the same, in order. Never empty. */
interface Line {
  first: Waiting;
  readonly callers: Set<Waiting>;
}

/**
 * An account's only permit is asked back so many times later: its work must be able to end, or two accounts would end
 * each other's for ever.
 */
const ONLY_PERMIT_FACTOR = 3;
const NOBODY: Owner = [""];
const NOBODYS = new Owners();
const NO_TALLY: Tally = { name: "", permits: 0, waiting: 0, lastServed: 0 };

export class KeyedSemaphore {
  readonly #permitsMax: number;
  readonly #waitingMax: number;
  readonly #yieldAfter: KeyedSemaphoreOptions["yieldAfter"];
  readonly #tallies = new Map<string, Tally>();
  /** In the order in which they were taken. */
  readonly #permits = new Set<HeldPermit>();
  /**
   * By limits and owners. Only the first of each line is looked at when a permit is released: thousands may wait for
   * one key.
   */
  readonly #lines = new Map<string, Line>();
  #waitingCount = 0;
  #lastNumber = 0;
  #servedCount = 0;
  #yieldTimer: Timer | undefined;

  constructor({ permitsMax = Number.POSITIVE_INFINITY, waitingMax, yieldAfter }: KeyedSemaphoreOptions) {
    this.#permitsMax = permitsMax;
    this.#waitingMax = waitingMax;
    this.#yieldAfter = yieldAfter;
  }

  /**
   * Waits until every limit has a free permit. Of the callers whose limits have one, the owner with the fewest permits
   * is served first, by account and then by client; of equals the one served longest ago, then the first.
   * Rejects with `busy`, or with the reason of `signal`.
   */
  async acquire(options: AcquireOptions): Promise<Permit> {
    options.signal.throwIfAborted();
    const caller = this.#enter(options);
    const claim = this.#servedClaim(caller);
    if (claim === undefined) return this.#wait(caller);
    const permit = this.#give(caller, claim);
    this.#countWaiting(caller, -1);
    return permit;
  }

  // Counting

  #enter(options: AcquireOptions): Caller {
    const keys = options.limits.map(({ key, max }) => ({ tally: this.#tallyOf(`key ${key}`), permitsMax: max }));
    const caller = { options, keys, claims: this.#claimsOf(options) };
    this.#countWaiting(caller, 1);
    return caller;
  }

  #countWaiting({ keys, claims }: Pick<Caller, "keys" | "claims">, change: 1 | -1): void {
    for (const { tally } of keys) this.#countOne(tally, "waiting", change);
    for (const { levels, parts } of claims) {
      for (const level of levels) this.#countOne(level, "waiting", change);
      for (const { tally } of parts) this.#countOne(tally, "waiting", change);
    }
  }

  #countOne(tally: Tally, what: "permits" | "waiting", change: 1 | -1): void {
    tally[what] += change;
    if (tally.permits + tally.waiting === 0) this.#tallies.delete(tally.name);
  }

  /** One for each account: hundreds may wait for the same work, and a permit is sought for each claim in turn. */
  #claimsOf({ limits, owners = NOBODYS }: AcquireOptions): Claim[] {
    const ofAccounts = new Map(owners.all.toReversed().map((owner) => [accountOf(owner), owner]));
    return (ofAccounts.size === 0 ? [NOBODY] : [...ofAccounts.values()]).map((owner) => ({
      levels: owner.map((name) => this.#tallyOf(`owner ${name}`)),
      parts: limits.map(({ key, accountMax = Number.POSITIVE_INFINITY }) => ({
        // No account has a line break in it.
        tally: this.#tallyOf(`part ${accountOf(owner)}\n${key}`),
        permitsMax: accountMax,
      })),
    }));
  }

  /** To be counted within the same call, or it would stay. */
  #tallyOf(name: string): Tally {
    const known = this.#tallies.get(name);
    if (known !== undefined) return known;
    const tally = { name, permits: 0, waiting: 0, lastServed: 0 };
    this.#tallies.set(name, tally);
    return tally;
  }

  // Giving permits

  /** That of the owner for whom a permit is free, the one with the fewest of them; undefined: for none. */
  #servedClaim({ keys, claims }: Caller): Claim | undefined {
    if (this.#permits.size >= this.#permitsMax || !areOpen(keys)) return undefined;
    let lightest: Claim | undefined;
    for (const claim of claims) {
      if (areOpen(claim.parts) && (lightest === undefined || isLighter(claim, lightest))) lightest = claim;
    }
    return lightest;
  }

  #give({ options: { limits, busy }, keys }: Caller, claim: Claim): HeldPermit {
    const counted = new Map(
      limits.map(({ key }, index) => [key, [keys[index]?.tally, claim.parts[index]?.tally]] as const),
    );
    const count = (tallies: Iterable<Tally | undefined>, change: 1 | -1): void => {
      for (const tally of tallies) if (tally !== undefined) this.#countOne(tally, "permits", change);
    };
    count(claim.levels, 1);
    this.#servedCount += 1;
    for (const level of claim.levels) level.lastServed = this.#servedCount;
    for (const tallies of counted.values()) count(tallies, 1);
    const permit = new HeldPermit({
      account: claim.levels[0],
      busy,
      sinceMs: this.#yieldAfter?.clock.now() ?? 0,
      onReleased: () => {
        this.#permits.delete(permit);
        count(claim.levels, -1);
        for (const tallies of counted.values()) count(tallies, -1);
        counted.clear();
        this.#admit();
      },
      onKeyReleased: (key) => {
        const tallies = counted.get(key);
        if (tallies === undefined) return;
        counted.delete(key);
        count(tallies, -1);
        this.#admit();
      },
    });
    this.#permits.add(permit);
    return permit;
  }

  #wait(caller: Caller): Promise<Permit> {
    const { signal, timeout, busy, owners } = caller.options;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#leaveLine(waiting);
        this.#countWaiting(waiting, -1);
        timer?.cancel();
        stopListening();
        stopJoining?.();
        if (this.#waitingCount === 0) this.#stopYielding();
      };
      const refuse = (reason: unknown): void => {
        leave();
        reject(reason);
      };
      const waiting: Waiting = {
        ...caller,
        number: ++this.#lastNumber,
        refuse,
        admit: (permit) => {
          leave();
          resolve(permit);
        },
      };
      const timer = timeout?.clock.after(timeout.delayMs, () => refuse(busy("late")));
      // Not aborted yet, so this cannot be called before `stopListening` is assigned.
      const stopListening = onAbort(signal, () => refuse(signal.reason));
      const stopJoining = owners?.onJoined(() => this.#onJoined(waiting));
      this.#joinLine(waiting);
      if (this.#waitingCount > this.#waitingMax) this.#refuseOne();
      else this.#armYield();
    });
  }

  #joinLine(waiting: Waiting): void {
    const name = nameOfLine(waiting);
    const line = this.#lines.get(name);
    if (line === undefined) this.#lines.set(name, { first: waiting, callers: new Set([waiting]) });
    else line.callers.add(waiting);
    this.#waitingCount += 1;
  }

  #leaveLine(waiting: Waiting): void {
    const name = nameOfLine(waiting);
    const line = this.#lines.get(name);
    line?.callers.delete(waiting);
    const [first] = line?.callers ?? [];
    if (line === undefined || first === undefined) this.#lines.delete(name);
    else line.first = first;
    this.#waitingCount -= 1;
  }

  #onJoined(waiting: Waiting): void {
    this.#leaveLine(waiting);
    const before = { keys: [], claims: waiting.claims };
    waiting.claims = this.#claimsOf(waiting.options);
    this.#countWaiting({ keys: [], claims: waiting.claims }, 1);
    this.#countWaiting(before, -1);
    this.#joinLine(waiting);
    this.#admit();
  }

  /** The last caller of the owner with most of those that wait. */
  #refuseOne(): void {
    let heaviest: { readonly waiting: Waiting; readonly claim: Claim } | undefined;
    for (const { first, callers } of this.#lines.values()) {
      const last = callers.size === 1 ? first : ([...callers].at(-1) ?? first);
      const claim = lightestOf(last);
      const more =
        heaviest === undefined ? 1 : moreWaiting(claim, heaviest.claim) || last.number - heaviest.waiting.number;
      if (more > 0) heaviest = { waiting: last, claim };
    }
    heaviest?.waiting.refuse(heaviest.waiting.options.busy("full"));
  }

  /**
   * Hands free permits to waiting callers. They are counted here and not when the caller resumes: otherwise a caller in
   * between could take the permit, and the one that waited would be last in the queue again.
   */
  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      next.waiting.admit(this.#give(next.waiting, next.claim));
    }
    this.#armYield();
  }

  #next(): { readonly waiting: Waiting; readonly claim: Claim } | undefined {
    let best: { readonly waiting: Waiting; readonly claim: Claim } | undefined;
    for (const { first } of this.#lines.values()) {
      const claim = this.#servedClaim(first);
      if (claim === undefined) continue;
      const more = best === undefined ? -1 : heavier(claim, best.claim) || first.number - best.waiting.number;
      if (more < 0) best = { waiting: first, claim };
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
      this.#yieldTimer = undefined;
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
    const lines = [...this.#lines.values()].map(({ first, callers }) => ({
      permits: lightestOf(first).levels[0]?.permits ?? 0,
      length: callers.size,
    }));
    const fewest = Math.min(...lines.map(({ permits }) => permits));
    const asked = [...this.#permits].filter(({ askedMs }) => askedMs !== undefined);
    const ending = new Counts();
    ending.addEach(asked.map(({ account }) => account));
    let permit: HeldPermit | undefined;
    let most = fewest;
    for (const candidate of this.#permits) {
      const count = candidate.ofAccount - ending.of(candidate.account);
      if (candidate.askedMs !== undefined || count <= most) continue;
      // An account that has all there is may have to give its only one.
      if (count === fewest + 1 && count < this.#permits.size) continue;
      most = count;
      permit = candidate;
    }
    if (permit === undefined) return undefined;
    // Work that does not end when it is asked to is not waited for.
    const untilMs = asked.map(({ askedMs = 0 }) => askedMs + ms).filter((endMs) => endMs > clock.now());
    const waitingCount = lines.reduce((sum, { permits, length }) => sum + (permits < most ? length : 0), 0);
    const isAskedOfEnough = untilMs.length >= waitingCount;
    const heldMs = most === 1 ? ONLY_PERMIT_FACTOR * ms : ms;
    return { permit, atMs: Math.max(permit.sinceMs + heldMs, isAskedOfEnough ? Math.min(...untilMs) : 0) };
  }
}

interface Yielding {
  readonly permit: HeldPermit;
  readonly atMs: number;
}

function nameOfLine({ keys, claims }: Caller): string {
  const ofGates = (gates: readonly Gate[]) => gates.map(({ tally, permitsMax }) => [tally.name, permitsMax]);
  return JSON.stringify([
    ofGates(keys),
    claims.map(({ levels, parts }) => [levels.map(({ name }) => name), ofGates(parts)]),
  ]);
}

function areOpen(gates: readonly Gate[]): boolean {
  for (const { tally, permitsMax } of gates) if (tally.permits >= permitsMax) return false;
  return true;
}

/**
 * Positive when an owner holds more permits than another, or as many and was served later, at the first level at which
 * they differ; negative when it is the other way round.
 */
function heavier({ levels }: Claim, other: Claim): number {
  return firstDifference(levels, other.levels, (one, two) =>
    one.permits === two.permits ? one.lastServed - two.lastServed : one.permits - two.permits,
  );
}

function moreWaiting({ levels }: Claim, other: Claim): number {
  return firstDifference(levels, other.levels, (one, two) => one.waiting - two.waiting);
}

function firstDifference(
  levels: readonly Tally[],
  others: readonly Tally[],
  difference: (one: Tally, two: Tally) => number,
): number {
  for (let index = 0; index < levels.length; index++) {
    const more = difference(levels[index] ?? NO_TALLY, others[index] ?? NO_TALLY);
    if (more !== 0) return more;
  }
  return 0;
}

function isLighter(claim: Claim, other: Claim): boolean {
  return heavier(claim, other) < 0;
}

/** Of several owners, the one who holds fewest. */
function lightestOf({ claims }: Caller): Claim {
  return claims.reduce((lightest, claim) => (isLighter(claim, lightest) ? claim : lightest));
}

interface HeldPermitOptions {
  readonly account: Tally | undefined;
  readonly busy: AcquireOptions["busy"];
  readonly sinceMs: number;
  readonly onReleased: () => void;
  readonly onKeyReleased: (key: string) => void;
}

class HeldPermit implements Permit {
  readonly sinceMs: number;
  /** When it was asked back. */
  askedMs: number | undefined;
  readonly #options: HeldPermitOptions;
  readonly #askedBack = new AbortController();
  #isHeld = true;

  constructor(options: HeldPermitOptions) {
    this.#options = options;
    this.sinceMs = options.sinceMs;
  }

  get account(): string {
    return this.#options.account?.name ?? "";
  }

  /** All permits of its account. */
  get ofAccount(): number {
    return this.#options.account?.permits ?? 0;
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
    this.#options.onReleased();
  }

  releaseKey(key: string): void {
    this.#options.onKeyReleased(key);
  }
}
