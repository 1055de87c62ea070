// Memory for large, short-lived data: allocated directly from the system, and returned to it when it is collected.
// Memory that the C library allocates for it stays with the process, in gaps between smaller, longer-lived blocks. Has
// no domain knowledge; all threads.

/** From this size on a hole would be worth something. */
const LARGE_BYTES = 128 * 1024;

/**
 * Returns this many bytes, uninitialized: they must be written before they are read. Large buffers use V8's pages, as
 * only resizable buffers do; they are never resized.
 */
export function allocateBytes(sizeBytes: number): Uint8Array<ArrayBuffer> {
  if (sizeBytes < LARGE_BYTES) return new Uint8Array(Buffer.allocUnsafeSlow(sizeBytes).buffer);
  // ES2024, available in every supported Node.js; the compiler's library is set to ES2023.
  const buffer: ArrayBuffer = Reflect.construct(ArrayBuffer, [sizeBytes, { maxByteLength: sizeBytes }]);
  return new Uint8Array(buffer, 0, sizeBytes);
}

/**
 * Collects data that arrives in pieces into one buffer, with as little memory as there are bytes and without copying
 * them to grow.
 */
export class GrowingBytes {
  readonly #buffer: ArrayBuffer & { resize(byteLength: number): void };
  #sizeBytes = 0;

  /** Throws a `RangeError` when more than `sizeMaxBytes` are appended. */
  constructor(sizeMaxBytes: number) {
    this.#buffer = Reflect.construct(ArrayBuffer, [0, { maxByteLength: sizeMaxBytes }]);
  }

  /** Copies `bytes` to the end. */
  append(bytes: Uint8Array): void {
    const sizeBytes = this.#sizeBytes + bytes.length;
    this.#buffer.resize(sizeBytes);
    new Uint8Array(this.#buffer, this.#sizeBytes).set(bytes);
    this.#sizeBytes = sizeBytes;
  }

  /** Decodes the bytes as UTF-8; invalid sequences are replaced. */
  toString(): string {
    return Buffer.from(this.#buffer).toString();
  }
}
