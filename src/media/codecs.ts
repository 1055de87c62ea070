// Decoders and encoders for the pipelines of one worker. Encoders wait in stock between tracks; nothing is loaded before a
// track needs it, so a worker that only passes Opus through never loads a codec. Audio thread.

import { createDecoder } from "./decode/create-decoder.ts";
import type { Decoder } from "./decode/decoder.ts";
import type { AudioCodec, AudioStream } from "./demux/demuxer.ts";
import { type OpusEncoderOptions, OpusEncoderPool, type OpusFrameEncoder } from "./encode/opus-encoder.ts";

export class Codecs {
  readonly #options: OpusEncoderOptions;
  #pool: Promise<OpusEncoderPool> | undefined;
  readonly #warmedUp = new Set<AudioCodec>();

  constructor(options: OpusEncoderOptions) {
    this.#options = options;
  }

  /** Rejects with a NodeError when the codec is not available here. */
  createDecoder(stream: AudioStream): Promise<Decoder> {
    return createDecoder(stream);
  }

  /**
   * Loads what a stream will need, once per codec: a track is looked at before it is played, and loading a decoder then
   * (30 to 170 ms) is not heard as a late start. A codec that is missing is told of when the track is played.
   */
  warmUp(stream: AudioStream): void {
    if (stream.codec === "opus" || this.#warmedUp.has(stream.codec)) return;
    this.#warmedUp.add(stream.codec);
    const whenDecoder = this.createDecoder(stream).then((decoder) => decoder.close());
    const whenEncoder = this.acquireEncoder().then((encoder) => this.releaseEncoder(encoder));
    Promise.all([whenDecoder, whenEncoder]).catch(() => this.#warmedUp.delete(stream.codec));
  }

  async acquireEncoder(): Promise<OpusFrameEncoder> {
    this.#pool ??= OpusEncoderPool.create(this.#options);
    return (await this.#pool).acquire();
  }

  releaseEncoder(encoder: OpusFrameEncoder): void {
    this.#pool?.then((pool) => pool.release(encoder)).catch(() => encoder.close());
  }
}
