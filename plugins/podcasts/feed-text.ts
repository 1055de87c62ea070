// The texts of a feed: bytes in whatever encoding they say, titles with HTML in them, lengths and dates as people write
// them. Plugin thread.

import { webAddressIn } from "../reading/address.ts";

const TITLE_LENGTH_MAX = 500;
const LINK_LENGTH_MAX = 4000;
/** The declaration has to be this near the start. */
const DECLARATION_BYTES = 256;
const DAY_MS = 24 * 60 * 60_000;
/** HTML has some hundred more; these are what titles are escaped with, once too often. */
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Detects the encoding by byte order mark, content type, XML declaration, in that order (RFC 7303); else UTF-8. */
export function feedDecoder(bytes: Uint8Array, contentType: string): InstanceType<typeof TextDecoder> {
  const marked = markedEncoding(bytes);
  const charset = /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(contentType)?.[1];
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, DECLARATION_BYTES));
  const declared = /^\s*<\?xml[^>]{0,100}\sencoding\s*=\s*["']([\w.:-]{1,40})["']/i.exec(head)?.[1];
  for (const name of [marked, charset, declared]) {
    if (name === undefined) continue;
    try {
      return new TextDecoder(name);
    } catch {
      // Ignore an unknown encoding name.
    }
  }
  return new TextDecoder();
}

/** Without markup, entities and runs of white space; undefined when nothing is left. */
export function plainTitle(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const unmarked = text.replace(/<\/?[a-z][^<>]{0,300}>/gi, "").replace(/&(#?\w{1,8});/g, decodeEntity);
  const plain = unmarked.replace(/\s+/g, " ").trim().slice(0, TITLE_LENGTH_MAX);
  // Half a character cannot be decoded.
  const whole = plain.replace(/[\uD800-\uDBFF]$/, "");
  return whole === "" ? undefined : whole;
}

/** Seconds, `m:s` or `h:m:s` in milliseconds; undefined for anything else, for nothing and for more than a day. */
export function durationMsOf(text: string | undefined): number | undefined {
  const parts = /^\s*(?:(?:(\d{1,3}):)?(\d{1,4}):)?(\d{1,6})(?:\.\d{0,9})?\s*$/.exec(text ?? "");
  if (parts === null) return undefined;
  const [hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  const lengthMs = ((hours * 60 + minutes) * 60 + seconds) * 1000;
  return lengthMs > 0 && lengthMs <= DAY_MS ? lengthMs : undefined;
}

/** Epoch milliseconds of a date as in mail (RFC 822) or RFC 3339; undefined for anything else. */
export function dateMsOf(text: string | undefined): number | undefined {
  const timeMs = text === undefined || text.length > 100 ? Number.NaN : Date.parse(text.trim());
  return Number.isFinite(timeMs) ? timeMs : undefined;
}

/** An absolute `http` or `https` URL, resolved against `base`, without user and fragment; else undefined. */
export function webLink(text: string | undefined, base?: string): string | undefined {
  const trimmed = text?.trim() ?? "";
  const url = trimmed === "" || trimmed.length > LINK_LENGTH_MAX ? undefined : webAddressIn(trimmed, base);
  if (url === undefined) return undefined;
  [url.username, url.password, url.hash] = ["", "", ""];
  return url.href.length <= LINK_LENGTH_MAX ? url.href : undefined;
}

function markedEncoding([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  // A byte order mark, or the two bytes of `<`.
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return "utf-16be";
  return undefined;
}

function decodeEntity(whole: string, name: string): string {
  const number = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(name);
  if (number === null) return ENTITIES[name.toLowerCase()] ?? whole;
  const [, hexadecimal, decimal] = number;
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  const isCharacter = code >= 0x20 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : whole;
}
