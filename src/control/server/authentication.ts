// Who asks (protocol-v4.md section 1.2), what guessing costs, and whether a key asks too often. Main thread; used for
// REST, for the WebSocket handshake and for whatever else takes the password.
//
// A wrong text is told so, until its address has sent too many. From then on an address from which nothing right has
// come may try once a second, whatever it shows. One that has shown something right lately is heard at once, with all
// that is right: behind a reverse proxy everybody has one address, and one bot with an old password must not keep the
// others out.

import { timingSafeEqual } from "node:crypto";
import ipaddr from "ipaddr.js";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";
import { type Identity, PASSWORD_HOLDER } from "../access/identity.ts";
import type { KeyRing } from "../access/key-ring.ts";
import type { Asker } from "../api/route.ts";
import { Tally } from "./tally.ts";

/**
 * `wrong`: looked at, and not right. `refused`: there were too many wrong ones from its address. `hasty`: right, but
 * its key asks too often.
 */
export type Recognition =
  | { readonly kind: "known"; readonly identity: Identity }
  | { readonly kind: "missing" | "wrong" | "refused" }
  | { readonly kind: "hasty"; readonly name: string; readonly waitMs: number };

/** So many may be wrong at once, as with many bots that start with an old password; afterwards one a second. */
const WRONG_COUNT_MAX = 100;
const FORGIVEN_PER_MS = 1 / 1000;
/** How long an address is believed that has shown something right. */
const BELIEVED_MS = 24 * 60 * 60 * 1000;
/** Of either kind; one more makes the oldest forgotten. */
const ADDRESSES_MAX = 10_000;

interface WrongCount {
  readonly count: number;
  readonly atMs: number;
}

export interface AuthenticationOptions {
  readonly password: string;
  readonly keys: Pick<KeyRing, "find" | "spend">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Authentication {
  readonly #options: AuthenticationOptions;
  readonly #isPassword: (header: string) => boolean;
  readonly #wrong = new BoundedMap<string, WrongCount>(ADDRESSES_MAX);
  /** By address, when it has shown something right. */
  readonly #right = new BoundedMap<string, number>(ADDRESSES_MAX);
  readonly #refusals: Tally;
  readonly #hasty: Tally;

  constructor(options: AuthenticationOptions) {
    this.#options = options;
    this.#isPassword = createComparison(options.password);
    this.#refusals = new Tally(options, "somebody sends many wrong passwords");
    this.#hasty = new Tally(options, "a client asks more often than its key may");
  }

  /** Looks at the `Authorization` header of a request, and counts the request. */
  recognize({ headers, socket }: Asker): Recognition {
    const { authorization } = headers;
    if (authorization === undefined) return { kind: "missing" };
    const address = networkOf(socket.remoteAddress ?? "");
    const count = this.#wrongCount(address) + 1;
    const isTooMany = count > WRONG_COUNT_MAX;
    if (isTooMany && !this.#isBelieved(address)) return this.#refuse(address);
    const identity = this.#identify(authorization);
    if (identity !== undefined) {
      this.#right.set(address, this.#options.clock.now());
      return this.#admit(identity);
    }
    if (isTooMany) return this.#refuse(address);
    this.#wrong.set(address, { count, atMs: this.#options.clock.now() });
    return { kind: "wrong" };
  }

  #identify(authorization: string): Identity | undefined {
    return this.#isPassword(authorization) ? PASSWORD_HOLDER : this.#options.keys.find(authorization);
  }

  #admit(identity: Identity): Recognition {
    const { name } = identity;
    const waitMs = this.#options.keys.spend(identity);
    if (name === undefined || waitMs === 0) return { kind: "known", identity };
    this.#hasty.count({ key: name });
    return { kind: "hasty", name, waitMs };
  }

  #refuse(address: string): Recognition {
    this.#refusals.count({ address });
    return { kind: "refused" };
  }

  #isBelieved(address: string): boolean {
    const atMs = this.#right.get(address);
    return atMs !== undefined && this.#options.clock.now() - atMs < BELIEVED_MS;
  }

  /** How many wrong ones still count for an address. */
  #wrongCount(address: string): number {
    const before = this.#wrong.get(address);
    if (before === undefined) return 0;
    return Math.max(0, before.count - (this.#options.clock.now() - before.atMs) * FORGIVEN_PER_MS);
  }
}

/** A comparison that takes the same time whatever is sent. */
function createComparison(password: string): (header: string) => boolean {
  // Node reads header bytes as Latin-1. Most clients send UTF-8, some Latin-1: for other than ASCII that differs.
  const forms = [Buffer.from(password, "utf8"), Buffer.from(password, "latin1")];
  // One byte more than any: what is longer differs there.
  const sizeBytes = Math.max(...forms.map(({ length }) => length)) + 1;
  const accepted = forms.map((form) => padded(form, sizeBytes));
  return (header) => {
    const given = padded(Buffer.from(header, "latin1"), sizeBytes);
    return accepted.filter((expected) => timingSafeEqual(given, expected)).length > 0;
  };
}

/** Filled up with zeros, which no header can hold, so that a shorter one differs too; what is too long is cut. */
function padded(bytes: Buffer, sizeBytes: number): Buffer {
  const result = Buffer.alloc(sizeBytes);
  bytes.copy(result, 0, 0, sizeBytes);
  return result;
}

/** A home has 2^64 addresses of IPv6, which count as one. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  return parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":");
}
