// The body of an answer to a plugin: unpacked, never larger than was allowed, and read as the text that it says it is.
// Plugin thread; used by http-client.ts.

import type { Readable, Transform } from "node:stream";
import { TextDecoder } from "node:util";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

export interface BodyOptions {
  /** Unpacked and packed alike. */
  readonly sizeBytesMax: number;
  readonly tooLarge: () => Error;
}

interface Answer {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

/** Reads it whole. Rejects with `tooLarge`, or with what went wrong on the way. */
export async function readBody({ headers, body }: Answer, options: BodyOptions): Promise<{ bytes: Buffer; text: string }> {
  const unpacked = unpack(body, String(headers["content-encoding"] ?? ""));
  const parts: Buffer[] = [];
  let sizeBytes = 0;
  try {
    for await (const part of unpacked) {
      const chunk = part as Buffer; // streams of bytes give buffers
      sizeBytes += chunk.length;
      if (sizeBytes > options.sizeBytesMax) throw options.tooLarge();
      parts.push(chunk);
    }
  } finally {
    body.destroy();
    unpacked.destroy();
  }
  const bytes = Buffer.concat(parts);
  return { bytes, text: decoderOf(String(headers["content-type"] ?? "")).decode(bytes) };
}

const UNPACKERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ["gzip", () => createGunzip()],
  ["br", () => createBrotliDecompress()],
  ["deflate", () => createInflate()],
]);

function unpack(body: Readable, encoding: string): Readable {
  const unpacker = UNPACKERS.get(encoding.trim().toLowerCase())?.();
  if (unpacker === undefined) return body;
  // A failure of one side ends the other, and is told to whoever reads.
  body.on("error", (error) => unpacker.destroy(error));
  return body.pipe(unpacker);
}

function decoderOf(contentType: string): TextDecoder {
  const charset = /charset="?([\w.:-]{1,40})/i.exec(contentType)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset);
  } catch {
    // A name that nobody knows.
    return new TextDecoder();
  }
}
