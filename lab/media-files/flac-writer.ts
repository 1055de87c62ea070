// FLAC files of any bit depth, uncompressed (RFC 9639, verbatim subframes): ffmpeg writes 16 and 24 bits only. Lab only.

import { ascii, be, bits, concat, crc, digits, join } from "./bytes.ts";

const crc8 = crc(8, 0x07);
const crc16 = crc(16, 0x8005);
const BLOCK_SAMPLES = 1024;
/** Codes of the frame header (section 9.1.4); the others refer to STREAMINFO. */
const DEPTH_CODES: Readonly<Record<number, number>> = { 8: 1, 12: 2, 16: 4, 20: 5, 24: 6, 32: 7 };

interface FlacOptions {
  readonly rateHz: number;
  /** 4 to 32. */
  readonly bitsPerSample: number;
  /** Per channel, -1 to 1, of equal lengths. */
  readonly channels: readonly Float32Array[];
  /** False: STREAMINFO says 0, as encoders do that write to a pipe. Default true. */
  readonly hasTotal?: boolean;
}

export function flacFile({ rateHz, bitsPerSample, channels, hasTotal = true }: FlacOptions): Uint8Array {
  const totalSamples = channels[0]?.length ?? 0;
  const format = digits(rateHz, 20) + digits(channels.length - 1, 3) + digits(bitsPerSample - 1, 5);
  const info = concat(
    ...[be(BLOCK_SAMPLES, 2), be(BLOCK_SAMPLES, 2), be(0, 6)],
    bits(format + digits(hasTotal ? totalSamples : 0, 36)),
    be(0, 16),
  );
  const frames: Uint8Array[] = [];
  for (let at = 0; at < totalSamples; at += BLOCK_SAMPLES) {
    const block = channels.map((samples) => samples.subarray(at, at + BLOCK_SAMPLES));
    frames.push(flacFrame(frames.length, bitsPerSample, block));
  }
  return join([ascii("fLaC"), Uint8Array.of(0x80), be(34, 3), info, ...frames]);
}

/** `channels`: of one block, at most 1024 samples. Up to 128 frames. */
function flacFrame(number: number, bitsPerSample: number, channels: readonly Float32Array[]): Uint8Array {
  const blockSamples = channels[0]?.length ?? 0;
  const depth = DEPTH_CODES[bitsPerSample] ?? 0;
  const start = bits(`11111111 11111000 0111 0000 ${digits(channels.length - 1, 4)} ${digits(depth, 3)} 0`);
  const head = concat(start, codedNumber(number), be(blockSamples - 1, 2));
  const scale = 2 ** (bitsPerSample - 1) - 1;
  const subframes = channels.map(
    (samples) => `00000010${Array.from(samples, (value) => digits(Math.round(value * scale), bitsPerSample)).join("")}`,
  );
  const frame = concat(head, Uint8Array.of(crc8(head)), bits(subframes.join("")));
  return concat(frame, be(crc16(frame), 2));
}

/** As UTF-8 writes a code point, below 2048. */
function codedNumber(value: number): Uint8Array {
  return value < 0x80 ? Uint8Array.of(value) : Uint8Array.of(0xc0 | (value >> 6), 0x80 | (value & 0x3f));
}
