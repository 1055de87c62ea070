// A decoder that does what a test says, and the packets for it.

import { EMPTY_BLOCK } from "../../src/media/decode/damage-limit.ts";
import type { Decoder, PcmBlock } from "../../src/media/decode/decoder.ts";
import type { AudioStream, Packet } from "../../src/media/format/packet.ts";

export const SCRIPTED_STREAM: AudioStream = {
  codec: "flac",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};

/** Decodes every packet to a block of 20 ms at 48 kHz, unless the script says otherwise. */
export function createScriptedDecoder(script: Partial<Decoder> = {}): Decoder {
  return {
    decode: () => createBlock(),
    flush: () => EMPTY_BLOCK,
    reset: () => undefined,
    close: () => undefined,
    ...script,
  };
}

export function createBlock({ lengthSamples = 960, sampleRateHz = 48_000, channelCount = 2 } = {}): PcmBlock {
  const channels = Array.from({ length: channelCount }, () => new Float32Array(lengthSamples).fill(0.1));
  return { channels, lengthSamples, sampleRateHz };
}

/** Packets of 20 ms, one behind the other. */
export function createPackets(count: number): Packet[] {
  return Array.from({ length: count }, (_, index) => {
    return { data: Uint8Array.of(index & 255), timestampMs: index * 20, durationMs: 20, trimEndSamples: 0 };
  });
}
