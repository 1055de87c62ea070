// Distinguishes a body that drips from one that flows: a byte now and then prevents every timeout, but is too slow to
// play. Audio and probe threads.

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

  /** Notes received bytes, and whether a reader waits for more. True: the body has dripped for too long. */
  note(sizeBytes: number, { isAwaited }: { readonly isAwaited: boolean }): boolean {
    const nowMs = this.#clock.now();
    this.#sizeBytes += sizeBytes;
    if (isAwaited && this.#sizeBytes < BYTES_MIN) return nowMs - this.#sinceMs > PERIOD_MS;
    this.#sinceMs = nowMs;
    this.#sizeBytes = 0;
    return false;
  }
}
