// The header of a FLAC frame and the STREAMINFO block (RFC 9639 sections 9.1 and 8.2), with the checksums. Used by the
// FLAC reader and for packet lengths in Ogg, Matroska and MP4. Audio thread.

/** STREAMINFO, RFC 9639 section 8.2. */
export interface FlacStreamInfo {
  readonly blockSamplesMin: number;
  readonly blockSamplesMax: number;
  /** Largest frame in bytes; 0 when unknown. */
  readonly frameBytesMax: number;
  readonly sampleRateHz: number;
  readonly channelCount: number;
  readonly bitsPerSample: number;
  /** 0 when unknown. */
  readonly totalSamples: number;
}

/** Reads the 34 bytes of a STREAMINFO block's body; undefined when what it says cannot be. */
export function parseFlacStreamInfo(body: Uint8Array): FlacStreamInfo | undefined {
  const info = readFlacStreamInfo(body);
  if (info === undefined || info.sampleRateHz === 0 || info.blockSamplesMax < 16 || info.bitsPerSample < 4)
    return undefined;
  return info;
}

/** The same with all that it says, possible or not; undefined when it is cut off. */
export function readFlacStreamInfo(body: Uint8Array): FlacStreamInfo | undefined {
  if (body.length < 34) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const packed = view.getUint32(10);
  return {
    blockSamplesMin: view.getUint16(0),
    blockSamplesMax: view.getUint16(2),
    frameBytesMax: (body[7]! << 16) | (body[8]! << 8) | body[9]!,
    sampleRateHz: packed >>> 12,
    channelCount: ((packed >>> 9) & 7) + 1,
    bitsPerSample: ((packed >>> 4) & 31) + 1,
    totalSamples: (packed & 15) * 2 ** 32 + view.getUint32(14),
  };
}

/** The header of a frame (RFC 9639 section 9.1). */
export interface FlacFrameHeader {
  readonly blockSamples: number;
  /** 0 when STREAMINFO has the rate. */
  readonly sampleRateHz: number;
  /** 0 to 7: that many channels and one more; 8 left and side, 9 side and right, 10 middle and side. */
  readonly channelCode: number;
  readonly channelCount: number;
  /** 0 when STREAMINFO has the bits. */
  readonly bitsPerSample: number;
  /** Number of the frame's first sample when blocks vary in size, else the frame's number. */
  readonly number: number;
  readonly isVariable: boolean;
  readonly sizeBytes: number;
}

/** By the code of the rate; 0 leaves it to STREAMINFO. */
const RATES_HZ = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
/** What the number behind the header counts: codes 12 to 14. */
const RATE_UNITS_HZ = [1000, 1, 10];
/** By the code of the bit depth; 0 leaves it to STREAMINFO, and code 3 is reserved. */
const SAMPLE_BITS = [0, 8, 12, 0, 16, 20, 24, 32];

/** The longest header: 4 fixed bytes, 7 of the number, 2 of the block size, 2 of the rate, the CRC-8. */
export const FLAC_HEADER_BYTES_MAX = 16;

/** The header at `start`, undefined when there is none (bad pattern, bad checksum, or cut off). */
export function parseFlacFrameHeader(bytes: Uint8Array, start = 0): FlacFrameHeader | undefined {
  if (bytes[start] !== 0xff || (bytes[start + 1]! & 0xfe) !== 0xf8) return undefined;
  const sizeCode = bytes[start + 2]! >> 4;
  const rateCode = bytes[start + 2]! & 15;
  const channelCode = bytes[start + 3]! >> 4;
  const bitsCode = (bytes[start + 3]! >> 1) & 7;
  if (sizeCode === 0 || rateCode === 15 || channelCode > 10) return undefined;
  if (bitsCode === 3 || (bytes[start + 3]! & 1) !== 0) return undefined;
  const number = readCodedNumber(bytes, start + 4);
  if (number === undefined) return undefined;
  let at = start + 4 + number.sizeBytes;
  let blockSamples = blockSamplesOf(sizeCode);
  if (sizeCode === 6) blockSamples = (bytes[at++] ?? 0) + 1;
  if (sizeCode === 7) {
    blockSamples = ((bytes[at]! << 8) | bytes[at + 1]!) + 1;
    at += 2;
  }
  const rateBytes = rateCode === 12 ? 1 : rateCode > 12 ? 2 : 0;
  const rateValue = rateBytes === 1 ? bytes[at]! : (bytes[at]! << 8) | bytes[at + 1]!;
  at += rateBytes;
  if (at >= bytes.length || crc8(bytes, start, at) !== bytes[at]) return undefined;
  return {
    blockSamples,
    sampleRateHz: rateBytes === 0 ? RATES_HZ[rateCode]! : rateValue * RATE_UNITS_HZ[rateCode - 12]!,
    channelCode,
    channelCount: channelCode < 8 ? channelCode + 1 : 2,
    bitsPerSample: SAMPLE_BITS[bitsCode]!,
    number: number.value,
    isVariable: (bytes[start + 1]! & 1) === 1,
    sizeBytes: at + 1 - start,
  };
}

function blockSamplesOf(code: number): number {
  if (code === 1) return 192;
  if (code <= 5) return 576 << (code - 2);
  return code >= 8 ? 256 << (code - 8) : 0;
}

/** A number of up to 36 bits, written like extended UTF-8. */
function readCodedNumber(bytes: Uint8Array, start: number): { value: number; sizeBytes: number } | undefined {
  const first = bytes[start] ?? 0x80;
  if (first < 0x80) return { value: first, sizeBytes: 1 };
  const sizeBytes = Math.clz32(~(first << 24));
  if (sizeBytes < 2 || sizeBytes > 7) return undefined;
  let value = first & (0x7f >> sizeBytes);
  for (let index = 1; index < sizeBytes; index++) {
    const byte = bytes[start + index];
    if (byte === undefined || (byte & 0xc0) !== 0x80) return undefined;
    value = value * 64 + (byte & 0x3f);
  }
  return { value, sizeBytes };
}

const CRC8_TABLE = Uint8Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = ((value << 1) ^ (value & 0x80 ? 0x07 : 0)) & 0xff;
  return value;
});

function crc8(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0;
  for (let at = start; at < end; at++) crc = CRC8_TABLE[crc ^ bytes[at]!]!;
  return crc;
}

const CRC16_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 8;
  for (let bit = 0; bit < 8; bit++) value = ((value << 1) ^ (value & 0x8000 ? 0x8005 : 0)) & 0xffff;
  return value;
});

/** Continues the CRC-16 that ends every frame over `bytes` from `start` to `end`. */
export function flacCrc16(bytes: Uint8Array, range: { start: number; end: number; crc?: number }): number {
  let crc = range.crc ?? 0;
  for (let at = range.start; at < range.end; at++) crc = ((crc << 8) & 0xffff) ^ CRC16_TABLE[(crc >> 8) ^ bytes[at]!]!;
  return crc;
}
