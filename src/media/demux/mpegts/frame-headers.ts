// The headers of the frames in an elementary stream of MPEG-TS: AAC in ADTS, and MPEG audio of all three layers, which
// one decoder reads (ISO 11172-3 section 2.4.1.3). Audio thread.

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

const KBPS_LAYER_1 = [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448];
const KBPS_LAYER_2 = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384];
/** MPEG-2 and 2.5: layer I, then layers II and III. */
const KBPS_LOW_LAYER_1 = [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256];
const KBPS_LOW_LAYER_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const RATES_VERSION_1 = [44100, 48000, 32000];

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
  const streamKey = (word >>> 10) & 0x3fff83;
  const layer = 4 - ((word >>> 17) & 3);
  if (layer === 3) {
    const header = parseMpegAudioHeader(word);
    return header && { ...header, samples: header.frameSamples, streamKey };
  }
  const versionBits = (word >>> 19) & 3;
  const rateIndex = (word >>> 10) & 3;
  const bitrateIndex = (word >>> 12) & 15;
  if (word >>> 21 !== 0x7ff || versionBits === 1 || layer === 4 || rateIndex === 3) return undefined;
  if (bitrateIndex === 0 || bitrateIndex === 15) return undefined;
  const isVersion1 = versionBits === 3;
  const highRates = layer === 1 ? KBPS_LAYER_1 : KBPS_LAYER_2;
  const lowRates = layer === 1 ? KBPS_LOW_LAYER_1 : KBPS_LOW_LAYER_2;
  const bitrateBps = 1000 * (isVersion1 ? highRates : lowRates)[bitrateIndex]!;
  const sampleRateHz = RATES_VERSION_1[rateIndex]! / (isVersion1 ? 1 : versionBits === 2 ? 2 : 4);
  const padding = (word >>> 9) & 1;
  return {
    // Layer I counts in slots of four bytes.
    sizeBytes:
      layer === 1
        ? 4 * (Math.floor((12 * bitrateBps) / sampleRateHz) + padding)
        : Math.floor((144 * bitrateBps) / sampleRateHz) + padding,
    samples: layer === 1 ? 384 : 1152,
    sampleRateHz,
    channelCount: ((word >>> 6) & 3) === 3 ? 1 : 2,
    streamKey,
  };
}
