// The client keys in force: which key a client has shown, and whether its requests are rate limited. Main thread; one
// for the node, used by every request.

import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { type ClientKey, hashOf } from "./client-key.ts";
import { type Identity, type Limits, UNLIMITED } from "./identity.ts";

/** A bot that starts has much to ask: so many seconds' worth may come at once. */
const BURST_SECONDS = 10;
const NOTHING: Limits = { ...UNLIMITED, sessions: 0, players: 0 };

/** Empty at first. */
export class KeyRing {
  readonly #clock: Clock;
  #identities: ReadonlyMap<string, Identity> = new Map();
  #limits: ReadonlyMap<string, Limits> = new Map();
  #named: ReadonlyMap<string, Identity> = new Map();
  #requests: ReadonlyMap<string, TokenBucket> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The identity of the key `text`; undefined if it is not a key. Found by its hash, so timing does not reveal how
   * close a guess is.
   */
  find(text: string): Identity | undefined {
    return this.#identities.size === 0 ? undefined : this.#identities.get(hashOf(text));
  }

  /** The identity of clients with the key of that name, whichever of its hashes they show; undefined if there is none. */
  named(name: string): Identity | undefined {
    return this.#named.get(name);
  }

  /** True while the credential shown then is still a key of the same name and role, or the password. */
  isCurrent({ name, role, hash }: Identity): boolean {
    if (hash === undefined) return true;
    const now = this.#identities.get(hash);
    return now?.name === name && now?.role === role;
  }

  /** The current limits of the key of that name: nothing if it does not exist. Undefined names the password. */
  limitsOf(name: string | undefined): Limits {
    return name === undefined ? UNLIMITED : (this.#limits.get(name) ?? NOTHING);
  }

  has(name: string): boolean {
    return this.#limits.has(name);
  }

  /** Counts a request. 0: allowed; otherwise the milliseconds until another is allowed, and nothing was counted. */
  spend({ name }: Identity): number {
    const requests = name === undefined ? undefined : this.#requests.get(name);
    if (requests === undefined || requests.take(1)) return 0;
    return 1000 / this.limitsOf(name).requestsPerSecond;
  }

  /** From now on these are all there are. */
  replace(keys: readonly ClientKey[]): void {
    const identities = new Map<string, Identity>();
    const named = new Map<string, Identity>();
    const requests = new Map<string, TokenBucket>();
    for (const { name, role, limits, hashes } of keys) {
      for (const hash of hashes) {
        const identity = { name, role, limits, hash };
        identities.set(hash, identity);
        named.set(name, identity);
      }
      const perSecond = limits.requestsPerSecond;
      if (!Number.isFinite(perSecond)) continue;
      // A key that has used up its tokens does not get new ones by a change of the file.
      const isSame = this.#limits.get(name)?.requestsPerSecond === perSecond;
      const retained = isSame ? this.#requests.get(name) : undefined;
      const fresh = { clock: this.#clock, burst: perSecond * BURST_SECONDS, perSecond };
      requests.set(name, retained ?? new TokenBucket(fresh));
    }
    this.#identities = identities;
    this.#named = named;
    this.#limits = new Map(keys.map(({ name, limits }) => [name, limits]));
    this.#requests = requests;
  }
}
