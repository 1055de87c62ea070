// The audio of a decoded packet, one array per channel, that is written from a codec's memory. Audio thread.

import { FRAME_SAMPLES } from "../format/audio-format.ts";
import { OPUS_PACKET_SAMPLES_MAX } from "../opus/opus-packet.ts";

/** Holds 20 ms, and from the first longer packet on the longest that there are: 46 kB. */
export class PlanarAudio {
  readonly #channelCount: 1 | 2;
  #channels: Float32Array[];

  constructor(channelCount: 1 | 2) {
    this.#channelCount = channelCount;
    this.#channels = this.#allocate(FRAME_SAMPLES);
  }

  get channels(): readonly Float32Array[] {
    return this.#channels;
  }

  /** Makes space for so many samples of a channel, 5760 at most. */
  reserve(samples: number): void {
    if (samples > this.#channels[0]!.length) this.#channels = this.#allocate(OPUS_PACKET_SAMPLES_MAX);
  }

  /** Copies the first samples of each channel to `offset`. */
  write(from: readonly Float32Array[], offset: number, samples: number): void {
    for (const [index, channel] of this.#channels.entries()) {
      const source = from[index]!;
      channel.set(samples === source.length ? source : source.subarray(0, samples), offset);
    }
  }

  writeInterleaved(pcm: Float32Array, start: number, samples: number): void {
    const count = this.#channelCount;
    for (const [index, channel] of this.#channels.entries()) {
      for (let sample = 0, from = start + index; sample < samples; sample++, from += count)
        channel[sample] = pcm[from]!;
    }
  }

  #allocate(samples: number): Float32Array[] {
    return Array.from({ length: this.#channelCount }, () => new Float32Array(samples));
  }
}
