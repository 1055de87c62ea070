// Packets of AAC-LC (raw_data_block of ISO 14496-3 section 4.4.2) whose fields and codes are random but valid: what two
// decoders make of them has to agree.

import { SCALE_CODES, SPECTRUM_CODES } from "../../lab/kernels/tables/aac-codes.ts";
import { aacTables } from "../../lab/kernels/tables/aac-tables.ts";
import {
  LONG_BANDS,
  LONG_BANDS_BYTE,
  RATE_FACTS_BYTE,
  SHORT_BANDS,
  SHORT_BANDS_BYTE,
} from "../../src/media/kernels/numbers/aac.ts";

type Random = () => number;

export interface AacPacketOptions {
  /** Index of the sample rate, 0 (96 kHz) to 12 (7.35 kHz). */
  readonly rateIndex: number;
  readonly windows: "long" | "short" | "changing";
  /** Elements in their order: `s` a single channel, `p` a pair, `l` low frequencies. */
  readonly elements: string;
  /** Every band has values. Default false. */
  readonly isFull?: boolean;
}

/** Writes bits, the highest of each byte first. */
export class BitWriter {
  readonly #bits: number[] = [];

  get bitCount(): number {
    return this.#bits.length;
  }

  write(value: number, count: number): this {
    for (let bit = count - 1; bit >= 0; bit--) this.#bits.push(Math.floor(value / 2 ** bit) & 1);
    return this;
  }

  append(other: BitWriter): this {
    for (const bit of other.#bits) this.#bits.push(bit);
    return this;
  }

  toBytes(): Uint8Array {
    const bytes = new Uint8Array(Math.ceil(this.#bits.length / 8));
    for (const [index, bit] of this.#bits.entries()) bytes[index >> 3]! |= bit << (7 - (index & 7));
    return bytes;
  }
}

/** The code of each index of a Huffman table (lab/kernels/tables/huffman-tables.ts). */
export class CodeWriter {
  readonly #codes = new Map<number, { readonly code: number; readonly bits: number }>();

  constructor(codes: string) {
    let next = 0;
    for (let at = 0; at < codes.length; at += 3) {
      const bits = Number.parseInt(codes.charAt(at), 36);
      this.#codes.set(Number.parseInt(codes.slice(at + 1, at + 3), 36), { code: next / 2 ** (20 - bits), bits });
      next += 2 ** (20 - bits);
    }
  }

  get count(): number {
    return this.#codes.size;
  }

  write(to: BitWriter, index: number): void {
    const { code, bits } = this.#codes.get(index)!;
    to.write(code, bits);
  }
}

const BOOKS = SPECTRUM_CODES.map((codes) => new CodeWriter(codes));
const SCALES = new CodeWriter(SCALE_CODES);
/** How many values a code of each book has, and how many of each value there are; signs follow as separate bits. */
const BOOK_FACTS = [
  ...[4, 4].map((count) => ({ count, base: 3, hasSigns: false })),
  ...[4, 4].map((count) => ({ count, base: 3, hasSigns: true })),
  ...[2, 2].map((count) => ({ count, base: 9, hasSigns: false })),
  ...[8, 8, 13, 13, 17].map((base) => ({ count: 2, base, hasSigns: true })),
];
const ESCAPE = 16;
const NOISE = 13;
const INTENSITY = [14, 15];
const SHORT = 2;
/** Start, short, short, stop, long. */
const CHANGING = [1, 2, 2, 3, 0];
const GAIN = 120;
const ID = { s: 0, p: 1, l: 3 } as const;

const TABLES = new DataView(aacTables().buffer);

function startsOf(rateIndex: number, isShort: boolean): readonly number[] {
  const count = TABLES.getUint8(RATE_FACTS_BYTE + 4 * rateIndex + (isShort ? 2 : 0));
  const address = isShort
    ? SHORT_BANDS_BYTE + 2 * SHORT_BANDS * rateIndex
    : LONG_BANDS_BYTE + 2 * LONG_BANDS * rateIndex;
  return Array.from({ length: count + 1 }, (_, band) => TABLES.getUint16(address + 2 * band, true));
}

interface Windows {
  readonly isShort: boolean;
  readonly bands: number;
  readonly groups: readonly number[];
  readonly starts: readonly number[];
}

/** `index`: of the packet in its stream, from 0 on. `behind`: writes what follows each of its elements. */
export function randomAacPacket(
  options: AacPacketOptions,
  index: number,
  random: Random,
  behind: (bits: BitWriter, element: number) => void = () => undefined,
): Uint8Array {
  const packet = new PacketWriter(options, index, random);
  return packet.write(behind);
}

class PacketWriter {
  readonly #options: AacPacketOptions;
  readonly #sequence: number;
  readonly #random: Random;
  readonly #bits = new BitWriter();

  constructor(options: AacPacketOptions, index: number, random: Random) {
    this.#options = options;
    const { windows } = options;
    this.#sequence = windows === "long" ? 0 : windows === "short" ? SHORT : CHANGING[index % CHANGING.length]!;
    this.#random = random;
  }

  write(behind: (bits: BitWriter, element: number) => void): Uint8Array {
    const tags = { s: 0, p: 0, l: 0 };
    let element = 0;
    for (const kind of this.#options.elements as Iterable<keyof typeof ID>) {
      if (this.#chance(0.2)) this.#writeData();
      this.#bits.write(ID[kind], 3).write(tags[kind]++, 4);
      if (kind === "p") this.#writePair();
      else this.#writeChannel({ hasIntensity: false });
      behind(this.#bits, element++);
    }
    if (this.#chance(0.5)) this.#bits.write(6, 3).write(3, 4).write(0, 24);
    return this.#bits.write(7, 3).toBytes();
  }

  #below(limit: number): number {
    return Math.floor(limit * this.#random());
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  /** data_stream_element. */
  #writeData(): void {
    this.#bits.write(4, 3).write(0, 4).write(1, 1).write(2, 8);
    this.#bits.write(0, (8 - (this.#bits.bitCount % 8)) % 8).write(this.#below(65_536), 16);
  }

  #writePair(): void {
    const isShared = this.#chance(0.7);
    this.#bits.write(isShared ? 1 : 0, 1);
    const windows = isShared ? this.#writeWindows() : undefined;
    if (windows !== undefined) {
      const mask = this.#below(3);
      this.#bits.write(mask, 2);
      const count = windows.groups.length * windows.bands;
      if (mask === 1) for (let band = 0; band < count; band++) this.#bits.write(this.#below(2), 1);
    }
    this.#writeChannel({ windows, hasIntensity: false });
    this.#writeChannel({ windows, hasIntensity: isShared });
  }

  /** ics_info. */
  #writeWindows(): Windows {
    const isShort = this.#sequence === SHORT;
    const starts = startsOf(this.#options.rateIndex, isShort);
    const bands = this.#options.isFull === true ? starts.length - 1 : this.#below(starts.length);
    this.#bits.write(0, 1).write(this.#sequence, 2).write(this.#below(2), 1);
    this.#bits.write(bands, isShort ? 4 : 6);
    const groups = [1];
    if (!isShort) this.#bits.write(0, 1);
    else {
      for (let window = 1; window < 8; window++) {
        const isJoined = this.#below(2);
        this.#bits.write(isJoined, 1);
        if (isJoined === 0) groups.push(1);
        else groups[groups.length - 1]! += 1;
      }
    }
    return { isShort, bands, groups, starts };
  }

  #writeChannel({ windows, hasIntensity }: { readonly windows?: Windows | undefined; readonly hasIntensity: boolean }) {
    this.#bits.write(GAIN, 8);
    const known = windows ?? this.#writeWindows();
    const books = known.groups.map(() => this.#writeBooks(known, hasIntensity));
    this.#writeScales(books.flat());
    this.#writePulses(known);
    this.#writeFilters(known);
    this.#bits.write(0, 1);
    for (const [group, size] of known.groups.entries()) {
      for (const [band, book] of books[group]!.entries()) {
        const values = (known.starts[band + 1]! - known.starts[band]!) * size;
        if (book > 0 && book < 12) this.#writeValues(book, values);
      }
    }
  }

  /** section_data of one group. */
  #writeBooks({ isShort, bands }: Windows, hasIntensity: boolean): readonly number[] {
    const lengthBits = isShort ? 3 : 5;
    const longest = 2 ** lengthBits - 1;
    const books: number[] = [];
    while (books.length < bands) {
      const length = Math.min(bands - books.length, 1 + this.#below(10));
      const coded = [...Array(12).keys()];
      const choices =
        this.#options.isFull === true ? coded.slice(3, 11) : [...coded, NOISE, ...(hasIntensity ? INTENSITY : [])];
      const book = choices[this.#below(choices.length)]!;
      this.#bits.write(book, 4);
      for (let rest = length; rest >= 0; rest -= longest) {
        this.#bits.write(Math.min(rest, longest), lengthBits);
        if (rest < longest) break;
      }
      for (let band = 0; band < length; band++) books.push(book);
    }
    return books;
  }

  #writeScales(books: readonly number[]): void {
    let isFirstNoise = true;
    let gain = GAIN;
    for (const book of books) {
      if (book === 0) continue;
      if (book === NOISE && isFirstNoise) {
        this.#bits.write(256 + this.#below(16), 9);
        isFirstNoise = false;
        continue;
      }
      const difference = this.#below(9) - 4;
      const isGain = book < 12;
      const isOut = isGain && Math.abs(gain + difference - GAIN) > 20;
      if (isGain && !isOut) gain += difference;
      SCALES.write(this.#bits, 60 + (isOut ? 0 : difference));
    }
  }

  #writePulses({ isShort, starts, bands }: Windows): void {
    const end = starts[bands]!;
    const isThere = !isShort && bands > 4 && this.#chance(0.4);
    this.#bits.write(isThere ? 1 : 0, 1);
    if (!isThere) return;
    const count = this.#below(4) + 1;
    const first = this.#below(bands);
    this.#bits.write(count - 1, 2).write(first, 6);
    let line = starts[first]!;
    for (let pulse = 0; pulse < count; pulse++) {
      const step = Math.min(this.#below(32), end - 1 - line);
      line += step;
      this.#bits.write(step, 5).write(this.#below(16), 4);
    }
  }

  /** tns_data. */
  #writeFilters({ isShort, starts }: Windows): void {
    const isThere = this.#chance(0.5);
    this.#bits.write(isThere ? 1 : 0, 1);
    if (!isThere) return;
    for (let window = 0; window < (isShort ? 8 : 1); window++) {
      const count = this.#below(isShort ? 2 : 4);
      this.#bits.write(count, isShort ? 1 : 2);
      if (count === 0) continue;
      const resolution = this.#below(2);
      this.#bits.write(resolution, 1);
      for (let filter = 0; filter < count; filter++) {
        const order = this.#below(isShort ? 8 : 13);
        this.#bits.write(this.#below(starts.length), isShort ? 4 : 6).write(order, isShort ? 3 : 5);
        if (order === 0) continue;
        const isCompressed = this.#below(2);
        this.#bits.write(this.#below(2), 1).write(isCompressed, 1);
        const bits = 3 + resolution - isCompressed;
        // Small ones: filters that are loud enlarge differences in rounding.
        for (let at = 0; at < order; at++) this.#bits.write((this.#below(3) - 1 + 2 ** bits) % 2 ** bits, bits);
      }
    }
  }

  #writeValues(book: number, values: number): void {
    const codes = BOOKS[book - 1]!;
    const { count, base, hasSigns } = BOOK_FACTS[book - 1]!;
    for (let value = 0; value < values; value += count) {
      const index = this.#below(codes.count);
      codes.write(this.#bits, index);
      const digits = Array.from({ length: count }, (_, at) => Math.floor(index / base ** (count - 1 - at)) % base);
      for (const digit of digits) if (hasSigns && digit > 0) this.#bits.write(this.#below(2), 1);
      for (const digit of digits) if (book === 11 && digit === ESCAPE) this.#writeEscape();
    }
  }

  #writeEscape(): void {
    // A prefix of ones, and as many bits and four more.
    const prefix = Math.floor(9 * this.#random() ** 4);
    this.#bits.write(2 ** (prefix + 1) - 2, prefix + 1).write(this.#below(2 ** (prefix + 4)), prefix + 4);
  }
}
