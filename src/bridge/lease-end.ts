// Until when this machine may send sound, as a member of a cluster, in shared memory. The main thread writes it with
// each renewal of the machine's lease, and the pacer reads it before each packet: a process that stood still, or whose
// main thread did, may find that other machines have taken its players over. Main and pacer thread.

const LIFE = 0;
const UNTIL_AT = Float64Array.BYTES_PER_ELEMENT;
const MEMORY_BYTES = 2 * Float64Array.BYTES_PER_ELEMENT;

/**
 * Both ends, over the same memory. All times are of the clock that all threads share. Nothing may be sent before the
 * first `extend`.
 */
export class LeaseEnd {
  readonly memory: SharedArrayBuffer;
  readonly #life: Int32Array;
  readonly #untilMs: Float64Array;

  /** Without memory it makes its own. */
  constructor(memory?: SharedArrayBuffer) {
    this.memory = memory ?? new SharedArrayBuffer(MEMORY_BYTES);
    this.#life = new Int32Array(this.memory, 0, 1);
    this.#untilMs = new Float64Array(this.memory, UNTIL_AT, 1);
    if (memory === undefined) this.#untilMs[0] = Number.NEGATIVE_INFINITY;
  }

  // The main thread's side

  /** The lease lasts until then, if it is not renewed. */
  extend(untilMs: number): void {
    this.#untilMs[0] = untilMs;
  }

  /** The lease is over, for good: what was begun under it sends nothing any more, also under the next lease. */
  end(): void {
    Atomics.add(this.#life, LIFE, 1);
    this.#untilMs[0] = Number.NEGATIVE_INFINITY;
  }

  // The pacer's side; costs some nanoseconds.

  /** The number of the current lease, for what begins under it. */
  get life(): number {
    return Atomics.load(this.#life, LIFE);
  }

  /** What was begun under that lease may send at that time. */
  isBefore(nowMs: number, life: number): boolean {
    // The time first: that of the next lease is written after the number has changed.
    const isEarlier = nowMs < this.#untilMs[0]!;
    return isEarlier && this.life === life;
  }
}
