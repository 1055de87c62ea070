// A ByteSource over bytes in memory that follows the contract strictly: forward-only sources refuse to go back further
// than the contract's windows, and nothing is "buffered" before it was read.

import { NodeError } from "../../src/errors.ts";
import type { ByteSource } from "../../src/media/input/byte-source.ts";

export interface MemoryByteSourceOptions {
  /** Default true. */
  readonly isRandomAccess?: boolean;
  /** Default true; false is a chunked body. */
  readonly isSizeKnown?: boolean;
  readonly mimeType?: string;
  /** Default false; true is a station. */
  readonly isLive?: boolean;
  /** Bytes after a read that count as buffered. Default: everything when random access, else 4096. */
  readonly readAheadBytes?: number;
}

const WINDOW_BYTES = 64 * 1024;

export class MemoryByteSource implements ByteSource {
  readonly sizeBytes: number | undefined;
  readonly isRandomAccess: boolean;
  readonly mimeType: string | undefined;
  readonly isLive: boolean;
  /** Calls of `read`: the ones that had to wait. */
  readCount = 0;
  /** Bytes returned by `read` and `readBuffered`. */
  bytesRead = 0;
  isClosed = false;
  readonly #bytes: Uint8Array;
  readonly #readAheadBytes: number;
  /** The bytes before this have arrived (forward-only) or are available at once (random access). */
  #arrivedBytes = 0;

  constructor(bytes: Uint8Array, options: MemoryByteSourceOptions = {}) {
    this.#bytes = bytes;
    this.isRandomAccess = options.isRandomAccess ?? true;
    this.sizeBytes = (options.isSizeKnown ?? true) ? bytes.length : undefined;
    this.isLive = options.isLive ?? false;
    this.mimeType = options.mimeType;
    this.#readAheadBytes = options.readAheadBytes ?? (this.isRandomAccess ? bytes.length : 4096);
  }

  async read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    await Promise.resolve();
    if (this.isClosed) throw new NodeError("internal", "the source was closed");
    this.readCount += 1;
    const end = positionBytes + lengthBytes;
    if (!this.#isAvailable(positionBytes, end)) {
      throw new Error(`contract broken: forward-only source asked for ${positionBytes} at ${this.#arrivedBytes}`);
    }
    this.#arrivedBytes = Math.min(this.#bytes.length, Math.max(this.#arrivedBytes, end + this.#readAheadBytes));
    return this.#hand(positionBytes, end);
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    const end = positionBytes + lengthBytes;
    const isKnownEnd = this.#arrivedBytes >= this.#bytes.length;
    if (this.isClosed || (end > this.#arrivedBytes && !isKnownEnd) || !this.#isAvailable(positionBytes, end))
      return undefined;
    return this.#hand(positionBytes, end);
  }

  close(): void {
    this.isClosed = true;
  }

  #hand(start: number, end: number): Uint8Array {
    const bytes = this.#bytes.subarray(start, end);
    this.bytesRead += bytes.length;
    return bytes;
  }

  #isAvailable(start: number, end: number): boolean {
    return (
      this.isRandomAccess || end <= WINDOW_BYTES || start >= this.#arrivedBytes - WINDOW_BYTES - this.#readAheadBytes
    );
  }
}
