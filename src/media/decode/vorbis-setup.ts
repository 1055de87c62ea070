// Checks the set-up header of a Vorbis stream before the library parses it (Vorbis I section 4.2.4): a few bytes of it
// can demand millions of table entries, which would take seconds and more memory than there is. Audio thread.

/** Entries of all codebooks together; of 61 kinds of stream that libvorbis and FFmpeg make, the largest have 19,413. */
const ENTRIES_MAX = 2 ** 15;
/** Values of those entries, an entry being a vector; libvorbis has up to 85,928. */
const VALUES_MAX = 2 ** 18;
/** Classifications of the parts of a spectrum, of all residues together, each a small table; libvorbis has 400. */
const CLASSES_MAX = 2 ** 14;

const CODEBOOK_SYNC = 0x564342;
/** "\x05vorbis" */
const HEADER_BITS = 7 * 8;

interface Totals {
  entries: number;
  values: number;
  classes: number;
}

/** False for a header that demands too much, or ends too early. */
export function isVorbisSetupBounded(setup: Uint8Array): boolean {
  const bits = new LowBitReader(setup);
  bits.skip(HEADER_BITS);
  const totals: Totals = { entries: 0, values: 0, classes: 0 };
  const dimensions: number[] = [];
  for (let left = bits.read(8) + 1; left > 0; left--) {
    const dimension = readCodebook(bits, totals);
    if (dimension === undefined) return false;
    dimensions.push(dimension);
  }
  bits.skip(16 * (bits.read(6) + 1)); // placeholder times, always zero
  for (let left = bits.read(6) + 1; left > 0; left--) skipFloor(bits);
  for (let left = bits.read(6) + 1; left > 0; left--) readResidue(bits, dimensions, totals);
  return totals.classes <= CLASSES_MAX && !bits.isPastEnd;
}

/**
 * Returns the codebook's dimension (section 3.2.1); undefined when there are too many entries or this is not a codebook.
 */
function readCodebook(bits: LowBitReader, totals: Totals): number | undefined {
  if (bits.read(24) !== CODEBOOK_SYNC) return undefined;
  const dimension = bits.read(16);
  const entries = bits.read(24);
  totals.entries += entries;
  if (totals.entries > ENTRIES_MAX) return undefined;
  skipLengths(bits, entries);
  const lookup = bits.read(4);
  if (lookup !== 1 && lookup !== 2) return dimension;
  totals.values += entries * dimension;
  if (totals.values > VALUES_MAX) return undefined;
  bits.skip(64);
  const valueBits = bits.read(4) + 1;
  bits.skip(1);
  bits.skip(valueBits * (lookup === 1 ? rootOf(entries, dimension) : entries * dimension));
  return bits.isPastEnd ? undefined : dimension;
}

function skipLengths(bits: LowBitReader, entries: number): void {
  if (bits.read(1) === 1) {
    bits.skip(5);
    for (let done = 0; done < entries && !bits.isPastEnd; ) done += bits.read(32 - Math.clz32(entries - done));
    return;
  }
  const isSparse = bits.read(1) === 1;
  if (!isSparse) bits.skip(5 * entries);
  else for (let entry = 0; entry < entries; entry++) if (bits.read(1) === 1) bits.skip(5);
}

/** The greatest number whose power is not above `entries` (section 9.2.3). */
function rootOf(entries: number, dimension: number): number {
  if (dimension === 0) return 0;
  let root = Math.floor(entries ** (1 / dimension));
  while ((root + 1) ** dimension <= entries) root += 1;
  while (root ** dimension > entries) root -= 1;
  return root;
}

/** Sections 6.2.1 and 7.2.2. */
function skipFloor(bits: LowBitReader): void {
  if (bits.read(16) === 0) {
    bits.skip(8 + 16 + 16 + 6 + 8);
    bits.skip(8 * (bits.read(4) + 1));
    return;
  }
  const classes = Array.from({ length: bits.read(5) }, () => bits.read(4));
  const sizes = Array.from({ length: Math.max(-1, ...classes) + 1 }, () => {
    const size = bits.read(3) + 1;
    const subclassBits = bits.read(2);
    if (subclassBits > 0) bits.skip(8);
    bits.skip(8 * 2 ** subclassBits);
    return size;
  });
  bits.skip(2);
  const rangeBits = bits.read(4);
  for (const index of classes) bits.skip(rangeBits * (sizes[index] ?? 0));
}

/** Section 8.6.1. The library builds a table of all classifications of as many parts as its book has dimensions. */
function readResidue(bits: LowBitReader, dimensions: readonly number[], totals: Totals): void {
  bits.skip(16 + 3 * 24);
  const classCount = bits.read(6) + 1;
  const dimension = dimensions[bits.read(8)] ?? 0;
  totals.classes += Math.min(classCount ** dimension, CLASSES_MAX) * dimension;
  let bookCount = 0;
  for (let index = 0; index < classCount; index++) {
    const low = bits.read(3);
    const high = bits.read(1) === 1 ? bits.read(5) : 0;
    for (let stages = low + 8 * high; stages > 0; stages &= stages - 1) bookCount += 1;
  }
  bits.skip(8 * bookCount);
}

/** Bits of a byte array, least significant first. Behind the end it reads zeros and reports it afterwards. */
class LowBitReader {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isPastEnd(): boolean {
    return this.#position > this.#bytes.length * 8;
  }

  /** Up to 24 bits. */
  read(count: number): number {
    const index = this.#position >> 3;
    const bytes = this.#bytes;
    const word =
      (bytes[index] ?? 0) |
      ((bytes[index + 1] ?? 0) << 8) |
      ((bytes[index + 2] ?? 0) << 16) |
      ((bytes[index + 3] ?? 0) << 24);
    const value = (word >>> (this.#position & 7)) & (2 ** count - 1);
    this.#position += count;
    return value;
  }

  skip(count: number): void {
    this.#position += count;
  }
}
