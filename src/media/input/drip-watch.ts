// Tells a body that drips from one that flows: a byte now and then keeps every silence short, and nobody can hear it.
// Audio and probe threads.

import type { Clock } from "../../lib/clock.ts";

/** Silence in the thriftiest codecs takes some hundred bytes a second. */
const BYTES_MIN = 256;
const PERIOD_MS = 30_000;

/** For one body. */
export class DripWatch {
  readonly #clock: Clock;
  #sinceMs: number;
  #sizeBytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.now();
  }

  /** Notes what came, and whether somebody waits for more. True: it drips, and has done so for too long. */
  note(sizeBytes: number, { isAwaited }: { readonly isAwaited: boolean }): boolean {
    const nowMs = this.#clock.now();
    this.#sizeBytes += sizeBytes;
    if (isAwaited && this.#sizeBytes < BYTES_MIN) return nowMs - this.#sinceMs > PERIOD_MS;
    this.#sinceMs = nowMs;
    this.#sizeBytes = 0;
    return false;
  }
}
