// The bytes of a generated file as a demuxer gets them: random access or forward only, buffered or arriving late.
// Follows the contract of ByteSource exactly and counts the calls.

import { NodeError } from "../../../src/errors.ts";
import type { ByteSource } from "../../../src/media/input/byte-source.ts";

interface FuzzSourceTraits {
  readonly isRandomAccess: boolean;
  /** False: a chunked body. */
  readonly isSizeKnown: boolean;
  /** Bytes behind a read that are there at once. */
  readonly readAheadBytes: number;
  readonly readCountMax: number;
}

/** What a forward-only source buffers: this many bytes at the start, and as many before the current position. */
const WINDOW_BYTES = 64 * 1024;

export class FuzzSource implements ByteSource {
  readonly sizeBytes: number | undefined;
  readonly isRandomAccess: boolean;
  readonly mimeType = undefined;
  /** Calls of `read` and `readBuffered`. */
  readCount = 0;
  /** Bytes handed out. */
  readBytes = 0;
  /** The most calls without giving the thread back. */
  stretchCountMax = 0;
  isClosed = false;
  readonly #bytes: Uint8Array;
  readonly #traits: FuzzSourceTraits;
  #arrivedBytes = 0;
  #stretchCount = 0;

  constructor(bytes: Uint8Array, traits: FuzzSourceTraits) {
    this.#bytes = bytes;
    this.#traits = traits;
    this.isRandomAccess = traits.isRandomAccess;
    this.sizeBytes = traits.isSizeKnown ? bytes.length : undefined;
  }

  async read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    this.#count();
    checkRange(positionBytes, lengthBytes);
    await Promise.resolve();
    if (this.isClosed) throw new NodeError("internal", "the source was closed");
    const end = positionBytes + lengthBytes;
    if (!this.#isAvailable(positionBytes, end))
      throw new Error(`${positionBytes} is no longer there, at ${this.#arrivedBytes}`);
    this.#arrivedBytes = Math.min(this.#bytes.length, Math.max(this.#arrivedBytes, end + this.#traits.readAheadBytes));
    return this.#hand(positionBytes, end);
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    this.#count();
    checkRange(positionBytes, lengthBytes);
    const end = positionBytes + lengthBytes;
    const isThere = end <= this.#arrivedBytes || this.#arrivedBytes >= this.#bytes.length;
    return this.isClosed || !isThere || !this.#isAvailable(positionBytes, end)
      ? undefined
      : this.#hand(positionBytes, end);
  }

  close(): void {
    this.isClosed = true;
  }

  #hand(start: number, end: number): Uint8Array {
    const bytes = this.#bytes.subarray(start, end);
    this.readBytes += bytes.length;
    return bytes;
  }

  #isAvailable(start: number, end: number): boolean {
    const windowStart = this.#arrivedBytes - WINDOW_BYTES - this.#traits.readAheadBytes;
    return this.isRandomAccess || end <= WINDOW_BYTES || start >= windowStart;
  }

  /** Throws when a reader does not terminate: nothing else would stop it. */
  #count(): void {
    this.readCount += 1;
    if (this.readCount > this.#traits.readCountMax) throw new Error(`more than ${this.#traits.readCountMax} reads`);
    if (this.#stretchCount === 0) {
      setImmediate(() => {
        this.#stretchCount = 0;
      });
    }
    this.#stretchCount += 1;
    this.stretchCountMax = Math.max(this.stretchCountMax, this.#stretchCount);
  }
}

function checkRange(positionBytes: number, lengthBytes: number): void {
  const isSane = Number.isSafeInteger(positionBytes) && Number.isSafeInteger(lengthBytes);
  if (!isSane || positionBytes < 0 || lengthBytes < 0)
    throw new Error(`a read of ${lengthBytes} bytes at ${positionBytes}`);
}
