// Sound to Opus packets of 20 ms, the last stage of a player that transcodes, and the stock of idle encoders from which
// players are served. Synchronous, no copies beyond the packet. Audio thread.

import { FRAME_SAMPLES } from "../format/audio-format.ts";
import { type Libopus, loadLibopus } from "../opus/libopus.ts";
import { OPUS_FRAME_BYTES_MAX } from "../opus/opus-packet.ts";

/**
 * Shared by all encoders of a worker: from `WorkerSettings`, but that the complexity falls while the worker has too
 * much to do.
 */
export interface OpusEncoderOptions {
  /** 0 (cheapest) to 10 (best). May change at any time: encoders take it up with their next frame. */
  readonly complexity: number;
  /** 500 to 512000. */
  readonly bitrateBps: number;
}

/** A header of one byte, and one frame. */
const PACKET_BYTES_MAX = 1 + OPUS_FRAME_BYTES_MAX;

/** Encodes one continuous stereo stream at 48 kHz. */
export class OpusFrameEncoder {
  readonly #opus: Libopus;
  readonly #options: OpusEncoderOptions;
  /** Two, in turn: the pipeline prepares one packet while the one before waits to be sent. */
  readonly #buffers = [new Uint8Array(PACKET_BYTES_MAX), new Uint8Array(PACKET_BYTES_MAX)] as const;
  #turn: 0 | 1 = 0;
  #encoder: number;
  /** The library's when the encoder was made: it is gone when that has changed. */
  #generation: number;
  #complexity: number;
  #isFresh = true;
  #isNextIndependent = false;

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

  /**
   * Encodes the first 960 samples of both channels. The packet is a view of an internal buffer: it stays valid through
   * the next call of `encode` and is overwritten by the one after that. Throws when libopus fails.
   */
  encode(left: Float32Array, right: Float32Array): Uint8Array {
    if (this.#generation !== this.#opus.generation) this.#make();
    if (this.#complexity !== this.#options.complexity) {
      this.#complexity = this.#options.complexity;
      this.#opus.setComplexity(this.#encoder, this.#complexity);
    }
    const isIndependent = this.#isNextIndependent;
    this.#isNextIndependent = false;
    if (isIndependent) this.#opus.setPrediction(this.#encoder, { isOn: false });
    const packet = this.#encode(left, right);
    if (isIndependent) this.#opus.setPrediction(this.#encoder, { isOn: true });
    return packet;
  }

  /**
   * The next packet will not lean on those before it, for listeners who did not get them: their loudness per band is
   * coded as the change since the packet before, and would be wrong for 100 ms.
   */
  makeNextIndependent(): void {
    this.#isNextIndependent = true;
  }

  #encode(left: Float32Array, right: Float32Array): Uint8Array {
    const { module, pcmPointer, packetPointer } = this.#opus;
    const pcm = module.HEAPF32;
    for (let sample = 0, to = pcmPointer >> 2; sample < FRAME_SAMPLES; sample++, to += 2) {
      pcm[to] = left[sample]!;
      pcm[to + 1] = right[sample]!;
    }
    this.#isFresh = false;
    const size = this.#opus.encode(this.#encoder, FRAME_SAMPLES, PACKET_BYTES_MAX);
    if (size < 0) throw new Error(`libopus could not encode a frame (${size})`);
    const buffer = this.#buffers[this.#turn];
    this.#turn = this.#turn === 0 ? 1 : 0;
    // The heap may have been replaced by a larger one during the call: take the view anew.
    const heap = module.HEAPU8;
    for (let index = 0; index < size; index++) buffer[index] = heap[packetPointer + index]!;
    return buffer.subarray(0, size);
  }

  /**
   * Forgets all sound before: the next packet starts a new stream. About 30 µs (libopus is not let to reset itself).
   */
  reset(): void {
    if (this.#isFresh || this.#encoder === 0) return;
    this.close();
    this.#make();
  }

  /** Frees the encoder. May be called more than once; `encode` must not be called afterwards. */
  close(): void {
    const isThere = this.#encoder !== 0 && this.#generation === this.#opus.generation;
    if (isThere) this.#opus.module._oc_destroy_encoder(this.#encoder);
    this.#encoder = 0;
  }

  #make(): void {
    this.#encoder = this.#opus.createEncoder(this.#options);
    this.#complexity = this.#options.complexity;
    this.#generation = this.#opus.generation;
    this.#isFresh = true;
    this.#isNextIndependent = false;
  }
}

/** Ready encoders of one setting: a track that starts transcoding in mid-tick takes one without waiting. */
export class OpusEncoderPool {
  readonly #opus: Libopus;
  readonly #options: OpusEncoderOptions;
  readonly #idleCountMax: number;
  readonly #idle: OpusFrameEncoder[] = [];
  #isClosed = false;

  /** `idleCountMax` (default 8, about 50 kB each) bounds what is kept; encoders in use are not bounded here. */
  constructor(opus: Libopus, options: OpusEncoderOptions & { readonly idleCountMax?: number }) {
    this.#opus = opus;
    this.#options = options;
    this.#idleCountMax = options.idleCountMax ?? 8;
  }

  get idleCount(): number {
    return this.#idle.length;
  }

  /** A fresh encoder, from stock or new (0.1 ms). Give it back with `release`. */
  acquire(): OpusFrameEncoder {
    return this.#idle.pop() ?? new OpusFrameEncoder(this.#opus, this.#options);
  }

  /** Takes an encoder back, reset; frees it when there are enough. Its packets must not be used any more. */
  release(encoder: OpusFrameEncoder): void {
    if (this.#isClosed || this.#idle.length >= this.#idleCountMax) {
      encoder.close();
      return;
    }
    encoder.reset();
    this.#idle.push(encoder);
  }

  /** Frees the idle encoders; those in use are freed when they come back. */
  close(): void {
    this.#isClosed = true;
    for (const encoder of this.#idle.splice(0)) encoder.close();
  }
}
