// The body of an answer to a plugin: unpacked, never larger than was allowed, and read as the text that it says it is.
// Plugin thread; used by http-client.ts.

import { pipeline, type Readable, type Transform } from "node:stream";
import { TextDecoder } from "node:util";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { onAbort } from "../../../lib/on-abort.ts";
import type { Body } from "./body-memory.ts";

interface BodyOptions {
  /** Unpacked and packed alike. */
  readonly sizeBytesMax: number;
  readonly tooLarge: () => Error;
  /** Released when the body is complete. */
  readonly memory: Body;
}

interface Answer {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

/** Reads the whole body. Rejects with `tooLarge`, the error of `memory`, or the error of the transfer. */
export async function readHttpBody(
  { headers, body }: Answer,
  options: BodyOptions,
): Promise<{ bytes: Buffer; text: string }> {
  const { memory } = options;
  const parts: Buffer[] = [];
  // The reader gets errors; without a reader they must be handled, too.
  body.on("error", () => undefined);
  const stopListening = onAbort(memory.signal, () => body.destroy(memory.signal.reason as Error)); // made by its owner
  try {
    // Much that unpacks to nothing is too much, too.
    const packed = bounded(body, options);
    for await (const part of bounded(unpack(packed, String(headers["content-encoding"] ?? "")), options)) {
      memory.signal.throwIfAborted();
      memory.take(part.length);
      parts.push(part);
    }
    const bytes = Buffer.concat(parts);
    return { bytes, text: decoderOf(String(headers["content-type"] ?? "")).decode(bytes) };
  } finally {
    stopListening();
    body.destroy();
    memory.release();
  }
}

const UNPACKERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  ["br", () => createBrotliDecompress()],
  ["deflate", () => createInflate()],
]);

async function* bounded(
  parts: AsyncIterable<Buffer>,
  { sizeBytesMax, tooLarge }: Pick<BodyOptions, "sizeBytesMax" | "tooLarge">,
): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  for await (const part of parts) {
    sizeBytes += part.length;
    if (sizeBytes > sizeBytesMax) throw tooLarge();
    yield part;
  }
}

async function* unpack(packed: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const unpacker = UNPACKERS.get(encoding.trim().toLowerCase())?.();
  if (unpacker === undefined) return yield* packed;
  // Answers to HEAD name an encoding and have no body, which is not even the beginning of a packed one.
  let isNothing = false;
  async function* watched(): AsyncGenerator<Buffer> {
    let isEmpty = true;
    for await (const part of packed) {
      isEmpty = false;
      yield part;
    }
    isNothing = isEmpty;
  }
  // A failure of one side ends the other, and is reported to the reader.
  pipeline(watched, unpacker, () => undefined);
  try {
    yield* unpacker;
  } catch (error) {
    if (!isNothing) throw error;
  } finally {
    unpacker.destroy();
  }
}

function decoderOf(contentType: string): TextDecoder {
  const charset = /charset="?([\w.:-]{1,40})/i.exec(contentType)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset);
  } catch {
    // Ignore an unknown encoding name.
    return new TextDecoder();
  }
}
