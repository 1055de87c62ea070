// A cursor over bytes in memory, for parts of a file that are read whole before they are parsed: unescaped tags, chunks.
// Audio and probe threads.

import type { ByteSource } from "../input/byte-source.ts";
import { ByteCursor } from "./byte-cursor.ts";

/** Reads views of `bytes`. */
export function memoryCursor(bytes: Uint8Array): ByteCursor {
  const read = (positionBytes: number, lengthBytes: number) =>
    bytes.subarray(positionBytes, positionBytes + lengthBytes);
  const source: ByteSource = {
    sizeBytes: bytes.length,
    isRandomAccess: true,
    mimeType: undefined,
    read: (positionBytes, lengthBytes) => Promise.resolve(read(positionBytes, lengthBytes)),
    readBuffered: read,
    close: () => undefined,
  };
  return new ByteCursor(source);
}
