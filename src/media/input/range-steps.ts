// How the bytes of a file from one place on are asked for: in one go, or in steps where the site wants it so. Pure.
// Audio and probe threads.

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

/** The request for the bytes from `positionBytes` on, at the place's own address or the one it led to. */
export function partFrom({ rangeStep }: RequestDestination, url: URL, positionBytes: number): PartRequest {
  if (rangeStep === undefined) {
    return { url, headers: { range: `bytes=${positionBytes}-` }, endBytes: undefined, isByQuery: false };
  }
  const endBytes = positionBytes + rangeStep.bytes;
  const range = `${positionBytes}-${endBytes - 1}`;
  if (rangeStep.by === "header") return { url, headers: { range: `bytes=${range}` }, endBytes, isByQuery: false };
  return { url: withRange(url, range), headers: {}, endBytes, isByQuery: true };
}

/** The same address without the range that was put into it. */
export function withoutRange(url: URL): URL {
  const without = new URL(url);
  // As text: to write a query anew would change how it is written, and signatures with it.
  without.search = url.search.replace(/([?&])range=[^&]*&?/g, "$1").replace(/[?&]$/, "");
  return without;
}

/** The size of the whole, where the address tells. */
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
