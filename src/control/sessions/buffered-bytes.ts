// Bytes under way between a client and its session, counted in the session's share of the node's buffers. Main thread;
// one for the messages that a client has not read, one for a message that it has not sent to its end.

import type { ByteBudget } from "../../lib/byte-budget.ts";

/** So much is not counted: a client that reads and writes as it should never has more. */
const FREE_BYTES = 4096;

export class BufferedBytes {
  readonly #memory: ByteBudget;
  #sizeBytes = 0;
  #takenBytes = 0;

  constructor(memory: ByteBudget) {
    this.#memory = memory;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** There are so many now. False: more than there is memory for. */
  change(sizeBytes: number): boolean {
    this.#sizeBytes = sizeBytes;
    const moreBytes = Math.max(0, sizeBytes - FREE_BYTES) - this.#takenBytes;
    if (moreBytes > 0) {
      if (!this.#memory.hasCapacity(moreBytes)) return false;
      this.#memory.take(moreBytes, "messages");
    } else {
      this.#memory.release(-moreBytes);
    }
    this.#takenBytes += moreBytes;
    return true;
  }
}
