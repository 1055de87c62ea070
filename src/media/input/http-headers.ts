// Reads what answer headers say about a body: its media type, whole size, validator and which bytes were sent.
// Pure functions. Audio thread.

import { type HttpHeaders, headerOf } from "../../network/header-value.ts";

/** Media type in lower case without parameters. */
export function mimeTypeOf(headers: HttpHeaders): string | undefined {
  return headerOf(headers, "content-type")?.split(";")[0]?.trim().toLowerCase() || undefined;
}

/** A Content-Length that can be true, or undefined. */
export function contentLengthOf(headers: HttpHeaders): number | undefined {
  return parseSize(headerOf(headers, "content-length"));
}

export interface ContentRange {
  /** First and last byte sent; undefined in the answer to an unsatisfiable range (`bytes * /size`). */
  readonly firstBytes: number | undefined;
  readonly lastBytes: number | undefined;
  /** Undefined when the server wrote `*`. */
  readonly sizeBytes: number | undefined;
}

/** Content-Range as RFC 9110 section 14.4 has it, or undefined when missing or nonsense. */
export function contentRangeOf(headers: HttpHeaders): ContentRange | undefined {
  const match = /^bytes\s+(?:(\d+)-(\d+)|\*)\s*\/\s*(\d+|\*)$/i.exec(headerOf(headers, "content-range") ?? "");
  if (match === null) return undefined;
  const [, first, last, size] = match;
  const range = { firstBytes: parseSize(first), lastBytes: parseSize(last), sizeBytes: parseSize(size) };
  const { firstBytes, lastBytes, sizeBytes } = range;
  if (firstBytes !== undefined && (lastBytes === undefined || lastBytes < firstBytes)) return undefined;
  if (lastBytes !== undefined && sizeBytes !== undefined && lastBytes >= sizeBytes) return undefined;
  return range;
}

/** Content-Range as some servers write it: without a unit or with another sign after it, and with the size as the end. */
const LOOSE_CONTENT_RANGE = /^(?:bytes\s*[=:]?\s*)?(\d+)\s*-\s*(\d+)\s*\/\s*(\d+|\*)$/i;
/** Real ones have sixty characters: longer ones are not searched. */
const CONTENT_RANGE_LENGTH_MAX = 128;

/** Like `contentRangeOf`, and also what is readable although it is not correct. */
export function looseContentRangeOf(headers: HttpHeaders): ContentRange | undefined {
  const match = LOOSE_CONTENT_RANGE.exec((headerOf(headers, "content-range") ?? "").slice(0, CONTENT_RANGE_LENGTH_MAX));
  if (match === null) return contentRangeOf(headers);
  const [, first, last, size] = match;
  const end = last === size ? String(Number(last) - 1) : last;
  return contentRangeOf({ "content-range": `bytes ${first}-${end}/${size}` });
}

/** Distinguishes versions of a resource. */
export interface Validator {
  /** Raw value with quotes and the prefix of a weak one; for `If-None-Match`. */
  readonly etag: string | undefined;
  /** Raw value; for `If-Modified-Since`. */
  readonly lastModified: string | undefined;
}

export function validatorOf(headers: HttpHeaders): Validator {
  return { etag: headerOf(headers, "etag"), lastModified: headerOf(headers, "last-modified") };
}

/** The value for If-Range: a strong ETag, else the date; undefined when there is neither (RFC 9110 section 13.1.5). */
export function ifRangeOf(validator: Validator): string | undefined {
  const { etag, lastModified } = validator;
  return etag !== undefined && !etag.startsWith("W/") ? etag : lastModified;
}

/** False when the two surely are different versions. Where one says nothing, nothing is concluded. */
export function isSameVersion(before: Validator, now: Validator): boolean {
  if (before.etag !== undefined && now.etag !== undefined) return weak(before.etag) === weak(now.etag);
  if (before.lastModified !== undefined && now.lastModified !== undefined) {
    return before.lastModified === now.lastModified;
  }
  return true;
}

function weak(etag: string): string {
  return etag.replace(/^W\//, "");
}

function parseSize(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return undefined;
  const size = Number(text);
  return Number.isSafeInteger(size) ? size : undefined;
}
