// Logins to the dashboard: two separate passwords, and a cookie that says which of them was shown. The cookie is signed
// with a key derived from the password, so it is valid until it expires or the password changes, also after a restart.
// Main thread.

import { createHash, createHmac, scrypt, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Secret } from "../../config/keys/secret.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { Logger } from "../../log/log.ts";
import { FailedLogins } from "../access/failed-logins.ts";
import type { DashboardRole } from "./live-messages.ts";

/**
 * People choose passwords and seldom log in, so the limit is lower than for clients: ten at once, and one more every
 * five seconds, also from trusted addresses.
 */
const WRONG_COUNT_MAX = 10;
const FORGIVEN_MS = 5000;
const COOKIE = "tonearm";
const LOGIN_S = 12 * 60 * 60;
/** Cookies are not looked into beyond this. */
const COOKIES_LENGTH_MAX = 4096;
/** Key length of scrypt, with its usual cost: 16 MiB for some 50 ms, once for each password. */
const KEY_BYTES = 32;
const SALT = "Tonearm's dashboard";

export interface LoginsOptions {
  readonly passwords: Readonly<Record<DashboardRole, Secret | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The cookie is for HTTPS only, wherever the page has come from. */
  readonly isSecure: boolean;
}

/** The login of a user. */
export interface Login {
  readonly role: DashboardRole;
  /** Epoch milliseconds. */
  readonly untilMs: number;
}

/** The origin of a login request. */
interface LoginOrigin {
  readonly address: string | undefined;
  /** As browsers send it. */
  readonly origin?: string | undefined;
}

export class Logins {
  readonly #options: LoginsOptions;
  readonly #failedLogins: FailedLogins;
  readonly #keys = new Map<DashboardRole, Promise<Buffer>>();

  constructor(options: LoginsOptions) {
    this.#options = options;
    this.#failedLogins = new FailedLogins({
      countMax: WRONG_COUNT_MAX,
      forgivenMs: FORGIVEN_MS,
      trustedMs: 0,
      clock: options.clock,
      logger: options.logger,
      message: "too many wrong dashboard passwords from one address: further attempts are delayed",
    });
  }

  /** The `Set-Cookie` of a right password; "refused": its address has sent too many wrong ones. */
  async logIn(password: string, { address, origin }: LoginOrigin): Promise<{ cookie: string } | "wrong" | "refused"> {
    const role = this.#failedLogins.try(address, () => this.#roleOf(password));
    if (role === "wrong" || role === "refused") return role;
    const { clock, random, logger } = this.#options;
    logger.info("dashboard login", { role, address });
    const untilS = Math.floor(clock.epochMs() / 1000) + LOGIN_S;
    const text = `${role}.${untilS}.${Buffer.from(random.bytes(9)).toString("base64url")}`;
    const signature = signatureOf(await this.#keyOf(role), text);
    return { cookie: this.#cookie(`${text}.${signature.toString("base64url")}`, LOGIN_S, origin) };
  }

  /** The `Set-Cookie` that takes it away. */
  logOut({ origin }: Pick<LoginOrigin, "origin">): string {
    return this.#cookie("", 0, origin);
  }

  /** The login of a request; undefined if it is not logged in. */
  async loginOf({ cookie = "" }: IncomingHttpHeaders): Promise<Login | undefined> {
    const [, text = "", signature = ""] =
      new RegExp(`(?:^|;\\s*)${COOKIE}=((?:viewer|operator)\\.\\d{1,12}\\.[\\w-]+)\\.([\\w-]+)`).exec(
        cookie.slice(0, COOKIES_LENGTH_MAX),
      ) ?? [];
    const [role, untilS] = text.split(".");
    if ((role !== "viewer" && role !== "operator") || this.#options.passwords[role] === undefined) return undefined;
    const untilMs = Number(untilS) * 1000;
    if (untilMs <= this.#options.clock.epochMs()) return undefined;
    const expected = signatureOf(await this.#keyOf(role), text);
    const given = Buffer.from(signature, "base64url");
    return given.length === expected.length && timingSafeEqual(given, expected) ? { role, untilMs } : undefined;
  }

  #roleOf(password: string): DashboardRole | undefined {
    const { passwords } = this.#options;
    // Both are compared, whichever it is.
    const roles = (["operator", "viewer"] as const).filter((role) => isEqual(passwords[role]?.reveal(), password));
    return roles[0];
  }

  #keyOf(role: DashboardRole): Promise<Buffer> {
    const password = this.#options.passwords[role]?.reveal() ?? "";
    let key = this.#keys.get(role);
    if (key === undefined) {
      key = new Promise((resolve, reject) => {
        scrypt(password, `${SALT} ${role}`, KEY_BYTES, (error, bytes) => (error ? reject(error) : resolve(bytes)));
      });
      this.#keys.set(role, key);
    }
    return key;
  }

  /** For HTTPS only where the page has come by it: from the node, or through a proxy in front of it. */
  #cookie(value: string, maxAgeS: number, origin = ""): string {
    const secure = this.#options.isSecure || /^https:/i.test(origin) ? "; Secure" : "";
    return `${COOKIE}=${value}; Path=/dashboard; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
  }
}

/** Takes the same time whatever is given. */
function isEqual(password: string | undefined, given: string): boolean {
  const [expected, actual] = [password ?? "", given].map((text) => createHash("sha256").update(text).digest());
  return password !== undefined && timingSafeEqual(expected!, actual!);
}

function signatureOf(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
