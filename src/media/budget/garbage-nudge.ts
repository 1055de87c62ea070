// Has V8 collect what tracks have let go of. Tables and decoders lie outside of its heap: a thread that goes on with little
// work would keep hundreds of megabytes of those of yesterday's tracks, as nothing makes it look. Audio thread.

/** So much given back is worth a look. */
const FALL_BYTES = 32 * 1024 * 1024;
/** V8 begins to mark, step by step, when this much more outside of its heap hangs on it than after the last time. */
const PRESSURE_BYTES = 64 * 1024 * 1024;

export class GarbageNudge {
  #highBytes = 0;

  /** Called now and then with what is in use. True when V8 has been nudged. */
  look(usedBytes: number): boolean {
    this.#highBytes = Math.max(this.#highBytes, usedBytes);
    if (this.#highBytes - usedBytes < FALL_BYTES) return false;
    this.#highBytes = usedBytes;
    press();
    return true;
  }
}

/** Nothing of it is ever touched, so it takes no memory; V8 counts it all the same, and finds it among the garbage. */
function press(): void {
  void new ArrayBuffer(PRESSURE_BYTES);
}
