// Between decoder and pipeline: brings decoded blocks of any rate and channel count to 48 kHz stereo, also when a stream
// changes either half way. Audio thread; allocates only when the stream changes or brings a longer block than before.

import type { StereoFifo } from "../../lib/stereo-fifo.ts";
import type { AudioCodec } from "../demux/demuxer.ts";
import type { PcmBlock } from "./decoder.ts";
import { type MixMatrix, mixToStereo, stereoMixMatrix } from "./down-mix.ts";
import { Resampler } from "./resampler.ts";
import { OUTPUT_RATE_HZ } from "./resampler-kernel.ts";

export class StereoConverter {
  readonly #codec: AudioCodec;
  /** Undefined while the sound is at 48 kHz. */
  #resampler: Resampler | undefined;
  #matrix: MixMatrix | undefined;
  #mixLeft = new Float32Array(0);
  #mixRight = new Float32Array(0);

  /** `codec` decides the order of more than two channels. */
  constructor({ codec }: { readonly codec: AudioCodec }) {
    this.#codec = codec;
  }

  /** Appends the block to `fifo`. Throws NodeError `media-unsupported-codec` for a rate outside 1 to 768 kHz. */
  push(block: PcmBlock, fifo: StereoFifo): void {
    const { lengthSamples, channels, sampleRateHz } = block;
    const [first, second] = channels;
    if (lengthSamples === 0 || first === undefined) return;
    if (sampleRateHz !== (this.#resampler?.inputRateHz ?? OUTPUT_RATE_HZ)) this.#changeRate(sampleRateHz, fifo);
    if (channels.length > 2) {
      this.#mix(block);
      this.#pass(this.#mixLeft, this.#mixRight, lengthSamples, fifo);
    } else {
      this.#pass(first, second ?? first, lengthSamples, fifo);
    }
  }

  /** Appends what is held back (less than 2 ms), at the end of the stream. */
  flush(fifo: StereoFifo): void {
    this.#resampler?.flush(fifo);
  }

  /** Forgets what is held back, for a jump in the stream. */
  reset(): void {
    this.#resampler?.reset();
  }

  #pass(left: Float32Array, right: Float32Array, lengthSamples: number, fifo: StereoFifo): void {
    if (this.#resampler === undefined) fifo.append(left, right, 0, lengthSamples);
    else this.#resampler.push(left, right, lengthSamples, fifo);
  }

  #changeRate(sampleRateHz: number, fifo: StereoFifo): void {
    this.flush(fifo);
    this.#resampler = sampleRateHz === OUTPUT_RATE_HZ ? undefined : new Resampler(sampleRateHz);
  }

  #mix({ channels, lengthSamples }: PcmBlock): void {
    if (this.#matrix?.left.length !== channels.length) this.#matrix = stereoMixMatrix(this.#codec, channels.length);
    if (this.#mixLeft.length < lengthSamples) {
      this.#mixLeft = new Float32Array(lengthSamples);
      this.#mixRight = new Float32Array(lengthSamples);
    }
    mixToStereo(channels, lengthSamples, { matrix: this.#matrix, left: this.#mixLeft, right: this.#mixRight });
  }
}
