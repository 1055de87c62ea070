// Bytes in memory that count how often a reader jumps.

import { MemoryByteSource } from "./memory-byte-source.ts";

const FAR_BYTES = 256 * 1024;

/** Counts the requests that HTTP needs a new connection for, and how far the file is read. */
export class JumpingSource extends MemoryByteSource {
  jumps = 0;
  furthestBytes = 0;
  #endBytes = 0;

  override read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    this.#count(positionBytes, lengthBytes);
    return super.read(positionBytes, lengthBytes);
  }

  override readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    const bytes = super.readBuffered(positionBytes, lengthBytes);
    if (bytes !== undefined) this.#count(positionBytes, lengthBytes);
    return bytes;
  }

  #count(positionBytes: number, lengthBytes: number): void {
    if (Math.abs(positionBytes - this.#endBytes) > FAR_BYTES) this.jumps += 1;
    this.#endBytes = positionBytes + lengthBytes;
    this.furthestBytes = Math.max(this.furthestBytes, this.#endBytes);
  }
}
