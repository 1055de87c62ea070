// Where each sample of an MP4 track lies and when it is due, read straight from the file's compact tables (ISO 14496-12
// sections 8.6 and 8.7) without unpacking them. Audio thread.

import { Fields, findBox } from "./box.ts";

const NO_BYTES = new Uint8Array(0);

export class SampleTable {
  readonly sampleCount: number;
  /** Sum of all durations, in units of the track's timescale. */
  readonly totalTicks: number;
  /** Duration of the first sample: what every sample but perhaps the last decodes to. */
  readonly nominalTicks: number;
  readonly #sizes: Fields;
  readonly #fixedSize: number;
  /** Bits per entry of the compact form of the size table. */
  readonly #sizeBits: number;
  readonly #times: Fields;
  readonly #timeCount: number;
  readonly #chunks: Fields;
  readonly #isWide: boolean;
  readonly #chunkCount: number;
  readonly #runs: Fields;
  readonly #runCount: number;

  // The sample looked at.
  #sample = 0;
  #ticks = 0;
  #timeEntry = 0;
  #leftInTimeEntry = 0;
  #chunk = 0;
  #run = 0;
  #sampleInChunk = 0;
  #offset = 0;

  constructor(stbl: Uint8Array) {
    const compact = findBox(stbl, "stz2");
    this.#sizes = new Fields(findBox(stbl, "stsz") ?? compact ?? NO_BYTES);
    this.#sizeBits = compact === undefined ? 32 : this.#sizes.u8(7);
    this.#fixedSize = compact === undefined ? this.#sizes.u32(4) : 0;
    const wide = findBox(stbl, "co64");
    this.#isWide = wide !== undefined;
    this.#chunks = new Fields(wide ?? findBox(stbl, "stco") ?? NO_BYTES);
    this.#chunkCount = entryCount(this.#chunks, { at: 4, entryBytes: this.#isWide ? 8 : 4 });
    this.#runs = new Fields(findBox(stbl, "stsc") ?? NO_BYTES);
    this.#runCount = entryCount(this.#runs, { at: 4, entryBytes: 12 });
    this.#times = new Fields(findBox(stbl, "stts") ?? NO_BYTES);
    this.#timeCount = entryCount(this.#times, { at: 4, entryBytes: 8 });
    this.sampleCount = this.#countSamples();
    this.totalTicks = this.#sumTicks();
    this.nominalTicks = this.#times.u32(12);
    this.moveTo(0);
  }

  get isAtEnd(): boolean {
    return this.#sample >= this.sampleCount || this.#chunk >= this.#chunkCount;
  }

  /** Place, size and time of the sample looked at. */
  get offsetBytes(): number {
    return this.#offset;
  }

  get sizeBytes(): number {
    return this.#sizeOf(this.#sample);
  }

  get ticks(): number {
    return this.#ticks;
  }

  get durationTicks(): number {
    return this.#times.u32(12 + 8 * this.#timeEntry);
  }

  /** Looks at the next sample. */
  advance(): void {
    this.#offset += this.sizeBytes;
    this.#ticks += this.durationTicks;
    this.#sample += 1;
    this.#leftInTimeEntry -= 1;
    this.#settleTime();
    this.#sampleInChunk += 1;
    if (this.#sampleInChunk >= this.#samplesPerChunk(this.#run)) this.#enterChunk(this.#chunk + 1);
  }

  /** Looks at the last sample that starts at or before `ticks`, or at the first. */
  seek(ticks: number): void {
    let sample = 0;
    let at = 0;
    for (let entry = 0; entry < this.#timeCount; entry++) {
      const count = this.#times.u32(8 + 8 * entry);
      const delta = this.#times.u32(12 + 8 * entry);
      if (at + count * delta > ticks && delta > 0) {
        sample += Math.max(0, Math.floor((ticks - at) / delta));
        break;
      }
      sample += count;
      at += count * delta;
    }
    this.moveTo(Math.min(sample, this.sampleCount));
  }

  /** Looks at the sample of that number. */
  moveTo(sample: number): void {
    this.#sample = sample;
    this.#ticks = 0;
    this.#timeEntry = 0;
    let left = sample;
    while (this.#timeEntry < this.#timeCount && left >= this.#times.u32(8 + 8 * this.#timeEntry)) {
      left -= this.#times.u32(8 + 8 * this.#timeEntry);
      this.#ticks += this.#times.u32(8 + 8 * this.#timeEntry) * this.durationTicks;
      this.#timeEntry += 1;
    }
    this.#ticks += left * this.durationTicks;
    this.#leftInTimeEntry = this.#times.u32(8 + 8 * this.#timeEntry) - left;
    this.#findChunk(sample);
  }

  #findChunk(sample: number): void {
    let first = 0;
    for (this.#run = 0; this.#run < this.#runCount; this.#run++) {
      const chunk = this.#firstChunk(this.#run);
      const end = this.#run + 1 < this.#runCount ? this.#firstChunk(this.#run + 1) : this.#chunkCount;
      const perChunk = this.#samplesPerChunk(this.#run);
      const held = Math.max(0, end - chunk) * perChunk;
      if (sample < first + held) {
        const within = Math.floor((sample - first) / perChunk);
        this.#chunk = chunk + within;
        this.#sampleInChunk = sample - first - within * perChunk;
        this.#offset = this.#chunkOffset(this.#chunk);
        this.#skipInChunk(sample);
        return;
      }
      first += held;
    }
    this.#chunk = this.#chunkCount;
  }

  /** Adds up the samples of the chunk in front of this one. */
  #skipInChunk(sample: number): void {
    if (this.#fixedSize > 0) this.#offset += this.#sampleInChunk * this.#fixedSize;
    else for (let at = sample - this.#sampleInChunk; at < sample; at++) this.#offset += this.#sizeOf(at);
  }

  #enterChunk(chunk: number): void {
    this.#chunk = chunk;
    this.#sampleInChunk = 0;
    this.#offset = this.#chunkOffset(chunk);
    while (this.#run + 1 < this.#runCount && chunk >= this.#firstChunk(this.#run + 1)) this.#run += 1;
  }

  #settleTime(): void {
    while (this.#leftInTimeEntry <= 0 && this.#timeEntry < this.#timeCount) {
      this.#timeEntry += 1;
      this.#leftInTimeEntry = this.#times.u32(8 + 8 * this.#timeEntry);
    }
  }

  #chunkOffset(chunk: number): number {
    return this.#isWide ? this.#chunks.u64(8 + 8 * chunk) : this.#chunks.u32(8 + 4 * chunk);
  }

  /** Chunks are counted from 1 in the file, from 0 here. */
  #firstChunk(run: number): number {
    return Math.max(0, this.#runs.u32(8 + 12 * run) - 1);
  }

  #samplesPerChunk(run: number): number {
    return Math.max(1, this.#runs.u32(12 + 12 * run));
  }

  #sizeOf(sample: number): number {
    if (this.#fixedSize > 0) return this.#fixedSize;
    if (this.#sizeBits === 32) return this.#sizes.u32(12 + 4 * sample);
    if (this.#sizeBits === 16) return this.#sizes.u16(12 + 2 * sample);
    if (this.#sizeBits === 8) return this.#sizes.u8(12 + sample);
    const pair = this.#sizes.u8(12 + (sample >> 1));
    return sample % 2 === 0 ? pair >> 4 : pair & 15;
  }

  #countSamples(): number {
    const claimed = this.#sizes.u32(8);
    if (this.#fixedSize > 0) return claimed;
    return Math.min(claimed, Math.floor((8 * Math.max(0, this.#sizes.sizeBytes - 12)) / Math.max(4, this.#sizeBits)));
  }

  #sumTicks(): number {
    let ticks = 0;
    for (let entry = 0; entry < this.#timeCount; entry++) {
      ticks += this.#times.u32(8 + 8 * entry) * this.#times.u32(12 + 8 * entry);
    }
    return ticks;
  }
}

/** Entries a table holds: what it claims, but no more than its bytes. */
function entryCount(fields: Fields, table: { at: number; entryBytes: number }): number {
  const held = Math.floor(Math.max(0, fields.sizeBytes - table.at - 4) / table.entryBytes);
  return Math.min(fields.u32(table.at), held);
}
