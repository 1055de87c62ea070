// The headers of the frames in an elementary stream of MPEG-TS: AAC in ADTS, and MPEG audio of all three layers, which
// one decoder reads. Audio thread.

import { ADTS_HEADER_BYTES, parseAdtsHeader } from "../adts/adts-header.ts";
import { parseMpegAudioHeader } from "../mpeg-audio-header.ts";
import type { TsCodec } from "./ts-codecs.ts";

export interface TsFrame {
  readonly sizeBytes: number;
  readonly samples: number;
  readonly sampleRateHz: number;
  readonly channelCount: number;
  /** The same for all frames of one stream: version, layer, rate, for AAC also profile and channels. */
  readonly streamKey: number;
}

/** Bytes of a header, whatever the codec. */
export const FRAME_HEADER_BYTES = ADTS_HEADER_BYTES;

/** The frame at `at`; undefined when there is none. Needs FRAME_HEADER_BYTES bytes from there. */
export function parseFrame(codec: TsCodec, bytes: Uint8Array, at: number): TsFrame | undefined {
  if (codec === "mpeg") return parseMpegFrame(bytes, at);
  const header = parseAdtsHeader(bytes, at);
  if (header === undefined) return undefined;
  const fixed = ((bytes[at + 1]! & 0xfe) << 16) | ((bytes[at + 2]! & 0xfd) << 8) | (bytes[at + 3]! & 0xc0);
  return { ...header, samples: header.frameSamples, streamKey: fixed };
}

function parseMpegFrame(bytes: Uint8Array, at: number): TsFrame | undefined {
  const word = ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
  const header = parseMpegAudioHeader(word);
  return header && { ...header, samples: header.frameSamples, streamKey: (word >>> 10) & 0x3fff83 };
}
