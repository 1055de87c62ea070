// Finds known secrets anywhere in a text and in any form: plain, percent-encoded, in base64, in hexadecimal digits, as
// JSON writes them, in upper or lower case. lib/redact-text.ts finds what looks like a secret; this finds secrets that
// do not look like one. Main thread.

import { parseUrl } from "../../lib/parse-url.ts";
import { REDACTED } from "../../lib/redact-text.ts";

/** A shorter secret would match parts of many words. */
const LENGTH_MIN = 4;
/** Pieces of a secret are not secrets when they are short. */
const PIECE_LENGTH_MIN = 6;
/** Beyond this a secret is known by its beginning. */
const LENGTH_MAX = 512;
/** The part of the base64 that depends only on the secret, whatever is encoded around it, must be longer than this. */
const BASE64_LENGTH_MIN = 6;

/** Finds all of `secrets` and their parts: what stands in an address, the values of cookies, single lines. */
export function secretPattern(secrets: readonly string[]): RegExp | undefined {
  const texts = new Set(secrets.flatMap(piecesOf));
  // If one is a prefix of another, the longer one is tried first.
  const forms = [...texts].toSorted((one, other) => other.length - one.length).flatMap(formsOf);
  return forms.length === 0 ? undefined : new RegExp([...new Set(forms)].join("|"), "giu");
}

/** Replaces each secret in the text with a placeholder; `pattern` comes from `secretPattern`. */
export function withoutSecrets(text: string, pattern: RegExp | undefined): string {
  return pattern === undefined ? text : text.replaceAll(pattern, REDACTED);
}

function piecesOf(secret: string): string[] {
  const whole = secret.trim();
  if (whole.length < LENGTH_MIN) return [];
  const lines = whole.split(/[\r\n;]+/);
  const values = lines.map((line) => line.slice(line.indexOf("=") + 1));
  const pieces = [...lines, ...values, ...piecesOfAddress(whole)].map((piece) => piece.trim());
  return [whole, ...pieces.filter(({ length }) => length >= PIECE_LENGTH_MIN)].map((text) => text.slice(0, LENGTH_MAX));
}

function piecesOfAddress(text: string): string[] {
  const url = text.includes("://") ? parseUrl(text) : undefined;
  if (url === undefined) return [];
  const { username, password, hostname, pathname, searchParams } = url;
  const isOwnHost = !/^(?:127\.|\[?::1|localhost$)/.test(hostname);
  const names = [username, password].flatMap((name) => [name, decoded(name)]);
  return [
    ...names,
    ...(isOwnHost ? [hostname] : []),
    ...(pathname.length > 1 ? [pathname] : []),
    ...searchParams.values(),
  ];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A `%` that escapes nothing: then it is not an encoded form.
    return text;
  }
}

/** As parts of a pattern. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [Array.from(secret, anyFormOf).join(""), bytes.toString("hex"), ...base64Of(bytes).map(escapeForPattern)];
}

/**
 * One character, with few alternatives so that a long run of backslashes is matched quickly: plain, in upper case,
 * percent-encoded perhaps more than once, or escaped as in JSON.
 */
function anyFormOf(character: string): string {
  const percent = Array.from(Buffer.from(character), (byte) => `%(?:25){0,4}${hexOf(byte, 2)}`).join("");
  const units = Array.from(
    { length: character.length },
    (_, index) => `\\\\{1,8}u${hexOf(character.charCodeAt(index), 4)}`,
  );
  const plain = [character, character.toUpperCase(), ...(character === " " ? ["+"] : [])].map(escapeForPattern);
  const escaped = /["\\/]/.test(character) ? `\\\\{0,8}${escapeForPattern(character)}` : undefined;
  return `(?:${[...new Set(plain), percent, units.join(""), ...(escaped === undefined ? [] : [escaped])].join("|")})`;
}

function hexOf(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

/** At each of the three offsets within a group, in both alphabets; without the characters that other bytes share. */
function base64Of(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const first = Math.ceil((before * 8) / 6);
    const letters = padded.toString("base64").slice(first, Math.floor((padded.length * 8) / 6));
    if (letters.length < BASE64_LENGTH_MIN) return [];
    return [letters, letters.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

function escapeForPattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
