// Memory for what is large and comes and goes: straight from the system, and back to it as soon as it is collected. What the C
// library hands out for it stays with the process, in holes between what is smaller and lasts. A leaf, for all threads.

/** From this size on a hole would be worth something. */
const LARGE_BYTES = 128 * 1024;

/**
 * So many bytes to be filled; they are not to be read before. Large ones come from V8's pages, as only buffers that could grow do;
 * nobody lets them.
 */
export function allocateBytes(sizeBytes: number): Uint8Array<ArrayBuffer> {
  if (sizeBytes < LARGE_BYTES) return new Uint8Array(Buffer.allocUnsafeSlow(sizeBytes).buffer);
  // ES2024, and in every Node.js that is supported; the compiler is told of ES2023.
  const buffer: ArrayBuffer = Reflect.construct(ArrayBuffer, [sizeBytes, { maxByteLength: sizeBytes }]);
  return new Uint8Array(buffer, 0, sizeBytes);
}
