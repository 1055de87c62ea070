// The stretch of a body that is held in memory: received chunks in order, thrown away from the front once the reader has
// passed them by more than a margin. Audio thread.

/** Contiguous bytes from `startBytes` up to `endBytes`. Reads within one chunk are views and copy nothing. */
export class ByteWindow {
  #chunks: { readonly startBytes: number; readonly data: Uint8Array }[] = [];
  #startBytes = 0;
  #endBytes = 0;

  get startBytes(): number {
    return this.#startBytes;
  }

  get endBytes(): number {
    return this.#endBytes;
  }

  /** Empties the window; the next chunk belongs at `positionBytes`. */
  reset(positionBytes: number): void {
    this.#chunks = [];
    this.#startBytes = positionBytes;
    this.#endBytes = positionBytes;
  }

  /** Adds what follows. `data` must not be written again. */
  append(data: Uint8Array): void {
    if (data.length === 0) return;
    this.#chunks.push({ startBytes: this.#endBytes, data });
    this.#endBytes += data.length;
  }

  /** Drops whole chunks that end at or before `positionBytes`. */
  dropBefore(positionBytes: number): void {
    let count = 0;
    while (count < this.#chunks.length) {
      const chunk = this.#chunks[count]!;
      if (chunk.startBytes + chunk.data.length > positionBytes) break;
      count++;
    }
    if (count === 0) return;
    this.#chunks.splice(0, count);
    this.#startBytes = this.#chunks[0]?.startBytes ?? this.#endBytes;
  }

  /** These bytes, or undefined when not all of them are here. */
  read(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    if (positionBytes < this.#startBytes || positionBytes + lengthBytes > this.#endBytes) return undefined;
    if (lengthBytes === 0) return new Uint8Array(0);
    let index = this.#indexOf(positionBytes);
    const chunk = this.#chunks[index]!;
    const offset = positionBytes - chunk.startBytes;
    if (offset + lengthBytes <= chunk.data.length) return chunk.data.subarray(offset, offset + lengthBytes);
    const result = new Uint8Array(lengthBytes);
    for (let filled = 0; filled < lengthBytes; index++) {
      const { data, startBytes } = this.#chunks[index]!;
      const from = positionBytes + filled - startBytes;
      const part = data.subarray(from, from + lengthBytes - filled);
      result.set(part, filled);
      filled += part.length;
    }
    return result;
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
