// The encoder interface of the pipeline, and the pool of idle encoders that serves players. Audio thread.

import type { FrameHead } from "@tonearm/opus-encoder";

/**
 * Shared by all encoders of a worker: from `WorkerSettings`, but the complexity is reduced while the worker has too
 * much to do.
 */
export interface OpusEncoderOptions {
  /** 0 (cheapest) to 10 (best). May change at any time: encoders apply it with their next frame. */
  readonly complexity: number;
  /** 500 to 512000. */
  readonly bitrateBps: number;
}

/** Encodes one continuous stereo stream at 48 kHz; its output is delayed by `ENCODER_DELAY_SAMPLES`. */
export interface FrameEncoder {
  /**
   * Encodes the first 960 samples of both channels. The packet is a view of an internal buffer: it stays valid through
   * the next call of `encode` and is overwritten by the one after that. Throws when the encoder fails. `head`: the
   * header of the packet that this one replaces, when the packets behind that one are to follow. Those code the
   * loudness of bands as a change, and a band's loudness depends on filter and blocks; libopus, which most of them come
   * from, chooses the same without it.
   */
  encode(left: Float32Array, right: Float32Array, head?: FrameHead): Uint8Array;
  /**
   * The next packet will not depend on earlier ones, for listeners who did not receive them: their loudness per band is
   * coded as the change since the packet before, and would be wrong for 100 ms.
   */
  makeNextIndependent(): void;
  /**
   * The last `frameCount` packets (FRAMES_AHEAD_MAX at most) are never sent: continues as if they had not been encoded.
   * The same audio gives the same packets again.
   */
  rewind(frameCount: number): void;
  /** Clears the state: the next packet starts a new stream. */
  reset(): void;
  /** Frees the encoder. May be called more than once; `encode` must not be called afterwards. */
  close(): void;
}

/** Ready encoders of one setting: a track that starts transcoding in the middle of a tick takes one without waiting. */
export class EncoderPool {
  readonly #create: () => FrameEncoder;
  readonly #idleCountMax: number;
  readonly #idle: FrameEncoder[] = [];
  #isClosed = false;

  /** `idleCountMax` (default 8, about 50 kB each) limits the idle encoders; encoders in use are not limited here. */
  constructor(create: () => FrameEncoder, { idleCountMax = 8 }: { readonly idleCountMax?: number } = {}) {
    this.#create = create;
    this.#idleCountMax = idleCountMax;
  }

  get idleCount(): number {
    return this.#idle.length;
  }

  /** A fresh encoder, from the pool or new (0.1 ms). Return it with `release`. */
  acquire(): FrameEncoder {
    return this.#idle.pop() ?? this.#create();
  }

  /**
   * Resets an encoder and returns it to the pool; frees it when there are enough. Its packets must no longer be used.
   */
  release(encoder: FrameEncoder): void {
    if (this.#isClosed || this.#idle.length >= this.#idleCountMax) {
      encoder.close();
      return;
    }
    encoder.reset();
    this.#idle.push(encoder);
  }

  /** Frees the idle encoders; those in use are freed when they are released. */
  close(): void {
    this.#isClosed = true;
    for (const encoder of this.#idle.splice(0)) encoder.close();
  }
}
