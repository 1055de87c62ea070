// The `fmt ` chunk of WAV: which codec, in which layout; and the names of the codecs that are not played. Audio thread.

import type { PcmLayout } from "../../format/packet.ts";
import { type PcmPlace, pcmStream } from "../pcm-demuxer.ts";

export type WavFormat =
  | ({ readonly kind: "pcm" } & Pick<PcmPlace, "stream" | "frameBytes">)
  /** Layer I to III, or AAC with ADTS headers: described by their own frames. */
  | { readonly kind: "mpeg" | "adts" };

export type ParsedFormat =
  | WavFormat
  | { readonly kind: "unsupported"; readonly name: string }
  | { readonly kind: "damaged"; readonly why: string };

const EXTENSIBLE = 0xfffe;
/** The rest of a GUID whose first two bytes are an ordinary format. */
const GUID_REST = "000000001000800000aa00389b71";

/** Registered formats (RFC 2361 and later), by number. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [0x0002, "Microsoft ADPCM"],
  [0x0010, "OKI ADPCM"],
  [0x0011, "IMA ADPCM"],
  [0x0014, "G.723 ADPCM"],
  [0x0016, "Digistd"],
  [0x0017, "Dialogic ADPCM"],
  [0x0020, "Yamaha ADPCM"],
  [0x0022, "TrueSpeech"],
  [0x0031, "GSM 6.10"],
  [0x0038, "Rockwell ADPCM"],
  [0x0040, "G.721 ADPCM"],
  [0x0042, "G.723.1"],
  [0x0045, "G.726 ADPCM"],
  [0x0061, "Duck DK4 ADPCM"],
  [0x0062, "Duck DK3 ADPCM"],
  [0x0064, "G.726 ADPCM"],
  [0x0065, "G.722 ADPCM"],
  [0x0069, "Xbox IMA ADPCM"],
  [0x0075, "MetaSound"],
  [0x0083, "G.729"],
  [0x0092, "AC-3"],
  [0x00ff, "AAC without ADTS headers"],
  [0x0111, "VivoActive G.723"],
  [0x0130, "Sipro ACELP.net"],
  [0x0160, "Windows Media Audio 1"],
  [0x0161, "Windows Media Audio 2"],
  [0x0162, "Windows Media Audio Pro"],
  [0x0163, "Windows Media Audio Lossless"],
  [0x0200, "Creative ADPCM"],
  [0x0270, "ATRAC3"],
  [0x0401, "Intel Music Coder"],
  [0x1602, "AAC in LOAS"],
  [0x2000, "AC-3"],
  [0x2001, "DTS"],
  [0x2048, "Sonic"],
  [0x566f, "Vorbis"],
  [0x674f, "Vorbis"],
  [0x6750, "Vorbis"],
  [0x6751, "Vorbis"],
  [0x676f, "Vorbis"],
  [0x6770, "Vorbis"],
  [0x6771, "Vorbis"],
  [0x704f, "Opus"],
  [0x7a21, "AMR"],
  [0x7a22, "AMR"],
  [0xa106, "AAC without ADTS headers"],
  [0xa109, "Speex"],
  [0xf1ac, "FLAC"],
]);

/** Reads the body of the chunk, at least its first 26 bytes where it has them. */
export function parseWavFormat(body: Uint8Array): ParsedFormat {
  if (body.length < 14) return { kind: "damaged", why: "its format is cut off" };
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const tag = view.getUint16(0, true);
  // The extensible form names the real format in the first bytes of a GUID.
  const isGuid = tag === EXTENSIBLE && body.length >= 26;
  const format = isGuid ? view.getUint16(24, true) : tag;
  const guidRest = isGuid && body.length >= 40 ? Buffer.from(body.subarray(26, 40)).toString("hex") : GUID_REST;
  if (guidRest !== GUID_REST) return { kind: "unsupported", name: foreignGuid(body) };
  if (format === 0x50 || format === 0x55) return { kind: "mpeg" };
  if (format === 0x1600) return { kind: "adts" };
  if (![1, 3, 6, 7].includes(format))
    return { kind: "unsupported", name: NAMES.get(format) ?? `format 0x${hex(format)}` };
  const channelCount = view.getUint16(2, true);
  const sampleRateHz = view.getUint32(4, true);
  const declaredBits = body.length >= 16 ? view.getUint16(14, true) : 8;
  const bitsPerSample = containerBits(view.getUint16(12, true), { channelCount, declaredBits });
  const encoding = encodingOf(format, bitsPerSample);
  const kind = ["", "integer", "", "float", "", "", "A-law", "mu-law"][format];
  if (encoding === undefined) return { kind: "unsupported", name: `${kind} samples of ${bitsPerSample} bits` };
  const pcm = pcmStream({ encoding, bitsPerSample, isBigEndian: false }, { channelCount, sampleRateHz });
  const why = `its header declares ${channelCount} channels at ${sampleRateHz} Hz`;
  return pcm === undefined ? { kind: "damaged", why } : { kind: "pcm", ...pcm };
}

/** Bits that a sample takes: by the size of a frame, or as declared where that makes no sense. */
function containerBits(
  frameBytes: number,
  { channelCount, declaredBits }: { readonly channelCount: number; readonly declaredBits: number },
): number {
  const bits = (8 * frameBytes) / Math.max(1, channelCount);
  const isSane = bits > 0 && bits <= 64 && bits % 8 === 0;
  return isSane ? bits : 8 * Math.ceil(declaredBits / 8);
}

function encodingOf(format: number, bits: number): PcmLayout["encoding"] | undefined {
  if (format === 1 && bits === 8) return "unsigned";
  if (format === 1 && (bits === 16 || bits === 24 || bits === 32 || bits === 64)) return "signed";
  if (format === 3 && (bits === 32 || bits === 64)) return "float";
  if (format === 6 && bits === 8) return "alaw";
  return format === 7 && bits === 8 ? "mulaw" : undefined;
}

function foreignGuid(body: Uint8Array): string {
  const guid = Buffer.from(body.subarray(24, 40)).toString("hex");
  return guid.startsWith("bfaa23e9") ? "ATRAC3+" : `format ${guid}`;
}

function hex(format: number): string {
  return format.toString(16).padStart(4, "0");
}

/** Sync words at the start of a compressed frame that calls itself samples, so that old programs burn it to a CD. */
const FOREIGN_SYNCS: readonly (readonly [hex: string, name: string])[] = [
  ["fe7f0180", "DTS"],
  ["ff1f00e8", "DTS"],
  ["72f81f4e", "a compressed stream for S/PDIF (IEC 61937)"],
];

/** The name of the codec whose frames lie in the first samples; undefined when they are samples. */
export function foreignAudioIn(samples: Uint8Array): string | undefined {
  const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  return FOREIGN_SYNCS.find(([sync]) => {
    const at = bytes.indexOf(sync, 0, "hex");
    const next = bytes.toString("hex", at + 4, at + 6);
    // A full-scale square wave has the samples of the sync word of DTS, and goes on with one of them.
    return at >= 0 && next !== sync.slice(0, 4) && next !== sync.slice(4);
  })?.[1];
}
