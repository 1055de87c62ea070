// Time and memory that one container reader may use: the track's budget, with the reader's own memory account that is
// settled when the reader is closed, however many readers a track needs. Audio and probe threads.

import { ByteBudget } from "../../lib/byte-budget.ts";
import type { ByteSource } from "../input/byte-source.ts";
import { closedError } from "../input/read-bounds.ts";
import type { TrackBudget } from "../quota/track-budget.ts";

/** The parts that a container reader is built from. */
export interface ReaderParts {
  readonly source: ByteSource;
  readonly work: DemuxWork;
}

/** One per container reader, HLS segments included; closed with it. */
export class DemuxWork {
  readonly #budget: TrackBudget;
  readonly #memory: ByteBudget;
  #isClosed = false;

  constructor(budget: TrackBudget) {
    const { limitBytes } = budget.memory;
    this.#budget = budget;
    this.#memory = new ByteBudget({ owner: "the track", limitBytes, parent: budget.memory });
  }

  /** Read once per step: true when the caller has to `await yield()` before the next. */
  get isSpent(): boolean {
    return this.#budget.isSpent;
  }

  /** Yields the thread until this track's next time slice. Rejects when the reader was closed in between. */
  async yield(): Promise<void> {
    await this.#budget.yield();
    if (this.#isClosed) throw closedError();
  }

  /**
   * Counts memory that will be retained; call before it is allocated. `purpose` ends the sentence "needs memory for".
   * @throws NodeError "memory-exhausted", or that the reader was closed
   */
  take(sizeBytes: number, purpose: string): void {
    if (this.#isClosed) throw closedError();
    this.#memory.take(sizeBytes, purpose);
  }

  /** Like `take`, for optional memory: returns false when there is none left. */
  tryTake(sizeBytes: number, purpose: string): boolean {
    try {
      this.take(sizeBytes, purpose);
      return true;
    } catch {
      return false; // the answer reports it
    }
  }

  /** Releases part of the reserved memory before the reader is closed. */
  release(sizeBytes: number): void {
    this.#memory.release(sizeBytes);
  }

  /** Releases all memory; work still running ends at its next time slice. */
  close(): void {
    this.#isClosed = true;
    this.#memory.releaseAll();
  }
}
