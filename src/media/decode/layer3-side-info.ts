// Whether a frame of MPEG Layer III says that it holds audio (ISO 11172-3 section 2.4.1.7): tells silence that was encoded
// from silence that a decoder makes of a frame whose first part is missing. Audio thread.

import { parseMpegAudioHeader } from "../demux/mpeg-audio-header.ts";

/** Bits before the granules, and of each granule's channel. */
const VERSION_1 = { infoBytes: [17, 32], headBits: [18, 20], granules: 2, granuleBits: 59 } as const;
const VERSION_2 = { infoBytes: [9, 17], headBits: [9, 10], granules: 1, granuleBits: 63 } as const;
/** In each granule's channel: behind the length of its data. */
const BIG_VALUES = { offsetBits: 12, bits: 9 };

/** True when some granule has large values; false for other layers and what is no frame. */
export function holdsLayer3Audio(frame: Uint8Array): boolean {
  if (frame.length < 4) return false;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const header = parseMpegAudioHeader(view.getUint32(0));
  if (header === undefined || header.layer !== 3) return false;
  const version = header.version === 1 ? VERSION_1 : VERSION_2;
  const stereo = header.channelCount === 2 ? 1 : 0;
  // A checksum may come first.
  const infoAt = 4 + header.sideBytes - version.infoBytes[stereo];
  const first = 8 * infoAt + version.headBits[stereo] + BIG_VALUES.offsetBits;
  for (let index = 0; index < version.granules * header.channelCount; index++) {
    if (hasBit(frame, first + index * version.granuleBits, BIG_VALUES.bits)) return true;
  }
  return false;
}

function hasBit(bytes: Uint8Array, from: number, count: number): boolean {
  for (let bit = from; bit < from + count; bit++) {
    if (((bytes[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) return true;
  }
  return false;
}
