// The tables of MPEG audio layer III (ISO 11172-3 annex B, ISO 13818-3), as the decoder's memory holds them. Part of the
// build.

import { F32_BYTES } from "../../../src/media/kernels/numbers/block.ts";
import * as map from "../../../src/media/kernels/numbers/layer3.ts";
import { writeBandStarts } from "./band-starts.ts";

/**
 * Table B.7, by number: the codes from the lowest (all bits 0) to the highest, each with its length in base 36 and its two
 * values in base 16. Codes are complete, so that lengths and order give the bits.
 */
const CODES: Readonly<Record<number, string>> = {
  1: "311301210100",
  2: "622602512521520311301310100",
  3: "622602512521520310211201200",
  5: "833823732631713703730722612621602620311301310100",
  6: "733703623632630513531522502412421420301211310300",
  7:
    "a55a45a54a53935944925952815851905934850943933824842714741740804823832803713731730722612521602620411301310" + "100",
  8:
    "b55b54a45953a35a44925952905815851934943950933824842814741804840823832813831803830622602620412421211301310" + "200",
  9:
    "955945835853954905844825852815751734743850804724742733740614641623632513531603630522502412421420311301310" + "300",
  10:
    "b77b67b76b57b75b66a47a74a56a65a37a73a46b55b54a63927972a64a07970962a45a35906a53a44817871936926a25a52915951" +
    "a34a43816861860905950924942933904814841840823832803713731730722612621602620411301310100",
  11:
    "a77a67a76a75a66a47a74b57b55a56a65937973946a45a54a35a53827872964907771817870836863860944925952905815762826" +
    "806716761851834850943933824842814841804840723732613631703730622521412502520311301310200",
  12:
    "a77a67976957975966947974965856837973955827872846864817871907970836863845854844906905726762761816860835853" +
    "825852715751734743850804724742714633641623632740703630513531522412421502520400311301310",
  13:
    "jfejfcifdhedgffgefgdfgeegcfgdegbfgfbgcegdchafhe9fecfddgfagcdfbefebf9fff9feafbdfdbf8fff8fccgaeg9ef8eg7fg7e" +
    "ef7edafadfbcfcbff6e6fee8e5fe9ded9ef5ee7eacebbe4fef4fcafe6ef3d3fe8ded8d2fdf2e6ee9cd0fec9e5edabe7ded7d4eec8" +
    "ed6d3edb9e9beaac1fcf1cf0dbade5de4d8cd6dde3ce2d2ed0ec1ece1de0d5ddd5d7cdc7d4dd8bdb8dd4d9ada9d6ccc6c3ddd3d7b" +
    "c2dcd2c1dcb7d5cdc5d99d7acc3da7d97c4bbd1c0dcd0c8aca8c4ccc4c6bcb6b3cb2cbc2b5bcb5c89b1cbc1c98c0cbc0cb4c6aca6" +
    "c79b3bbb3c88c5ab2bca5c69ba4c78c87b94c77c76ab2a1bab1b0bbb0b96b4ab3aba3b59b95a2aaa2a1aaa1b0ab68aa0b86b49a93" +
    "b39b58b85b67a29a92b57b75a38a83b66b47b74b56b65b73919991a09a90a48a84a72b46b64928982918a37a27917971a55a07a70" +
    "a36a63a45a54a26a62a35881908980916961906960a53a44925952905815851934943950924942933814741804840823832713731" +
    "703730722612621602620411401310100",
  15:
    "dffdefdfeddfceedfddcfdfcddededdbfcfbdcedeccddcafcfacbecebccdcdcc9fcf9ceacbdcdbc8fcf8cccc9ece9c7fcf7cadcda" +
    "cbcc6fdaed0fbcbbf6c8ece8c5fc9dbf5b7ebe7bacbcabbbcd9c8db4fbf4b3fbf3bd8be6b2fbf2c6ecf0b1fbf1b9cbc9b5ebabbba" +
    "be5b7dbd7b4ebe4b8cbc8b3eb6dbd6be3b9bbb9b2ebaabe2b1ebe1c0ece0b5dbd5b7cbc7b4db8bad4bb8b9aba9b6cbc6b3dad3ad2" +
    "b2db0da1da7bab7ad1b5cbd0ac5a8aaa8a4cac4a6bab6b99b0ca3cac3a7aaa7aa6bc0b0b9c2a2ca5bab5a1ca89a98ac1a4bab4a6a" +
    "a3ba799b3a97a88a2ba5a9b2aa5a1b9b1ab0a69a96a4aaa4a78a87a3a9a395999592a9a291a9a1a0aaa0968986949994939993a77" +
    "a09958985929967976992891919990948984957975938983966947828882818881974908980956965937973946827872864817855" +
    "871907970836863845854826862816906960835761853844725752715751805850734743724742733641714704623632740703613" +
    "631630522512521502520311401410300",
  16:
    "befbfebdfbfdbcfbfcbbfbfbaafbfab9fbf9bf8a8fa7faf7a6faf68ffa5faf594f9f49f39f0a3fgcehechddfdefe9geagd9eeefed" +
    "febebeecdfdcfdbeaeeccfadfdaf7efacecafc9f7de5edbd8f292f90f81f8f1d9eebcecbe8eee8e9dee7ebbe8ded8e6ede6d9ceab" +
    "ebaee5ed7d4eee4e8cdc8d3ed6ded6e9beb9eaade1dd4eb8ea9d7beb7ed0ce3d0ede0d5ddd5d7cdc7d4dd8bd9ad6cdc6d3dd5cdc5" +
    "c0dd8ada8d99d4cdb6d7ac3cd5bd89c1ccc0d98d79be2c2ec1ecd3c2dcd2cd1c3bd97d88b1dcc4c6bcc3ca7b2ccc2cb5cc1c0cc4b" +
    "cb4c6aca6bb3c5aca5b2bbb2b1bbb1c0bcb0c69c96c4aca4c78c87ba3c3ac59b2ac95c68ba1c86c77b94c49c57b67aa2a1ab0aba0" +
    "b39b93b58b85a29a92b76b09a19a91b90b48b84b75b38b83b66b28a82b47b74a18a81a80b08b56a37a73b65b46a27a72b64b55a07" +
    "917971a70a36a63a45a54a26962916961a06a60953a35a44925952851915905934943950924942933814841904940823832713731" +
    "803830722612621602620411401310100",
  24:
    "8ef8fe8df8fd8cf8fc8bf8fb7fa8af89f7f97f888f87f7f776f7f675f7f574f7f473f7f372f7f27f181f8f090fbeebdebedbcebec" +
    "bddbbebebbcdbdcbaebeabbdbdbbccb9ebe9badbdabbcbcbb8ebe8b9dbd9b7ebe7bac4ffbcabbbb8dbd8c0ece0b0dae6b6eb9cac9" +
    "a5eabaae5babb7dad7ae4a8cac8b4eb2ea3ea6dad6ae3a9bab9aaaae2a1eae1a5dad5a7cac7a4da8bab8ad4a9aaa9a6cac6a3dad3" +
    "a2dad2a1da7bab7ad1a5cac5a8aaa8a99a4cac4a6bab6bd0b0ca3cac3a7aaa7a2cac2a5bab5a1ca89a98ac1a4bbc0b0ba3bbb0b0a" +
    "a1a9b4a6aaa6a79a97ba0b09a909b3988a2ba5a9b2aa5a1bab1a699969a4a4aa7898793a9a395999592a9a29a1968986977949994" +
    "939993958985929967976992919991948984957975938983966928982918947974981a08a80956965917a07a70873937927872846" +
    "864855871836863845854826862816861906960835853844825852815905950751834843724742733714741804840723732613631" +
    "703730622512521602620411401410400",
};
/** Bits that follow a value of 15; from 16 and from 24 on, tables share their codes. */
const FURTHER_BITS = [...Array.from({ length: 16 }, () => 0), 1, 2, 3, 4, 6, 8, 10, 13, 4, 5, 6, 7, 8, 9, 11, 13];
const SHARED_CODES = [24, 16];
/** Bits of the first look into a table; longer codes are continued in a second one. */
const LOOK_BITS = 8;
/** Longer than any code. */
const CODE_BITS_MAX = 20;

/** Table B.7 for four values: the code of each and its length; in the second table all have four bits. */
const QUAD_CODES = [1, 5, 4, 5, 6, 5, 4, 4, 7, 3, 6, 0, 7, 2, 3, 1];
const QUAD_BITS = [1, 4, 4, 5, 4, 6, 5, 6, 4, 5, 5, 6, 5, 6, 6, 6];

const LOW_RATE_BANDS = [6, 6, 6, 6, 6, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 38, 46, 52, 60, 68, 58, 54];
const LOW_RATE_SHORT_BANDS = [4, 4, 4, 6, 8, 10, 12, 14, 18, 24, 30, 40, 18];
/** Table B.8: widths of the bands at 44.1, 48, 32, 22.05, 24, 16, 11.025, 12 and 8 kHz. */
const LONG_BANDS = [
  [4, 4, 4, 4, 4, 4, 6, 6, 8, 8, 10, 12, 16, 20, 24, 28, 34, 42, 50, 54, 76, 158],
  [4, 4, 4, 4, 4, 4, 6, 6, 6, 8, 10, 12, 16, 18, 22, 28, 34, 40, 46, 54, 54, 192],
  [4, 4, 4, 4, 4, 4, 6, 6, 8, 10, 12, 16, 20, 24, 30, 38, 46, 56, 68, 84, 102, 26],
  LOW_RATE_BANDS,
  [6, 6, 6, 6, 6, 6, 8, 10, 12, 14, 16, 18, 22, 26, 32, 38, 46, 52, 64, 70, 76, 36],
  LOW_RATE_BANDS,
  LOW_RATE_BANDS,
  LOW_RATE_BANDS,
  [12, 12, 12, 12, 12, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 76, 90, 2, 2, 2, 2, 2],
];
const SHORT_BANDS = [
  [4, 4, 4, 4, 6, 8, 10, 12, 14, 18, 22, 30, 56],
  [4, 4, 4, 4, 6, 6, 10, 12, 14, 16, 20, 26, 66],
  [4, 4, 4, 4, 6, 8, 12, 16, 20, 26, 34, 42, 12],
  [4, 4, 4, 6, 6, 8, 10, 14, 18, 26, 32, 42, 18],
  [4, 4, 4, 6, 8, 10, 12, 14, 18, 24, 32, 44, 12],
  LOW_RATE_SHORT_BANDS,
  LOW_RATE_SHORT_BANDS,
  LOW_RATE_SHORT_BANDS,
  [8, 8, 8, 12, 16, 20, 24, 28, 36, 2, 2, 2, 26],
];

/** Bits of scale factors by their code: of low bands, then of high ones. */
const SCALE_BITS = [0, 0, 0, 0, 3, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 2, 3];
/** ISO 13818-3 section 2.4.3.2: how many scale factors have each length; per kind for long, short and mixed blocks. */
const SCALE_COUNTS = [
  ...[6, 5, 5, 5, 9, 9, 9, 9, 6, 9, 9, 9],
  ...[6, 5, 7, 3, 9, 9, 12, 6, 6, 9, 12, 6],
  ...[11, 10, 0, 0, 18, 18, 0, 0, 15, 18, 0, 0],
  ...[7, 7, 7, 0, 12, 12, 12, 0, 6, 15, 12, 0],
  ...[6, 6, 6, 3, 12, 9, 9, 6, 6, 12, 9, 6],
  ...[8, 8, 5, 0, 15, 12, 9, 0, 6, 18, 9, 0],
];

/** Table B.9. */
const ALIASES = [-0.6, -0.535, -0.33, -0.185, -0.095, -0.041, -0.0142, -0.0037];

/** Table B.3 (D), times 65536: its first half, and the middle. The other half mirrors it. */
const WINDOW = [
  0, -1, -1, -1, -1, -1, -1, -2, -2, -2, -2, -3, -3, -4, -4, -5, -5, -6, -7, -7, -8, -9, -10, -11, -13, -14, -16, -17,
  -19, -21, -24, -26, -29, -31, -35, -38, -41, -45, -49, -53, -58, -63, -68, -73, -79, -85, -91, -97, -104, -111, -117,
  -125, -132, -139, -147, -154, -161, -169, -176, -183, -190, -196, -202, -208, 213, 218, 222, 225, 227, 228, 228, 227,
  224, 221, 215, 208, 200, 189, 177, 163, 146, 127, 106, 83, 57, 29, -2, -36, -72, -111, -153, -197, -244, -294, -347,
  -401, -459, -519, -581, -645, -711, -779, -848, -919, -991, -1064, -1137, -1210, -1283, -1356, -1428, -1498, -1567,
  -1634, -1698, -1759, -1817, -1870, -1919, -1962, -2001, -2032, -2057, -2075, -2085, -2087, -2080, -2063, 2037, 2000,
  1952, 1893, 1822, 1739, 1644, 1535, 1414, 1280, 1131, 970, 794, 605, 402, 185, -45, -288, -545, -814, -1095, -1388,
  -1692, -2006, -2330, -2663, -3004, -3351, -3705, -4063, -4425, -4788, -5153, -5517, -5879, -6237, -6589, -6935, -7271,
  -7597, -7910, -8209, -8491, -8755, -8998, -9219, -9416, -9585, -9727, -9838, -9916, -9959, -9966, -9935, -9863, -9750,
  -9592, -9389, -9139, -8840, -8492, -8092, -7640, -7134, 6574, 5959, 5288, 4561, 3776, 2935, 2037, 1082, 70, -998,
  -2122, -3300, -4533, -5818, -7154, -8540, -9975, -11455, -12980, -14548, -16155, -17799, -19478, -21189, -22929,
  -24694, -26482, -28289, -30112, -31947, -33791, -35640, -37489, -39336, -41176, -43006, -44821, -46617, -48390,
  -50137, -51853, -53534, -55178, -56778, -58333, -59838, -61289, -62684, -64019, -65290, -66494, -67629, -68692,
  -69679, -70590, -71420, -72169, -72835, -73415, -73908, -74313, -74630, -74856, -74992, 75038,
];

/** The memory up to the frame, with all tables in it. */
export function layer3Tables(): Uint8Array {
  const bytes = new Uint8Array(map.FRAME_BYTE);
  const view = new DataView(bytes.buffer);
  const floats = (address: number, values: readonly number[]): void =>
    values.forEach((value, index) => void view.setFloat32(address + F32_BYTES * index, value, true));
  const range = <Value>(length: number, make: (index: number) => Value): Value[] =>
    Array.from({ length }, (_, index) => make(index));
  floats(
    map.POWERS_BYTE,
    range(map.POWERS, (value) => value ** (4 / 3)),
  );
  floats(
    map.GAINS_BYTE,
    range(map.GAINS, (index) => 2 ** ((index - map.GAIN_ZERO) / 4)),
  );
  writeCodes(view);
  writeQuads(bytes);
  LONG_BANDS.forEach(
    (widths, rate) => void writeBandStarts(view, map.LONG_BANDS_BYTE + 2 * rate * map.LONG_BANDS, widths),
  );
  SHORT_BANDS.forEach(
    (widths, rate) => void writeBandStarts(view, map.SHORT_BANDS_BYTE + 2 * rate * map.SHORT_BANDS, widths),
  );
  bytes.set(SCALE_BITS, map.SCALE_BITS_BYTE);
  bytes.set(SCALE_COUNTS, map.SCALE_COUNTS_BYTE);
  for (const type of [0, 1, 3]) {
    floats(
      map.WINDOWS_BYTE + 36 * F32_BYTES * type,
      range(36, (index) => longWindow(type, index)),
    );
  }
  floats(map.SHORT_WINDOW_BYTE, range(12, shortWindow));
  floats(map.PANNING_BYTE, panning());
  floats(map.SYNTHESIS_BYTE, synthesisWindow());
  floats(map.COSINES_BYTE, cosines(18));
  floats(map.SHORT_COSINES_BYTE, cosines(6));
  floats(
    map.BUTTERFLIES_BYTE,
    [16, 8, 4, 2, 1].flatMap((half) =>
      range(half, (index) => 0.5 / Math.cos(((2 * index + 1) * Math.PI) / (4 * half))),
    ),
  );
  const turns = ALIASES.map((tangent) => 1 / Math.sqrt(1 + tangent * tangent));
  floats(map.ALIASES_BYTE, [...turns, ...ALIASES.map((tangent, index) => tangent * turns[index]!)]);
  return bytes;
}

/** Entries of 32 bits: how many bits the rest of the code has, and two values; or where a second look goes on. */
function writeCodes(view: DataView): void {
  const bases = new Map<number, number>();
  let end = map.CODES_BYTE;
  for (const [table, codes] of Object.entries(CODES)) {
    bases.set(Number(table), end);
    end = writeTable(view, end, codes);
  }
  for (const [book, furtherBits] of FURTHER_BITS.entries()) {
    const table = SHARED_CODES.find((first) => book >= first) ?? book;
    view.setUint32(map.BOOKS_BYTE + 8 * book, bases.get(table) ?? 0, true);
    view.setUint32(map.BOOKS_BYTE + 8 * book + 4, furtherBits, true);
  }
}

function writeTable(view: DataView, base: number, codes: string): number {
  let end = 1 << LOOK_BITS;
  /** Where the second look of some first bits begins, and its bits. */
  const seconds = new Map<number, { readonly offset: number; readonly bits: number }>();
  const entries = codesOf(codes);
  for (const { first, bits } of entries) {
    if (bits <= LOOK_BITS || seconds.has(first)) continue;
    const longest =
      Math.max(...entries.filter((entry) => entry.first === first).map((entry) => entry.bits)) - LOOK_BITS;
    seconds.set(first, { offset: end, bits: longest });
    view.setInt32(base + 4 * first, (1 << 31) | (end << 5) | longest, true);
    end += 1 << longest;
  }
  for (const { code, first, bits, values } of entries) {
    const second = bits > LOOK_BITS ? seconds.get(first) : undefined;
    const [lookBits, offset] = second === undefined ? [LOOK_BITS, 0] : [second.bits, second.offset];
    const restBits = second === undefined ? bits : bits - LOOK_BITS;
    const at = offset + ((code & ((1 << restBits) - 1)) << (lookBits - restBits));
    for (let index = 0; index < 1 << (lookBits - restBits); index++)
      view.setInt32(base + 4 * (at + index), restBits | (values[0] << 5) | (values[1] << 9), true);
  }
  return base + 4 * end;
}

interface Code {
  readonly code: number;
  readonly bits: number;
  /** The bits of the first look. */
  readonly first: number;
  readonly values: readonly [number, number];
}

function codesOf(text: string): readonly Code[] {
  const codes: Code[] = [];
  let next = 0;
  for (let at = 0; at < text.length; at += 3) {
    const bits = Number.parseInt(text.charAt(at), 36);
    const values = [Number.parseInt(text.charAt(at + 1), 16), Number.parseInt(text.charAt(at + 2), 16)] as const;
    codes.push({ code: next >> (CODE_BITS_MAX - bits), bits, first: next >> (CODE_BITS_MAX - LOOK_BITS), values });
    next += 1 << (CODE_BITS_MAX - bits);
  }
  return codes;
}

/** By the next six bits: how many the code has, and four values, the first the highest bit. */
function writeQuads(bytes: Uint8Array): void {
  for (let values = 0; values < 16; values++) {
    const bits = QUAD_BITS[values]!;
    const first = map.QUADS_BYTE + (QUAD_CODES[values]! << (6 - bits));
    bytes.fill(bits | (values << 4), first, first + (1 << (6 - bits)));
    const plain = map.QUADS_BYTE + 64 + 4 * (15 - values);
    bytes.fill(4 | (values << 4), plain, plain + 4);
  }
}

/** ISO 11172-3 section 2.4.3.4.10.3. */
function longWindow(type: number, index: number): number {
  const mirrored = type === 3 ? 35 - index : index;
  if (type === 0 || mirrored < 18) return Math.sin((Math.PI / 36) * (index + 0.5));
  if (mirrored < 24) return 1;
  return mirrored < 30 ? Math.sin((Math.PI / 12) * (mirrored - 18 + 0.5)) : 0;
}

function shortWindow(index: number): number {
  return Math.sin((Math.PI / 12) * (index + 0.5));
}

/** Left and right: seven positions of version 1 and an unused one, then 64 for either step of version 2. */
function panning(): readonly number[] {
  const factors: number[] = [];
  for (let position = 0; position < 8; position++) {
    const angle = Math.min(position, 6) * (Math.PI / 12);
    const sum = Math.sin(angle) + Math.cos(angle);
    factors.push(Math.sin(angle) / sum, Math.cos(angle) / sum);
  }
  for (const step of [2 ** -0.25, 2 ** -0.5]) {
    for (let position = 0; position < 64; position++) {
      const factor = step ** Math.ceil(position / 2);
      factors.push(...(position % 2 === 0 ? [1, factor] : [factor, 1]));
    }
  }
  return factors;
}

/** For each of 32 samples, the taps of 16 moments; where the transform has a term with the other sign, so has the tap. */
function synthesisWindow(): readonly number[] {
  const taps: number[] = [];
  for (let sample = 0; sample < map.SUBBANDS; sample++) {
    for (let moment = 0; moment < 16; moment += 2) {
      const sign = sample < 16 ? 1 : sample === 16 ? 0 : -1;
      taps.push(sign * windowAt(32 * moment + sample), -windowAt(32 * (moment + 1) + sample));
    }
  }
  return taps;
}

function windowAt(index: number): number {
  const half = WINDOW.length - 1;
  if (index <= half) return WINDOW[index]! / 65_536;
  const mirrored = WINDOW[2 * half - index]! / 65_536;
  return index % 64 === 0 ? mirrored : -mirrored;
}

function cosines(length: number): readonly number[] {
  const values: number[] = [];
  for (let index = 0; index < length; index++) {
    for (let line = 0; line < length; line++)
      values.push(Math.cos((Math.PI / (4 * length)) * (2 * index + 1) * (2 * line + 1)));
  }
  return values;
}
