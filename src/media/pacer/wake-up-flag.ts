// How the audio workers wake the pacer: one for all of them, in shared memory. The pacer sleeps until the next frame is
// due, in a wait of its own or, with nothing to send, in its event loop; whoever puts in something that is due sooner
// rings. Audio and pacer thread.

const SIGNALS = 0;
const IS_ASLEEP = 1;
const CALLS = 2;
const WAITS = 3;
const NUMBERS = 4;
const NUMBERS_BYTES = NUMBERS * Int32Array.BYTES_PER_ELEMENT;

/** No sleep ends sooner. */
const LATE_MS = 0.1;
const YIELD_MS = 0.1;
const NOTHING = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export class WakeUpFlag {
  readonly #numbers: Int32Array;
  /** When the pacer wakes by itself, in the time of frames; Infinity: not. */
  readonly #wakesAtMs: Float64Array;

  /** Either end, over the same WAKE_UP_FLAG_BYTES of memory. */
  constructor(memory: SharedArrayBuffer) {
    this.#numbers = new Int32Array(memory, 0, NUMBERS);
    this.#wakesAtMs = new Float64Array(memory, NUMBERS_BYTES, 1);
  }

  // A worker's side

  /** Something is due at `dueMs`. True: the pacer is in its event loop, and only a message reaches it. */
  signal(dueMs: number): boolean {
    Atomics.add(this.#numbers, SIGNALS, 1);
    if (dueMs >= this.#wakesAtMs[0]!) return false;
    Atomics.notify(this.#numbers, SIGNALS);
    return Atomics.compareExchange(this.#numbers, IS_ASLEEP, 1, 0) === 1;
  }

  /**
   * Where the pacer should be awake by now and has not come to it, because others have all processors: leaves it this
   * one for a moment. Otherwise it would wait until the system takes it from somebody, some milliseconds.
   */
  yieldToPacer(nowMs: number): void {
    const lateMs = nowMs - this.#wakesAtMs[0]!;
    if (lateMs > LATE_MS && lateMs < Number.POSITIVE_INFINITY) Atomics.wait(NOTHING, 0, 0, YIELD_MS);
  }

  /**
   * A message has been sent: the pacer is to go and read it. One that is asleep reads it anyway, and may be asleep
   * again by now.
   */
  call(): void {
    Atomics.add(this.#numbers, CALLS, 1);
    Atomics.add(this.#numbers, SIGNALS, 1);
    Atomics.notify(this.#numbers, SIGNALS);
  }

  // The pacer's side

  /** How often it has been called to read messages. */
  get calls(): number {
    return Atomics.load(this.#numbers, CALLS);
  }

  /** How often it has been rung; to be read before looking for what is due. */
  get signals(): number {
    return Atomics.load(this.#numbers, SIGNALS);
  }

  /** Stands still until `wakesAtMs`, `waitMs` from now, or until somebody rings; not at all after `seenSignals`. */
  wait(seenSignals: number, wakesAtMs: number, waitMs: number): void {
    this.#wakesAtMs[0] = wakesAtMs;
    // Seen by whoever rings from here on: without it a processor may look for rings before it shows when it wakes.
    Atomics.add(this.#numbers, WAITS, 1);
    Atomics.wait(this.#numbers, SIGNALS, seenSignals, waitMs);
    this.#wakesAtMs[0] = Number.NEGATIVE_INFINITY;
  }

  /** Goes to sleep until a message comes. False: somebody has rung meanwhile. */
  sleep(seenSignals: number): boolean {
    this.#wakesAtMs[0] = Number.POSITIVE_INFINITY;
    Atomics.store(this.#numbers, IS_ASLEEP, 1);
    if (this.signals === seenSignals) return true;
    // A worker that has seen it asleep sends a message, which then finds it awake.
    Atomics.store(this.#numbers, IS_ASLEEP, 0);
    this.#wakesAtMs[0] = Number.NEGATIVE_INFINITY;
    return false;
  }
}
