// Logins to the dashboard: two separate passwords, and a cookie that says which of them was shown. The cookie is signed
// with a key derived from the password, so it is valid until it expires or the password changes, also after a restart.
// Main thread.

import { createHash, createHmac, scrypt, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Secret } from "../../config/keys/secret.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Logger } from "../../log/log.ts";
import { FailedLogins, type Sender } from "../access/failed-logins.ts";
import type { DashboardRole } from "./live-messages.ts";

/** People choose passwords and seldom log in, so the limit is lower than for clients. */
const WRONG_COUNT_MAX = 10;
const FORGIVEN_MS = 5000;
const DELAY_MS = 250;
const LOGIN_S = 12 * 60 * 60;
/**
 * How long a browser that was logged in is known: what it sends is not behind the guesses from its address, if it is
 * the same password. It may be wrong ten times, and once more in five seconds.
 */
const KNOWN_S = 180 * 24 * 60 * 60;
const KNOWN_WRONG = { burst: WRONG_COUNT_MAX, perSecond: 1000 / FORGIVEN_MS };
const BROWSERS_MAX = 10_000;
/** The cookie of a login, and the one by which its browser is known later. */
const COOKIES = {
  login: { name: "tonearm", path: "/dashboard", ageS: LOGIN_S, mark: "" },
  browser: { name: "tonearm-browser", path: "/dashboard/login", ageS: KNOWN_S, mark: "browser-" },
} as const;
type CookieKind = keyof typeof COOKIES;
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

/** A cookie that the node has signed. */
interface SignedCookie extends Login {
  /** Its text before the signature. */
  readonly text: string;
}

export class Logins {
  readonly #options: LoginsOptions;
  readonly #failedLogins: FailedLogins<DashboardRole>;
  readonly #browsers = new BoundedMap<string, TokenBucket>(BROWSERS_MAX);
  readonly #keys = new Map<DashboardRole, Promise<Buffer>>();

  constructor(options: LoginsOptions) {
    this.#options = options;
    this.#failedLogins = new FailedLogins({
      countMax: WRONG_COUNT_MAX,
      forgivenMs: FORGIVEN_MS,
      delayMs: DELAY_MS,
      clock: options.clock,
      logger: options.logger,
      message: "too many wrong dashboard passwords from one address: further attempts are delayed",
    });
  }

  /**
   * The `Set-Cookie` of a right password; "refused": too many wait to be checked. Takes time after too many wrong ones
   * from its address.
   */
  async logIn(password: string, sender: Sender): Promise<{ cookie: string } | "wrong" | "refused"> {
    const check = (): DashboardRole | undefined => this.#roleOf(password);
    const role = (await this.#tryKnown(sender, check)) ?? (await this.#failedLogins.try(sender, check));
    if (role === "wrong" || role === "refused") return role;
    const address = sender.socket.remoteAddress;
    this.#options.logger.info("dashboard login", { role, address });
    return { cookie: await this.#signed("login", role, sender.headers) };
  }

  /** The `Set-Cookie` by which the browser of that login is known when it logs in again. */
  rememberBrowser({ role }: Pick<Login, "role">, headers: IncomingHttpHeaders): Promise<string> {
    return this.#signed("browser", role, headers);
  }

  /** The `Set-Cookie` that takes the login away. The browser stays known. */
  logOut({ origin }: IncomingHttpHeaders): string {
    return this.#cookie("login", "", { origin, ageS: 0 });
  }

  /** The login of a request; undefined if it is not logged in. */
  async loginOf(headers: IncomingHttpHeaders): Promise<Login | undefined> {
    const login = await this.#read("login", headers);
    return login && { role: login.role, untilMs: login.untilMs };
  }

  /** The role, if the browser is known and shows the password that it was logged in with. */
  async #tryKnown({ headers }: Sender, check: () => DashboardRole | undefined): Promise<DashboardRole | undefined> {
    const browser = (await this.#read("browser", headers)) ?? (await this.#read("login", headers));
    if (browser === undefined) return undefined;
    const tokens = this.#browsers.get(browser.text) ?? new TokenBucket({ clock: this.#options.clock, ...KNOWN_WRONG });
    this.#browsers.set(browser.text, tokens);
    return tokens.take(1) && check() === browser.role ? browser.role : undefined;
  }

  async #signed(kind: CookieKind, role: DashboardRole, { origin }: IncomingHttpHeaders): Promise<string> {
    const { clock, random } = this.#options;
    const { mark, ageS } = COOKIES[kind];
    const untilS = Math.floor(clock.epochMs() / 1000) + ageS;
    const text = `${mark}${role}.${untilS}.${Buffer.from(random.bytes(9)).toString("base64url")}`;
    const signature = signatureOf(await this.#keyOf(role), text);
    return this.#cookie(kind, `${text}.${signature.toString("base64url")}`, { origin, ageS });
  }

  async #read(kind: CookieKind, { cookie = "" }: IncomingHttpHeaders): Promise<SignedCookie | undefined> {
    const { name, mark } = COOKIES[kind];
    const [, text = "", role, untilS, signature = ""] =
      new RegExp(`(?:^|;\\s*)${name}=(${mark}(viewer|operator)\\.(\\d{1,12})\\.[\\w-]+)\\.([\\w-]+)`).exec(
        cookie.slice(0, COOKIES_LENGTH_MAX),
      ) ?? [];
    if ((role !== "viewer" && role !== "operator") || this.#options.passwords[role] === undefined) return undefined;
    const untilMs = Number(untilS) * 1000;
    if (untilMs <= this.#options.clock.epochMs()) return undefined;
    const expected = signatureOf(await this.#keyOf(role), text);
    const given = Buffer.from(signature, "base64url");
    return given.length === expected.length && timingSafeEqual(given, expected) ? { role, untilMs, text } : undefined;
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
  #cookie(
    kind: CookieKind,
    value: string,
    { origin = "", ageS }: { readonly origin: string | undefined; readonly ageS: number },
  ): string {
    const { name, path } = COOKIES[kind];
    const secure = this.#options.isSecure || /^https:/i.test(origin) ? "; Secure" : "";
    return `${name}=${value}; Path=${path}; Max-Age=${ageS}; HttpOnly; SameSite=Strict${secure}`;
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
