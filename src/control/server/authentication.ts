// Authenticates requests (protocol-v4.md section 1.2), limits failed logins, and rate limits keys. Main thread; used
// for REST and for the WebSocket handshake.
//
// A key is 256 random bits, so a right one is always accepted at once. The password is chosen by people: how many wrong
// ones are checked is limited, and showing a key changes nothing about that (access/failed-logins.ts).

import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { FailedLogins } from "../access/failed-logins.ts";
import { type Identity, PASSWORD_HOLDER } from "../access/identity.ts";
import type { KeyRing } from "../access/key-ring.ts";
import { Tally } from "../access/tally.ts";
import type { Asker } from "../api/route.ts";

/**
 * `wrong`: checked and not valid. `refused`: too many wait to be checked. `rateLimited`: valid, but
 * the key's rate limit is exceeded.
 */
export type Recognition =
  | { readonly kind: "known"; readonly identity: Identity }
  | { readonly kind: "missing" | "wrong" | "refused" }
  | { readonly kind: "rateLimited"; readonly name: string; readonly waitMs: number };

/** So many may be wrong at once, as with many bots that start with an old password; one is forgiven a second. */
const WRONG_COUNT_MAX = 100;
const FORGIVEN_MS = 1000;
const DELAY_MS = 100;

interface AuthenticationOptions {
  readonly password: string;
  readonly keys: Pick<KeyRing, "find" | "spend">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Authentication {
  readonly #keys: AuthenticationOptions["keys"];
  readonly #isPassword: (header: string) => boolean;
  readonly #failedLogins: FailedLogins<Identity>;
  readonly #rateLimited: Tally;

  constructor({ password, keys, clock, logger }: AuthenticationOptions) {
    this.#keys = keys;
    this.#isPassword = createComparison(password);
    this.#failedLogins = new FailedLogins({
      countMax: WRONG_COUNT_MAX,
      forgivenMs: FORGIVEN_MS,
      delayMs: DELAY_MS,
      clock,
      logger,
      message: "too many wrong passwords from one address: further attempts are delayed",
    });
    this.#rateLimited = new Tally({ clock, logger }, "client exceeds the requestsPerSecond of its key");
  }

  /**
   * Checks the `Authorization` header of a request, and counts the request. A promise while it waits for its turn,
   * after too many wrong ones from its address.
   */
  recognize(asker: Asker): Recognition | Promise<Recognition> {
    const { authorization } = asker.headers;
    if (authorization === undefined) return { kind: "missing" };
    const key = this.#keys.find(authorization);
    if (key !== undefined) return this.#admit(key);
    const found = this.#failedLogins.try(asker, () => (this.#isPassword(authorization) ? PASSWORD_HOLDER : undefined));
    return found instanceof Promise ? found.then((later) => this.#recognized(later)) : this.#recognized(found);
  }

  #recognized(found: Identity | "wrong" | "refused"): Recognition {
    return typeof found === "string" ? { kind: found } : this.#admit(found);
  }

  #admit(identity: Identity): Recognition {
    const { name } = identity;
    const waitMs = this.#keys.spend(identity);
    if (name === undefined || waitMs === 0) return { kind: "known", identity };
    this.#rateLimited.count({ key: name });
    return { kind: "rateLimited", name, waitMs };
  }
}

/** A comparison that takes the same time whatever is sent. */
function createComparison(password: string): (header: string) => boolean {
  // Node reads header bytes as Latin-1. Most clients send UTF-8, some Latin-1: for other than ASCII that differs.
  const forms = [Buffer.from(password, "utf8"), Buffer.from(password, "latin1")];
  // One byte more than any password: longer input differs there.
  const sizeBytes = Math.max(...forms.map(({ length }) => length)) + 1;
  const accepted = forms.map((form) => padded(form, sizeBytes));
  return (header) => {
    const given = padded(Buffer.from(header, "latin1"), sizeBytes);
    return accepted.filter((expected) => timingSafeEqual(given, expected)).length > 0;
  };
}

/** Padded with zeros, which no header can contain, so that a shorter one differs too; longer input is cut. */
function padded(bytes: Buffer, sizeBytes: number): Buffer {
  const result = Buffer.alloc(sizeBytes);
  bytes.copy(result, 0, 0, sizeBytes);
  return result;
}
