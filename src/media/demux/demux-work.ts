// What one container reader may take of its thread and of memory while it lives: the track's budget, with a memory
// account of its own that is settled when the reader is closed, however many readers a track needs. Audio and look-up
// threads.

import { ByteBudget } from "../../lib/byte-budget.ts";
import type { ByteSource } from "../input/byte-source.ts";
import { closedError } from "../input/read-bounds.ts";
import type { TrackBudget } from "../quota/track-budget.ts";

/** What a container reader is made of. */
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

  /** Asked once per step: true when the caller has to `await yield()` before the next. */
  get isSpent(): boolean {
    return this.#budget.isSpent;
  }

  /** Gives the thread back until it is this track's turn again. Rejects when the reader was closed meanwhile. */
  async yield(): Promise<void> {
    await this.#budget.yield();
    if (this.#isClosed) throw closedError();
  }

  /**
   * Counts memory that will be kept; call before it is allocated. `purpose` ends the sentence "needs memory for".
   * @throws NodeError "memory-exhausted", or that the reader was closed
   */
  take(sizeBytes: number, purpose: string): void {
    if (this.#isClosed) throw closedError();
    this.#memory.take(sizeBytes, purpose);
  }

  /** The same for what can be done without: false when there is no memory for it. */
  tryTake(sizeBytes: number, purpose: string): boolean {
    try {
      this.take(sizeBytes, purpose);
      return true;
    } catch {
      return false; // Said by the answer.
    }
  }

  /** Gives back part of what was taken, before the reader is closed. */
  release(sizeBytes: number): void {
    this.#memory.release(sizeBytes);
  }

  /** Gives all memory back; what still runs ends at its next turn. */
  close(): void {
    this.#isClosed = true;
    this.#memory.releaseAll();
  }
}
