// A song of Opus packets that carry their numbers, for players without a container: what a voice was sent can be read
// off.

import { FRAME_MS } from "../../src/media/format/audio-format.ts";
import type { AudioStream, Packet } from "../../src/media/format/packet.ts";

/** The stream of the song. */
export const NUMBERED_STREAM: AudioStream = {
  codec: "opus",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};

/** Valid CELT packets of 20 ms, from 0 on. */
export function numberedPackets(count: number): readonly Packet[] {
  return Array.from({ length: count }, (_, index) => ({
    data: Uint8Array.of(0xfc, index >> 8, index & 255),
    timestampMs: index * FRAME_MS,
    durationMs: FRAME_MS,
    trimEndSamples: 0,
  }));
}

export function packetNumber(opus: Uint8Array): number {
  return (opus[1]! << 8) | opus[2]!;
}
