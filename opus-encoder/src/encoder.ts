// One stream to Opus packets of 20 ms, with the state of its encoder. Synchronous.

import type { FrameHead } from "./frame-head.ts";
import { compileWarmOpusEncoder, OpusEncoderKernel } from "./kernel.ts";

/** Settings of one stream; there is one complexity. */
export interface OpusEncoderOptions {
  /** 6000 to 510000; values outside are clamped. */
  readonly bitrateBps: number;
  /** Default 2. With 1, only the left side is encoded. */
  readonly channelCount?: 1 | 2;
  /** Packets vary in size around the bit rate (default), or all have the same. */
  readonly isVariable?: boolean;
}

/** Encodes one continuous stream at 48 kHz. What is decoded is `ENCODER_DELAY_SAMPLES` later than the input. */
export class OpusEncoder {
  readonly #kernel: OpusEncoderKernel;
  readonly #settings: { readonly bitrateBps: number; readonly isVariable: boolean };
  readonly #channelCount: 1 | 2;
  /** The state in its slot; empty, as any view, when the memory has grown since. */
  #state: Uint8Array = new Uint8Array(0);
  #slot: number | undefined;

  /** `kernel` is shared by all encoders of a thread; `OpusEncoder.create` supplies one. Throws when it is full. */
  constructor(kernel: OpusEncoderKernel, { bitrateBps, channelCount = 2, isVariable = true }: OpusEncoderOptions) {
    this.#kernel = kernel;
    this.#settings = { bitrateBps, isVariable };
    this.#channelCount = channelCount;
    this.#slot = kernel.acquire(channelCount);
  }

  /** An encoder on a kernel of this thread's own, which the first call compiles and warms up: about 0.1 s of work. */
  static create(options: OpusEncoderOptions): OpusEncoder {
    return new OpusEncoder(ownKernel(), options);
  }

  /**
   * Encodes the first 960 samples of each side, full scale being 1, and writes the packet to `into`; returns its size
   * in bytes. The packet is valid whatever the samples are.
   * @param into at least PACKET_BYTES_MAX long; what is behind the packet is overwritten too
   * @param isIndependent the packet does not depend on earlier ones, for listeners who did not receive them
   * @param head the frame must begin with this, because packets of another encoder follow; by default it chooses
   * @throws Error when the encoder is closed
   */
  encode(left: Float32Array, right: Float32Array, into: Uint8Array, isIndependent = false, head?: FrameHead): number {
    if (this.#slot === undefined) throw new Error("the encoder is closed");
    const size = this.#kernel.encode(this.#slot, left, right, this.#settings, isIndependent, head, into);
    if (size === 0) throw new Error("a frame could not be encoded");
    return size;
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

// Created once per thread and never changed afterwards, like an imported module.
let kernel: OpusEncoderKernel | undefined;

function ownKernel(): OpusEncoderKernel {
  kernel ??= new OpusEncoderKernel(compileWarmOpusEncoder());
  return kernel;
}
