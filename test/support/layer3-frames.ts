// Frames of MPEG audio layer III whose fields and codes are random, but whose data are long enough for every code: what
// two decoders make of them has to agree. ISO 11172-3 section 2.4.1.

type BlockKind = "long" | "changing" | "short" | "mixed";

export interface Layer3FrameOptions {
  readonly version: 1 | 2 | 2.5;
  /** Of the version's three sample rates. */
  readonly rateIndex: number;
  readonly mode: "stereo" | "joint" | "dual" | "mono";
  /** Of joint stereo: 1 intensity, 2 sum and difference, 3 both. */
  readonly modeExtension: number;
  readonly blocks: BlockKind;
}

const VERSION_BITS = { 1: 3, 2: 2, 2.5: 0 } as const;
const MODE_BITS = { stereo: 0, joint: 1, dual: 2, mono: 3 } as const;
const RATES_HZ = {
  1: [44_100, 48_000, 32_000],
  2: [22_050, 24_000, 16_000],
  2.5: [11_025, 12_000, 8000],
} as const;
/** The highest bit rate of the table: 320 and 160 kbit/s. */
const BIT_RATE_INDEX = 14;
/** The block types of granules in a row: start, short, stop. */
const CHANGING = [1, 2, 3];
/** Values in pairs, so that those in quadruples reach the end of the spectrum before the data ends. */
const PAIRS_MAX = 12;
/** These Huffman tables do not exist. */
const NO_TABLES = [4, 14];
/** So loud that no value is lost in rounding, and no louder than music. */
const GAIN = 150;

class BitWriter {
  readonly bytes: Uint8Array;
  #at = 0;

  constructor(sizeBytes: number) {
    this.bytes = new Uint8Array(sizeBytes);
  }

  write(value: number, count: number): this {
    for (let bit = count - 1; bit >= 0; bit--, this.#at++) {
      if ((value >>> bit) & 1) this.bytes[this.#at >> 3]! |= 0x80 >> (this.#at & 7);
    }
    return this;
  }

  fill(random: () => number): Uint8Array {
    while (this.#at < 8 * this.bytes.length) this.write(Math.floor(256 * random()), 8);
    return this.bytes;
  }
}

/** A frame that needs none before it. `index`: its number in its stream, from 0 on. */
export function randomLayer3Frame(options: Layer3FrameOptions, index: number, random: () => number): Uint8Array {
  const { version, rateIndex, mode, modeExtension } = options;
  const isVersion1 = version === 1;
  const channels = mode === "mono" ? 1 : 2;
  const granules = isVersion1 ? 2 : 1;
  const sizeBytes = Math.floor((isVersion1 ? 144 * 320_000 : 72 * 160_000) / RATES_HZ[version][rateIndex]!);
  const sideBytes = isVersion1 ? (channels === 1 ? 17 : 32) : channels === 1 ? 9 : 17;
  const below = (limit: number) => Math.floor(limit * random());
  const bits = new BitWriter(sizeBytes);
  bits.write(0x7ff, 11).write(VERSION_BITS[version], 2).write(1, 2).write(1, 1);
  bits.write(BIT_RATE_INDEX, 4).write(rateIndex, 2).write(0, 2).write(MODE_BITS[mode], 2).write(modeExtension, 2);
  bits.write(0, 4).write(0, isVersion1 ? 9 : 8);
  bits.write(0, isVersion1 ? (channels === 1 ? 5 : 3) : channels);
  if (isVersion1) for (let channel = 0; channel < channels; channel++) bits.write(below(16), 4);
  const dataBits = Math.floor((8 * (sizeBytes - 4 - sideBytes)) / (granules * channels));
  for (let granule = 0; granule < granules; granule++) {
    for (let channel = 0; channel < channels; channel++) {
      bits
        .write(Math.min(4095, dataBits), 12)
        .write(below(PAIRS_MAX + 1), 9)
        .write(GAIN + below(8), 8);
      bits.write(isVersion1 ? below(16) : below(512), isVersion1 ? 4 : 9);
      writeWindows(bits, blockOf(options, index * granules + granule), below);
      if (isVersion1) bits.write(below(2), 1);
      bits.write(below(4), 2);
    }
  }
  return bits.fill(random);
}

function blockOf(
  { blocks }: Layer3FrameOptions,
  granule: number,
): { readonly type: number; readonly isMixed: boolean } {
  if (blocks === "long") return { type: 0, isMixed: false };
  if (blocks === "changing") return { type: CHANGING[granule % CHANGING.length]!, isMixed: false };
  return { type: 2, isMixed: blocks === "mixed" };
}

function writeWindows(
  bits: BitWriter,
  { type, isMixed }: ReturnType<typeof blockOf>,
  below: (limit: number) => number,
): void {
  const writeTable = () => {
    const table = below(32);
    bits.write(NO_TABLES.includes(table) ? 0 : table, 5);
  };
  bits.write(type === 0 ? 0 : 1, 1);
  if (type === 0) {
    for (let region = 0; region < 3; region++) writeTable();
    bits.write(below(16), 4).write(below(8), 3);
  } else {
    bits.write(type, 2).write(isMixed ? 1 : 0, 1);
    writeTable();
    writeTable();
    for (let window = 0; window < 3; window++) bits.write(below(3), 3);
  }
}
