// Removes secrets from a text that comes from elsewhere or was not checked: passwords in addresses, tokens and
// signatures in queries, members of JSON, headers, and all of these escaped, percent-encoded or within base64.
// Everything that looks like a secret is removed, at times a little more. Linear in the length of the text. Both
// threads: log lines, and errors for clients.

import { isSecretName, unescapeAscii, unescapeBlanks } from "./secret-names.ts";

/** Replaces a secret in log lines, errors and answers. */
export const REDACTED = "<redacted>";

/** A longer text is cut first: nobody reads it, and scanning it takes time. */
const LENGTH_MAX = 16 * 1024;
/** Base64 within base64 is looked into so often. */
const BASE64_DEPTH_MAX = 2;
/** Escapes of escapes are undone so often. */
const ESCAPE_LEVELS_MAX = 4;
/** No address has more before its host. */
const USER_INFO_LENGTH_MAX = 1024;

/**
 * The text without secrets, the same text when none was found. A text longer than `lengthMax` characters is cut there,
 * or a little earlier: half of a secret would not be recognised.
 */
export function redactText(text: string, lengthMax = LENGTH_MAX): string {
  if (text.length <= lengthMax) return withoutSecrets(text, 0);
  const start = withoutSecrets(text.slice(0, lengthMax), 0).slice(0, -USER_INFO_LENGTH_MAX);
  return `${start}… (of ${text.length} characters)`;
}

function withoutSecrets(text: string, base64Depth: number): string {
  let clean = applyRules(text, base64Depth);
  let plain = clean;
  for (let level = 0; level < ESCAPE_LEVELS_MAX; level++) {
    const readable = unescapeAscii(plain);
    if (readable === plain) break;
    plain = applyRules(readable, base64Depth);
    if (plain !== readable) clean = plain;
  }
  const spaced = unescapeBlanks(plain);
  const shown = spaced === plain ? spaced : applyRules(spaced, base64Depth);
  return shown === spaced ? clean : shown;
}

function applyRules(text: string, base64Depth: number): string {
  let clean = redactMembers(text.replaceAll(PRIVATE_KEY, REDACTED));
  clean = redactUserInfo(clean);
  clean = clean.replaceAll(HEADER, `$1${REDACTED}`).replaceAll(SCHEME, `$1 ${REDACTED}`);
  clean = redactPairs(clean).replaceAll(SEGMENT, REDACTED);
  return base64Depth < BASE64_DEPTH_MAX ? redactBase64(clean, base64Depth) : clean;
}

/** Calls `endOf` behind each match; what lies between goes when there is an end. */
function redactBehind(
  text: string,
  pattern: RegExp,
  endOf: (match: RegExpExecArray, start: number) => number | undefined,
): string {
  let result = "";
  let from = 0;
  // A separate copy, because a regular expression stores its position.
  const search = new RegExp(pattern);
  for (let match = search.exec(text); match !== null; match = search.exec(text)) {
    const start = search.lastIndex;
    const end = endOf(match, start);
    if (end === undefined || end <= start || text.startsWith(REDACTED, start)) continue;
    result += text.slice(from, start) + REDACTED;
    from = end;
    search.lastIndex = end;
  }
  return from === 0 ? text : result + text.slice(from);
}

/** A key in PEM, with line breaks or without; when its end is missing, everything after its start is removed. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?!-----END)[\s\S])*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g;

/** `"token":`, `\"token\" :`, `'token' =>`, `["Authorization",`, `token: "`; the name in 2 or 3. */
const MEMBER =
  /(?<!\\)(\\*)["'`]((?:[^"'`\\\n]|\\+u[0-9a-f]{4}|\\+x[0-9a-f]{2}){1,200})\1["'`]\s*(?::|,|=>)\s*|(?<![\w-])([\w-]{1,60})\s*[:=]\s*(?=\\*["'`])/gi;

function redactMembers(text: string): string {
  return redactBehind(text, MEMBER, ([, , quoted, bare], start) => {
    if (!isSecretName(quoted ?? bare ?? "")) return undefined;
    // Yes, no and nothing are not secrets.
    return /^(?:null|undefined|true|false)\b/.test(text.slice(start, start + 10)) ? undefined : endOfValue(text, start);
  });
}

/** The end of a quoted text on any level of quoting, of a list or an object, or of a bare word. */
function endOfValue(text: string, start: number): number {
  if (text[start] === "{" || text[start] === "[") return endOfBrackets(text, start);
  const quote = /\\*["'`]/y;
  quote.lastIndex = start;
  const open = quote.exec(text)?.[0];
  if (open !== undefined) return endOfQuotes(text, start, open);
  const bare = /[^\s,}\]]*/y;
  bare.lastIndex = start;
  bare.exec(text);
  return bare.lastIndex;
}

/** Within `\"…\"` a quote with more backslashes belongs to the text, except for escaped backslashes. */
function endOfQuotes(text: string, start: number, open: string): number {
  const level = open.length - 1;
  const close = new RegExp(`(?<!\\\\)(\\\\*)${open.at(-1)}`, "g");
  close.lastIndex = start + open.length;
  for (let match = close.exec(text); match !== null; match = close.exec(text)) {
    const backslashes = match[1]?.length ?? 0;
    if (backslashes < level || (backslashes - level) % (2 * (level + 1)) === 0) return close.lastIndex;
  }
  return text.length;
}

function endOfBrackets(text: string, start: number): number {
  let depth = 0;
  for (let index = start; index < text.length; index++) {
    const sign = text[index]!;
    if (sign === "{" || sign === "[") depth++;
    else if (sign === "}" || sign === "]") depth--;
    else if (sign === '"' || sign === "\\") index = endOfValue(text, index) - 1;
    if (depth === 0) return index + 1;
  }
  return text.length;
}

/**
 * Where an authority may begin: behind slashes of either kind, escaped or not, and behind the schemes that need none.
 */
const AUTHORITY = /(?:https?|wss?|ftp|socks[45]?[ah]?):[\\/\t\r\n]*|[\\/]{2,}/gi;
/** `user:password@host` without anything before; proxies are written so. */
const BARE_USER_INFO = /(?<![^\s"'`=,([<{])[\w.%+~-]{1,64}:[^\s/\\"'`]{1,256}@(?=[\w[])/g;

function redactUserInfo(text: string): string {
  if (!text.includes("@")) return text;
  return redactBehind(text, AUTHORITY, (_, start) => {
    const length = userInfoLength(text.slice(start, start + USER_INFO_LENGTH_MAX));
    return start + length;
  }).replaceAll(BARE_USER_INFO, `${REDACTED}@`);
}

/** How much of what follows the slashes is user and password, 0 when nothing is. */
function userInfoLength(text: string): number {
  const [name = ""] = /^(?:\[[\da-f:.]*\]|[^\\/?#\s"'`<>@:]*)/i.exec(text) ?? [];
  const isNamed = /[.[]/.test(name) || name === "localhost" || name === "";
  // A port, and not the first digits of a password with a slash in it.
  const port = isNamed ? /^:\d{0,5}(?![^\\/?#\s"'`<>,;)\]}])/ : /^:(?![^\\/?#\s"'`<>,;)\]}])/;
  const isPassword = text[name.length] === ":" && !port.test(text.slice(name.length));
  // A password may hold what would end an address: to be seen as a whole it ends at the last @ of its line, or of its
  // quotes.
  const ends = isPassword ? /[\r\n]|["'`](?=\s*(?:[,}\])]|$))|[a-z]:[\\/]{2}/i : /[\\/?#\s"'`<>]/;
  const end = text.search(ends);
  return Math.max(0, (end < 0 ? text : text.slice(0, end)).lastIndexOf("@"));
}

/** A request header on a separate line or in a list: its whole value. */
const HEADER =
  /((?<![\w-])(?:(?:proxy-)?authorization|(?:set-)?cookie2?|x-[a-z-]{0,40}(?:token|key|secret|auth)[a-z-]{0,20})\s*:\s*)(?!<redacted>)[^\s"'`][^\r\n]*/gi;
const SCHEME = /(?<![\w-])(Bearer|Basic|Digest|Bot|Negotiate)\s+(?=[^\s"'`]{0,200}[0-9=])[^\s"'`,;<]{6,}/gi;
/** Signed addresses hold names and values as path segments, too. A refresh token contains slashes. */
const SEGMENT =
  /(?<=[\\/](?:sig|lsig|signature|s|key|pot|token|access_token|auth|hdnts|hdnea|hmac|password|secret)[\\/])[^\\/\s?#"'`<>]{8,}|(?<=[\\/]youtube[\\/]oauth[\\/])[^\s?#"'`<>]+/gi;

/** `name=value`, `name: value`. */
const PAIR = /(?<![\w%.~+-])((?:[\w%.~+-]|\[[\w%.-]{0,40}\]){1,200})(=|\s*:\s+)/g;
const VALUE = /(?:[^&\s"'`<>#]|['`](?![\s,)}\]:;]|$))*/y;
/** This much of a value is enough to recognise it; the next name may follow its sign directly. */
const INSPECTED_LENGTH = 200;
/** A value this long, made of letters and digits, is a signature under some other name. */
const OPAQUE = /^(?=.*\d)(?=.*[a-z])(?!.*\/\/)[\w%+/=.~:*!-]{32,}$/i;
/** Values of these names have their own forms, which the other rules cover. */
const SHOWN_NAME = /track|identifier|url/i;

function redactPairs(text: string): string {
  return redactBehind(text, PAIR, ([, name = "", sign = ""], start) => {
    const isSecret = sign === "=" ? isSecretPair : isSecretSentence;
    if (!isSecret(name, valueAt(text.slice(start, start + INSPECTED_LENGTH), 0))) return undefined;
    return start + valueAt(text, start).length;
  });
}

function isSecretPair(name: string, value: string): boolean {
  return isSecretName(name) || (OPAQUE.test(value) && !SHOWN_NAME.test(name));
}

/** In a sentence a name with a colon is followed by words. */
function isSecretSentence(name: string, value: string): boolean {
  return value.length >= 6 && /\d/.test(value) && isSecretName(name);
}

function valueAt(text: string, start: number): string {
  VALUE.lastIndex = start;
  return VALUE.exec(text)?.[0] ?? "";
}

const BASE64 = /[A-Za-z0-9+/_-]{32,}={0,2}/g;
const PRINTABLE = /[\x20-\x7e]{10,}/g;

/** Encoded tracks hold addresses. A run may have its first letters from what stands before it. */
function redactBase64(text: string, depth: number): string {
  return text.replaceAll(BASE64, (run) => {
    for (let offset = 0; offset < 4; offset++) {
      const bytes = Buffer.from(run.slice(offset), "base64").toString("latin1");
      for (const [words] of bytes.matchAll(PRINTABLE)) if (withoutSecrets(words, depth + 1) !== words) return REDACTED;
    }
    return run;
  });
}
