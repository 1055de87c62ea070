// The memory of request bodies, shared out between accounts: when it is used up, the body that arrives most slowly of
// the account that holds most makes room. Main thread; for the body reader.

import type { Clock } from "../../lib/clock.ts";

/** All bodies that are held at one time. */
export const BODIES_HELD_MAX_BYTES = 64 * 1024 * 1024;
/** Those of one account. */
const ACCOUNT_MAX_BYTES = 48 * 1024 * 1024;
/** A body that has arrived for less time makes no room for others of its account: the rest may come in a moment. */
const PATIENCE_MS = 1000;

/** A body in memory, from its first counted byte until its request is answered. */
interface HeldBody {
  readonly account: string;
  readonly sinceMs: number;
  sizeBytes: number;
  /** Called when the body has to make room; undefined once all of it is there. */
  onDropped: (() => void) | undefined;
}

/** Any object stands for a body. */
export class BodyMemory {
  readonly #clock: Pick<Clock, "now">;
  readonly #bodies = new Map<object, HeldBody>();
  readonly #bytesOf = new Map<string, number>();
  #usedBytes = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * Counts a body that has grown to `sizeBytes`, perhaps in place of others, whose `onDropped` is called. False: there
   * is no room for it, and it is not counted any more.
   */
  hold(key: object, sizeBytes: number, { account, onDropped }: Pick<HeldBody, "account" | "onDropped">): boolean {
    const body = this.#bodies.get(key) ?? { account, sinceMs: this.#clock.now(), sizeBytes: 0, onDropped };
    this.#bodies.set(key, body);
    const moreBytes = sizeBytes - body.sizeBytes;
    while (!this.#fits(account, moreBytes)) {
      if (this.#dropSlowest(this.#greediest(account, moreBytes), body)) continue;
      this.release(key);
      return false;
    }
    this.#count(body, moreBytes);
    return true;
  }

  /** The body is there as a whole: it makes no room for others any more. */
  arrived(key: object): void {
    const body = this.#bodies.get(key);
    if (body !== undefined) body.onDropped = undefined;
  }

  /** Returns how many bytes were held. */
  release(key: object): number {
    const body = this.#bodies.get(key);
    if (body === undefined) return 0;
    const { sizeBytes } = body;
    this.#bodies.delete(key);
    this.#count(body, -sizeBytes);
    return sizeBytes;
  }

  #fits(account: string, moreBytes: number): boolean {
    return (
      this.#usedBytes + moreBytes <= BODIES_HELD_MAX_BYTES && this.#heldBy(account) + moreBytes <= ACCOUNT_MAX_BYTES
    );
  }

  #greediest(own: string, moreBytes: number): string {
    let greediest = own;
    // Where the account has used up its share, room elsewhere does not help.
    if (this.#heldBy(own) + moreBytes > ACCOUNT_MAX_BYTES) return own;
    for (const [account, heldBytes] of this.#bytesOf) if (heldBytes > this.#heldBy(greediest)) greediest = account;
    return greediest;
  }

  /** Of those that still arrive. False when there is none, or it is the newcomer itself. */
  #dropSlowest(account: string, newcomer: HeldBody): boolean {
    const nowMs = this.#clock.now();
    const isOwn = account === newcomer.account;
    let slowest: { readonly key: object; readonly body: HeldBody; readonly rate: number } | undefined;
    for (const [key, body] of this.#bodies) {
      const ageMs = nowMs - body.sinceMs;
      if (body.account !== account || body.onDropped === undefined || (isOwn && ageMs < PATIENCE_MS)) continue;
      const rate = body.sizeBytes / Math.max(1, ageMs);
      if (slowest === undefined || rate < slowest.rate) slowest = { key, body, rate };
    }
    if (slowest === undefined || slowest.body === newcomer) return false;
    this.release(slowest.key);
    slowest.body.onDropped?.();
    return true;
  }

  #heldBy(account: string): number {
    return this.#bytesOf.get(account) ?? 0;
  }

  #count(body: HeldBody, bytes: number): void {
    body.sizeBytes += bytes;
    this.#usedBytes += bytes;
    const heldBytes = this.#heldBy(body.account) + bytes;
    if (heldBytes > 0) this.#bytesOf.set(body.account, heldBytes);
    else this.#bytesOf.delete(body.account);
  }
}
