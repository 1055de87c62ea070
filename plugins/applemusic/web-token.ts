// Tokens for Apple's API as texts: what they say of themselves, those in the scripts of the web site, and signing one
// with a MusicKit key. Pure. Plugin thread.

import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { addressOf } from "../reading/address.ts";
import { listOf, numberOf, objectOf, parsedJson } from "../reading/json.ts";

export interface ApiToken {
  readonly token: string;
  /** Where the token may be used: the `Origin` header. Undefined: anywhere. */
  readonly origin: string | undefined;
  /** Epoch milliseconds; undefined: it does not say. */
  readonly expiresAtMs: number | undefined;
}

/** A token: three parts in base64url, of which the first two are JSON. */
const TOKEN = /(?<![\w-])eyJ[\w-]{1,2000}\.([\w-]{2,8000})\.[\w-]{1,2000}(?![\w-])/g;
/** A JSON Web Token: three parts in base64url (RFC 7519). */
const CREDENTIAL = /^[\w-]{1,2000}\.[\w-]{1,8000}\.[\w-]{1,2000}$/;
const TOKENS_MAX = 20;
/** The year 5138; a time behind it is none. */
const SECONDS_MAX = 1e11;
const HOST = /^(?:https:\/\/)?([a-z\d.-]{1,100})\/?$/i;
const SCRIPT = /<(?:script|link)\b([^<>]{1,2000})>/gi;
const SCRIPT_ADDRESS = /(?:^|\s)(?:src|href)\s*=\s*["']?([^"'\s>]{1,500})/i;
/** `index~0a.js`, `index-0a.js`, `index_0a.js`. */
const SCRIPT_NAME = /\/assets\/index[\w~.%-]{0,200}\.js$/;
const MODULE = /(?:^|\s)type\s*=\s*["']?module\b/i;
const SCRIPTS_MAX = 4;
/** Ranks of tokens. */
export const BEST = 0;
const OF_NO_SITE = 1;
export const EXPIRED = 2;
/** Life of the tokens that are signed here; Apple allows 15,777,000 s, half a year. */
const SIGNED_LIFE_S = 24 * 60 * 60;

/** A token that may say nothing of itself. Undefined: the text cannot be one. */
export function readToken(text: string): ApiToken | undefined {
  if (!CREDENTIAL.test(text)) return undefined;
  const [found] = tokensIn(text);
  return found?.token === text ? found : { token: text, origin: undefined, expiresAtMs: undefined };
}

/** How good a token is, best first: one for the web site; another one; one that has expired. */
export function rankOf({ origin, expiresAtMs = Number.POSITIVE_INFINITY }: ApiToken, nowMs: number): number {
  if (expiresAtMs <= nowMs) return EXPIRED;
  return origin === undefined ? OF_NO_SITE : BEST;
}

/** The addresses of the scripts of the page at `address` that may have a token, on the same host; modules first. */
export function scriptsIn(page: string, address: string): string[] {
  const host = addressOf(address)?.hostname;
  const scripts = [...page.matchAll(SCRIPT)].flatMap(([, attributes = ""]) => {
    const url = addressOf(SCRIPT_ADDRESS.exec(attributes)?.[1] ?? "", address);
    const isOne = url !== undefined && url.hostname === host && SCRIPT_NAME.test(url.pathname);
    return isOne ? [{ href: url.href, isModule: MODULE.test(attributes) }] : [];
  });
  const inOrder = scripts.toSorted((a, b) => Number(b.isModule) - Number(a.isModule));
  return [...new Set(inOrder.map(({ href }) => href))].slice(0, SCRIPTS_MAX);
}

/** The key in the text of a `.p8` file, whatever became of its line breaks. Undefined: it is none. */
export function readKey(text: string): KeyObject | undefined {
  const base64 = text.replaceAll(/-----[\w ]{1,40}-----|\\n|\s/g, "");
  try {
    const key = createPrivateKey({ key: Buffer.from(base64, "base64"), format: "der", type: "pkcs8" });
    return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : undefined;
  } catch {
    // Not a key, or of another kind.
    return undefined;
  }
}

/** A developer token of 24 hours. */
export function signToken(
  key: KeyObject,
  { keyId, teamId, nowMs }: { readonly keyId: string; readonly teamId: string; readonly nowMs: number },
): ApiToken {
  const iat = Math.floor(nowMs / 1000);
  const exp = iat + SIGNED_LIFE_S;
  const signed = [
    { alg: "ES256", kid: keyId, typ: "JWT" },
    { iss: teamId, iat, exp },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return { token: `${signed}.${signature.toString("base64url")}`, origin: undefined, expiresAtMs: exp * 1000 };
}

/** The first ones in a text, as a script writes them. */
export function tokensIn(text: string): ApiToken[] {
  const found: ApiToken[] = [];
  for (const [token, payload = ""] of text.matchAll(TOKEN)) {
    const members = objectOf(parsedJson(Buffer.from(payload, "base64url").toString()));
    if (members === undefined) continue;
    const expiry = numberOf(members.exp);
    const [origin] = [listOf(members.root_https_origin), [members.root_https_origin]].flat();
    const host = typeof origin === "string" ? HOST.exec(origin)?.[1] : undefined;
    found.push({
      token,
      origin: host === undefined ? undefined : `https://${host}`,
      expiresAtMs: expiry !== undefined && expiry > 0 && expiry < SECONDS_MAX ? expiry * 1000 : undefined,
    });
    if (found.length >= TOKENS_MAX) break;
  }
  return found;
}
