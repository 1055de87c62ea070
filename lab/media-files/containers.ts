// Well-formed pieces of containers, from which both the control songs and the hostile files are built.

import { writeOggPage } from "../../src/media/demux/ogg/write-page.ts";
import { ascii, be, bits, concat, crc, digits, le } from "./bytes.ts";

const flacCrc8 = crc(8, 0x07);
const flacCrc16 = crc(16, 0x8005);

/** An EBML element; its size is written in eight bytes, or as unknown. */
export function ebml(id: number, body: Uint8Array, claimedBytes: number | "unknown" = body.length): Uint8Array {
  const idBytes = id > 0xffffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1;
  const size = claimedBytes === "unknown" ? new Uint8Array(7).fill(255) : be(claimedBytes, 7);
  return concat(be(id, idBytes), Uint8Array.of(1), size, body);
}

export interface MatroskaTrack {
  readonly codec: string;
  readonly rateHz: number;
  readonly channels: number;
  readonly bitsPerSample?: number;
  readonly codecPrivate?: Uint8Array;
  readonly docType?: string;
}

/** Everything before the clusters; the segment has no size, so clusters may follow. */
export function matroskaHead(track: MatroskaTrack, durationMs?: number): Uint8Array {
  const rate = Buffer.alloc(8);
  rate.writeDoubleBE(track.rateHz);
  const duration = Buffer.alloc(8);
  duration.writeDoubleBE(durationMs ?? 0);
  const audio = ebml(
    0xe1,
    concat(
      ebml(0xb5, rate),
      ebml(0x9f, be(track.channels, 1)),
      ...(track.bitsPerSample === undefined ? [] : [ebml(0x6264, be(track.bitsPerSample, 1))]),
    ),
  );
  const entry = concat(
    ...[ebml(0xd7, be(1, 1)), ebml(0x73c5, be(1, 1)), ebml(0x83, be(2, 1)), ebml(0x86, ascii(track.codec))],
    ...(track.codecPrivate === undefined ? [] : [ebml(0x63a2, track.codecPrivate)]),
    audio,
  );
  const info = concat(ebml(0x2ad7b1, be(1_000_000, 3)), ...(durationMs === undefined ? [] : [ebml(0x4489, duration)]));
  return concat(
    ebml(0x1a45dfa3, concat(ebml(0x4282, ascii(track.docType ?? "webm")))),
    ebml(0x18538067, concat(ebml(0x1549a966, info), ebml(0x1654ae6b, ebml(0xae, entry))), "unknown"),
  );
}

export function cluster(timeMs: number, blocks: readonly Uint8Array[]): Uint8Array {
  return ebml(0x1f43b675, concat(ebml(0xe7, be(timeMs, 4)), ...blocks));
}

export function simpleBlock(offsetMs: number, data: Uint8Array, flags = 0x80): Uint8Array {
  return ebml(0xa3, concat(Uint8Array.of(0x81), be(offsetMs, 2), Uint8Array.of(flags), data));
}

/** An Ogg page with a right checksum. */
export const oggPage = writeOggPage;

export function opusHead(channels = 2, preSkipSamples = 312): Uint8Array {
  return concat(ascii("OpusHead"), Uint8Array.of(1, channels), le(preSkipSamples, 2), le(48_000, 4), le(0, 3));
}

export function opusTags(): Uint8Array {
  return concat(ascii("OpusTags"), le(0, 8));
}

export function box(type: string, ...bodies: readonly Uint8Array[]): Uint8Array {
  const body = concat(...bodies);
  return concat(be(body.length + 8, 4), ascii(type), body);
}

/** A box that begins with a version and flags. */
export function fullBox(type: string, ...bodies: readonly Uint8Array[]): Uint8Array {
  return box(type, be(0, 4), ...bodies);
}

interface WavFields {
  readonly rateHz: number;
  readonly channels?: number;
  readonly bitsPerSample?: number;
  /** 1 integers, 3 floats, 6 A-law, 7 µ-law. */
  readonly format?: number;
  readonly data: Uint8Array;
  readonly claimedBytes?: number;
}

export function wav({
  rateHz,
  channels = 2,
  bitsPerSample = 16,
  format = 1,
  data,
  claimedBytes,
}: WavFields): Uint8Array {
  const blockBytes = (channels * bitsPerSample) >> 3;
  return concat(
    ...[ascii("RIFF"), le(36 + data.length, 4), ascii("WAVEfmt "), le(16, 4), le(format, 2), le(channels, 2)],
    ...[le(rateHz, 4), le(rateHz * blockBytes, 4), le(blockBytes, 2), le(bitsPerSample, 2)],
    ...[ascii("data"), le(claimedBytes ?? data.length, 4), data],
  );
}

interface FlacStreamInfo {
  readonly rateHz: number;
  readonly channels?: number;
  readonly blockSamples?: number;
  readonly totalSamples?: number;
}

/** STREAMINFO without its block header. */
export function flacStreamInfo(info: FlacStreamInfo): Uint8Array {
  const { rateHz, channels = 1, blockSamples = 4096, totalSamples = 0 } = info;
  const rate = digits(rateHz, 20) + digits(channels - 1, 3) + digits(15, 5) + digits(totalSamples, 36);
  return concat(be(blockSamples, 2), be(blockSamples, 2), be(0, 6), bits(rate), new Uint8Array(16));
}

/** The signature and STREAMINFO as the only block. */
export function flacHead(info: FlacStreamInfo): Uint8Array {
  return concat(ascii("fLaC"), Uint8Array.of(0x80), be(34, 3), flacStreamInfo(info));
}

/** A frame of one constant value, 16 bit, mono; the rate, where given, is written in the frame itself. */
export function flacFrame(number: number, blockSamples: number, rateHz?: number): Uint8Array {
  const rateCode = rateHz === undefined ? "0000" : "1101";
  const head = concat(
    bits(`1111111111111000 0111 ${rateCode} 0000 1000`),
    utf8Number(number),
    be(blockSamples - 1, 2),
    ...(rateHz === undefined ? [] : [be(rateHz, 2)]),
  );
  const frame = concat(head, Uint8Array.of(flacCrc8(head)), bits(`00000000 ${digits(1000 + (number % 50), 16)}`));
  return concat(frame, be(flacCrc16(frame), 2));
}

/** A frame number as FLAC writes it: UTF-8 extended to 36 bits; here up to 21. */
function utf8Number(value: number): Uint8Array {
  if (value < 0x80) return Uint8Array.of(value);
  if (value < 0x800) return Uint8Array.of(0xc0 | (value >> 6), 0x80 | (value & 0x3f));
  if (value < 0x10000) return Uint8Array.of(0xe0 | (value >> 12), 0x80 | ((value >> 6) & 0x3f), 0x80 | (value & 0x3f));
  const low = [0x80 | ((value >> 12) & 0x3f), 0x80 | ((value >> 6) & 0x3f), 0x80 | (value & 0x3f)];
  return Uint8Array.of(0xf0 | (value >> 18), ...low);
}

/**
 * A frame of MPEG-1 Layer III, mono, 64 kbit/s at 44.1 kHz, with one line of its spectrum: a quiet hum at about 400 Hz.
 * Needs no frame before it.
 */
export function mp3Frame(): Uint8Array {
  const granule = `${digits(8, 12)}${digits(6, 9)}${digits(196, 8)}0000 0 ${digits(1, 5).repeat(3)} 0000 000 000`;
  const sideInfo = bits(digits(0, 18) + granule.repeat(2));
  // Five pairs of lines that are zero, then (1, 0) with its sign, in the code table 1: once for each granule.
  const lines = bits("11111 01 0".repeat(2));
  const frame = new Uint8Array(208);
  frame.set(concat(Uint8Array.of(0xff, 0xfb, 0x50, 0xc4), sideInfo, lines));
  return frame;
}

/** An ADTS header and its AAC-LC data, stereo at 44.1 kHz. */
export function adtsFrame(data: Uint8Array, rateIndex = 4, channels = 2): Uint8Array {
  const length = digits(data.length + 7, 13);
  return concat(
    bits(`111111111111 0 00 1 01 ${digits(rateIndex, 4)} 0 ${digits(channels, 3)} 0000 ${length} 11111111111 00`),
    data,
  );
}

/** AAC-LC data of a silent stereo frame. */
export const AAC_SILENCE = Uint8Array.of(0x21, 0x10, 0x04, 0x60, 0x8c, 0x1c);
