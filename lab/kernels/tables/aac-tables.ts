// The tables of AAC (ISO 14496-3 subpart 4), as the decoder's memory holds them. Part of the build.

import * as map from "../../../src/media/kernels/numbers/aac.ts";
import { REPLICATION_CODES, SCALE_CODES, SPECTRUM_CODES, STEREO_CODES } from "./aac-codes.ts";
import { writeReplicationTables } from "./aac-replication-tables.ts";
import { writeStereoTables } from "./aac-stereo-tables.ts";
import { writeBandStarts } from "./band-starts.ts";
import { writeHuffmanTable } from "./huffman-tables.ts";

type Widths = readonly number[];

const LONG_96: Widths = [
  ...[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 8, 12, 12, 12, 12, 12, 16, 16, 24, 28, 36, 44],
  ...[64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64],
];
const LONG_64: Widths = [
  ...[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 16, 16, 16, 20, 24, 24, 28, 36, 40],
  ...[40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40],
];
const LONG_32: Widths = [
  ...[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 12, 12, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28, 32],
  ...[32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32],
];
const LONG_48: Widths = [...LONG_32.slice(0, 48), 96];
const LONG_24: Widths = [
  ...[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 12, 12, 12, 12, 16, 16, 16, 20, 20, 24],
  ...[24, 28, 28, 32, 36, 36, 40, 44, 48, 52, 52, 64, 64, 64, 64, 64],
];
const LONG_16: Widths = [
  ...[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 12, 12, 12, 12, 12, 12, 12, 12, 12, 16, 16, 16, 16, 20, 20, 20, 24],
  ...[24, 28, 28, 32, 36, 40, 40, 44, 48, 52, 56, 60, 64, 64, 64],
];
const LONG_8: Widths = [
  ...[12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 16, 16, 16, 16, 16, 16, 16, 20, 20, 20, 20, 24, 24],
  ...[24, 28, 28, 32, 36, 36, 40, 44, 48, 52, 56, 60, 64, 80],
];
const SHORT_96: Widths = [4, 4, 4, 4, 4, 4, 8, 8, 8, 16, 28, 36];
const SHORT_48: Widths = [4, 4, 4, 4, 4, 8, 8, 8, 12, 12, 12, 16, 16, 16];
const SHORT_24: Widths = [4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 12, 12, 16, 16, 20];
const SHORT_16: Widths = [4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 12, 12, 16, 20, 20];
const SHORT_8: Widths = [4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 12, 16, 20, 20];

interface RateFacts {
  /** Widths of the bands of long and of short windows (tables 4.129 to 4.147). */
  readonly long: Widths;
  readonly short: Widths;
  /** Bands that noise shaping may reach, of long and of short windows (table 4.156). */
  readonly shaped: readonly [number, number];
}

/** By the index of the sample rate: 96, 88.2, 64, 48, 44.1, 32, 24, 22.05, 16, 12, 11.025, 8 and 7.35 kHz. */
const RATES: readonly RateFacts[] = [
  { long: LONG_96, short: SHORT_96, shaped: [31, 9] },
  { long: LONG_96, short: SHORT_96, shaped: [31, 9] },
  { long: LONG_64, short: SHORT_96, shaped: [34, 10] },
  { long: LONG_48, short: SHORT_48, shaped: [40, 14] },
  { long: LONG_48, short: SHORT_48, shaped: [42, 14] },
  { long: LONG_32, short: SHORT_48, shaped: [51, 14] },
  { long: LONG_24, short: SHORT_24, shaped: [46, 14] },
  { long: LONG_24, short: SHORT_24, shaped: [46, 14] },
  { long: LONG_16, short: SHORT_16, shaped: [42, 14] },
  { long: LONG_16, short: SHORT_16, shaped: [42, 14] },
  { long: LONG_16, short: SHORT_16, shaped: [42, 14] },
  { long: LONG_8, short: SHORT_8, shaped: [39, 14] },
  { long: LONG_8, short: SHORT_8, shaped: [39, 14] },
];

/** Shapes of the Kaiser-Bessel windows, long and short. */
const LONG_ALPHA = 4;
const SHORT_ALPHA = 6;
/** Full scale of the coded numbers. */
const FULL_SCALE = 32_768;

/** The memory up to the packet, with all tables in it. */
export function aacTables(): Uint8Array {
  const bytes = new Uint8Array(map.PACKET_BYTE);
  const view = new DataView(bytes.buffer);
  const floats = (address: number, values: readonly number[]): void =>
    values.forEach((value, index) => void view.setFloat32(address + 4 * index, value, true));
  floats(map.POWERS_BYTE, range(map.POWERS, power));
  floats(
    map.GAINS_BYTE,
    range(map.GAINS, (index) => 2 ** ((index - map.GAIN_ZERO) / 4)),
  );
  writeBooks(view);
  floats(map.SIGNED_QUADS_BYTE, tuples(3, 4, -1));
  floats(map.PLAIN_QUADS_BYTE, tuples(3, 4, 0));
  floats(map.SIGNED_PAIRS_BYTE, tuples(9, 2, -4));
  floats(map.PAIRS_7_BYTE, tuples(8, 2, 0));
  floats(map.PAIRS_12_BYTE, tuples(13, 2, 0));
  floats(map.PAIRS_16_BYTE, tuples(17, 2, 0));
  for (const [rate, { long, short, shaped }] of RATES.entries()) {
    bytes.set([long.length, shaped[0], short.length, shaped[1]], map.RATE_FACTS_BYTE + 4 * rate);
    writeBandStarts(view, map.LONG_BANDS_BYTE + 2 * map.LONG_BANDS * rate, long);
    writeBandStarts(view, map.SHORT_BANDS_BYTE + 2 * map.SHORT_BANDS * rate, short);
  }
  floats(
    map.SHAPING_BYTE,
    [0, 1].flatMap((compressed) => [3, 4].flatMap((bits) => shapingValues(bits, bits - compressed))),
  );
  floats(map.LONG_WINDOWS_BYTE, [...sine(map.FRAME_SAMPLES), ...kaiserBessel(map.FRAME_SAMPLES, LONG_ALPHA)]);
  floats(map.SHORT_WINDOWS_BYTE, [...sine(map.SHORT_SAMPLES), ...kaiserBessel(map.SHORT_SAMPLES, SHORT_ALPHA)]);
  floats(map.ROOTS_BYTE, range(map.ROOTS, (index) => root(index, map.ROOTS)).flat());
  floats(map.LONG_STEP_BYTE, stepFactors(map.FRAME_SAMPLES / 2));
  floats(map.SHORT_STEP_BYTE, stepFactors(map.SHORT_SAMPLES / 2));
  floats(map.LONG_TURNS_BYTE, turns(map.FRAME_SAMPLES));
  floats(map.SHORT_TURNS_BYTE, turns(map.SHORT_SAMPLES));
  writeReplicationTables(view);
  writeStereoTables(view);
  return bytes;
}

function range<Value>(length: number, make: (index: number) => Value): Value[] {
  return Array.from({ length }, (_, index) => make(index));
}

function power(value: number): number {
  return Math.sign(value) * Math.abs(value) ** (4 / 3);
}

function writeBooks(view: DataView): void {
  let end = map.CODES_BYTE;
  for (const [index, codes] of [...SPECTRUM_CODES, SCALE_CODES, ...REPLICATION_CODES, ...STEREO_CODES].entries()) {
    view.setUint32(map.BOOKS_BYTE + 4 * (index + 1), end, true);
    end = writeHuffmanTable(view, end, codes);
  }
}

/** Each index as digits in base `base`, from `lowest` on, raised to 4/3. */
function tuples(base: number, count: number, lowest: number): readonly number[] {
  return range(base ** count, (index) =>
    range(count, (digit) => power((Math.floor(index / base ** (count - 1 - digit)) % base) + lowest)),
  ).flat();
}

/** Section 4.6.9.3: 16 values; `storedBits` are read, as a number with sign. */
function shapingValues(bits: number, storedBits: number): readonly number[] {
  const half = 2 ** (bits - 1);
  return range(16, (stored) => {
    const value = stored < 2 ** (storedBits - 1) ? stored : stored - 2 ** storedBits;
    return Math.sin((value * (Math.PI / 2)) / (value >= 0 ? half - 0.5 : half + 0.5));
  });
}

function sine(length: number): readonly number[] {
  return range(length, (index) => Math.sin((Math.PI / (2 * length)) * (index + 0.5)));
}

/** Section 4.6.11.3.2. */
function kaiserBessel(length: number, alpha: number): readonly number[] {
  const kernel = range(length + 1, (index) => bessel(Math.PI * alpha * Math.sqrt(1 - ((2 * index) / length - 1) ** 2)));
  const total = kernel.reduce((sum, value) => sum + value, 0);
  let sum = 0;
  return range(length, (index) => {
    sum += kernel[index]!;
    return Math.sqrt(sum / total);
  });
}

/** The modified Bessel function of the first kind, of order 0. */
function bessel(value: number): number {
  let term = 1;
  let sum = 1;
  for (let index = 1; term > 1e-12 * sum; index++) {
    term *= (value / (2 * index)) ** 2;
    sum += term;
  }
  return sum;
}

function root(index: number, count: number): readonly [number, number] {
  const angle = (-2 * Math.PI * index) / count;
  return [Math.cos(angle), Math.sin(angle)];
}

/** For four points in a row: real parts of their factors for the second sequence, imaginary ones; third; fourth. */
function stepFactors(count: number): readonly number[] {
  return range(count / 16, (group) =>
    [1, 2, 3].flatMap((sequence) =>
      [0, 1].flatMap((part) => range(4, (lane) => root(sequence * (4 * group + lane), count)[part]!)),
    ),
  ).flat();
}

/** Both turns together scale to full scale 1, as section 4.6.11.3.1 divides by the number of lines. */
function turns(lines: number): readonly number[] {
  const scale = Math.sqrt(1 / (lines * FULL_SCALE));
  return [0, 1].flatMap((part) => range(lines / 2, (index) => scale * root((index + 1 / 8) / 2, lines)[part]!));
}
