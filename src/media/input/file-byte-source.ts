// A local file as a byte source: read in blocks, the next one always a step ahead, so packets come without waiting.
// Audio thread.

import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { NodeError } from "../../errors.ts";
import type { ByteSource } from "./byte-source.ts";
import { closedError, READ_BYTES_MAX, readTooLargeError } from "./read-bounds.ts";

const BLOCK_BYTES = 64 * 1024;
/** The block in use, the next one, and two for readers that go back and forth (an index at the end, headers). */
const BLOCKS_MAX = 4;

/** A block that is loaded or being loaded. */
interface Block {
  readonly loading: Promise<Uint8Array>;
  data: Uint8Array | undefined;
}

export class FileByteSource implements ByteSource {
  readonly sizeBytes: number;
  readonly version: string;
  readonly isRandomAccess = true;
  readonly mimeType = undefined;
  readonly #handle: FileHandle;
  /** By block number, least recently used first. */
  readonly #blocks = new Map<number, Block>();
  /** Reads that still use the handle; it is closed when they are through. */
  #readsInFlight = 0;
  #isClosed = false;

  private constructor(handle: FileHandle, { size, mtimeMs, ino }: Pick<Stats, "size" | "mtimeMs" | "ino">) {
    this.#handle = handle;
    this.sizeBytes = size;
    this.version = `${mtimeMs} ${ino}`;
  }

  /** Takes the handle over. */
  static async open(handle: FileHandle): Promise<FileByteSource> {
    return new FileByteSource(handle, await handle.stat());
  }

  async read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    const neededBytes = this.#clamp(positionBytes, lengthBytes);
    if (neededBytes > READ_BYTES_MAX) throw readTooLargeError(neededBytes);
    const parts: Uint8Array[] = [];
    for (let filled = 0; filled < neededBytes; ) {
      if (this.#isClosed) throw closedError();
      const at = positionBytes + filled;
      const index = Math.floor(at / BLOCK_BYTES);
      const data = await this.#load(index).loading;
      const part = data.subarray(at - index * BLOCK_BYTES, at - index * BLOCK_BYTES + neededBytes - filled);
      // The file has been truncated: treat this as its end.
      if (part.length === 0) break;
      parts.push(part);
      filled += part.length;
    }
    if (this.#isClosed) throw closedError();
    this.#loadAhead(positionBytes + neededBytes);
    return joinParts(parts);
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    if (this.#isClosed) return undefined;
    const neededBytes = this.#clamp(positionBytes, lengthBytes);
    if (neededBytes === 0) return new Uint8Array(0);
    const firstIndex = Math.floor(positionBytes / BLOCK_BYTES);
    const lastIndex = Math.floor((positionBytes + neededBytes - 1) / BLOCK_BYTES);
    if (lastIndex - firstIndex >= BLOCKS_MAX) return undefined;
    const parts: Uint8Array[] = [];
    let missingBytes = neededBytes;
    for (let index = firstIndex; index <= lastIndex; index++) {
      const data = this.#blocks.get(index)?.data;
      if (data === undefined) return undefined;
      const from = index === firstIndex ? positionBytes - index * BLOCK_BYTES : 0;
      const part = data.subarray(from, from + missingBytes);
      parts.push(part);
      missingBytes -= part.length;
    }
    if (missingBytes > 0) return undefined;
    this.#loadAhead(positionBytes + neededBytes);
    return joinParts(parts);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#blocks.clear();
    this.#closeHandleWhenUnused();
  }

  #clamp(positionBytes: number, lengthBytes: number): number {
    return Math.max(0, Math.min(lengthBytes, this.sizeBytes - positionBytes));
  }

  #loadAhead(positionBytes: number): void {
    const index = Math.floor(positionBytes / BLOCK_BYTES);
    for (const requested of [index, index + 1]) {
      // A failure is met again, and reported, by the read that needs the block.
      if (requested * BLOCK_BYTES < this.sizeBytes) this.#load(requested).loading.catch(() => undefined);
    }
  }

  #load(index: number): Block {
    let block = this.#blocks.get(index);
    if (block === undefined) {
      const started: Block = { loading: this.#readBlock(index), data: undefined };
      block = started;
      started.loading.then(
        (data) => {
          started.data = data;
        },
        () => {
          if (this.#blocks.get(index) === started) this.#blocks.delete(index);
        },
      );
    }
    this.#blocks.delete(index);
    this.#blocks.set(index, block);
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= BLOCKS_MAX) break;
      this.#blocks.delete(oldest);
    }
    return block;
  }

  async #readBlock(index: number): Promise<Uint8Array> {
    const buffer = new Uint8Array(Math.min(BLOCK_BYTES, this.sizeBytes - index * BLOCK_BYTES));
    this.#readsInFlight++;
    try {
      let filled = 0;
      while (filled < buffer.length) {
        const position = index * BLOCK_BYTES + filled;
        const { bytesRead } = await this.#handle.read(buffer, filled, buffer.length - filled, position);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return buffer.subarray(0, filled);
    } catch (error) {
      throw new NodeError("input-interrupted", "reading a local file failed", { cause: error });
    } finally {
      this.#readsInFlight--;
      if (this.#isClosed) this.#closeHandleWhenUnused();
    }
  }

  #closeHandleWhenUnused(): void {
    // Closing a file that was only read cannot lose anything.
    if (this.#readsInFlight === 0) this.#handle.close().catch(() => undefined);
  }
}

function joinParts(parts: readonly Uint8Array[]): Uint8Array {
  const [first, second] = parts;
  if (first === undefined) return new Uint8Array(0);
  if (second === undefined) return first;
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let filled = 0;
  for (const part of parts) {
    result.set(part, filled);
    filled += part.length;
  }
  return result;
}
