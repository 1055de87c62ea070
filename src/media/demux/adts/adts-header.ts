// The header of an ADTS frame, AAC's form for streams (ISO 13818-7 section 6.2). Used by the ADTS and MPEG-TS readers.
// Audio thread.
//
// 11111111 1111VLLP OORRRRxC CCxxxxSS SSSSSSSS SSSxxxxx xxxxxxBB   L layer 00, P no CRC, O object, R rate,
//                                                                  C channels, S size, B blocks less one

import { aacRate } from "../aac-config.ts";

/** Without the CRC, which adds two bytes when present. */
export const ADTS_HEADER_BYTES = 7;

export interface AdtsHeader {
  readonly sampleRateHz: number;
  readonly channelCount: number;
  readonly frameSamples: number;
  /** Whole frame with its header. */
  readonly sizeBytes: number;
}

/** The header at `at`; undefined when there is none or it is cut off. */
export function parseAdtsHeader(bytes: Uint8Array, at = 0): AdtsHeader | undefined {
  if (at + ADTS_HEADER_BYTES > bytes.length || bytes[at] !== 0xff || (bytes[at + 1]! & 0xf6) !== 0xf0) return undefined;
  const sampleRateHz = aacRate((bytes[at + 2]! >> 2) & 15);
  const sizeBytes = ((bytes[at + 3]! & 3) << 11) | (bytes[at + 4]! << 3) | (bytes[at + 5]! >> 5);
  if (sampleRateHz === undefined || sizeBytes <= ADTS_HEADER_BYTES) return undefined;
  const channels = ((bytes[at + 2]! & 1) << 2) | (bytes[at + 3]! >> 6);
  const channelCount = channels === 7 ? 8 : channels || 2;
  return { sampleRateHz, channelCount, frameSamples: 1024 * ((bytes[at + 6]! & 3) + 1), sizeBytes };
}

/** True when the two headers may belong to one stream: all fixed bits are the same but for the private ones. */
function isSameAdtsStream(bytes: Uint8Array, at: number, other: number): boolean {
  const isSame = (index: number, mask: number) => ((bytes[at + index]! ^ bytes[other + index]!) & mask) === 0;
  return isSame(0, 0xff) && isSame(1, 0xfe) && isSame(2, 0xfd) && isSame(3, 0xc0);
}

/** True when at least `frameCount` frames follow each other from `at` on, fewer only where the data ends. */
export function isAdtsStart(bytes: Uint8Array, options: { at: number; frameCount: number; isEnd: boolean }): boolean {
  let at = options.at;
  for (let count = 0; count < options.frameCount; count++) {
    const header = parseAdtsHeader(bytes, at);
    if (header === undefined || !isSameAdtsStream(bytes, options.at, at)) return false;
    at += header.sizeBytes;
    if (at + ADTS_HEADER_BYTES > bytes.length) return options.isEnd && (count > 0 || at === bytes.length);
  }
  return true;
}
