// A part of a source as a separate source: a stream inside a chunk, such as MP3 in WAV. Audio and probe threads.

import type { ByteSource } from "../input/byte-source.ts";

/** Ends with the source it is cut out of; closing it closes that one. */
export class PartSource implements ByteSource {
  readonly sizeBytes: number | undefined;
  readonly #source: ByteSource;
  readonly #startBytes: number;
  readonly #endBytes: number;

  /** @param part.endBytes may be infinite, when the part's size is unknown */
  constructor(source: ByteSource, part: { readonly startBytes: number; readonly endBytes: number }) {
    this.#source = source;
    this.#startBytes = part.startBytes;
    this.#endBytes = Math.min(part.endBytes, source.sizeBytes ?? Number.POSITIVE_INFINITY);
    this.sizeBytes = Number.isFinite(this.#endBytes) ? Math.max(0, this.#endBytes - part.startBytes) : undefined;
  }

  get isRandomAccess(): boolean {
    return this.#source.isRandomAccess;
  }

  get isLive(): boolean | undefined {
    return this.#source.isLive;
  }

  get mimeType(): string | undefined {
    return this.#source.mimeType;
  }

  read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    const start = this.#startBytes + positionBytes;
    return this.#source.read(start, this.#lengthAt(start, lengthBytes));
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    const start = this.#startBytes + positionBytes;
    return this.#source.readBuffered(start, this.#lengthAt(start, lengthBytes));
  }

  aimReadAhead(sizeBytes: number): void {
    this.#source.aimReadAhead?.(sizeBytes);
  }

  expectEnd(): void {
    this.#source.expectEnd?.();
  }

  close(): void {
    this.#source.close();
  }

  #lengthAt(start: number, lengthBytes: number): number {
    return Math.max(0, Math.min(lengthBytes, this.#endBytes - start));
  }
}
