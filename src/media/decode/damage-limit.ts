// How much damage a decoder tolerates: single broken packets are skipped, a stream with nothing else is an error.

import { NodeError } from "../../errors.ts";
import { SAMPLE_RATE_HZ } from "../format/audio-format.ts";
import type { AudioCodec } from "../format/packet.ts";
import type { PcmBlock } from "./decoder.ts";

/** A second or more of broken packets at the start: the container's declaration is wrong. */
const DAMAGED_PACKETS_MAX = 50;
/** Where packets have been right before, it is a hole in the file, with music behind it: half a minute. */
const HOLE_PACKETS_MAX = 1500;

/** The result of decoding a damaged packet. */
export const EMPTY_BLOCK: PcmBlock = { channels: [], lengthSamples: 0, sampleRateHz: SAMPLE_RATE_HZ };

export class DamageLimit {
  readonly #codec: AudioCodec;
  #run = 0;
  #limit = DAMAGED_PACKETS_MAX;

  constructor(codec: AudioCodec) {
    this.#codec = codec;
  }

  /** To be called for each packet that decoded. */
  clear(): void {
    this.#run = 0;
    this.#limit = HOLE_PACKETS_MAX;
  }

  /** Counts one broken packet and returns its block; throws NodeError `media-decode-failed` after too many in a row. */
  damaged(cause?: unknown): PcmBlock {
    if (++this.#run < this.#limit) return EMPTY_BLOCK;
    const found = `${this.#run} packets in a row are damaged`;
    const message = `decode ${this.#codec}: ${found}; check that the file plays elsewhere`;
    throw new NodeError("media-decode-failed", message, { cause });
  }
}
