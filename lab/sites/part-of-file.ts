// A media file as a private server sends it: whole, or the part that a `Range` header asks for (RFC 9110 section 14).
// For fake servers whose media are not behind links that expire. Runs in the process that starts it.

import type { SiteAnswer } from "./site-server.ts";

export interface StoredFile {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
}

export function partOfFile({ bytes, mimeType }: StoredFile, range: string | undefined): SiteAnswer {
  const headers = { "content-type": mimeType, "accept-ranges": "bytes" };
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? [];
  if (from === undefined) return { headers, bytes };
  const start = Number(from);
  const end = to ? Math.min(Number(to) + 1, bytes.length) : bytes.length;
  if (start >= bytes.length) return { status: 416, headers: { "content-range": `bytes */${bytes.length}` } };
  const contentRange = `bytes ${start}-${end - 1}/${bytes.length}`;
  return { status: 206, headers: { ...headers, "content-range": contentRange }, bytes: bytes.subarray(start, end) };
}
