// Reads the larger parts of a container (tables, lists of tags) into separate memory: counted, in pieces, in time
// slices. Used by the container readers. Audio and probe threads.

import { allocateBytes } from "../../lib/large-buffer.ts";
import type { ByteCursor } from "./byte-cursor.ts";
import type { DemuxWork } from "./demux-work.ts";

/** Copied in one go. */
const PIECE_BYTES = 64 * 1024;

interface OwnedPart {
  readonly sizeBytes: number;
  readonly work: DemuxWork;
  /** Names the data in the error when there is no memory left: "its list of seek points". */
  readonly purpose: string;
}

/**
 * The next `sizeBytes`, fewer only at the end of the data; moves behind them. Memory is counted as it is filled, so
 * that a size that is only claimed takes none; the caller must release as many bytes as it got.
 */
export async function readOwned(cursor: ByteCursor, { sizeBytes, work, purpose }: OwnedPart): Promise<Uint8Array> {
  const leftBytes = (cursor.endBytes ?? Number.POSITIVE_INFINITY) - cursor.position;
  // Not zeroed, which would take milliseconds for a large one: all returned bytes have been filled.
  const bytes = allocateBytes(Math.max(0, Math.min(sizeBytes, leftBytes)));
  let filledBytes = 0;
  while (filledBytes < bytes.length) {
    const neededBytes = Math.min(PIECE_BYTES, bytes.length - filledBytes);
    work.take(neededBytes, purpose);
    const piece = await cursor.read(neededBytes);
    bytes.set(piece, filledBytes);
    filledBytes += piece.length;
    if (work.isSpent) await work.yield();
    if (piece.length === neededBytes) continue;
    work.release(neededBytes - piece.length);
    break;
  }
  return filledBytes === bytes.length ? bytes : bytes.subarray(0, filledBytes);
}
