// Has V8 collect what has been let go of. Tables, decoders and request bodies lie outside of its heap: a thread that
// goes on with little work would keep hundreds of megabytes of what it did a while ago, as nothing makes it look. A
// leaf, for all threads.

/** So much let go of is worth a look. */
export const WORTH_BYTES = 32 * 1024 * 1024;
/** V8 begins to mark, step by step, when this much more outside of its heap hangs on it than after the last time. */
const PRESSURE_BYTES = 64 * 1024 * 1024;

/** One per thread. Remembers the most that was in use since the last nudge, and nudges when 32 MB of it are gone. */
export class GarbageNudge {
  #highBytes = 0;

  /** Called now and then with what is in use. True when V8 has been nudged. */
  check(usedBytes: number): boolean {
    this.#highBytes = Math.max(this.#highBytes, usedBytes);
    if (this.#highBytes - usedBytes < WORTH_BYTES) return false;
    this.#highBytes = usedBytes;
    nudgeCollector();
    return true;
  }
}

/** Nothing of it is ever touched, so it takes no memory; V8 counts it all the same, and finds it among the garbage. */
export function nudgeCollector(): void {
  void new ArrayBuffer(PRESSURE_BYTES);
}
