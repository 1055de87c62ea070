// Encodes audio to Opus packets of 20 ms with our own encoder, the last stage of a player that transcodes. Synchronous,
// no copies beyond the packet. Audio thread.

import type { FrameHead, OpusEncoder } from "@tonearm/opus-encoder";
import type { FrameEncoder } from "./frame-encoder.ts";
import { PacketBuffers } from "./packet-buffers.ts";
import { SavedStates } from "./saved-states.ts";

/** Encodes one continuous stream at 48 kHz. */
export class TonearmFrameEncoder implements FrameEncoder {
  readonly #encoder: OpusEncoder;
  readonly #buffers = new PacketBuffers();
  readonly #savedStates: SavedStates;

  constructor(encoder: OpusEncoder) {
    this.#encoder = encoder;
    this.#savedStates = new SavedStates(encoder.state.length);
  }

  encode(left: Float32Array, right: Float32Array, head?: FrameHead): Uint8Array {
    const isIndependent = this.#savedStates.save(this.#encoder.state);
    const buffer = this.#buffers.take();
    return buffer.subarray(0, this.#encoder.encode(left, right, buffer, isIndependent, head));
  }

  makeNextIndependent(): void {
    this.#savedStates.makeNextIndependent();
  }

  rewind(frameCount: number): void {
    const { state } = this.#encoder;
    if (state.length > 0) this.#savedStates.rewind(frameCount, state);
  }

  reset(): void {
    if (this.#savedStates.isFresh) return;
    this.#savedStates.forget();
    this.#encoder.reset();
  }

  close(): void {
    this.#savedStates.forget();
    this.#encoder.close();
  }

  /** The range that a decoder must have after the last packet: for tests. */
  get finalRange(): number {
    return this.#encoder.finalRange;
  }
}
