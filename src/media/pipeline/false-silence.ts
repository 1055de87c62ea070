// Recognises a lossless decoder that makes silence of packets that hold audio, as one does for a bit depth that it does
// not know. Checked until the first audible sample. Part of track-decoder.ts. Audio thread.

import { NodeError } from "../../errors.ts";
import type { PcmBlock } from "../decode/decoder.ts";
import type { AudioCodec } from "../format/packet.ts";

/**
 * Codecs that need next to no bits for silence: what takes more than this many bits for each sample of each channel is
 * audible. Lossy codecs may pad silence to any size.
 */
const LOSSLESS: ReadonlySet<AudioCodec> = new Set(["flac", "alac"]);
const SILENT_BITS_MAX = 2;
/** Stored without compression, silence has as many bits as audio, but they are all the same. */
const BYTE_VALUES_MIN = 16;
/** Silent packets that hold audio after which the rest is not tried, and uncompressed ones after which it is not checked. */
const PACKETS_MAX = 25;

/** Per stream of a track. */
export class FalseSilence {
  readonly #codec: AudioCodec;
  #isSettled: boolean;
  #count = 0;
  #uniformCount = 0;

  constructor(codec: AudioCodec) {
    this.#codec = codec;
    this.#isSettled = !LOSSLESS.has(codec);
  }

  /** True when the block is silent and its packet is not; throws NodeError `media-decode-failed` at the 25th. */
  has(block: PcmBlock, packet: Uint8Array): boolean {
    if (this.#isSettled || block.lengthSamples === 0) return false;
    if (!isSilent(block)) {
      this.#isSettled = true;
      return false;
    }
    const silentBits = block.lengthSamples * block.channels.length * SILENT_BITS_MAX;
    if (packet.length * 8 <= silentBits) return false;
    if (isUniform(packet)) {
      this.#isSettled = ++this.#uniformCount >= PACKETS_MAX;
      return false;
    }
    if (++this.#count < PACKETS_MAX) return true;
    const found = `the decoder makes only silence of ${this.#count} packets that hold audio`;
    throw new NodeError("media-decode-failed", `decode ${this.#codec}: ${found}; convert the file to another format`);
  }
}

/** True when it has few different bytes. Packets of audio have enough of them near their beginning. */
function isUniform(packet: Uint8Array): boolean {
  const found = new Uint8Array(256);
  let count = 0;
  for (const byte of packet) {
    if (found[byte] === 0 && ++count >= BYTE_VALUES_MIN) return false;
    found[byte] = 1;
  }
  return true;
}

/** Infinite samples, of a divisor that the decoder does not have, are as silent. */
function isSilent({ channels, lengthSamples }: PcmBlock): boolean {
  return channels.every((channel) => {
    for (let sample = 0; sample < lengthSamples; sample++) {
      const value = channel[sample]!;
      if (value !== 0 && Number.isFinite(value)) return false;
    }
    return true;
  });
}
