// How audio workers wake the pacer: one flag for all of them, in shared memory. The pacer sleeps until the next frame
// is due, in a wait in shared memory or, with nothing to send, in its event loop. A worker that adds a frame due sooner
// signals the flag. Audio and pacer thread.

const SIGNALS = 0;
const IS_ASLEEP = 1;
const CALLS = 2;
const WAITS = 3;
const NUMBERS = 4;
const NUMBERS_BYTES = NUMBERS * Int32Array.BYTES_PER_ELEMENT;

/** Shortest sleep. */
const LATE_MS = 0.1;
const YIELD_MS = 0.1;
const NOTHING = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export class WakeUpFlag {
  readonly #numbers: Int32Array;
  /** When the pacer wakes by itself, on the clock of the deadlines; Infinity: never. */
  readonly #wakesAtMs: Float64Array;

  /** Either end, over the same WAKE_UP_FLAG_BYTES of memory. */
  constructor(memory: SharedArrayBuffer) {
    this.#numbers = new Int32Array(memory, 0, NUMBERS);
    this.#wakesAtMs = new Float64Array(memory, NUMBERS_BYTES, 1);
  }

  // A worker's side

  /** The first frame of a ring is due at `dueMs`. True: the pacer is in its event loop, and only a message wakes it. */
  signal(dueMs: number): boolean {
    Atomics.add(this.#numbers, SIGNALS, 1);
    if (dueMs >= this.#wakesAtMs[0]!) return false;
    Atomics.notify(this.#numbers, SIGNALS);
    return Atomics.compareExchange(this.#numbers, IS_ASLEEP, 1, 0) === 1;
  }

  /**
   * Yields this processor briefly if the pacer should be awake by now but has not run because all processors are busy.
   * Otherwise the pacer would wait some milliseconds until the system preempts somebody.
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

  /** How many messages have been announced. */
  get calls(): number {
    return Atomics.load(this.#numbers, CALLS);
  }

  /** How often it has been signalled; read this before checking what is due. */
  get signals(): number {
    return Atomics.load(this.#numbers, SIGNALS);
  }

  /**
   * Blocks until `wakesAtMs`, `waitMs` from now, or until a signal; returns at once if there was one after
   * `seenSignals`.
   */
  wait(seenSignals: number, wakesAtMs: number, waitMs: number): void {
    this.#wakesAtMs[0] = wakesAtMs;
    // Visible to signals from here on: without the fence a processor may check for signals before it publishes when it
    // wakes.
    Atomics.add(this.#numbers, WAITS, 1);
    Atomics.wait(this.#numbers, SIGNALS, seenSignals, waitMs);
    this.#wakesAtMs[0] = Number.NEGATIVE_INFINITY;
  }

  /** Goes to sleep until a message comes. False: there was a signal meanwhile. */
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
