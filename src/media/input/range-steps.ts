// Requests for the bytes of a file from a position on: in one range, or in steps if the site requires it. Pure. Audio
// and probe threads.

import type { RequestDestination } from "./link-destination.ts";

/** One request for bytes. */
export interface PartRequest {
  readonly url: URL;
  /** Empty, or `range`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where the step ends; undefined: all that there is. */
  readonly endBytes: number | undefined;
  /** It is asked for in the query: a 200 is the part, not the whole. */
  readonly isByQuery: boolean;
}

/** The request for the bytes from `positionBytes` on, at the destination's own address or its redirect target. */
export function partFrom({ rangeStep }: RequestDestination, url: URL, positionBytes: number): PartRequest {
  if (rangeStep === undefined) {
    return { url, headers: { range: `bytes=${positionBytes}-` }, endBytes: undefined, isByQuery: false };
  }
  const endBytes = positionBytes + rangeStep.bytes;
  const range = `${positionBytes}-${endBytes - 1}`;
  if (rangeStep.by === "header") return { url, headers: { range: `bytes=${range}` }, endBytes, isByQuery: false };
  return { url: withRange(url, range), headers: {}, endBytes, isByQuery: true };
}

/** The request for all the bytes. */
export function wholeOf(url: URL): PartRequest {
  return { url, headers: {}, endBytes: undefined, isByQuery: false };
}

/** The address without the range that was added to it. */
export function withoutRange(url: URL): URL {
  const without = new URL(url);
  // Edited as text: serialising the query again would change its encoding, and break signatures.
  without.search = url.search.replace(/([?&])range=[^&]*&?/g, "$1").replace(/[?&]$/, "");
  return without;
}

/** Total size, if the address contains it. */
export function sizeInQuery(url: URL): number | undefined {
  const text = url.searchParams.get("clen") ?? "";
  const sizeBytes = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  return sizeBytes > 0 ? sizeBytes : undefined;
}

function withRange(url: URL, range: string): URL {
  const asked = withoutRange(url);
  asked.search = `${asked.search}${asked.search === "" ? "?" : "&"}range=${range}`;
  return asked;
}
