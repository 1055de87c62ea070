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

/** Reads the 34 bytes of a STREAMINFO block's body. */
export function parseFlacStreamInfo(body: Uint8Array): FlacStreamInfo | undefined {
  if (body.length < 34) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const packed = view.getUint32(10);
  const sampleRateHz = packed >>> 12;
  const blockSamplesMax = view.getUint16(2);
  if (sampleRateHz === 0 || blockSamplesMax < 16) return undefined;
  return {
    blockSamplesMin: view.getUint16(0),
    blockSamplesMax,
    frameBytesMax: (body[7]! << 16) | (body[8]! << 8) | body[9]!,
    sampleRateHz,
    channelCount: ((packed >>> 9) & 7) + 1,
    bitsPerSample: ((packed >>> 4) & 31) + 1,
    totalSamples: (packed & 15) * 2 ** 32 + view.getUint32(14),
  };
}

/** The part of a frame header that a container reader needs; rate and channels are in `FlacStreamInfo`. */
export interface FlacFrameHeader {
  readonly blockSamples: number;
  /** Number of the frame's first sample when blocks vary in size, else the frame's number. */
  readonly number: number;
  readonly isVariable: boolean;
  readonly sizeBytes: number;
}

/** The longest header: 4 fixed bytes, 7 of the number, 2 of the block size, 2 of the rate, the CRC-8. */
export const FLAC_HEADER_BYTES_MAX = 16;

/** The header at `start`, undefined when there is none (bad pattern, bad checksum, or cut off). */
export function parseFlacFrameHeader(bytes: Uint8Array, start = 0): FlacFrameHeader | undefined {
  if (bytes[start] !== 0xff || (bytes[start + 1]! & 0xfe) !== 0xf8) return undefined;
  const sizeCode = bytes[start + 2]! >> 4;
  const rateCode = bytes[start + 2]! & 15;
  const channelCode = bytes[start + 3]! >> 4;
  if (sizeCode === 0 || rateCode === 15 || channelCode > 10 || (bytes[start + 3]! & 1) !== 0) return undefined;
  const number = readCodedNumber(bytes, start + 4);
  if (number === undefined) return undefined;
  let at = start + 4 + number.sizeBytes;
  let blockSamples = blockSamplesOf(sizeCode);
  if (sizeCode === 6) blockSamples = (bytes[at++] ?? 0) + 1;
  if (sizeCode === 7) {
    blockSamples = ((bytes[at]! << 8) | bytes[at + 1]!) + 1;
    at += 2;
  }
  if (rateCode === 12) at += 1;
  if (rateCode === 13 || rateCode === 14) at += 2;
  if (at >= bytes.length || crc8(bytes, start, at) !== bytes[at]) return undefined;
  return {
    blockSamples,
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
