// Encodes audio to Opus packets of 20 ms with libopus, the last stage of a player that transcodes. Synchronous, no
// copies beyond the packet. Audio thread.

import { FRAME_SAMPLES } from "../format/audio-format.ts";
import { type Libopus, loadLibopus, OPUS_ENCODER_BYTES } from "../opus/libopus.ts";
import type { FrameEncoder, OpusEncoderOptions } from "./frame-encoder.ts";
import { PacketBuffers } from "./packet-buffers.ts";
import { SavedStates } from "./saved-states.ts";

/** Encodes one continuous stereo stream at 48 kHz. */
export class OpusFrameEncoder implements FrameEncoder {
  readonly #opus: Libopus;
  readonly #options: OpusEncoderOptions;
  readonly #buffers = new PacketBuffers();
  #encoder: number;
  readonly #savedStates = new SavedStates(OPUS_ENCODER_BYTES);
  /** The encoder's state in the heap; empty, as any view, when the heap has grown since. */
  #state: Uint8Array = new Uint8Array(0);
  /** The library's generation when the encoder was created: when it has changed, the encoder is lost. */
  #generation: number;
  #complexity: number;

  constructor(opus: Libopus, options: OpusEncoderOptions) {
    this.#opus = opus;
    this.#options = options;
    this.#complexity = options.complexity;
    this.#encoder = opus.createEncoder(options);
    this.#generation = opus.generation;
  }

  static async create(options: OpusEncoderOptions): Promise<OpusFrameEncoder> {
    return new OpusFrameEncoder(await loadLibopus(), options);
  }

  encode(left: Float32Array, right: Float32Array): Uint8Array {
    if (this.#generation !== this.#opus.generation) this.#make();
    if (this.#complexity !== this.#options.complexity) {
      this.#complexity = this.#options.complexity;
      this.#opus.setComplexity(this.#encoder, this.#complexity);
    }
    const isIndependent = this.#savedStates.save(this.#viewState());
    if (isIndependent) this.#opus.setPrediction(this.#encoder, { isOn: false });
    const packet = this.#encode(left, right);
    if (isIndependent) this.#opus.setPrediction(this.#encoder, { isOn: true });
    return packet;
  }

  makeNextIndependent(): void {
    this.#savedStates.makeNextIndependent();
  }

  rewind(frameCount: number): void {
    if (this.#encoder === 0) return;
    if (this.#generation !== this.#opus.generation) this.#make();
    this.#savedStates.rewind(frameCount, this.#viewState());
    this.#opus.setComplexity(this.#encoder, this.#complexity);
  }

  #viewState(): Uint8Array {
    const { buffer } = this.#opus.module.HEAPU8;
    if (this.#state.buffer !== buffer || this.#state.byteOffset !== this.#encoder) {
      this.#state = this.#opus.viewEncoder(this.#encoder);
    }
    return this.#state;
  }

  #encode(left: Float32Array, right: Float32Array): Uint8Array {
    const { module, pcmPointer, packetPointer } = this.#opus;
    const pcm = module.HEAPF32;
    for (let sample = 0, to = pcmPointer >> 2; sample < FRAME_SAMPLES; sample++, to += 2) {
      pcm[to] = left[sample]!;
      pcm[to + 1] = right[sample]!;
    }
    const buffer = this.#buffers.take();
    const size = this.#opus.encode(this.#encoder, FRAME_SAMPLES, buffer.length);
    if (size < 0) throw new Error(`libopus could not encode a frame (${size})`);
    // The heap may have been replaced by a larger one during the call: create the view again.
    const heap = module.HEAPU8;
    buffer.set(heap.subarray(packetPointer, packetPointer + size));
    return buffer.subarray(0, size);
  }

  /** Takes about 30 µs: libopus must not reset itself. */
  reset(): void {
    if (this.#savedStates.isFresh || this.#encoder === 0) return;
    this.close();
    this.#make();
  }

  close(): void {
    this.#savedStates.forget();
    const isThere = this.#encoder !== 0 && this.#generation === this.#opus.generation;
    if (isThere) this.#opus.module._oc_destroy_encoder(this.#encoder);
    this.#encoder = 0;
  }

  #make(): void {
    this.#savedStates.forget();
    this.#encoder = this.#opus.createEncoder(this.#options);
    this.#complexity = this.#options.complexity;
    this.#generation = this.#opus.generation;
  }
}
