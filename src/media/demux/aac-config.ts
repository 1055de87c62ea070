// AudioSpecificConfig, AAC's set-up data (ISO 14496-3 section 1.6.2.1): read from MP4 and Matroska, built for streams
// that do not carry it. Audio thread.

import { BitReader } from "../../lib/bit-reader.ts";

interface AacConfig {
  /** Rate of the core codec; HE-AAC decodes to twice that. */
  readonly sampleRateHz: number;
  readonly channelCount: number;
  /** Samples of the core codec in a packet: 1024 or 960. */
  readonly frameSamples: number;
}

const AAC_RATES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];

/** Rate for a four-bit index, undefined for the reserved ones. */
export function aacRate(index: number): number | undefined {
  return AAC_RATES[index];
}

/** Object types with AAC packets: Main, LC, SSR, LTP, SBR, scalable, PS. USAC (42) and others are not supported. */
const OBJECT_TYPES = new Set([1, 2, 3, 4, 5, 6, 29]);

/**
 * Undefined when the configuration is cut off, has no rate, or has an object type without AAC packets. Channels that
 * are described elsewhere (configuration 0) count as two.
 */
export function parseAacConfig(config: Uint8Array): AacConfig | undefined {
  const bits = new BitReader(config);
  let objectType = bits.read(5);
  const sampleRateHz = readRate(bits);
  const channelConfiguration = bits.read(4);
  if (objectType === 5 || objectType === 29) {
    readRate(bits);
    objectType = bits.read(5);
  }
  if (!OBJECT_TYPES.has(objectType) || sampleRateHz === undefined || sampleRateHz === 0) return undefined;
  const isShortFrame = bits.read(1) === 1;
  if (bits.isPastEnd) return undefined;
  return {
    sampleRateHz,
    channelCount: channelConfiguration === 7 ? 8 : channelConfiguration || 2,
    frameSamples: isShortFrame ? 960 : 1024,
  };
}

function readRate(bits: BitReader): number | undefined {
  const index = bits.read(4);
  return index === 15 ? bits.read(24) : aacRate(index);
}

/** A two-byte configuration; undefined for a rate or channel count that has no index. */
export function buildAacConfig(fields: {
  objectType: number;
  sampleRateHz: number;
  channelCount: number;
}): Uint8Array | undefined {
  const rateIndex = AAC_RATES.indexOf(fields.sampleRateHz);
  const channelConfiguration = fields.channelCount === 8 ? 7 : fields.channelCount;
  if (rateIndex < 0 || channelConfiguration < 1 || channelConfiguration > 7) return undefined;
  const word = (fields.objectType << 11) | (rateIndex << 7) | (channelConfiguration << 3);
  return Uint8Array.of(word >> 8, word & 255);
}
