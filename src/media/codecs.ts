// Decoders and encoders for the pipelines of one worker. Encoders wait in stock between tracks; nothing is loaded before a
// track needs it, so a worker that only passes Opus through never loads a codec. Audio thread.

import { createDecoder } from "./decode/create-decoder.ts";
import type { Decoder } from "./decode/decoder.ts";
import type { AudioStream } from "./demux/demuxer.ts";
import { type OpusEncoderOptions, OpusEncoderPool, type OpusFrameEncoder } from "./encode/opus-encoder.ts";

export class Codecs {
  /** All encoders of the worker look here. */
  readonly #settings: { complexity: number; readonly bitrateBps: number };
  #pool: Promise<OpusEncoderPool> | undefined;

  constructor(options: OpusEncoderOptions) {
    this.#settings = { ...options };
  }

  /** Rejects with a NodeError when the codec is not available here. */
  createDecoder(stream: AudioStream): Promise<Decoder> {
    return createDecoder(stream);
  }

  /** 0 (cheapest) to 10 (best), for all encoders from their next frame on. */
  setComplexity(complexity: number): void {
    this.#settings.complexity = complexity;
  }

  async acquireEncoder(): Promise<OpusFrameEncoder> {
    this.#pool ??= OpusEncoderPool.create(this.#settings);
    return (await this.#pool).acquire();
  }

  releaseEncoder(encoder: OpusFrameEncoder): void {
    this.#pool?.then((pool) => pool.release(encoder)).catch(() => encoder.close());
  }
}
