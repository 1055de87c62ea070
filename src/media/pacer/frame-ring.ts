// The finished frames of one voice session that have not been sent yet, each with its deadline. An audio worker puts
// them in, up to RING_FRAMES ahead, and may revoke the newest; the pacer takes the oldest. The memory is shared when
// these are two threads: the state of a slot says who owns it, and neither side waits. Audio and pacer thread.

/** More than the largest look-ahead. */
export const RING_FRAMES = 10;
/** Opus at its largest (1275) plus 16 for DAVE, rounded up; keeps packets below any usual MTU. */
export const PAYLOAD_BYTES_MAX = 1296;

// The writer owns a slot while it is empty, the reader while it is taken; a ready slot goes to the first to claim it.
const EMPTY = 0;
const READY = 1;
const TAKEN = 2;

const STATES_BYTES = RING_FRAMES * Int32Array.BYTES_PER_ELEMENT;
const SIZES_BYTES = RING_FRAMES * Int32Array.BYTES_PER_ELEMENT;
const DUES_AT = STATES_BYTES + SIZES_BYTES;
const FRAMES_AT = DUES_AT + RING_FRAMES * Float64Array.BYTES_PER_ELEMENT;
const RING_BYTES = FRAMES_AT + RING_FRAMES * PAYLOAD_BYTES_MAX;

/** The parts of the memory, as both ends use them. */
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

/** The end that frames are put into. All times are of one clock, whichever. */
export class FrameRingWriter {
  /** Shared with the other end. */
  readonly memory = new SharedArrayBuffer(RING_BYTES);
  readonly #ring = new RingMemory(this.memory);
  #next = 0;

  /** Every frame has been sent or revoked. */
  get isEmpty(): boolean {
    return Atomics.load(this.#ring.states, slotBefore(this.#next)) === EMPTY;
  }

  /** No space for another frame: the pacer is late by more than the ring holds. */
  get isFull(): boolean {
    return Atomics.load(this.#ring.states, this.#next) !== EMPTY;
  }

  /**
   * Copies in a frame of at most PAYLOAD_BYTES_MAX. "behind": a frame that the reader has not released lies before it,
   * and the reader finds this one when it releases that. "first": the reader may have seen the ring empty. "full":
   * there was no space.
   */
  put(frame: Uint8Array, dueMs: number): "behind" | "first" | "full" {
    const { frames, sizes, duesMs, states } = this.#ring;
    const slot = this.#next;
    if (Atomics.load(states, slot) !== EMPTY) return "full";
    frames[slot]!.set(frame);
    sizes[slot] = frame.length;
    duesMs[slot] = dueMs;
    Atomics.store(states, slot, READY);
    this.#next = (slot + 1) % RING_FRAMES;
    // Only now: the reader releases a slot before it looks into the next one, so that one of the two sees the other.
    return Atomics.load(states, slotBefore(slot)) === EMPTY ? "first" : "behind";
  }

  /** Revokes at most `countMax` of the newest frames, which are then never sent. Returns how many were revoked. */
  revoke(countMax: number): number {
    let count = 0;
    while (count < countMax) {
      const slot = slotBefore(this.#next);
      if (Atomics.compareExchange(this.#ring.states, slot, READY, EMPTY) !== READY) break;
      this.#next = slot;
      count += 1;
    }
    return count;
  }
}

/** The end that frames are taken from, over a writer's memory. */
export class FrameRingReader {
  readonly #ring: RingMemory;
  #next = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#ring = new RingMemory(memory);
  }

  /** Deadline of the oldest frame; Infinity without one. */
  get dueMs(): number {
    const isReady = Atomics.load(this.#ring.states, this.#next) === READY;
    return isReady ? this.#ring.duesMs[this.#next]! : Number.POSITIVE_INFINITY;
  }

  /**
   * Takes the oldest frame, which the reader owns until `release` or `putBack`; one of them must be called before the
   * next `take`. Undefined when there is no frame (any more). `takenDueMs` is its deadline, which may differ from the
   * `dueMs` read before.
   */
  take(): Uint8Array | undefined {
    const { states, frames, sizes } = this.#ring;
    const slot = this.#next;
    if (Atomics.compareExchange(states, slot, READY, TAKEN) !== READY) return undefined;
    return frames[slot]!.subarray(0, sizes[slot]);
  }

  /** Deadline of the frame that `take` returned. */
  get takenDueMs(): number {
    return this.#ring.duesMs[this.#next]!;
  }

  /** Leaves the frame in its slot, ready. */
  putBack(): void {
    Atomics.store(this.#ring.states, this.#next, READY);
  }

  /** Empties the slot. */
  release(): void {
    Atomics.store(this.#ring.states, this.#next, EMPTY);
    this.#next = (this.#next + 1) % RING_FRAMES;
  }
}

function slotBefore(slot: number): number {
  return slot === 0 ? RING_FRAMES - 1 : slot - 1;
}
