// Between decoder and pipeline: converts decoded blocks of any rate and channel count to 48 kHz stereo, also when a
// stream changes either half way. Audio thread; allocates only when the stream changes or brings a longer block than
// before.

import type { ByteBudget } from "../../lib/byte-budget.ts";
import type { StereoFifo } from "../../lib/stereo-fifo.ts";
import { SAMPLE_RATE_HZ } from "../format/audio-format.ts";
import type { AudioCodec } from "../format/packet.ts";
import type { Speaker } from "../format/speakers.ts";
import type { ChangeLimit } from "./change-limit.ts";
import type { PcmBlock } from "./decoder.ts";
import { type MixMatrix, mixToStereo, speakersOf, stereoMixMatrix } from "./down-mix.ts";
import { Resampler } from "./resampler.ts";

interface StereoConverterOptions {
  /** Decides the order of more than two channels. */
  readonly codec: AudioCodec;
  /** The track's memory budget. */
  readonly memory: ByteBudget;
  /** Shared with everything else in the track that may change. */
  readonly limit: ChangeLimit;
}

/**
 * One per decoder. Audio at 48 kHz in one or two channels passes bit for bit, mono to both sides; everything else is
 * resampled and mixed down.
 */
export class StereoConverter {
  readonly #options: StereoConverterOptions;
  #channelCount = 0;
  /** Undefined while the audio is at 48 kHz. */
  #resampler: Resampler | undefined;
  #matrix: MixMatrix | undefined;
  /** The block's order that the matrix was made for; undefined for the codec's usual one. */
  #speakers: readonly Speaker[] | undefined;
  #mixLeft = new Float32Array(0);
  #mixRight = new Float32Array(0);

  constructor(options: StereoConverterOptions) {
    this.#options = options;
  }

  /**
   * Appends the block to `fifo`. Throws NodeError `media-unsupported-codec` for a rate outside 1 to 768 kHz,
   * `media-damaged` for the next of too many changes, and `memory-exhausted`.
   */
  push(block: PcmBlock, fifo: StereoFifo): void {
    const { lengthSamples, channels, sampleRateHz } = block;
    const [first, second] = channels;
    if (lengthSamples === 0 || first === undefined) return;
    const isOtherRate = sampleRateHz !== (this.#resampler?.inputRateHz ?? SAMPLE_RATE_HZ);
    const isFirst = this.#channelCount === 0;
    if (!isFirst && (isOtherRate || channels.length !== this.#channelCount)) this.#options.limit.spend();
    if (isOtherRate) this.#changeRate(sampleRateHz, fifo);
    this.#channelCount = channels.length;
    if (channels.length > 2) {
      this.#mix(block);
      this.#pass(this.#mixLeft, this.#mixRight, lengthSamples, fifo);
    } else {
      this.#pass(first, second ?? first, lengthSamples, fifo);
    }
  }

  /** Appends the buffered rest (less than 2 ms), at the end of the stream. */
  flush(fifo: StereoFifo): void {
    this.#resampler?.flush(fifo);
  }

  /** Discards the buffered rest, for a jump in the stream. */
  reset(): void {
    this.#resampler?.reset();
  }

  /** Releases its memory. The buffered rest is lost. */
  close(): void {
    if (this.#resampler === undefined) return;
    this.#options.memory.release(this.#resampler.sizeBytes);
    this.#resampler = undefined;
  }

  #pass(left: Float32Array, right: Float32Array, lengthSamples: number, fifo: StereoFifo): void {
    if (this.#resampler === undefined) fifo.append(left, right, 0, lengthSamples);
    else this.#resampler.push(left, right, lengthSamples, fifo);
  }

  #changeRate(sampleRateHz: number, fifo: StereoFifo): void {
    this.flush(fifo);
    this.close();
    if (sampleRateHz === SAMPLE_RATE_HZ) return;
    const resampler = new Resampler(sampleRateHz);
    this.#options.memory.take(resampler.sizeBytes, `converting its rate of ${sampleRateHz} Hz`);
    this.#resampler = resampler;
  }

  #mix({ channels, lengthSamples, speakers }: PcmBlock): void {
    if (this.#matrix?.left.length !== channels.length || speakers !== this.#speakers) {
      this.#speakers = speakers;
      this.#matrix = stereoMixMatrix(speakers ?? speakersOf(this.#options.codec, channels.length));
    }
    if (this.#mixLeft.length < lengthSamples) {
      this.#mixLeft = new Float32Array(lengthSamples);
      this.#mixRight = new Float32Array(lengthSamples);
    }
    mixToStereo(channels, lengthSamples, { matrix: this.#matrix, left: this.#mixLeft, right: this.#mixRight });
  }
}
