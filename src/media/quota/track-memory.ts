// How much one track may keep outside of V8's heap: tables, read-ahead, decoders. The same where it plays and where it
// is looked up, or what was found could not be played. Audio and probe threads.

import { ByteBudget } from "../../lib/byte-budget.ts";

const LIMIT_BYTES = 64 * 1024 * 1024;
/** Ordinary tracks need a MB or two: a few that want very much do not end them. */
const RESERVE = { ownBytes: 4 * 1024 * 1024, leftBytes: 128 * 1024 * 1024 };

/** A share of `parent`, which is that of all tracks of the thread. `owner` is named when there is too little. */
export function createTrackMemory(owner: string, parent: ByteBudget): ByteBudget {
  return new ByteBudget({ owner, limitBytes: LIMIT_BYTES, parent, reserve: RESERVE });
}
