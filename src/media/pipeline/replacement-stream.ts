// A demuxer that is to take another one's place, because the link of a site's track has come to lead to other bytes:
// the track opened anew, and brought to where reading was, while what was read ahead plays on. Held by
// packet-reader.ts. Audio thread.

import type { Demuxer } from "../demux/demuxer.ts";
import type { TrackBudget } from "../quota/track-budget.ts";

/** A successor that is so far behind when it takes over is sought once more. */
const BEHIND_MS_MAX = 1_000;

export class ReplacementStream {
  /** Resolves when it can take over; rejects with why it cannot. */
  readonly ready: Promise<void>;
  readonly #soughtMs: number;
  #demuxer: Demuxer | undefined;
  #isReady = false;
  #isClosed = false;

  /**
   * @param positionMs track time up to which all has been read
   * @param budget the track's, whose work is over for now once it is ready
   */
  constructor(opening: Promise<Demuxer>, positionMs: number, budget: Pick<TrackBudget, "pause">) {
    this.#soughtMs = positionMs;
    this.ready = this.#prepare(opening).finally(() => budget.pause());
    // Whoever waits for it is told; most often nobody has to.
    this.ready.catch(() => undefined);
  }

  /** True: it can be taken. */
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
