// A token bucket for each account, so that one account's spending leaves the others' alone. A leaf but for
// bounded-map.ts, owners.ts and token-bucket.ts, on all threads.

import { BoundedMap } from "./bounded-map.ts";
import { accountOf, type Owner } from "./owners.ts";
import { TokenBucket, type TokenBucketOptions } from "./token-bucket.ts";

/** Accounts that took their first token longest ago are forgotten, and begin with a full bucket. */
const ACCOUNTS_MAX = 1000;

export class AccountBuckets {
  readonly #options: TokenBucketOptions;
  readonly #buckets = new BoundedMap<string, TokenBucket>(ACCOUNTS_MAX);

  /** Each account's. */
  constructor(options: TokenBucketOptions) {
    this.#options = options;
  }

  of(owner: Owner): TokenBucket {
    const account = accountOf(owner);
    const known = this.#buckets.get(account);
    if (known !== undefined) return known;
    const bucket = new TokenBucket(this.#options);
    this.#buckets.set(account, bucket);
    return bucket;
  }
}
