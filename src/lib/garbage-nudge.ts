// Makes V8 collect garbage after large releases. Tables, decoders and request bodies lie outside of V8's heap: a thread
// with little work would keep hundreds of megabytes of earlier work, because nothing triggers a collection. Has no
// domain knowledge; all threads.

/** The released amount that is worth a collection. */
const WORTH_BYTES = 32 * 1024 * 1024;
/** V8 starts incremental marking when external memory has grown by this much since the last collection. */
const PRESSURE_BYTES = 64 * 1024 * 1024;

/**
 * One per thread. Remembers the maximum in use since the last nudge, and nudges when 32 MB of it have been released.
 */
export class GarbageNudge {
  #highBytes = 0;

  /** Called regularly with the number of bytes in use. Returns true when it has nudged V8. */
  check(usedBytes: number): boolean {
    this.#highBytes = Math.max(this.#highBytes, usedBytes);
    const releasedBytes = this.#highBytes - usedBytes;
    if (releasedBytes < WORTH_BYTES) return false;
    this.#highBytes = usedBytes;
    nudgeCollector(releasedBytes);
    return true;
  }
}

/**
 * The buffer is never touched, so it takes no memory; V8 counts it all the same, and then finds it to be garbage. Of
 * what was released since the last collection, up to `releasedBytes` of external memory are made up for.
 */
export function nudgeCollector(releasedBytes = 0): void {
  void new ArrayBuffer(PRESSURE_BYTES + releasedBytes);
}
