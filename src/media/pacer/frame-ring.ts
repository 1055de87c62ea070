// The finished frames of one voice session that have not left yet, each with the moment at which it is due. An audio
// worker puts them in, up to RING_FRAMES ahead, and may take the newest back; the pacer takes the oldest out. Over
// shared memory when these are two threads: a slot's state says whose it is, and nobody waits for anybody. Audio and
// pacer thread.

/** More than are ever made ahead. */
export const RING_FRAMES = 8;
/** Opus at its largest (1275) plus 16 for DAVE, rounded up; keeps packets below any usual MTU. */
export const PAYLOAD_BYTES_MAX = 1296;

// A slot is the writer's while it is empty, and the reader's while it is taken; a ready one is whose who asks first.
const EMPTY = 0;
const READY = 1;
const TAKEN = 2;

const STATES_BYTES = RING_FRAMES * Int32Array.BYTES_PER_ELEMENT;
const SIZES_BYTES = RING_FRAMES * Int32Array.BYTES_PER_ELEMENT;
const DUES_AT = STATES_BYTES + SIZES_BYTES;
const FRAMES_AT = DUES_AT + RING_FRAMES * Float64Array.BYTES_PER_ELEMENT;
const RING_BYTES = FRAMES_AT + RING_FRAMES * PAYLOAD_BYTES_MAX;

/** The parts of the memory, seen from either end. */
class RingMemory {
  readonly states: Int32Array;
  readonly sizes: Int32Array;
  readonly duesMs: Float64Array;
  readonly frames: readonly Buffer[];

  constructor(memory: ArrayBufferLike) {
    this.states = new Int32Array(memory, 0, RING_FRAMES);
    this.sizes = new Int32Array(memory, STATES_BYTES, RING_FRAMES);
    this.duesMs = new Float64Array(memory, DUES_AT, RING_FRAMES);
    this.frames = Array.from({ length: RING_FRAMES }, (_, slot) =>
      Buffer.from(memory, FRAMES_AT + slot * PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX),
    );
  }
}

/** The end that frames are put into. Takes and gives times of one clock, whichever. */
export class FrameRingWriter {
  /** For the other end. */
  readonly memory = new SharedArrayBuffer(RING_BYTES);
  readonly #ring = new RingMemory(this.memory);
  #next = 0;

  /** Everything has left, or was taken back. */
  get isEmpty(): boolean {
    const newest = (this.#next + RING_FRAMES - 1) % RING_FRAMES;
    return Atomics.load(this.#ring.states, newest) === EMPTY;
  }

  /** There is no room for another frame: the pacer is late by more than there is room for. */
  get isFull(): boolean {
    return Atomics.load(this.#ring.states, this.#next) !== EMPTY;
  }

  /** Copies a frame in, of PAYLOAD_BYTES_MAX at most. False when there is no room. */
  put(frame: Uint8Array, dueMs: number): boolean {
    const { frames, sizes, duesMs, states } = this.#ring;
    const slot = this.#next;
    if (Atomics.load(states, slot) !== EMPTY) return false;
    frames[slot]!.set(frame);
    sizes[slot] = frame.length;
    duesMs[slot] = dueMs;
    Atomics.store(states, slot, READY);
    this.#next = (slot + 1) % RING_FRAMES;
    return true;
  }

  /** Takes the newest frames back, `countMax` of them at most: they never leave. Returns how many were still there. */
  revoke(countMax: number): number {
    let count = 0;
    while (count < countMax) {
      const slot = (this.#next + RING_FRAMES - 1) % RING_FRAMES;
      if (Atomics.compareExchange(this.#ring.states, slot, READY, EMPTY) !== READY) break;
      this.#next = slot;
      count += 1;
    }
    return count;
  }
}

/** The end that frames leave from, over a writer's memory. */
export class FrameRingReader {
  readonly #ring: RingMemory;
  #next = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#ring = new RingMemory(memory);
  }

  /** When the oldest frame is due; Infinity without one. */
  get dueMs(): number {
    const isReady = Atomics.load(this.#ring.states, this.#next) === READY;
    return isReady ? this.#ring.duesMs[this.#next]! : Number.POSITIVE_INFINITY;
  }

  /**
   * The oldest frame, now the reader's until `release` or `putBack`, one of which has to come before the next call;
   * undefined when there is none (any more). `takenDueMs` says when it is due: it may be another than `dueMs` spoke of.
   */
  take(): Uint8Array | undefined {
    const { states, frames, sizes } = this.#ring;
    const slot = this.#next;
    if (Atomics.compareExchange(states, slot, READY, TAKEN) !== READY) return undefined;
    return frames[slot]!.subarray(0, sizes[slot]);
  }

  /** Of the frame that `take` has given. */
  get takenDueMs(): number {
    return this.#ring.duesMs[this.#next]!;
  }

  /** The frame lies where it lay, ready. */
  putBack(): void {
    Atomics.store(this.#ring.states, this.#next, READY);
  }

  /** Gives the slot back. */
  release(): void {
    Atomics.store(this.#ring.states, this.#next, EMPTY);
    this.#next = (this.#next + 1) % RING_FRAMES;
  }
}
