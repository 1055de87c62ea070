// The time of fragments, which goes on where their own times go back: files joined from several, and muxers that write 0
// into each fragment. Audio thread.

import type { FragmentSamples } from "./fragment-samples.ts";
import type { Movie } from "./movie.ts";

/** Where the length of a frame is unknown: no frame is shorter. */
const SLACK_SECONDS = 0.002;

export class FragmentClock {
  readonly #slackTicks: number;
  /** When the fragment before started; undefined where the next one starts at a known time. */
  #previousTicks: number | undefined;
  /** When the next fragment is due. */
  nextTicks: number;
  /** What its own times lack. */
  offsetTicks = 0;
  hasGoneBack = false;

  constructor({ frame, timescale, table }: Movie) {
    this.#slackTicks = frame.ticks > 0 ? frame.ticks / 2 : SLACK_SECONDS * timescale;
    this.nextTicks = table.totalTicks;
  }

  /** The fragment that is read next starts at `ticks`, whatever it says. */
  moveTo(ticks: number): void {
    this.nextTicks = ticks;
    this.offsetTicks = 0;
    this.#previousTicks = undefined;
  }

  /**
   * When the fragment starts; undefined when it has no samples of the track. Durations of the fragment before that add
   * up to somewhat more than the time up to this one do not move it: muxers round them.
   */
  enter({ startTicks, endTicks }: FragmentSamples): number | undefined {
    if (startTicks === undefined) return undefined;
    const ownTicks = startTicks + this.offsetTicks;
    const isEarly = ownTicks < this.nextTicks - this.#slackTicks;
    const lastTicks = this.#previousTicks === undefined ? 0 : this.nextTicks - this.#previousTicks;
    if (isEarly && ownTicks <= this.nextTicks - lastTicks / 2) {
      this.offsetTicks = this.nextTicks - startTicks;
      this.hasGoneBack = true;
    }
    this.nextTicks = endTicks + this.offsetTicks;
    this.#previousTicks = startTicks + this.offsetTicks;
    return this.#previousTicks;
  }
}
