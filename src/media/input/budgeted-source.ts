// A byte source that charges its reader's processing to the track's budget: a stretch ends when the reader waits for
// bytes, and a new one begins when they arrive. Wraps every source that a demuxer reads. Audio and probe threads.

import type { TrackBudget } from "../quota/track-budget.ts";
import type { ByteSource } from "./byte-source.ts";

/** As the source it stands in front of; `onClose` is called at each `close`, before the source's own. */
export class BudgetedSource implements ByteSource {
  readonly sizeBytes: number | undefined;
  readonly isRandomAccess: boolean;
  readonly #source: ByteSource;
  readonly #budget: TrackBudget;
  readonly #onClose: () => void;

  constructor(source: ByteSource, budget: TrackBudget, onClose: () => void) {
    const { sizeBytes, isRandomAccess } = source.declared ?? source;
    this.sizeBytes = sizeBytes;
    this.isRandomAccess = isRandomAccess;
    this.#source = source;
    this.#budget = budget;
    this.#onClose = onClose;
  }

  get isLive(): boolean | undefined {
    return this.#source.isLive;
  }

  get mimeType(): string | undefined {
    return this.#source.mimeType;
  }

  async read(positionBytes: number, lengthBytes: number): Promise<Uint8Array> {
    this.#budget.pause();
    try {
      return await this.#source.read(positionBytes, lengthBytes);
    } finally {
      this.#budget.resume();
    }
  }

  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
    return this.#source.readBuffered(positionBytes, lengthBytes);
  }

  aimReadAhead(sizeBytes: number): void {
    this.#source.aimReadAhead?.(sizeBytes);
  }

  expectEnd(): void {
    this.#source.expectEnd?.();
  }

  close(): void {
    this.#onClose();
    this.#source.close();
  }
}
