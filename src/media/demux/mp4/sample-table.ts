// The position and time of each sample of an MP4 track, read straight from the file's compact tables (ISO 14496-12
// sections 8.6 and 8.7) without unpacking them. Audio thread.

import type { DemuxWork } from "../demux-work.ts";
import { DURATION_MAX, Fields } from "./box.ts";
import type { Boxes } from "./movie-boxes.ts";

const NO_BYTES = new Uint8Array(0);
/** Entries of a table read in one step: some microseconds. */
const STEP_COUNT = 1024;

interface TableReading {
  readonly work: DemuxWork;
  /** Size of the file, undefined while unknown: no sample lies behind its end. */
  readonly fileBytes: number | undefined;
  readonly frame: SampleFrame;
}

/** What the codec says about each sample: the second witness of the table's numbers. */
export interface SampleFrame {
  /** Audio that a sample usually decodes to, in units of the track's timescale; 0 when unknown. */
  readonly ticks: number;
  /** True when all samples but the last decode to that. */
  readonly isFixed: boolean;
  /** Bytes of a sample of uncompressed audio, which the size table may declare as 1; else 0. */
  readonly sizeBytes: number;
}

/** Times that are this many times longer or shorter than the audio of all samples are wrong. */
const DISAGREEMENT_MAX = 2.5;
/** Where samples may differ, only times that leave next to nothing of them are wrong. */
const SHARE_MIN = 0.03;

export class SampleTable {
  /** Samples that have a size and a place. */
  sampleCount: number;
  /** Sum of all durations, in units of the track's timescale. */
  totalTicks = 0;
  readonly #work: DemuxWork;
  readonly #sizes: Fields;
  readonly #fixedSize: number;
  /** Bits per entry of the compact form of the size table. */
  readonly #sizeBits: number;
  readonly #times: Fields;
  /** Entries of the table of times that are used; one more for the samples that it leaves out. */
  #timeCount: number;
  #restCount = 0;
  #restTicks = 0;
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
  static async read(boxes: Boxes, reading: TableReading): Promise<SampleTable> {
    const table = new SampleTable(boxes, reading);
    await table.#tidyRuns(boxes.get("stsc") ?? NO_BYTES);
    await table.#tidyTimes(boxes.get("stts") ?? NO_BYTES, reading.frame);
    await table.#moveTo(0);
    return table;
  }

  private constructor(boxes: Boxes, { work, fileBytes, frame }: TableReading) {
    const compact = boxes.get("stz2");
    this.#work = work;
    this.#sizes = new Fields(boxes.get("stsz") ?? compact ?? NO_BYTES);
    this.#sizeBits = compact === undefined ? 32 : this.#sizes.u8(7);
    const fixedSize = compact === undefined ? this.#sizes.u32(4) : 0;
    // QuickTime calls any sample of uncompressed audio one byte long.
    this.#fixedSize = fixedSize > 0 ? Math.max(fixedSize, frame.sizeBytes) : 0;
    const wide = boxes.get("co64");
    this.#isWide = wide !== undefined;
    this.#chunks = new Fields(wide ?? boxes.get("stco") ?? NO_BYTES);
    this.#chunkCount = entryCount(this.#chunks, { at: 4, entryBytes: this.#isWide ? 8 : 4 });
    this.#runs = new Fields(boxes.get("stsc") ?? NO_BYTES);
    this.#runCount = entryCount(this.#runs, { at: 4, entryBytes: 12 });
    this.#times = new Fields(boxes.get("stts") ?? NO_BYTES);
    this.#timeCount = entryCount(this.#times, { at: 4, entryBytes: 8 });
    this.sampleCount = this.#countSamples(fileBytes ?? Number.POSITIVE_INFINITY);
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

  /** Size of every sample, 0 when they differ. */
  get runSizeBytes(): number {
    return this.#fixedSize;
  }

  get ticks(): number {
    return this.#ticks;
  }

  get durationTicks(): number {
    return this.#durationIn(this.#timeEntry);
  }

  /** How many samples, at most `countMax`, follow each other in the file with one size and duration: 1 or more. */
  runCount(countMax: number): number {
    if (this.#fixedSize === 0) return 1;
    const inChunk = this.#samplesPerChunk(this.#run) - this.#sampleInChunk;
    return Math.max(1, Math.min(countMax, inChunk, this.#leftInTimeEntry, this.sampleCount - this.#sample));
  }

  /** Selects the next sample, or the one behind a run of `runCount` samples. */
  advance(count = 1): void {
    this.#offset += count * this.sizeBytes;
    this.#ticks += count * this.durationTicks;
    this.#sample += count;
    this.#leftInTimeEntry -= count;
    if (this.#leftInTimeEntry <= 0 && this.#timeEntry < this.#timeCount) this.#enterTime(this.#timeEntry + 1);
    this.#sampleInChunk += count;
    if (this.#sampleInChunk >= this.#samplesPerChunk(this.#run)) this.#enterChunk(this.#chunk + 1);
  }

  /** Selects the last sample that starts at or before `ticks`, or the first. */
  async seek(ticks: number): Promise<void> {
    let sample = 0;
    let at = 0;
    for (let entry = 0; entry < this.#timeCount; entry++) {
      if (entry % STEP_COUNT === 0 && this.#work.isSpent) await this.#work.yield();
      const count = this.#samplesIn(entry);
      const delta = this.#durationIn(entry);
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
    this.#leftInTimeEntry = this.#samplesIn(entry);
  }

  #samplesIn(entry: number): number {
    if (entry >= this.#timeCount) return 0;
    return this.#restCount > 0 && entry === this.#timeCount - 1 ? this.#restCount : this.#times.u32(8 + 8 * entry);
  }

  #durationIn(entry: number): number {
    if (entry >= this.#timeCount) return 0;
    return this.#restCount > 0 && entry === this.#timeCount - 1 ? this.#restTicks : this.#times.u32(12 + 8 * entry);
  }

  /**
   * Removes the times of no samples, so that each step to the next one is short, and adds up the others. Samples that
   * the table leaves out are as long as the codec says; all are, when the sum cannot be right.
   */
  async #tidyTimes(stts: Uint8Array, frame: SampleFrame): Promise<void> {
    const view = new DataView(stts.buffer, stts.byteOffset, stts.byteLength);
    // Samples of uncompressed audio may also hold any number of frames.
    const frameTicks = frame.sizeBytes > 0 && this.#fixedSize !== frame.sizeBytes ? 0 : frame.ticks;
    const usualTicks = Math.max(1, Math.round(frameTicks));
    let retained = 0;
    let left = this.sampleCount;
    let lastTicks = 0;
    for (let entry = 0; entry < this.#timeCount && left > 0; entry++) {
      if (entry % STEP_COUNT === 0 && this.#work.isSpent) await this.#work.yield();
      const count = Math.min(left, view.getUint32(8 + 8 * entry));
      const claimedTicks = view.getUint32(12 + 8 * entry);
      if (count === 0) continue;
      lastTicks = claimedTicks < DURATION_MAX ? claimedTicks : usualTicks;
      view.setUint32(8 + 8 * retained, count);
      view.setUint32(12 + 8 * retained, lastTicks);
      this.totalTicks += count * lastTicks;
      left -= count;
      retained += 1;
    }
    this.#timeCount = retained;
    if (left > 0) this.#addRest(left, frameTicks || lastTicks);
    const codedTicks = this.sampleCount * frameTicks;
    const share = this.totalTicks / codedTicks;
    const isWrong = frame.isFixed ? !(share < DISAGREEMENT_MAX && share > 1 / DISAGREEMENT_MAX) : share < SHARE_MIN;
    if (codedTicks === 0 || !isWrong) return;
    this.totalTicks = 0;
    this.#timeCount = 0;
    this.#addRest(this.sampleCount, frameTicks);
  }

  #addRest(count: number, ticks: number): void {
    this.#restCount = count;
    this.#restTicks = ticks;
    this.#timeCount += 1;
    this.totalTicks += count * ticks;
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
    let placed = 0;
    for (let run = 0; run < retained && placed < this.sampleCount; run++) {
      if (run % STEP_COUNT === 0 && this.#work.isSpent) await this.#work.yield();
      const end = run + 1 < retained ? this.#firstChunk(run + 1) : this.#chunkCount;
      placed += Math.max(0, end - this.#firstChunk(run)) * this.#samplesPerChunk(run);
    }
    this.sampleCount = Math.min(this.sampleCount, placed);
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
