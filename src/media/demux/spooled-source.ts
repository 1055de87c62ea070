// Makes a forward-only source seekable by buffering all of its bytes: for files whose index is at the end (MP4 from a
// server without ranges), and only up to a limit. Audio thread.

import { NodeError } from "../../errors.ts";
import type { ByteSource } from "../input/byte-source.ts";
import { ByteWindow } from "../input/byte-window.ts";
import { WindowSource } from "../input/window-source.ts";
import type { ReaderParts } from "./demux-work.ts";

/** Limit per player: an hour of music at 64 kbit/s, half an hour at 128. */
const SPOOL_BYTES_MAX = 32 * 1024 * 1024;
const READ_BYTES = 64 * 1024;

/** Reads the source to its end and returns one over the bytes in memory. Rejects when there are too many. */
export async function spoolSource({ source, work }: ReaderParts): Promise<ByteSource> {
  if ((source.sizeBytes ?? 0) > SPOOL_BYTES_MAX) throw tooLongError();
  const bytes = new ByteWindow(work, "a file whose index is at its end");
  for (;;) {
    if (work.isSpent) await work.yield();
    const part = await source.read(bytes.endBytes, READ_BYTES);
    bytes.append(part);
    if (part.length < READ_BYTES) return new SpooledSource(source, bytes);
    if (bytes.endBytes >= SPOOL_BYTES_MAX) throw tooLongError();
  }
}

function tooLongError(): NodeError {
  return new NodeError(
    "media-not-seekable",
    "cannot play this MP4 file: its index is at the end, and the server does not send byte ranges to reach it",
  );
}

class SpooledSource extends WindowSource {
  readonly #source: ByteSource;

  constructor(source: ByteSource, bytes: ByteWindow) {
    super(bytes, { firstBytes: 0, mimeType: source.mimeType });
    this.#source = source;
  }

  override close(): void {
    super.close();
    this.#source.close();
  }
}
