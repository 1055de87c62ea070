// Authenticates requests (protocol-v4.md section 1.2), limits failed logins, and rate limits keys. Main thread; used
// for REST and for the WebSocket handshake.
//
// A wrong credential is answered as wrong until its address has sent too many. From then on an untrusted address gets
// one attempt per second, whatever it sends. An address that has recently shown a valid credential is trusted: its
// valid credentials are always accepted. Behind a reverse proxy all clients have one address, and one bot with an old
// password must not lock the others out. `X-Forwarded-For` is not used, because operators would have to list their
// proxies.

import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { FailedLogins } from "../access/failed-logins.ts";
import { type Identity, PASSWORD_HOLDER } from "../access/identity.ts";
import type { KeyRing } from "../access/key-ring.ts";
import { Tally } from "../access/tally.ts";
import type { Asker } from "../api/route.ts";

/**
 * `wrong`: checked and not valid. `refused`: there were too many wrong ones from its address. `rateLimited`: valid, but
 * the key's rate limit is exceeded.
 */
export type Recognition =
  | { readonly kind: "known"; readonly identity: Identity }
  | { readonly kind: "missing" | "wrong" | "refused" }
  | { readonly kind: "rateLimited"; readonly name: string; readonly waitMs: number };

/** So many may be wrong at once, as with many bots that start with an old password; afterwards one a second. */
const WRONG_COUNT_MAX = 100;
const FORGIVEN_MS = 1000;
/** A bot with a valid password is let in even while others on its address guess passwords. */
const TRUSTED_MS = 24 * 60 * 60 * 1000;

interface AuthenticationOptions {
  readonly password: string;
  readonly keys: Pick<KeyRing, "find" | "spend">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Authentication {
  readonly #keys: AuthenticationOptions["keys"];
  readonly #isPassword: (header: string) => boolean;
  readonly #failedLogins: FailedLogins;
  readonly #rateLimited: Tally;

  constructor({ password, keys, clock, logger }: AuthenticationOptions) {
    this.#keys = keys;
    this.#isPassword = createComparison(password);
    const bounds = { countMax: WRONG_COUNT_MAX, forgivenMs: FORGIVEN_MS, trustedMs: TRUSTED_MS };
    this.#failedLogins = new FailedLogins({
      ...bounds,
      clock,
      logger,
      message: "too many wrong passwords from one address: further attempts are delayed",
    });
    this.#rateLimited = new Tally({ clock, logger }, "client exceeds the requestsPerSecond of its key");
  }

  /** Checks the `Authorization` header of a request, and counts the request. */
  recognize({ headers, socket }: Asker): Recognition {
    const { authorization } = headers;
    if (authorization === undefined) return { kind: "missing" };
    const found = this.#failedLogins.try(socket.remoteAddress, () => this.#identify(authorization));
    return typeof found === "string" ? { kind: found } : this.#admit(found);
  }

  #identify(authorization: string): Identity | undefined {
    return this.#isPassword(authorization) ? PASSWORD_HOLDER : this.#keys.find(authorization);
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
