// Waits in virtual time.

import type { Clock } from "../../src/lib/clock.ts";
import { pause } from "../../src/lib/pause.ts";

const TIMEOUT_MS = 60_000;

/** Resolves when this holds, checked every `stepMs`; rejects after a minute of `clock` naming `what`. */
export async function untilOn(clock: Clock, holds: () => boolean, what: string, stepMs = 20): Promise<void> {
  const givenUpMs = clock.now() + TIMEOUT_MS;
  while (!holds()) {
    if (clock.now() > givenUpMs) throw new Error(`no ${what} within ${TIMEOUT_MS} ms`);
    await pause(clock, stepMs);
  }
}
