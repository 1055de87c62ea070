// The part of a body that is held in memory: received chunks in order, dropped from the front once the reader has
// passed them by more than a margin. Its bytes are reserved from the track's memory. Audio thread.

import type { ByteBudget } from "../../lib/byte-budget.ts";

/** Smaller pieces are gathered in blocks of this size: a site may send its bytes one at a time. */
const BLOCK_BYTES = 16 * 1024;
/** From this size on a chunk is kept without copying, if it does not keep a larger buffer alive. */
const OWN_CHUNK_BYTES_MIN = 4 * 1024;

interface Chunk {
  readonly startBytes: number;
  /** A block may have space after `sizeBytes`; the bytes before are never written again. */
  readonly data: Uint8Array;
  sizeBytes: number;
}

/** Contiguous bytes from `startBytes` up to `endBytes`. Reads within one chunk are views and copy nothing. */
export class ByteWindow {
  readonly #memory: Pick<ByteBudget, "take" | "release">;
  readonly #purpose: string;
  #chunks: Chunk[] = [];
  #startBytes = 0;
  #endBytes = 0;

  /** `purpose` ends the sentence "needs memory for". */
  constructor(memory: Pick<ByteBudget, "take" | "release">, purpose = "what it reads ahead") {
    this.#memory = memory;
    this.#purpose = purpose;
  }

  /** Position of the first byte held. */
  get startBytes(): number {
    return this.#startBytes;
  }

  /** Position behind the last one; where the next piece belongs. */
  get endBytes(): number {
    return this.#endBytes;
  }

  /** In how many pieces the bytes are held. */
  get chunkCount(): number {
    return this.#chunks.length;
  }

  /** Empties the window; the next chunk belongs at `positionBytes`. */
  reset(positionBytes: number): void {
    this.#drop(this.#chunks.length);
    this.#startBytes = positionBytes;
    this.#endBytes = positionBytes;
  }

  /**
   * Adds what follows. `data` must not be written again.
   * @throws NodeError "memory-exhausted"
   */
  append(data: Uint8Array): void {
    // A piece of a much larger buffer would keep all of that alive.
    if (data.length >= OWN_CHUNK_BYTES_MIN && data.length * 2 >= data.buffer.byteLength) {
      this.#addChunk(data, data.length);
      return;
    }
    for (let at = 0; at < data.length; ) at += this.#copy(data.subarray(at));
  }

  /** Drops whole chunks that end at or before `positionBytes`. */
  dropBefore(positionBytes: number): void {
    let count = 0;
    while (count < this.#chunks.length) {
      const chunk = this.#chunks[count]!;
      if (chunk.startBytes + chunk.sizeBytes > positionBytes) break;
      count++;
    }
    if (count === 0) return;
    this.#drop(count);
    this.#startBytes = this.#chunks[0]?.startBytes ?? this.#endBytes;
  }

  /** These bytes, or undefined when not all of them are here. */
  read(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    if (positionBytes < this.#startBytes || positionBytes + lengthBytes > this.#endBytes) return undefined;
    if (lengthBytes === 0) return new Uint8Array(0);
    let index = this.#indexOf(positionBytes);
    const chunk = this.#chunks[index]!;
    const offset = positionBytes - chunk.startBytes;
    if (offset + lengthBytes <= chunk.sizeBytes) return chunk.data.subarray(offset, offset + lengthBytes);
    const result = new Uint8Array(lengthBytes);
    for (let filled = 0; filled < lengthBytes; index++) {
      const { data, startBytes, sizeBytes } = this.#chunks[index]!;
      const from = positionBytes + filled - startBytes;
      const part = data.subarray(from, Math.min(sizeBytes, from + lengthBytes - filled));
      result.set(part, filled);
      filled += part.length;
    }
    return result;
  }

  /** Puts as much of it as fits into the last block, a new one where that is full, and answers how much that was. */
  #copy(data: Uint8Array): number {
    let block = this.#chunks.at(-1);
    if (block === undefined || block.sizeBytes === block.data.length) {
      block = this.#addChunk(new Uint8Array(BLOCK_BYTES), 0);
    }
    const part = data.subarray(0, block.data.length - block.sizeBytes);
    block.data.set(part, block.sizeBytes);
    block.sizeBytes += part.length;
    this.#endBytes += part.length;
    return part.length;
  }

  #addChunk(data: Uint8Array, sizeBytes: number): Chunk {
    this.#memory.take(data.length, this.#purpose);
    const chunk = { startBytes: this.#endBytes, data, sizeBytes };
    this.#chunks.push(chunk);
    this.#endBytes += sizeBytes;
    return chunk;
  }

  #drop(count: number): void {
    for (const { data } of this.#chunks.splice(0, count)) this.#memory.release(data.length);
  }

  /** Index of the chunk that holds the byte at `positionBytes`, which lies within the window. */
  #indexOf(positionBytes: number): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#chunks[middle]!.startBytes <= positionBytes) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
