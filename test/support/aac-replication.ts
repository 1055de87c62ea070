// Fill elements with spectral band replication (sbr_extension_data of ISO 14496-3 section 4.4.2.8), random but valid: what
// two decoders make of them has to agree.

import { REPLICATION_CODES, STEREO_CODES } from "../../lab/kernels/tables/aac-codes.ts";
import { BitWriter, CodeWriter } from "./aac-packets.ts";

export interface ReplicationHeader {
  /** Index of the core's sample rate. */
  readonly rateIndex: number;
  readonly start: number;
  readonly stop: number;
  readonly crossover: number;
  readonly scale: number;
  readonly alter: number;
  readonly noise: number;
  /** Bands of high and of low resolution, and of noise, that these numbers give. */
  readonly bands: readonly [high: number, low: number, noise: number];
}

/** One channel's state from packet to packet. */
interface Channel {
  end: number;
  resolution: number;
  levels: number[];
  noise: number[];
}

interface Grid {
  readonly kind: number;
  readonly count: number;
  readonly resolutions: readonly number[];
  readonly isCoarse: boolean;
  readonly end: number;
}

const CODES = REPLICATION_CODES.map((codes) => new CodeWriter(codes));
const CENTRES = [60, 60, 24, 24, 31, 31, 12, 12, 31, 12];
const POINTER_BITS = [0, 1, 2, 2, 3, 3];
const FIXED = 0;

export class ReplicationWriter {
  readonly #header: ReplicationHeader;
  readonly #isPair: boolean;
  readonly #random: () => number;
  readonly #channels: readonly Channel[];
  readonly #isCoarse: boolean;
  readonly #isSharp: boolean;
  readonly #limiter: number;
  readonly #isInterpolated: number;
  #isFirst = true;

  constructor(header: ReplicationHeader, isPair: boolean, random: () => number) {
    this.#header = header;
    this.#isPair = isPair;
    this.#random = random;
    this.#channels = Array.from({ length: isPair ? 2 : 1 }, () => ({ end: 16, resolution: 0, levels: [], noise: [] }));
    this.#isCoarse = random() < 0.5;
    this.#isSharp = random() < 0.5;
    this.#limiter = Math.floor(16 * random());
    this.#isInterpolated = random() < 0.5 ? 1 : 0;
  }

  /** `extension`: the data of an extension, with its identifier. */
  write(to: BitWriter, extension?: BitWriter): void {
    const bits = new BitWriter().write(13, 4);
    const hasHeader = this.#isFirst || this.#random() < 0.2;
    bits.write(hasHeader ? 1 : 0, 1);
    if (hasHeader) this.#writeHeader(bits);
    bits.write(0, 1);
    if (this.#isPair) this.#writePair(bits);
    else this.#writeChannels(bits, [this.#writeGrid(bits, this.#channels[0]!)], false);
    this.#writeExtension(bits, extension);
    this.#isFirst = false;
    const bytes = Math.ceil(bits.bitCount / 8);
    bits.write(0, 8 * bytes - bits.bitCount);
    to.write(6, 3);
    if (bytes < 15) to.write(bytes, 4);
    else to.write(15, 4).write(bytes - 14, 8);
    to.append(bits);
  }

  #below(limit: number): number {
    return Math.floor(limit * this.#random());
  }

  #writeHeader(bits: BitWriter): void {
    const { start, stop, crossover, scale, alter, noise } = this.#header;
    bits
      .write(this.#isCoarse ? 1 : 0, 1)
      .write(start, 4)
      .write(stop, 4)
      .write(crossover, 3)
      .write(0, 2);
    bits.write(3, 2).write(scale, 2).write(alter, 1).write(noise, 2);
    bits
      .write(this.#limiter, 4)
      .write(this.#isInterpolated, 1)
      .write(this.#isSharp ? 1 : 0, 1);
  }

  #writePair(bits: BitWriter): void {
    const [left, right] = this.#channels as readonly [Channel, Channel];
    // Coupled channels share a grid, which has to begin where both have ended.
    const isCoupled = left.end === right.end && this.#random() < 0.5;
    bits.write(isCoupled ? 1 : 0, 1);
    const grid = this.#writeGrid(bits, left);
    this.#writeChannels(bits, [grid, isCoupled ? grid : this.#writeGrid(bits, right)], isCoupled);
  }

  /** What follows the grids. */
  #writeChannels(bits: BitWriter, grids: readonly Grid[], isCoupled: boolean): void {
    const noiseBands = this.#header.bands[2];
    const directions = grids.map(({ count }) => {
      const envelopes = Array.from({ length: count }, () => this.#direction(bits));
      return { envelopes, noises: Array.from({ length: count > 1 ? 2 : 1 }, () => this.#direction(bits)) };
    });
    for (const index of grids.keys()) {
      if (index === 0 || !isCoupled) for (let band = 0; band < noiseBands; band++) bits.write(this.#below(4), 2);
    }
    const parts = grids.map((grid, index) => ({
      levels: () =>
        this.#writeLevels(bits, {
          index,
          grid,
          isBalance: isCoupled && index === 1,
          inTime: directions[index]!.envelopes,
        }),
      noise: () =>
        this.#writeNoise(bits, { index, isBalance: isCoupled && index === 1, inTime: directions[index]!.noises }),
    }));
    if (isCoupled) {
      for (const { levels, noise } of parts) {
        levels();
        noise();
      }
    } else {
      for (const { levels } of parts) levels();
      for (const { noise } of parts) noise();
    }
    for (const index of grids.keys()) {
      const hasSines = this.#random() < 0.3;
      bits.write(hasSines ? 1 : 0, 1);
      if (hasSines)
        for (let band = 0; band < this.#header.bands[0]; band++) bits.write(this.#below(8) === 0 ? 1 : 0, 1);
      this.#channels[index]!.end = grids[index]!.end;
    }
  }

  #direction(bits: BitWriter): boolean {
    const isInTime = !this.#isFirst && this.#random() < 0.5;
    bits.write(isInTime ? 1 : 0, 1);
    return isInTime;
  }

  #writeGrid(bits: BitWriter, channel: Channel): Grid {
    const start = channel.end - 16;
    const kind = start === 0 && this.#random() < 0.6 ? this.#below(2) : 2 + this.#below(2);
    bits.write(kind, 2);
    if (kind === FIXED) {
      const code = this.#below(3);
      const resolution = this.#below(2);
      bits.write(code, 2).write(resolution, 1);
      const count = 2 ** code;
      return {
        kind,
        count,
        resolutions: Array(count).fill(resolution),
        isCoarse: count > 1 && this.#isCoarse,
        end: 16,
      };
    }
    for (;;) {
      const lead = kind === 1 ? [] : Array.from({ length: this.#below(3) }, () => this.#below(4));
      const trail = kind === 2 ? [] : Array.from({ length: this.#below(3) }, () => this.#below(4));
      const extra = kind === 2 ? 0 : this.#below(4);
      const sum = [...lead, ...trail].reduce((total, part) => total + 2 * part + 2, start);
      if (sum >= 16 + extra) continue;
      return this.#writeVariable(bits, { kind, start, extra, lead, trail });
    }
  }

  #writeVariable(
    bits: BitWriter,
    {
      kind,
      start,
      extra,
      lead,
      trail,
    }: { kind: number; start: number; extra: number; lead: number[]; trail: number[] },
  ): Grid {
    if (kind !== 1) bits.write(start, 2);
    if (kind !== 2) bits.write(extra, 2);
    if (kind !== 1) bits.write(lead.length, 2);
    if (kind !== 2) bits.write(trail.length, 2);
    for (const part of [...lead, ...trail]) bits.write(part, 2);
    const count = lead.length + trail.length + 1;
    const pointerBits = POINTER_BITS[count]!;
    bits.write(this.#below(Math.min(count + 2, 2 ** pointerBits)), pointerBits);
    const resolutions = Array.from({ length: count }, () => this.#below(2));
    for (const resolution of resolutions) bits.write(resolution, 1);
    if (kind === 1) resolutions.reverse();
    return { kind, count, resolutions, isCoarse: this.#isCoarse, end: 16 + extra };
  }

  #writeLevels(
    bits: BitWriter,
    { index, grid, isBalance, inTime }: { index: number; grid: Grid; isBalance: boolean; inTime: readonly boolean[] },
  ): void {
    const channel = this.#channels[index]!;
    const [high, low] = this.#header.bands;
    const odd = high & 1;
    const table = (grid.isCoarse ? 4 : 0) + (isBalance ? 2 : 0);
    const centre = isBalance ? (grid.isCoarse ? 6 : 12) : grid.isCoarse ? 20 : 40;
    const firstBits = isBalance ? (grid.isCoarse ? 5 : 6) : grid.isCoarse ? 6 : 7;
    const scale = isBalance ? 2 : 1;
    for (const [envelope, resolution] of grid.resolutions.entries()) {
      const before = channel.levels;
      const oldOf = (band: number) =>
        resolution === channel.resolution
          ? band
          : resolution === 1
            ? (band + odd) >> 1
            : band === 0
              ? 0
              : 2 * band - odd;
      const levels: number[] = [];
      for (let band = 0; band < (resolution === 1 ? high : low); band++) {
        if (inTime[envelope] === false && band === 0) {
          const value = centre + this.#below(5) - 2;
          bits.write(value, firstBits);
          levels.push(scale * value);
          continue;
        }
        const old = inTime[envelope] === true ? (before[oldOf(band)] ?? 0) : levels[band - 1]!;
        // Towards the centre, so that levels stay in range.
        const target = scale * (centre + this.#below(9) - 4);
        const reach = isBalance ? 5 : 12;
        const difference = Math.max(-reach, Math.min(reach, Math.trunc((target - old) / scale)));
        CODES[table + (inTime[envelope] === true ? 0 : 1)]!.write(bits, CENTRES[table]! + difference);
        levels.push(old + scale * difference);
      }
      channel.levels = levels;
      channel.resolution = resolution;
    }
  }

  #writeNoise(
    bits: BitWriter,
    { index, isBalance, inTime }: { index: number; isBalance: boolean; inTime: readonly boolean[] },
  ): void {
    const channel = this.#channels[index]!;
    const scale = isBalance ? 2 : 1;
    const centre = isBalance ? 6 : 8;
    for (const isInTime of inTime) {
      const levels: number[] = [];
      for (let band = 0; band < this.#header.bands[2]; band++) {
        if (!isInTime && band === 0) {
          const value = centre + this.#below(5) - 2;
          bits.write(value, 5);
          levels.push(scale * value);
          continue;
        }
        const old = isInTime ? channel.noise[band]! : levels[band - 1]!;
        const target = scale * (centre + this.#below(7) - 3);
        const difference = Math.max(-5, Math.min(5, Math.trunc((target - old) / scale)));
        const table = isInTime ? (isBalance ? 9 : 8) : isBalance ? 7 : 5;
        CODES[table]!.write(bits, CENTRES[table]! + difference);
        levels.push(old + scale * difference);
      }
      channel.noise = levels;
    }
  }

  #writeExtension(bits: BitWriter, extension: BitWriter | undefined): void {
    bits.write(extension === undefined ? 0 : 1, 1);
    if (extension === undefined) return;
    const bytes = Math.ceil(extension.bitCount / 8);
    if (bytes < 15) bits.write(bytes, 4);
    else bits.write(15, 4).write(bytes - 15, 8);
    bits.append(extension).write(0, 8 * bytes - extension.bitCount);
  }
}

export interface StereoOptions {
  /** Numbers of level differences and coherences: 10, 20, 34; the same with fine steps, and mixed by components. */
  readonly levelMode: number;
  readonly coherenceMode: number;
  readonly hasPhases: boolean;
}

const STEREO = STEREO_CODES.map((codes) => new CodeWriter(codes));
const STEREO_COUNTS = [10, 20, 34];
const PHASE_COUNTS = [5, 11, 17];
const LAST_SLOT = 31;

/** Writes ps_data of ISO 14496-3 section 8.4.2. */
export class StereoWriter {
  readonly #options: StereoOptions;
  readonly #random: () => number;
  #levels: number[];
  #coherences: number[];
  #isFirst = true;

  constructor(options: StereoOptions, random: () => number) {
    this.#options = options;
    this.#random = random;
    this.#levels = Array(34).fill(0);
    this.#coherences = Array(34).fill(0);
  }

  /** The extension of a packet, with its identifier. */
  write(): BitWriter {
    const { levelMode, coherenceMode, hasPhases } = this.#options;
    const bits = new BitWriter().write(2, 2);
    const hasHeader = this.#isFirst || this.#random() < 0.2;
    bits.write(hasHeader ? 1 : 0, 1);
    if (hasHeader)
      bits
        .write(1, 1)
        .write(levelMode, 3)
        .write(1, 1)
        .write(coherenceMode, 3)
        .write(hasPhases ? 1 : 0, 1);
    const envelopes = this.#writeBorders(bits);
    const isFine = levelMode > 2;
    const book = isFine ? 0 : 2;
    for (let envelope = 0; envelope < envelopes; envelope++) {
      const [centre, most] = isFine ? [30, 15] : [14, 7];
      this.#levels = this.#writeRow(bits, {
        before: this.#levels,
        book,
        centre,
        range: [-most, most],
        mode: levelMode,
      });
    }
    for (let envelope = 0; envelope < envelopes; envelope++) {
      this.#coherences = this.#writeRow(bits, {
        before: this.#coherences,
        book: 4,
        centre: 7,
        range: [0, 7],
        mode: coherenceMode,
      });
    }
    if (hasPhases) this.#writePhases(bits, envelopes);
    this.#isFirst = false;
    return bits;
  }

  #below(limit: number): number {
    return Math.floor(limit * this.#random());
  }

  #writeBorders(bits: BitWriter): number {
    const isVariable = this.#random() < 0.5;
    // A first packet without envelopes would have none to go on with.
    const code = this.#isFirst ? 1 + this.#below(3) : this.#below(4);
    bits.write(isVariable ? 1 : 0, 1).write(code, 2);
    if (!isVariable) return [0, 1, 2, 4][code]!;
    const borders = Array.from({ length: code + 1 }, () => this.#below(LAST_SLOT + 1)).toSorted((a, b) => a - b);
    for (const border of borders) bits.write(border, 5);
    return borders.length;
  }

  #writeRow(
    bits: BitWriter,
    row: { before: readonly number[]; book: number; centre: number; range: readonly [number, number]; mode: number },
  ): number[] {
    const isInTime = !this.#isFirst && this.#random() < 0.5;
    bits.write(isInTime ? 1 : 0, 1);
    const [least, most] = row.range;
    const values: number[] = [];
    for (let index = 0; index < STEREO_COUNTS[row.mode % 3]!; index++) {
      const old = isInTime ? row.before[index]! : (values[index - 1] ?? 0);
      const value = Math.max(least, Math.min(most, old + this.#below(7) - 3));
      STEREO[row.book + (isInTime ? 1 : 0)]!.write(bits, row.centre + value - old);
      values.push(value);
    }
    return values;
  }

  #writePhases(bits: BitWriter, envelopes: number): void {
    const extension = new BitWriter().write(0, 2).write(1, 1);
    for (let row = 0; row < 2 * envelopes; row++) {
      const isInTime = this.#below(2);
      extension.write(isInTime, 1);
      const count = PHASE_COUNTS[this.#options.levelMode % 3]!;
      for (let index = 0; index < count; index++)
        STEREO[6 + 2 * (row % 2) + isInTime]!.write(extension, this.#below(8));
    }
    extension.write(0, 1);
    const bytes = Math.ceil(extension.bitCount / 8);
    if (bytes < 15) bits.write(bytes, 4);
    else bits.write(15, 4).write(bytes - 15, 8);
    bits.append(extension).write(0, 8 * bytes - extension.bitCount);
  }
}
