// The position and time of each sample of an MP4 track, read straight from the file's compact tables (ISO 14496-12
// sections 8.6 and 8.7) without unpacking them. Audio thread.

import type { DemuxWork } from "../demux-work.ts";
import { Fields } from "./box.ts";
import type { Boxes } from "./movie-boxes.ts";

const NO_BYTES = new Uint8Array(0);
/** Entries of a table read in one step: some microseconds. */
const STEP_COUNT = 1024;

interface TableReading {
  readonly work: DemuxWork;
  /** Size of the file, undefined while unknown: no sample lies behind its end. */
  readonly fileBytes: number | undefined;
}

export class SampleTable {
  readonly sampleCount: number;
  /** Sum of all durations, in units of the track's timescale. */
  totalTicks = 0;
  /** Duration of the first sample: what every sample but perhaps the last decodes to. */
  readonly nominalTicks: number;
  readonly #work: DemuxWork;
  readonly #sizes: Fields;
  readonly #fixedSize: number;
  /** Bits per entry of the compact form of the size table. */
  readonly #sizeBits: number;
  readonly #times: Fields;
  #timeCount: number;
  readonly #chunks: Fields;
  readonly #isWide: boolean;
  readonly #chunkCount: number;
  readonly #runs: Fields;
  #runCount: number;

  // The current sample.
  #sample = 0;
  #ticks = 0;
  #timeEntry = 0;
  #leftInTimeEntry = 0;
  #chunk = 0;
  #run = 0;
  #sampleInChunk = 0;
  #offset = 0;

  /**
   * Reads from the bodies of the boxes of `stbl`, which are retained and may be written to. Selects the first sample.
   */
  static async read(boxes: Boxes, { work, fileBytes }: TableReading): Promise<SampleTable> {
    const table = new SampleTable(boxes, { work, fileBytes });
    await table.#tidyTimes(boxes.get("stts") ?? NO_BYTES);
    await table.#tidyRuns(boxes.get("stsc") ?? NO_BYTES);
    await table.#moveTo(0);
    return table;
  }

  private constructor(boxes: Boxes, { work, fileBytes }: TableReading) {
    const compact = boxes.get("stz2");
    this.#work = work;
    this.#sizes = new Fields(boxes.get("stsz") ?? compact ?? NO_BYTES);
    this.#sizeBits = compact === undefined ? 32 : this.#sizes.u8(7);
    this.#fixedSize = compact === undefined ? this.#sizes.u32(4) : 0;
    const wide = boxes.get("co64");
    this.#isWide = wide !== undefined;
    this.#chunks = new Fields(wide ?? boxes.get("stco") ?? NO_BYTES);
    this.#chunkCount = entryCount(this.#chunks, { at: 4, entryBytes: this.#isWide ? 8 : 4 });
    this.#runs = new Fields(boxes.get("stsc") ?? NO_BYTES);
    this.#runCount = entryCount(this.#runs, { at: 4, entryBytes: 12 });
    this.#times = new Fields(boxes.get("stts") ?? NO_BYTES);
    this.#timeCount = entryCount(this.#times, { at: 4, entryBytes: 8 });
    this.sampleCount = this.#countSamples(fileBytes ?? Number.POSITIVE_INFINITY);
    this.nominalTicks = this.#times.u32(12);
  }

  get isAtEnd(): boolean {
    return this.#sample >= this.sampleCount || this.#chunk >= this.#chunkCount;
  }

  /** Position, size and time of the current sample. */
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
    return this.#timeEntry < this.#timeCount ? this.#times.u32(12 + 8 * this.#timeEntry) : 0;
  }

  /** Selects the next sample. */
  advance(): void {
    this.#offset += this.sizeBytes;
    this.#ticks += this.durationTicks;
    this.#sample += 1;
    this.#leftInTimeEntry -= 1;
    if (this.#leftInTimeEntry <= 0 && this.#timeEntry < this.#timeCount) this.#enterTime(this.#timeEntry + 1);
    this.#sampleInChunk += 1;
    if (this.#sampleInChunk >= this.#samplesPerChunk(this.#run)) this.#enterChunk(this.#chunk + 1);
  }

  /** Selects the last sample that starts at or before `ticks`, or the first. */
  async seek(ticks: number): Promise<void> {
    let sample = 0;
    let at = 0;
    for (let entry = 0; entry < this.#timeCount; entry++) {
      if (entry % STEP_COUNT === 0 && this.#work.isSpent) await this.#work.yield();
      const count = this.#times.u32(8 + 8 * entry);
      const delta = this.#times.u32(12 + 8 * entry);
      if (at + count * delta > ticks && delta > 0) {
        sample += Math.max(0, Math.floor((ticks - at) / delta));
        break;
      }
      sample += count;
      at += count * delta;
    }
    await this.#moveTo(Math.min(sample, this.sampleCount));
  }

  /** Selects the sample with that number. */
  async #moveTo(sample: number): Promise<void> {
    this.#sample = sample;
    this.#ticks = 0;
    this.#enterTime(0);
    let left = sample;
    while (this.#timeEntry < this.#timeCount && left >= this.#leftInTimeEntry) {
      if (this.#timeEntry % STEP_COUNT === 0 && this.#work.isSpent) await this.#work.yield();
      left -= this.#leftInTimeEntry;
      this.#ticks += this.#leftInTimeEntry * this.durationTicks;
      this.#enterTime(this.#timeEntry + 1);
    }
    this.#ticks += left * this.durationTicks;
    this.#leftInTimeEntry -= left;
    await this.#findChunk(sample);
  }

  async #findChunk(sample: number): Promise<void> {
    let first = 0;
    for (this.#run = 0; this.#run < this.#runCount; this.#run++) {
      if (this.#run % STEP_COUNT === 0 && this.#work.isSpent) await this.#work.yield();
      const chunk = this.#firstChunk(this.#run);
      const end = this.#run + 1 < this.#runCount ? this.#firstChunk(this.#run + 1) : this.#chunkCount;
      const perChunk = this.#samplesPerChunk(this.#run);
      const held = Math.max(0, end - chunk) * perChunk;
      if (sample < first + held) {
        const within = Math.floor((sample - first) / perChunk);
        this.#chunk = chunk + within;
        this.#sampleInChunk = sample - first - within * perChunk;
        this.#offset = this.#chunkOffset(this.#chunk);
        await this.#skipInChunk(sample);
        return;
      }
      first += held;
    }
    this.#chunk = this.#chunkCount;
  }

  /** Adds up the samples of the chunk in front of this one. */
  async #skipInChunk(sample: number): Promise<void> {
    if (this.#fixedSize > 0) {
      this.#offset += this.#sampleInChunk * this.#fixedSize;
      return;
    }
    for (let at = sample - this.#sampleInChunk; at < sample; at++) {
      if (at % STEP_COUNT === 0 && this.#work.isSpent) await this.#work.yield();
      this.#offset += this.#sizeOf(at);
    }
  }

  #enterChunk(chunk: number): void {
    this.#chunk = chunk;
    this.#sampleInChunk = 0;
    this.#offset = this.#chunkOffset(chunk);
    if (this.#run + 1 < this.#runCount && chunk >= this.#firstChunk(this.#run + 1)) this.#run += 1;
  }

  #enterTime(entry: number): void {
    this.#timeEntry = entry;
    this.#leftInTimeEntry = entry < this.#timeCount ? this.#times.u32(8 + 8 * entry) : 0;
  }

  /** Removes the times of no samples, so that each step to the next one is short, and adds up the others. */
  async #tidyTimes(stts: Uint8Array): Promise<void> {
    const view = new DataView(stts.buffer, stts.byteOffset, stts.byteLength);
    let retained = 0;
    for (let entry = 0; entry < this.#timeCount; entry++) {
      if (entry % STEP_COUNT === 0 && this.#work.isSpent) await this.#work.yield();
      const count = view.getUint32(8 + 8 * entry);
      const delta = view.getUint32(12 + 8 * entry);
      if (count === 0) continue;
      view.setUint32(8 + 8 * retained, count);
      view.setUint32(12 + 8 * retained, delta);
      this.totalTicks += count * delta;
      retained += 1;
    }
    this.#timeCount = retained;
  }

  /** Removes runs of no chunks: each remaining one starts behind the one before. */
  async #tidyRuns(stsc: Uint8Array): Promise<void> {
    const view = new DataView(stsc.buffer, stsc.byteOffset, stsc.byteLength);
    let retained = 0;
    for (let run = 0; run < this.#runCount; run++) {
      if (run % STEP_COUNT === 0 && this.#work.isSpent) await this.#work.yield();
      const first = this.#firstChunk(run);
      const samples = this.#samplesPerChunk(run);
      const isBehind = retained === 0 || first > this.#firstChunk(retained - 1);
      const isInstead = retained > 0 && first === this.#firstChunk(retained - 1);
      if (first >= this.#chunkCount || !(isBehind || isInstead)) continue;
      if (isInstead) retained -= 1;
      view.setUint32(8 + 12 * retained, first + 1);
      view.setUint32(12 + 12 * retained, samples);
      retained += 1;
    }
    this.#runCount = retained;
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

  #countSamples(fileBytes: number): number {
    const claimed = this.#sizes.u32(8);
    if (this.#fixedSize > 0) return Math.min(claimed, Math.floor(fileBytes / this.#fixedSize));
    return Math.min(claimed, Math.floor((8 * Math.max(0, this.#sizes.sizeBytes - 12)) / Math.max(4, this.#sizeBits)));
  }
}

/** Entries a table holds: the claimed number, but no more than its bytes. */
function entryCount(fields: Fields, table: { at: number; entryBytes: number }): number {
  const held = Math.floor(Math.max(0, fields.sizeBytes - table.at - 4) / table.entryBytes);
  return Math.min(fields.u32(table.at), held);
}
