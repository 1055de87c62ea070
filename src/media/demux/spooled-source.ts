// Makes a forward-only source seekable by keeping all of its bytes: for files whose index stands at the end (MP4 from a
// server without ranges), and only up to a bound. Audio thread.

import { NodeError } from "../../errors.ts";
import type { ByteSource } from "../input/byte-source.ts";
import type { DemuxWork, ReaderParts } from "./demux-work.ts";

/** Kept for one player at most: an hour of music at 64 kbit/s, half an hour at 128. */
const SPOOL_BYTES_MAX = 32 * 1024 * 1024;
/** Kept in one piece, and read at once. */
const PIECE_BYTES = 256 * 1024;
const READ_BYTES = 64 * 1024;

/** Reads the source to its end and returns one over the bytes in memory. Rejects when there are too many. */
export async function spoolSource({ source, work }: ReaderParts): Promise<ByteSource> {
  if ((source.sizeBytes ?? 0) > SPOOL_BYTES_MAX) throw tooLongError();
  const pieces: Uint8Array[] = [];
  for (;;) {
    const positionBytes = pieces.length * PIECE_BYTES;
    const piece = await readPiece(source, positionBytes, work);
    pieces.push(piece);
    if (piece.length < PIECE_BYTES) break;
    if (positionBytes + PIECE_BYTES >= SPOOL_BYTES_MAX) throw tooLongError();
  }
  return new SpooledSource(source, pieces);
}

/** A copy, so that small views do not pin large buffers of the source. */
async function readPiece(source: ByteSource, positionBytes: number, work: DemuxWork): Promise<Uint8Array> {
  work.take(PIECE_BYTES, "a file whose index is at its end");
  const piece = new Uint8Array(PIECE_BYTES);
  for (let filledBytes = 0; filledBytes < PIECE_BYTES; filledBytes += READ_BYTES) {
    if (work.isSpent) await work.turn();
    const part = await source.read(positionBytes + filledBytes, READ_BYTES);
    piece.set(part, filledBytes);
    if (part.length < READ_BYTES) return piece.slice(0, filledBytes + part.length);
  }
  return piece;
}

function tooLongError(): NodeError {
  return new NodeError(
    "media-not-seekable",
    "cannot play this MP4 file: its index is at the end, and the server does not send byte ranges to reach it",
  );
}

class SpooledSource implements ByteSource {
  readonly sizeBytes: number;
  readonly isRandomAccess = true;
  readonly mimeType: string | undefined;
  readonly #source: ByteSource;
  readonly #pieces: readonly Uint8Array[];

  /** All pieces but the last are of one size. */
  constructor(source: ByteSource, pieces: readonly Uint8Array[]) {
    this.#source = source;
    this.#pieces = pieces;
    this.sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
    this.mimeType = source.mimeType;
  }

  read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    return Promise.resolve(this.readBuffered(positionBytes, lengthBytes));
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array {
    const endBytes = Math.min(positionBytes + lengthBytes, this.sizeBytes);
    const first = Math.floor(positionBytes / PIECE_BYTES);
    const startInPiece = positionBytes - first * PIECE_BYTES;
    const isInOne = endBytes <= (first + 1) * PIECE_BYTES;
    if (isInOne)
      return this.#piece(first).subarray(startInPiece, Math.max(startInPiece, endBytes - first * PIECE_BYTES));
    const bytes = new Uint8Array(endBytes - positionBytes);
    for (let filledBytes = 0; filledBytes < bytes.length; ) {
      const at = positionBytes + filledBytes;
      const index = Math.floor(at / PIECE_BYTES);
      const start = at - index * PIECE_BYTES;
      const part = this.#piece(index).subarray(start, start + bytes.length - filledBytes);
      bytes.set(part, filledBytes);
      filledBytes += part.length;
    }
    return bytes;
  }

  close(): void {
    this.#source.close();
  }

  #piece(index: number): Uint8Array {
    return this.#pieces[index] ?? NOTHING;
  }
}

const NOTHING = new Uint8Array(0);
