// Encodes audio to Opus packets of 20 ms with our own encoder, the last stage of a player that transcodes. Synchronous,
// no copies beyond the packet. Audio thread.

import { SLOT_BYTES } from "../kernels/numbers/opus-encoder.ts";
import { compileWarmOpusEncoder, OpusEncoderKernel } from "../kernels/opus-encoder-kernel.ts";
import type { FrameHead } from "../opus/frame-head.ts";
import type { FrameEncoder, OpusEncoderOptions } from "./frame-encoder.ts";
import { PacketBuffers } from "./packet-buffers.ts";
import { SavedStates } from "./saved-states.ts";

/** Options of our own encoder; it has one complexity. */
interface TonearmEncoderOptions extends Pick<OpusEncoderOptions, "bitrateBps"> {
  /** Default 2. With 1, only the left side is encoded. */
  readonly channelCount?: 1 | 2;
  /** Packets vary in size around the bit rate (default), or all have the same. */
  readonly isVariable?: boolean;
}

/** Encodes one continuous stream at 48 kHz. */
export class TonearmFrameEncoder implements FrameEncoder {
  readonly #kernel: OpusEncoderKernel;
  readonly #settings: { readonly bitrateBps: number; readonly isVariable: boolean };
  readonly #channelCount: 1 | 2;
  readonly #buffers = new PacketBuffers();
  readonly #savedStates = new SavedStates(SLOT_BYTES);
  /** The state in its slot; empty, as any view, when the memory has grown since. */
  #state: Uint8Array = new Uint8Array(0);
  #slot: number | undefined;

  constructor(kernel: OpusEncoderKernel, { bitrateBps, channelCount = 2, isVariable = true }: TonearmEncoderOptions) {
    this.#kernel = kernel;
    this.#settings = { bitrateBps, isVariable };
    this.#channelCount = channelCount;
    this.#slot = kernel.acquire(channelCount);
  }

  /** For callers without an audio thread's module (see codec-modules.ts), and as warm as that: tests, tools. */
  static async create(options: TonearmEncoderOptions): Promise<TonearmFrameEncoder> {
    return new TonearmFrameEncoder(ownKernel(), options);
  }

  encode(left: Float32Array, right: Float32Array, head?: FrameHead): Uint8Array {
    if (this.#slot === undefined) throw new Error("the encoder is closed");
    const buffer = this.#buffers.take();
    const isIndependent = this.#savedStates.save(this.#viewState(this.#slot));
    const size = this.#kernel.encode(this.#slot, left, right, this.#settings, isIndependent, head, buffer);
    if (size === 0) throw new Error("a frame could not be encoded");
    return buffer.subarray(0, size);
  }

  makeNextIndependent(): void {
    this.#savedStates.makeNextIndependent();
  }

  rewind(frameCount: number): void {
    if (this.#slot !== undefined) this.#savedStates.rewind(frameCount, this.#viewState(this.#slot));
  }

  reset(): void {
    if (this.#savedStates.isFresh || this.#slot === undefined) return;
    this.#savedStates.forget();
    this.#kernel.reset(this.#slot, this.#channelCount);
  }

  close(): void {
    this.#savedStates.forget();
    if (this.#slot !== undefined) this.#kernel.release(this.#slot);
    this.#slot = undefined;
  }

  #viewState(slot: number): Uint8Array {
    if (this.#state.length === 0) this.#state = this.#kernel.viewSlot(slot);
    return this.#state;
  }

  /** The range that a decoder must have after the last packet: for tests. */
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
