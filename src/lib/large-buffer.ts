// Memory for what is large and comes and goes: straight from the system, and back to it as soon as it is collected.
// What the C library hands out for it stays with the process, in holes between what is smaller and lasts. A leaf, for
// all threads.

/** From this size on a hole would be worth something. */
const LARGE_BYTES = 128 * 1024;

/**
 * So many bytes to be filled; they are not to be read before. Large ones come from V8's pages, as only buffers that
 * could grow do; nobody lets them.
 */
export function allocateBytes(sizeBytes: number): Uint8Array<ArrayBuffer> {
  if (sizeBytes < LARGE_BYTES) return new Uint8Array(Buffer.allocUnsafeSlow(sizeBytes).buffer);
  // ES2024, and in every Node.js that is supported; the compiler is told of ES2023.
  const buffer: ArrayBuffer = Reflect.construct(ArrayBuffer, [sizeBytes, { maxByteLength: sizeBytes }]);
  return new Uint8Array(buffer, 0, sizeBytes);
}

/**
 * What arrives piece by piece, in one place: as little memory as there are bytes, and none that is copied again to
 * grow.
 */
export class GrowingBytes {
  readonly #buffer: ArrayBuffer & { resize(byteLength: number): void };
  #sizeBytes = 0;

  /** Throws a `RangeError` when more than `sizeMaxBytes` are appended. */
  constructor(sizeMaxBytes: number) {
    this.#buffer = Reflect.construct(ArrayBuffer, [0, { maxByteLength: sizeMaxBytes }]);
  }

  /** Copies the bytes behind those that are there. */
  append(bytes: Uint8Array): void {
    const sizeBytes = this.#sizeBytes + bytes.length;
    this.#buffer.resize(sizeBytes);
    new Uint8Array(this.#buffer, this.#sizeBytes).set(bytes);
    this.#sizeBytes = sizeBytes;
  }

  /** As UTF-8; what is none of it is replaced. */
  toString(): string {
    return Buffer.from(this.#buffer).toString();
  }
}
