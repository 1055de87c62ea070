// The time of fragments, which goes on where their own times go back: files joined from several, and muxers that write 0
// into each fragment. Audio thread.

import type { FragmentSamples } from "./fragment-samples.ts";
import type { Movie } from "./movie.ts";

/** Where the length of a frame is unknown: no frame is shorter. */
const SLACK_SECONDS = 0.002;

export class FragmentClock {
  readonly #slackTicks: number;
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
  }

  /** When the fragment starts; undefined when it has no samples of the track. */
  enter({ startTicks, endTicks }: FragmentSamples): number | undefined {
    if (startTicks === undefined) return undefined;
    if (startTicks + this.offsetTicks < this.nextTicks - this.#slackTicks) {
      this.offsetTicks = this.nextTicks - startTicks;
      this.hasGoneBack = true;
    }
    this.nextTicks = endTicks + this.offsetTicks;
    return startTicks + this.offsetTicks;
  }
}
