// How many samples each packet of a stream decodes to, for containers that do not declare it exactly (Matroska rounds
// times to milliseconds, Ogg gives one time per page). Audio thread.

import type { AudioStream } from "../format/packet.ts";
import { packetDurationSamples } from "../opus/opus-packet.ts";
import { parseFlacFrameHeader } from "./flac-frame-header.ts";
import { parseMpegAudioHeader } from "./mpeg-audio-header.ts";
import { parseVorbisIdentification, splitVorbisHeaders, VorbisClock } from "./vorbis-packet.ts";

/** Created by `createPacketClock`; one per stream, as some depend on the packet before. */
export interface PacketClock {
  /** Samples at the stream's rate; 0 when unknown. Packets must come in order. */
  count(data: Uint8Array): number;
  /** The next packet does not follow the last one. */
  reset(): void;
}

/** A clock for the stream; `frameSamples` is the fixed packet length of AAC and ALAC. */
export function createPacketClock(stream: AudioStream, frameSamples = 1024): PacketClock {
  switch (stream.codec) {
    case "opus":
      return stateless(packetDurationSamples);
    case "vorbis":
      return vorbisClock(stream.description);
    case "mp3":
      return stateless((data) => parseMpegAudioHeader(readWord(data))?.frameSamples ?? 0);
    case "flac":
      return stateless((data) => parseFlacFrameHeader(data)?.blockSamples ?? 0);
    case "pcm": {
      const frameBytes = ((stream.pcm?.bitsPerSample ?? 16) / 8) * stream.channelCount;
      return stateless((data) => Math.floor(data.length / frameBytes));
    }
    default:
      return stateless(() => frameSamples);
  }
}

/**
 * How long before a seek target decoding must begin to yield correct audio there: convergence of the Opus decoder (RFC
 * 7845 section 4.6), the block before for Vorbis, two packets for AAC's overlap, the bit reservoir for MP3.
 */
export function seekPreRollMs(stream: AudioStream): number {
  const perPacketMs = (samples: number) => (1000 * samples) / stream.sampleRateHz;
  switch (stream.codec) {
    case "opus":
      return 80;
    case "vorbis":
      return perPacketMs(8192);
    case "aac":
      return perPacketMs(2 * 1024);
    case "mp3":
      return perPacketMs(10 * 1152);
    default:
      return 0;
  }
}

function stateless(count: (data: Uint8Array) => number): PacketClock {
  return { count, reset: () => undefined };
}

function vorbisClock(description: Uint8Array | undefined): PacketClock {
  const headers = description === undefined ? undefined : splitVorbisHeaders(description);
  const identification = headers === undefined ? undefined : parseVorbisIdentification(headers[0]);
  if (headers === undefined || identification === undefined) return stateless(() => 0);
  const clock = new VorbisClock(identification, headers[2]);
  return { count: (data) => clock.count(data[0] ?? 1), reset: () => clock.reset() };
}

function readWord(data: Uint8Array): number {
  return (((data[0] ?? 0) << 24) | ((data[1] ?? 0) << 16) | ((data[2] ?? 0) << 8) | (data[3] ?? 0)) >>> 0;
}
