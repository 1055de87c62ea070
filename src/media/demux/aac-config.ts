// AudioSpecificConfig, AAC's set-up data (ISO 14496-3 section 1.6.2.1): read from MP4 and Matroska, built for streams
// that do not carry it. Audio thread.

import { BitReader } from "../../lib/bit-reader.ts";
import { type AacProgram, readAacProgram } from "../format/aac-program.ts";

export interface AacConfig {
  /** As in ISO 14496-3 table 1.17, of the core codec: 2, LC. */
  readonly objectType: number;
  /** Rate of the core codec; HE-AAC decodes to twice that. */
  readonly sampleRateHz: number;
  readonly channelCount: number;
  /** Samples of the core codec in a packet. */
  readonly frameSamples: number;
  /** Set when the configuration describes its channels itself (channel configuration 0). */
  readonly program: AacProgram | undefined;
}

const AAC_RATES = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];

/** Rate for a four-bit index, undefined for the reserved ones. */
export function aacRate(index: number): number | undefined {
  return AAC_RATES[index];
}

/** The four-bit index of a rate; undefined for a rate that has none. */
export function aacRateIndex(sampleRateHz: number): number | undefined {
  const index = AAC_RATES.indexOf(sampleRateHz);
  return index < 0 ? undefined : index;
}

/** The object type (ISO 14496-3 table 1.17) that the decoder plays, apart from SBR (5) and PS (29), which wrap it. */
const LOW_COMPLEXITY = 2;

/** Names of the others that occur in files. */
const TYPE_NAMES: Readonly<Record<number, string>> = {
  1: "AAC Main",
  3: "AAC SSR",
  4: "AAC LTP",
  6: "AAC scalable",
  8: "CELP",
  9: "HVXC",
  17: "AAC ER LC",
  19: "AAC ER LTP",
  20: "AAC ER scalable",
  22: "BSAC",
  23: "AAC-LD",
  32: "MPEG-1 Layer I",
  33: "MPEG-1 Layer II",
  34: "MP3 in an MPEG-4 audio description",
  36: "MPEG-4 ALS",
  37: "MPEG-4 SLS",
  39: "AAC-ELD",
  42: "xHE-AAC (USAC)",
};

/** Channels of each channel configuration (ISO 14496-3 table 1.19) that the decoder plays; 0 is a program. */
const CHANNELS: readonly (number | undefined)[] = [0, 1, 2, 3, 4, 5, 6, 8, undefined, undefined, undefined, 7, 8];
const CHANNELS_MAX = 8;

/** Undefined when the configuration is damaged, or nothing that the decoder plays. */
export function parseAacConfig(config: Uint8Array): AacConfig | undefined {
  const result = readAacConfig(config);
  return "unsupported" in result ? undefined : result;
}

/** The configuration, or a name for what it describes when it is damaged or nothing that the decoder plays. */
export function readAacConfig(config: Uint8Array): AacConfig | { readonly unsupported: string } {
  const bits = new BitReader(config);
  let objectType = readObjectType(bits);
  const sampleRateHz = readRate(bits);
  const channelConfiguration = bits.read(4);
  if (objectType === 5 || objectType === 29) {
    readRate(bits);
    objectType = readObjectType(bits);
  }
  if (bits.isPastEnd) return { unsupported: "AAC with a configuration that is cut off" };
  if (objectType !== LOW_COMPLEXITY) {
    return { unsupported: TYPE_NAMES[objectType] ?? `MPEG-4 audio of object type ${objectType}` };
  }
  if (sampleRateHz === undefined || sampleRateHz === 0) return { unsupported: "AAC without a sample rate" };
  const isShortFrame = bits.read(1) === 1;
  if (isShortFrame) return { unsupported: "AAC with frames of 960 samples" };
  if (bits.read(1) === 1) bits.skip(14);
  bits.skip(1);
  if (bits.isPastEnd) return { unsupported: "AAC with a configuration that is cut off" };
  const program = channelConfiguration === 0 ? readAacProgram(bits) : undefined;
  const channelCount = program?.speakers.length ?? CHANNELS[channelConfiguration];
  if (channelConfiguration === 0 && program === undefined) {
    return { unsupported: "AAC with damaged channels (program_config_element)" };
  }
  if (channelCount === undefined) return { unsupported: `AAC with channel configuration ${channelConfiguration}` };
  if (channelCount > CHANNELS_MAX || channelCount === 0) return { unsupported: `AAC with ${channelCount} channels` };
  return { objectType, sampleRateHz, channelCount, frameSamples: 1024, program };
}

/** Five bits, or six more behind 31. */
function readObjectType(bits: BitReader): number {
  const objectType = bits.read(5);
  return objectType === 31 ? 32 + bits.read(6) : objectType;
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
