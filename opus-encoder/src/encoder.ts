// One stream to Opus packets of 20 ms, with the state of its encoder. Synchronous.

import type { FrameHead } from "./frame-head.ts";
import { compileWarmOpusEncoder, OpusEncoderKernel } from "./kernel.ts";
import {
  BITRATE_BPS_MAX,
  BITRATE_BPS_MIN,
  FRAME_SAMPLES,
  PACKET_BYTES_MAX,
  PERIOD_MAX,
  PERIOD_MIN,
} from "./numbers.ts";

/** Limits of a head, beside those of its period. */
const GAIN_STEP_MAX = 7;
const TAPS_MAX = 2;

/** Settings of one stream; there is one complexity. */
export interface OpusEncoderOptions {
  /** 6000 to 510000; values outside are clamped. */
  readonly bitrateBps: number;
  /** Default 2. With 1, only the left side is encoded. */
  readonly channelCount?: 1 | 2;
  /** Packets vary in size around the bit rate (default), or all have the same. */
  readonly isVariable?: boolean;
}

/** Encodes one continuous stream at 48 kHz. The decoded audio is `ENCODER_DELAY_SAMPLES` later than the input. */
export class OpusEncoder {
  readonly #kernel: OpusEncoderKernel;
  readonly #settings: { readonly bitrateBps: number; readonly isVariable: boolean };
  readonly #channelCount: 1 | 2;
  /** The state in its slot; empty, as any view, when the memory has grown since. */
  #state: Uint8Array = new Uint8Array(0);
  #slot: number | undefined;

  /**
   * @param kernel shared by all encoders of a thread; `OpusEncoder.create` supplies one
   * @throws Error when the kernel is full: it has space for 1,400 encoders that are not closed
   */
  constructor(kernel: OpusEncoderKernel, { bitrateBps, channelCount = 2, isVariable = true }: OpusEncoderOptions) {
    this.#kernel = kernel;
    // Here, as a number beyond 32 bits would wrap at the border to WebAssembly.
    this.#settings = { bitrateBps: Math.min(Math.max(bitrateBps, BITRATE_BPS_MIN), BITRATE_BPS_MAX), isVariable };
    this.#channelCount = channelCount;
    this.#slot = kernel.acquire(channelCount);
  }

  /**
   * An encoder on a kernel of this thread's own, which the first call compiles and warms up: about 0.1 s of work.
   * @throws Error when opus-encoder.wasm cannot be read, when the processor has no SIMD, or as the constructor does
   */
  static create(options: OpusEncoderOptions): OpusEncoder {
    return new OpusEncoder(ownKernel(), options);
  }

  /**
   * Encodes the first 960 samples of each side, full scale being 1, and writes the packet to `into`; returns its size
   * in bytes. The packet is valid whatever the samples are. With one channel, `right` is not used.
   * @param into at least PACKET_BYTES_MAX long; what is behind the packet is overwritten too
   * @param isIndependent the packet does not depend on earlier ones, for listeners who did not receive them
   * @param head the frame must begin with this, because packets of another encoder follow; by default it chooses
   * @throws Error when the encoder is closed, or the frame does not fit into a packet, which is a fault of the encoder
   * @throws RangeError when `left`, `right` or `into` is too short, or `head` outside its ranges: nothing is encoded
   */
  encode(left: Float32Array, right: Float32Array, into: Uint8Array, isIndependent = false, head?: FrameHead): number {
    if (this.#slot === undefined) throw new Error("the encoder is closed");
    this.#check(left, right, into, head);
    const size = this.#kernel.encode(this.#slot, left, right, this.#settings, isIndependent, head, into);
    if (size === 0) throw new Error("a frame could not be encoded");
    return size;
  }

  /** Otherwise the frame would contain audio of another encoder, or its filter would read another encoder's state. */
  #check(left: Float32Array, right: Float32Array, into: Uint8Array, head: FrameHead | undefined): void {
    if (left.length < FRAME_SAMPLES || (this.#channelCount === 2 && right.length < FRAME_SAMPLES)) {
      throw new RangeError(`a frame needs ${FRAME_SAMPLES} samples of each side`);
    }
    if (into.length < PACKET_BYTES_MAX) throw new RangeError(`a packet needs ${PACKET_BYTES_MAX} bytes of space`);
    if (head !== undefined && !isInRange(head)) throw new RangeError("the head of the frame is outside its ranges");
  }

  /**
   * The complete state, in place: a copy that is written back later continues as if the frames between had not been
   * encoded. Its length is constant. Read it again for each use. Empty once the encoder is closed.
   */
  get state(): Uint8Array {
    if (this.#slot === undefined) return new Uint8Array(0);
    if (this.#state.length === 0) this.#state = this.#kernel.viewSlot(this.#slot);
    return this.#state;
  }

  /** The next packet starts a new stream. */
  reset(): void {
    if (this.#slot !== undefined) this.#kernel.reset(this.#slot, this.#channelCount);
  }

  /** Frees the encoder. May be called more than once. */
  close(): void {
    if (this.#slot !== undefined) this.#kernel.release(this.#slot);
    this.#slot = undefined;
  }

  /** The range that a decoder must have after the last packet of this thread: for tests. */
  get finalRange(): number {
    return this.#kernel.finalRange;
  }
}

function isInRange({ period, gainStep, taps }: FrameHead): boolean {
  const isPeriod = period === 0 || (period >= PERIOD_MIN && period <= PERIOD_MAX);
  return isPeriod && gainStep >= 0 && gainStep <= GAIN_STEP_MAX && taps >= 0 && taps <= TAPS_MAX;
}

// Created once per thread and never changed afterwards, like an imported module.
let kernel: OpusEncoderKernel | undefined;

function ownKernel(): OpusEncoderKernel {
  kernel ??= new OpusEncoderKernel(compileWarmOpusEncoder());
  return kernel;
}
