// Memory outside V8's heap that one track may use: tables, read-ahead, decoders. The limit is the same for playing and
// for probing, so that every probed track can be played. Audio and probe threads.

import { ByteBudget } from "../../lib/byte-budget.ts";

const LIMIT_BYTES = 64 * 1024 * 1024;
/** Ordinary tracks need a MB or two: a few with very high demand do not end them. */
const RESERVE = { ownBytes: 4 * 1024 * 1024, leftBytes: 128 * 1024 * 1024 };

/** A share of `parent`, the memory of all tracks of the thread. `owner` is named when there is too little. */
export function createTrackMemory(owner: string, parent: ByteBudget): ByteBudget {
  return new ByteBudget({ owner, limitBytes: LIMIT_BYTES, parent, reserve: RESERVE });
}
