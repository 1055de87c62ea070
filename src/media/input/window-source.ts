// Bytes that are all in memory, such as an HLS segment, as a byte source over the received pieces. Audio thread.

import type { ByteSource } from "./byte-source.ts";
import type { ByteWindow } from "./byte-window.ts";
import { closedError } from "./read-bounds.ts";

/** Never waits: a read behind the end gives nothing, any read after `close` rejects with "input-closed". */
export class WindowSource implements ByteSource {
  readonly isRandomAccess = true;
  readonly mimeType: string | undefined;
  readonly #window: ByteWindow;
  readonly #firstBytes: number;
  #isClosed = false;

  /**
   * Takes the window over, and gives its memory back when closed.
   * @param options.firstBytes where in the window the source begins
   */
  constructor(window: ByteWindow, options: { readonly firstBytes: number; readonly mimeType: string | undefined }) {
    this.#window = window;
    this.#firstBytes = Math.min(options.firstBytes, window.endBytes);
    this.mimeType = options.mimeType;
  }

  get sizeBytes(): number {
    return this.#isClosed ? 0 : this.#window.endBytes - this.#firstBytes;
  }

  async read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    const data = this.readBuffered(positionBytes, lengthBytes);
    if (data === undefined) throw closedError();
    return data;
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    if (this.#isClosed) return undefined;
    const neededBytes = Math.max(0, Math.min(lengthBytes, this.sizeBytes - positionBytes));
    return neededBytes === 0 ? new Uint8Array(0) : this.#window.read(this.#firstBytes + positionBytes, neededBytes);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#window.reset(0);
  }
}
