// A demuxer that replaces another one, because the link of a plugin's track now leads to other bytes: the track opened
// again, and moved to the reading position, while the buffered packets play on. Held by packet-reader.ts. Audio thread.

import type { Demuxer } from "../demux/demuxer.ts";
import type { TrackBudget } from "../quota/track-budget.ts";

/** A replacement stream that is this far behind when it takes over seeks once more. */
const BEHIND_MS_MAX = 1_000;

export class ReplacementStream {
  /** Resolves when it can take over; rejects with the reason why it cannot. */
  readonly ready: Promise<void>;
  readonly #soughtMs: number;
  #demuxer: Demuxer | undefined;
  #isReady = false;
  #isClosed = false;

  /**
   * @param positionMs track time up to which everything has been read
   * @param budget the track's, whose work pauses once the stream is ready
   */
  constructor(opening: Promise<Demuxer>, positionMs: number, budget: Pick<TrackBudget, "pause">) {
    this.#soughtMs = positionMs;
    this.ready = this.#prepare(opening).finally(() => budget.pause());
    // Callers that wait for it receive the error; most often nothing waits.
    this.ready.catch(() => undefined);
  }

  /** True when it can take over. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** The demuxer, the caller's from now on, at or a little before the position; undefined when it cannot go there. */
  async take(positionMs: number): Promise<Demuxer | undefined> {
    const demuxer = this.#demuxer;
    if (demuxer === undefined || !this.#isReady) return undefined;
    this.#demuxer = undefined;
    this.#isReady = false;
    if (Math.abs(positionMs - this.#soughtMs) <= BEHIND_MS_MAX) return demuxer;
    try {
      await demuxer.seek(positionMs);
      return demuxer;
    } catch (error) {
      demuxer.close();
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#isReady = false;
    this.#demuxer?.close();
    this.#demuxer = undefined;
  }

  async #prepare(opening: Promise<Demuxer>): Promise<void> {
    const demuxer = await opening;
    if (this.#isClosed) return demuxer.close();
    this.#demuxer = demuxer;
    if (demuxer.isSeekable) await demuxer.seek(this.#soughtMs);
    this.#isReady = demuxer.isSeekable && !this.#isClosed;
  }
}
