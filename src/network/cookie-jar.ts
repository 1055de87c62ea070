// Cookies that sites set while one track is loaded and played (RFC 6265), in memory only. Stricter than browsers: a
// cookie also belongs to the port it was set at, and one from `https:` never goes over `http:`. A leaf without domain
// knowledge; audio and probe threads.

import { isIP } from "node:net";
import type { HttpHeaders } from "./header-value.ts";

interface Cookie {
  readonly name: string;
  readonly value: string;
  /** Host or parent domain, in lower case. */
  readonly domain: string;
  /** Only the host itself, none of its subdomains. */
  readonly isHostOnly: boolean;
  readonly path: string;
  readonly port: string;
  readonly isSecure: boolean;
  readonly expiresAtMs: number;
}

type Attributes = Readonly<Record<string, string>>;

const COOKIES_MAX = 50;
/** Name and value of all cookies together; servers accept 8 KiB of headers. */
const COOKIES_LENGTH_MAX = 8 * 1024;
/** Name and value of one cookie, as in RFC 6265 section 6.1. */
const COOKIE_LENGTH_MAX = 4096;
/** A cookie with all its attributes. */
const HEADER_LENGTH_MAX = 8 * 1024;
/** What a header may hold, without the separators of cookies. */
const NAME = /^[!-:<>-~]+$/;
const VALUE = /^[\x20-:<-~\x80-\xff]*$/;
/** `co.uk`, `com.au` and the like: domains below which names are sold … */
const COUNTRY_SUFFIX =
  /^(?:ac|co|com|edu|gen|go|gob|gov|govt|id|info|ltd|me|mil|name|ne|net|nom|or|org|plc|sch|web)\.[a-z]{2}$/;
/** … or given away. */
const HOSTING_SUFFIXES: readonly string[] = [
  "amazonaws.com appspot.com azurewebsites.net blogspot.com cloudfront.net firebaseapp.com fly.dev github.io gitlab.io",
  "herokuapp.com netlify.app ngrok.io onrender.com pages.dev r2.dev vercel.app web.app workers.dev",
].flatMap((line) => line.split(" "));

/** One per track. */
export class CookieJar {
  /** In the order of their creation. */
  #cookies: Cookie[] = [];
  #hasSent = false;

  /** True once a request carried one of them: it may fail without. */
  get hasSent(): boolean {
    return this.#hasSent;
  }

  /** Notes the cookies of an answer from `url`; those that are not the site's to set are ignored. */
  note(url: URL, headers: HttpHeaders, nowMs: number): void {
    const values = headers["set-cookie"];
    const lines = typeof values === "string" ? [values] : (values ?? []);
    for (const line of lines.slice(0, COOKIES_MAX)) {
      const cookie = line.length > HEADER_LENGTH_MAX ? undefined : parseCookie(line, url, nowMs);
      if (cookie !== undefined) this.#set(cookie, nowMs);
    }
  }

  /** True when a request to `url` would carry one of them. */
  covers(url: URL, nowMs: number): boolean {
    return this.#cookies.some((cookie) => cookie.expiresAtMs > nowMs && belongsTo(cookie, url));
  }

  /** The `cookie` header for a request to `url`, in which `own` comes first and wins; undefined if there is none. */
  headerFor(
    url: URL,
    { own, nowMs }: { readonly own: string | undefined; readonly nowMs: number },
  ): string | undefined {
    if (this.#cookies.length === 0) return own;
    const ownNames = new Set((own ?? "").split(";").map((pair) => pair.split("=")[0]?.trim()));
    const matching = this.#cookies.filter((cookie) => cookie.expiresAtMs > nowMs && belongsTo(cookie, url));
    // Longer paths first (section 5.4); the sort is stable.
    matching.sort((a, b) => b.path.length - a.path.length);
    const pairs = matching.filter(({ name }) => !ownNames.has(name)).map(({ name, value }) => `${name}=${value}`);
    this.#hasSent ||= pairs.length > 0;
    return [...(own === undefined ? [] : [own]), ...pairs].join("; ") || undefined;
  }

  #set(cookie: Cookie, nowMs: number): void {
    const others = this.#cookies.filter((other) => other.expiresAtMs > nowMs && !isSame(other, cookie));
    if (cookie.expiresAtMs > nowMs) others.push(cookie);
    let length = others.reduce((sum, each) => sum + lengthOf(each), 0);
    while (others.length > COOKIES_MAX || length > COOKIES_LENGTH_MAX) {
      const oldest = others.shift();
      length -= oldest === undefined ? length : lengthOf(oldest);
    }
    this.#cookies = others;
  }
}

/** RFC 6265 sections 5.2 and 5.3. */
function parseCookie(line: string, url: URL, nowMs: number): Cookie | undefined {
  const [pair = "", ...rest] = line.split(";");
  const equals = pair.indexOf("=");
  const name = pair.slice(0, Math.max(equals, 0)).trim();
  const value = pair.slice(equals + 1).trim();
  if (!NAME.test(name) || !VALUE.test(value) || name.length + value.length > COOKIE_LENGTH_MAX) return undefined;
  const attributes: Attributes = Object.fromEntries(rest.map(attributeOf));
  const host = url.hostname.toLowerCase();
  const domain = (attributes.domain ?? "").replace(/^\./, "").toLowerCase();
  const isHostOnly = !mayCover(domain, host);
  if (isHostOnly && domain !== "" && domain !== host) return undefined;
  const isFromHttps = url.protocol === "https:";
  const isSecure = isFromHttps || Object.hasOwn(attributes, "secure");
  const path = attributes.path?.startsWith("/") === true ? attributes.path : defaultPathOf(url);
  if (isSecure && !isFromHttps) return undefined;
  if (/^__(?:secure|host)-/i.test(name) && !Object.hasOwn(attributes, "secure")) return undefined;
  if (/^__host-/i.test(name) && (domain !== "" || path !== "/")) return undefined;
  const expiresAtMs = expiryOf(attributes, nowMs);
  return { name, value, domain: isHostOnly ? host : domain, isHostOnly, path, port: url.port, isSecure, expiresAtMs };
}

function attributeOf(text: string): readonly [string, string] {
  const equals = text.indexOf("=");
  if (equals === -1) return [text.trim().toLowerCase(), ""];
  return [text.slice(0, equals).trim().toLowerCase(), text.slice(equals + 1).trim()];
}

/** Max-Age counts where both are there. Cookies without either last as long as the jar. */
function expiryOf(attributes: Attributes, nowMs: number): number {
  const { "max-age": maxAge, expires } = attributes;
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return nowMs + Number(maxAge) * 1000;
  const expiresMs = Date.parse((expires ?? "").replaceAll("-", " "));
  return Number.isNaN(expiresMs) ? Number.POSITIVE_INFINITY : expiresMs;
}

/** Section 5.1.4: the folder of the address. */
function defaultPathOf({ pathname }: URL): string {
  return pathname.slice(0, Math.max(1, pathname.lastIndexOf("/")));
}

/** The host or a parent of it, of two labels at least, below which all names are presumably one owner's. */
function mayCover(domain: string, host: string): boolean {
  if (isIP(host.replace(/^\[|\]$/g, "")) !== 0 || !`.${host}`.endsWith(`.${domain}`)) return false;
  return (
    domain.includes(".") && !domain.endsWith(".") && !COUNTRY_SUFFIX.test(domain) && !HOSTING_SUFFIXES.includes(domain)
  );
}

function belongsTo(cookie: Cookie, { hostname, port, protocol, pathname }: URL): boolean {
  const host = hostname.toLowerCase();
  const isHost = host === cookie.domain || (!cookie.isHostOnly && host.endsWith(`.${cookie.domain}`));
  if (!isHost || port !== cookie.port || (cookie.isSecure && protocol !== "https:")) return false;
  return (
    pathname.startsWith(cookie.path) && (cookie.path.endsWith("/") || /^\/?$/.test(pathname.charAt(cookie.path.length)))
  );
}

function isSame(a: Cookie, b: Cookie): boolean {
  return a.name === b.name && a.domain === b.domain && a.path === b.path && a.port === b.port;
}

function lengthOf({ name, value }: Cookie): number {
  return name.length + value.length;
}
