// Writes FLAC frames of any bit depth, for tests of the decoder and the readers: no encoder at hand writes depths other
// than 16 and 24 bits.

import { ascii, be, bits, concat, crc, digits } from "../../lab/media-files/bytes.ts";

const crc8 = crc(8, 0x07);
const crc16 = crc(16, 0x8005);
/** Depths with a code of their own in the frame's header; others are left to STREAMINFO. */
const DEPTH_CODES = new Map([8, 12, 16, 20, 24, 32].map((depth, index) => [depth, [1, 2, 4, 5, 6, 7][index]!]));
const FIXED: readonly (readonly number[])[] = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]];

/** How the samples are coded. */
export type Coding =
  | { readonly kind: "verbatim" }
  | { readonly kind: "fixed"; readonly order: number }
  | { readonly kind: "lpc"; readonly coefficients: readonly number[]; readonly shift: number };

export interface FlacSpec {
  readonly bitsPerSample: number;
  readonly rateHz: number;
  readonly blockSamples: number;
  readonly coding: Coding;
  /** Default: each channel on its own. */
  readonly pair?: "leftSide" | "sideRight" | "middleSide";
  /** Zero bits below every sample. */
  readonly wastedBits?: number;
  /** Default: as in the samples. */
  readonly totalSamples?: number;
}

/** STREAMINFO without its block header. */
function streamInfoOf(spec: FlacSpec, channelCount: number, totalSamples: number): Uint8Array {
  const { blockSamples, rateHz, bitsPerSample } = spec;
  const facts = digits(rateHz, 20) + digits(channelCount - 1, 3) + digits(bitsPerSample - 1, 5);
  const sizes = concat(be(blockSamples, 2), be(blockSamples, 2), be(0, 6));
  return concat(sizes, bits(facts + digits(totalSamples, 36)), new Uint8Array(16));
}

/** "fLaC" with STREAMINFO as the only block. */
export function flacFileHead(spec: FlacSpec, channelCount: number, totalSamples: number): Uint8Array {
  return concat(ascii("fLaC"), Uint8Array.of(0x80), be(34, 3), streamInfoOf(spec, channelCount, totalSamples));
}

/** The frames of some channels of integers, equally long. */
export function flacFrames(channels: readonly (readonly number[])[], spec: FlacSpec): Uint8Array[] {
  const length = channels[0]!.length;
  return Array.from({ length: Math.ceil(length / spec.blockSamples) }, (_, index) => {
    const start = index * spec.blockSamples;
    return writeFrame(
      channels.map((channel) => channel.slice(start, start + spec.blockSamples)),
      index,
      spec,
    );
  });
}

/** A whole file. */
export function flacFile(channels: readonly (readonly number[])[], spec: FlacSpec): Uint8Array {
  const head = flacFileHead(spec, channels.length, spec.totalSamples ?? channels[0]!.length);
  return concat(head, ...flacFrames(channels, spec));
}

function writeFrame(channels: readonly (readonly number[])[], number: number, spec: FlacSpec): Uint8Array {
  const { bitsPerSample, pair } = spec;
  const code = pair === undefined ? channels.length - 1 : { leftSide: 8, sideRight: 9, middleSide: 10 }[pair];
  const header = concat(
    bits(`1111111111111000 0111 0000 ${digits(code, 4)} ${digits(DEPTH_CODES.get(bitsPerSample) ?? 0, 3)} 0`),
    codedNumber(number),
    be(channels[0]!.length - 1, 2),
  );
  const subframes = splitPair(channels, pair).map(({ samples, isSide }) =>
    writeSubframe(samples, bitsPerSample + (isSide ? 1 : 0), spec),
  );
  const frame = concat(header, Uint8Array.of(crc8(header)), bits(subframes.join("")));
  return concat(frame, be(crc16(frame), 2));
}

interface Subframe {
  readonly samples: readonly number[];
  readonly isSide: boolean;
}

function splitPair(channels: readonly (readonly number[])[], pair: FlacSpec["pair"]): readonly Subframe[] {
  const [left, right] = channels;
  if (pair === undefined || left === undefined || right === undefined)
    return channels.map((samples) => ({ samples, isSide: false }));
  const side = { samples: left.map((value, at) => value - right[at]!), isSide: true };
  if (pair === "leftSide") return [{ samples: left, isSide: false }, side];
  if (pair === "sideRight") return [side, { samples: right, isSide: false }];
  return [{ samples: left.map((value, at) => Math.floor((value + right[at]!) / 2)), isSide: false }, side];
}

function writeSubframe(samples: readonly number[], depth: number, { coding, wastedBits = 0 }: FlacSpec): string {
  const shifted = samples.map((value) => value / 2 ** wastedBits);
  const sampleBits = depth - wastedBits;
  const waste = wastedBits === 0 ? "0" : `1${"0".repeat(wastedBits - 1)}1`;
  const plain = (values: readonly number[]) => values.map((value) => digits(value, sampleBits)).join("");
  if (coding.kind === "verbatim") return `0000001${waste}${plain(shifted)}`;
  const coefficients = coding.kind === "fixed" ? FIXED[coding.order]! : coding.coefficients;
  const shift = coding.kind === "fixed" ? 0 : coding.shift;
  const order = coefficients.length;
  const residues = shifted.slice(order).map((value, index) => {
    const sum = coefficients.reduce((total, factor, back) => total + factor * shifted[index + order - 1 - back]!, 0);
    return value - Math.floor(sum / 2 ** shift);
  });
  const type = coding.kind === "fixed" ? `001${digits(order, 3)}` : `1${digits(order - 1, 5)}`;
  const own =
    coding.kind === "fixed" ? "" : `1110${digits(shift, 5)}${coefficients.map((c) => digits(c, 15)).join("")}`;
  return `0${type}${waste}${plain(shifted.slice(0, order))}${own}${writeResidues(residues)}`;
}

/** One partition with parameters of five bits. */
function writeResidues(residues: readonly number[]): string {
  const mean = residues.reduce((total, value) => total + Math.abs(value), 0) / Math.max(1, residues.length);
  const parameter = Math.min(30, Math.max(0, Math.ceil(Math.log2(mean + 1))));
  const codes = residues.map((value) => {
    const folded = value < 0 ? -2 * value - 1 : 2 * value;
    const low = parameter === 0 ? "" : digits(folded % 2 ** parameter, parameter);
    return `${"0".repeat(Math.floor(folded / 2 ** parameter))}1${low}`;
  });
  return `01${"0000"}${digits(parameter, 5)}${codes.join("")}`;
}

/** Up to 16 bits. */
function codedNumber(value: number): Uint8Array {
  if (value < 0x80) return Uint8Array.of(value);
  if (value < 0x800) return Uint8Array.of(0xc0 | (value >> 6), 0x80 | (value & 0x3f));
  return Uint8Array.of(0xe0 | (value >> 12), 0x80 | ((value >> 6) & 0x3f), 0x80 | (value & 0x3f));
}
