// Bytes that are all in memory, such as an HLS segment, as a byte source. Audio thread.

import type { ByteSource } from "./byte-source.ts";
import { closedError } from "./read-bounds.ts";

export class MemorySource implements ByteSource {
  readonly isRandomAccess = true;
  readonly mimeType: string | undefined;
  /** Undefined once closed. */
  #bytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array, mimeType: string | undefined) {
    this.#bytes = bytes;
    this.mimeType = mimeType;
  }

  get sizeBytes(): number {
    return this.#bytes?.length ?? 0;
  }

  async read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    const data = this.readBuffered(positionBytes, lengthBytes);
    if (data === undefined) throw closedError();
    return data;
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    return this.#bytes?.subarray(positionBytes, Math.max(positionBytes, positionBytes + lengthBytes));
  }

  close(): void {
    this.#bytes = undefined;
  }
}
