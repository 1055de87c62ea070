// Any number of channels to stereo, by the coefficients of ITU-R BS.775-3 (annex 4): front 1, centre and surrounds
// 0.7071, one rear centre 0.5 to each side, low-frequency channel left out. Scaled so that the sum of each side's
// coefficients is 1: full scale on all channels cannot clip, at the price of 7.7 dB for 5.1. Audio thread.

import type { AudioCodec } from "../format/packet.ts";
import type { Speaker } from "../format/speakers.ts";

const MINUS_3_DB = Math.SQRT1_2;

/** The gain of each speaker position in left and right. */
const SHARES: Record<Speaker, readonly [left: number, right: number]> = {
  FL: [1, 0],
  FR: [0, 1],
  FLC: [1, 0],
  FRC: [0, 1],
  FC: [MINUS_3_DB, MINUS_3_DB],
  LFE: [0, 0],
  BL: [MINUS_3_DB, 0],
  BR: [0, MINUS_3_DB],
  SL: [MINUS_3_DB, 0],
  SR: [0, MINUS_3_DB],
  BC: [0.5, 0.5],
};

/** Orders by channel count from 3 to 8. WAV without a mask and FLAC (RFC 9639 section 9.1.3) agree. */
const WAVE_ORDERS: readonly (readonly Speaker[])[] = [
  ["FL", "FR", "FC"],
  ["FL", "FR", "BL", "BR"],
  ["FL", "FR", "FC", "BL", "BR"],
  ["FL", "FR", "FC", "LFE", "BL", "BR"],
  ["FL", "FR", "FC", "LFE", "BC", "SL", "SR"],
  ["FL", "FR", "FC", "LFE", "BL", "BR", "SL", "SR"],
];

/** Vorbis I specification section 4.3.9; Opus mapping family 1 is the same (RFC 7845 section 5.1.1.2). */
const VORBIS_ORDERS: readonly (readonly Speaker[])[] = [
  ["FL", "FC", "FR"],
  ["FL", "FR", "BL", "BR"],
  ["FL", "FC", "FR", "BL", "BR"],
  ["FL", "FC", "FR", "BL", "BR", "LFE"],
  ["FL", "FC", "FR", "SL", "SR", "BC", "LFE"],
  ["FL", "FC", "FR", "SL", "SR", "BL", "BR", "LFE"],
];

/** AAC in the output order of its decoder (FFmpeg), which is not the order of the bit stream. */
const AAC_ORDERS: readonly (readonly Speaker[])[] = [
  ["FL", "FR", "FC"],
  ["FL", "FR", "FC", "BC"],
  ["FL", "FR", "FC", "BL", "BR"],
  ["FL", "FR", "FC", "LFE", "BL", "BR"],
  ["FL", "FR", "FC", "LFE", "BL", "BR", "BC"],
  // Configuration 7 is by the standard one with FLC and FRC. FFmpeg takes it for this, as encoders write it for this.
  ["FL", "FR", "FC", "LFE", "BL", "BR", "SL", "SR"],
];

/** ALAC in the order of its packets. */
const ALAC_ORDERS: readonly (readonly Speaker[])[] = [
  ["FC", "FL", "FR"],
  ["FC", "FL", "FR", "BC"],
  ["FC", "FL", "FR", "SL", "SR"],
  ["FC", "FL", "FR", "SL", "SR", "LFE"],
  ["FC", "FL", "FR", "SL", "SR", "BC", "LFE"],
  ["FC", "FLC", "FRC", "FL", "FR", "SL", "SR", "LFE"],
];

const ORDERS: Record<AudioCodec, readonly (readonly Speaker[])[]> = {
  opus: VORBIS_ORDERS,
  vorbis: VORBIS_ORDERS,
  aac: AAC_ORDERS,
  alac: ALAC_ORDERS,
  flac: WAVE_ORDERS,
  pcm: WAVE_ORDERS,
  mp3: WAVE_ORDERS,
};

/** Per channel, what it adds to the left and to the right; both columns add up to 1. */
export interface MixMatrix {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

/** The speakers of `channelCount` channels (3 or more) in the order of `codec`; above 8, pairs of left and right. */
export function speakersOf(codec: AudioCodec, channelCount: number): readonly Speaker[] {
  return ORDERS[codec][channelCount - 3] ?? pairs(channelCount);
}

/** The matrix for channels in the order of `speakers`. */
export function stereoMixMatrix(speakers: readonly Speaker[]): MixMatrix {
  const left = Float32Array.from(speakers, (speaker) => SHARES[speaker][0]);
  const right = Float32Array.from(speakers, (speaker) => SHARES[speaker][1]);
  return { left: scaleToOne(left), right: scaleToOne(right) };
}

/** Mixes the first `lengthSamples` samples of all channels into `left` and `right`. */
export function mixToStereo(
  channels: readonly Float32Array[],
  lengthSamples: number,
  { matrix, left, right }: { readonly matrix: MixMatrix; readonly left: Float32Array; readonly right: Float32Array },
): void {
  left.fill(0, 0, lengthSamples);
  right.fill(0, 0, lengthSamples);
  for (let index = 0; index < channels.length; index++) {
    const channel = channels[index]!;
    const toLeft = matrix.left[index]!;
    const toRight = matrix.right[index]!;
    if (toLeft !== 0) for (let sample = 0; sample < lengthSamples; sample++) left[sample]! += toLeft * channel[sample]!;
    if (toRight !== 0)
      for (let sample = 0; sample < lengthSamples; sample++) right[sample]! += toRight * channel[sample]!;
  }
}

function pairs(channelCount: number): readonly Speaker[] {
  return Array.from({ length: channelCount }, (_, index) => (index % 2 === 0 ? "FL" : "FR"));
}

function scaleToOne(shares: Float32Array): Float32Array {
  const sum = shares.reduce((total, share) => total + share, 0);
  if (sum === 0) return shares;
  return shares.map((share) => share / sum);
}
