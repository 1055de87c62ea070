// Limits how often one session may ask to be removed from its DAVE group and added again: when three times in a minute
// do not help, a new voice session may. Held by dave-membership.ts, on the audio thread.

import type { Clock } from "../../../lib/clock.ts";

const RECOVERIES_MAX = 3;
const RECOVERY_WINDOW_MS = 60_000;

export class DaveRecoveries {
  readonly #clock: Clock;
  #begunMs: number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a recovery that begins; false when there have been too many. */
  begin(): boolean {
    const nowMs = this.#clock.now();
    this.#begunMs = this.#begunMs.filter((atMs) => nowMs - atMs < RECOVERY_WINDOW_MS);
    if (this.#begunMs.length >= RECOVERIES_MAX) return false;
    this.#begunMs.push(nowMs);
    return true;
  }
}
