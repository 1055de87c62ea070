// The password check (protocol-v4.md section 1.2) and what guessing costs. Main thread; used for REST and for the
// WebSocket handshake. A right password is taken at once whatever its address has sent before: behind a reverse proxy
// everybody has one address. A wrong one is told so, until its address has sent too many.

import { timingSafeEqual } from "node:crypto";
import ipaddr from "ipaddr.js";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";
import type { Asker } from "../api/route.ts";

/** `refused`: wrong, as too many were before from its address. */
export type Authorization = "granted" | "missing" | "wrong" | "refused";

/** So many may be wrong at once, as with many bots that start with an old password; afterwards one a second. */
const WRONG_COUNT_MAX = 100;
const FORGIVEN_PER_MS = 1 / 1000;
/** One more address makes the oldest forgotten. */
const ADDRESSES_MAX = 10_000;
const TOLD_INTERVAL_MS = 60_000;

interface WrongCount {
  readonly count: number;
  readonly atMs: number;
}

export class PasswordCheck {
  readonly #matches: (header: string) => boolean;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By address, the one that was wrong last at the end. */
  readonly #wrong = new Map<string, WrongCount>();
  #refusedCount = 0;
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor({ password, clock, logger }: { password: string; clock: Clock; logger: Logger }) {
    this.#matches = createComparison(password);
    this.#clock = clock;
    this.#logger = logger;
  }

  check({ headers, socket }: Asker): Authorization {
    const { authorization } = headers;
    if (authorization === undefined) return "missing";
    if (this.#matches(authorization)) return "granted";
    const address = networkOf(socket.remoteAddress ?? "");
    if (this.#count(address) <= WRONG_COUNT_MAX) return "wrong";
    this.#tell(address);
    return "refused";
  }

  /** How many wrong ones count for an address, this one among them. */
  #count(address: string): number {
    const now = this.#clock.now();
    const before = this.#wrong.get(address);
    const left = before === undefined ? 0 : Math.max(0, before.count - (now - before.atMs) * FORGIVEN_PER_MS);
    const count = Math.min(left, WRONG_COUNT_MAX) + 1;
    this.#wrong.delete(address);
    this.#wrong.set(address, { count, atMs: now });
    if (this.#wrong.size > ADDRESSES_MAX) {
      for (const oldest of this.#wrong.keys()) {
        this.#wrong.delete(oldest);
        break;
      }
    }
    return count;
  }

  /** Once a minute, however many there are. */
  #tell(address: string): void {
    this.#refusedCount++;
    const now = this.#clock.now();
    if (now - this.#toldAtMs < TOLD_INTERVAL_MS) return;
    this.#logger.warn("somebody sends many wrong passwords", { address, count: this.#refusedCount });
    this.#toldAtMs = now;
    this.#refusedCount = 0;
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
