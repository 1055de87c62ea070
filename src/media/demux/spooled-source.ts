// Makes a forward-only source seekable by keeping all of its bytes: for files whose index stands at the end (MP4 from a
// server without ranges), and only up to a bound. Audio thread.

import { NodeError } from "../../errors.ts";
import type { ByteSource } from "../input/byte-source.ts";

/** Kept for one player at most: an hour of music at 64 kbit/s, half an hour at 128. */
const SPOOL_BYTES_MAX = 32 * 1024 * 1024;
const READ_BYTES = 64 * 1024;

/** Reads the source to its end and returns one over the bytes in memory. Rejects when there are too many. */
export async function spoolSource(source: ByteSource): Promise<ByteSource> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  for (;;) {
    const piece = await source.read(sizeBytes, READ_BYTES);
    // A copy, so that small views do not pin large buffers of the source.
    pieces.push(Uint8Array.from(piece));
    sizeBytes += piece.length;
    if (piece.length < READ_BYTES) break;
    if (sizeBytes > SPOOL_BYTES_MAX) {
      throw new NodeError(
        "media-not-seekable",
        "cannot play this MP4 file: its index is at the end, and the server does not send byte ranges to reach it",
      );
    }
  }
  return new SpooledSource(source, Buffer.concat(pieces, sizeBytes));
}

class SpooledSource implements ByteSource {
  readonly sizeBytes: number;
  readonly isRandomAccess = true;
  readonly mimeType: string | undefined;
  readonly #source: ByteSource;
  readonly #bytes: Uint8Array;

  constructor(source: ByteSource, bytes: Uint8Array) {
    this.#source = source;
    this.#bytes = bytes;
    this.sizeBytes = bytes.length;
    this.mimeType = source.mimeType;
  }

  read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    return Promise.resolve(this.readBuffered(positionBytes, lengthBytes));
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array {
    return this.#bytes.subarray(positionBytes, positionBytes + lengthBytes);
  }

  close(): void {
    this.#source.close();
  }
}
