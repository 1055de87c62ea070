// What a pipeline wants of an encoder, whichever it is, and the stock of idle ones from which players are served. Audio
// thread.

import type { FrameHead } from "../opus/frame-head.ts";

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

/** Encodes one continuous stereo stream at 48 kHz; it gives sound later by `ENCODER_DELAY_SAMPLES`. */
export interface FrameEncoder {
  /**
   * Encodes the first 960 samples of both channels. The packet is a view of an internal buffer: it stays valid through
   * the next call of `encode` and is overwritten by the one after that. Throws when the encoder fails. `head`: of the
   * packet in whose place this one will be heard, when the packets behind that are to follow. They tell the loudness of
   * bands as a change, and how loud a band is depends on filter and blocks; libopus, of which they mostly are, chooses
   * the same without being told.
   */
  encode(left: Float32Array, right: Float32Array, head?: FrameHead): Uint8Array;
  /**
   * The next packet will not lean on those before it, for listeners who did not get them: their loudness per band is
   * coded as the change since the packet before, and would be wrong for 100 ms.
   */
  makeNextIndependent(): void;
  /**
   * The last `frameCount` packets (FRAMES_AHEAD_MAX at most) are sent to nobody: goes on as if they had not been
   * encoded. The same sound gives the same packets again.
   */
  rewind(frameCount: number): void;
  /** Forgets all sound before: the next packet starts a new stream. */
  reset(): void;
  /** Frees the encoder. May be called more than once; `encode` must not be called afterwards. */
  close(): void;
}

/** Ready encoders of one setting: a track that starts transcoding in mid-tick takes one without waiting. */
export class EncoderPool {
  readonly #create: () => FrameEncoder;
  readonly #idleCountMax: number;
  readonly #idle: FrameEncoder[] = [];
  #isClosed = false;

  /** `idleCountMax` (default 8, about 50 kB each) bounds what is kept; encoders in use are not bounded here. */
  constructor(create: () => FrameEncoder, { idleCountMax = 8 }: { readonly idleCountMax?: number } = {}) {
    this.#create = create;
    this.#idleCountMax = idleCountMax;
  }

  get idleCount(): number {
    return this.#idle.length;
  }

  /** A fresh encoder, from stock or new (0.1 ms). Give it back with `release`. */
  acquire(): FrameEncoder {
    return this.#idle.pop() ?? this.#create();
  }

  /** Takes an encoder back, reset; frees it when there are enough. Its packets must not be used any more. */
  release(encoder: FrameEncoder): void {
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
