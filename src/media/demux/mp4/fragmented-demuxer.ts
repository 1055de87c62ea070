// Reads fragmented MP4 (DASH, CMAF, recordings, streams): fragment by fragment, seeking by an index where the file has
// one and from fragment to fragment where not. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import { SeekIndex, type SeekPoint } from "../seek-index.ts";
import { BOX_HEADER_BYTES_MAX, type BoxHeader, parseBoxHeader } from "./box.ts";
import type { Mp4Head } from "./fragment.ts";
import { FragmentClock } from "./fragment-clock.ts";
import {
  FRAGMENT_BYTES_MAX,
  type FragmentedLength,
  fragmentContext,
  measureFragments,
  readLastSeekPoints,
  readWholeFragment,
} from "./fragment-length.ts";
import { type FragmentSample, FragmentSamples } from "./fragment-samples.ts";
import { type Movie, mp4Info } from "./movie.ts";
import { Mp4Packets, SAMPLE_BYTES_MAX } from "./mp4-packets.ts";
import { TableReader } from "./table-reader.ts";

/** Fragments that a seek without an index may skip, and positions retained. */
const HOP_COUNT_MAX = 65_536;
/** Damage that is searched for the next fragment before the stream counts as over. */
const DAMAGE_BYTES_MAX = 16 * 1024 * 1024;

const MOOF = [0x6d, 0x6f, 0x6f, 0x66];

/** Without the need for the length, the file is read from the front only, until the first seek. */
export async function openFragmented(parts: ReaderParts, head: Mp4Head, isLengthNeeded: boolean): Promise<Demuxer> {
  const seekPoints = head.index?.seekPoints ?? new SeekIndex(parts.work);
  const length = await measureFragments(parts, { head, seekPoints, isLengthNeeded });
  return new FragmentedDemuxer(parts, { head, seekPoints, length });
}

interface Opened {
  readonly head: Mp4Head;
  readonly seekPoints: SeekIndex;
  readonly length: FragmentedLength;
}

class FragmentedDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #source: ByteSource;
  readonly #work: DemuxWork;
  readonly #movie: Movie;
  readonly #packets: Mp4Packets;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  /** The samples that `moov` lists, in front of those of the fragments. */
  readonly #table: TableReader;
  #isInTable: boolean;
  #isTableSkipped = false;
  /** Where fragments start, from the file's index or as encountered; the latest one so far. */
  #seekPoints: SeekIndex;
  #latestTicks: number;
  #isTailRead: boolean;
  readonly #isMeasured: boolean;
  #samples: FragmentSamples;
  #sampleIndex = 0;
  /** True once inside the `mdat` of the current fragment. */
  #isInside = false;
  #nextBox: number;
  /** Where the first box behind the audio of the table starts. */
  #firstBox: number;
  readonly #clock: FragmentClock;
  #hasBase = false;
  /** Samples that end before this are passed over unread, on the way to the target of a seek. */
  #skipTicks = Number.NEGATIVE_INFINITY;
  #damageBytes = 0;

  constructor({ source, work }: ReaderParts, opened: Opened) {
    const { movie, bodyStart } = opened.head;
    this.#source = source;
    this.#work = work;
    this.#samples = new FragmentSamples(work);
    this.#movie = movie;
    this.stream = movie.stream;
    this.info = mp4Info(movie, opened.length.lengthMs);
    this.#packets = new Mp4Packets(movie);
    this.#clock = new FragmentClock(movie);
    this.#seekPoints = opened.length.seekPoints ?? opened.seekPoints;
    this.#latestTicks = this.#seekPoints.latest?.time ?? Number.NEGATIVE_INFINITY;
    this.#isMeasured = opened.length.isMeasured;
    this.#isTailRead = opened.length.isTailRead;
    this.#nextBox = bodyStart;
    this.#firstBox = bodyStart;
    this.#cursor = new ByteCursor(source, bodyStart);
    this.#table = new TableReader({ source, cursor: this.#cursor, movie, packets: this.#packets });
    this.#isInTable = movie.table.sampleCount > 0;
    this.#hasBase = this.#isInTable;
    this.#pump = new PacketPump({ cursor: this.#cursor, work, step: () => this.#step(), stream: () => this.stream });
  }

  get isSeekable(): boolean {
    return this.#source.isRandomAccess;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    // The first fragment shows where the time starts.
    if (!this.#hasBase) await this.#pump.next();
    const isBehind = positionMs >= (this.info.lengthMs ?? Number.POSITIVE_INFINITY);
    if (isBehind && (this.#isMeasured || !this.isSeekable)) return this.#pump.finish();
    const ticks = this.#packets.seekTicks(positionMs);
    const targetMs = this.#packets.toMs(ticks);
    if (this.isSeekable) {
      await this.#jump(ticks);
      return this.#pump.dropUntil(targetMs);
    }
    if (targetMs < (this.#pump.heldMs ?? this.#packets.toMs(this.#currentTicks))) {
      throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this stream only forwards");
    }
    this.#pump.skipUntil(targetMs);
  }

  close(): void {
    this.#source.close();
  }

  get #currentTicks(): number {
    if (this.#isInTable) return this.#movie.table.ticks;
    const sample = this.#samples.at(this.#sampleIndex);
    return sample === undefined ? this.#clock.nextTicks : sample.ticks + this.#clock.offsetTicks;
  }

  async #jump(ticks: number): Promise<void> {
    const { table } = this.#movie;
    await this.#skipTableData();
    this.#samples.close();
    this.#sampleIndex = 0;
    this.#isInside = false;
    this.#damageBytes = 0;
    this.#skipTicks = ticks;
    this.#isInTable = ticks < table.totalTicks && table.sampleCount > 0;
    if (this.#isInTable) return table.seek(ticks);
    await this.#readTail();
    const point = await this.#hop(ticks);
    this.#nextBox = point.positionBytes;
    this.#clock.moveTo(point.time);
    this.#cursor.moveTo(this.#nextBox);
  }

  /** Reads the index at the end of the file, once. */
  async #readTail(): Promise<void> {
    if (this.#isTailRead) return;
    this.#isTailRead = true;
    const found = await readLastSeekPoints({ source: this.#source, work: this.#work }, this.#movie);
    if (found?.latest === undefined) return;
    this.#seekPoints.close();
    this.#seekPoints = found;
    this.#latestTicks = found.latest.time;
  }

  /**
   * The last fragment that starts before the target. From the latest one that is known on, it goes from fragment to
   * fragment, reading only their heads: an index need not reach the end of the file.
   */
  async #hop(ticks: number): Promise<SeekPoint> {
    const start = { time: this.#movie.table.totalTicks, positionBytes: this.#firstBox };
    let point = this.#seekPoints.before(ticks) ?? this.#seekPoints.earliest ?? start;
    if (point.time < this.#latestTicks) return point;
    const work = this.#work;
    const cursor = new ByteCursor(this.#source, point.positionBytes);
    const clock = new FragmentClock(this.#movie);
    clock.moveTo(point.time);
    for (let count = 0; count < HOP_COUNT_MAX; count++) {
      if (work.isSpent) await work.yield();
      const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
      if (header === undefined || !Number.isFinite(header.sizeBytes)) break;
      const positionBytes = cursor.position;
      if (header.type === "moof" && header.sizeBytes <= FRAGMENT_BYTES_MAX) {
        const nextTicks = clock.nextTicks - clock.offsetTicks;
        const context = fragmentContext(this.#movie, { positionBytes, nextTicks });
        const samples = await readWholeFragment(cursor, { header, context, work });
        const found = clock.enter(samples);
        samples.close();
        if (found !== undefined && found > ticks) break;
        if (found !== undefined) {
          point = { time: found, positionBytes };
          this.#note(point);
        }
      }
      cursor.moveTo(positionBytes + header.sizeBytes);
    }
    return point;
  }

  #note(point: SeekPoint): void {
    if (point.time <= this.#latestTicks) return;
    this.#latestTicks = point.time;
    this.#seekPoints.add(point.time, point.positionBytes);
  }

  #step(): Step | Promise<Step> {
    if (this.#isInTable) return this.#isTableSkipped ? this.#stepInTable() : this.#enterTable();
    if (this.#isInside) {
      const sample = this.#samples.at(this.#sampleIndex);
      if (sample !== undefined) return this.#sample(sample);
      this.#isInside = false;
      this.#cursor.moveTo(Math.max(this.#nextBox, this.#source.isRandomAccess ? 0 : this.#cursor.position));
    }
    const cursor = this.#cursor;
    if (!cursor.has(BOX_HEADER_BYTES_MAX) && !cursor.isShort) return WAIT;
    if (cursor.bufferedBytes < 8) return undefined;
    const header = parseBoxHeader(cursor.view(BOX_HEADER_BYTES_MAX));
    if (header === undefined || !/^[\x20-\x7e]{4}$/.test(header.type)) return this.#search();
    if (header.type === "moof") return this.#enterFragment(header);
    if (header.type === "mdat" && this.#sampleIndex < this.#samples.count) {
      this.#isInside = true;
      this.#nextBox = cursor.position + header.sizeBytes;
      cursor.skip(header.headerBytes);
      return AGAIN;
    }
    if (!Number.isFinite(header.sizeBytes)) return undefined;
    cursor.skip(header.sizeBytes);
    return AGAIN;
  }

  async #enterTable(): Promise<Step> {
    await this.#skipTableData();
    return AGAIN;
  }

  #stepInTable(): Step {
    const step = this.#table.step();
    if (step !== undefined) return step;
    this.#isInTable = false;
    this.#clock.moveTo(this.#movie.table.totalTicks);
    this.#nextBox = this.#firstBox;
    this.#cursor.moveTo(Math.max(this.#nextBox, this.#source.isRandomAccess ? 0 : this.#cursor.position));
    return AGAIN;
  }

  /** Finds out once where the audio of the table ends, when the fragments follow it. */
  async #skipTableData(): Promise<void> {
    if (this.#isTableSkipped) return;
    this.#isTableSkipped = true;
    if (this.#movie.table.sampleCount === 0 || this.#cursor.position !== this.#firstBox) return;
    const header = parseBoxHeader(await this.#cursor.peek(BOX_HEADER_BYTES_MAX));
    if (header?.type === "mdat" && Number.isFinite(header.sizeBytes)) this.#firstBox += header.sizeBytes;
  }

  async #enterFragment(header: BoxHeader): Promise<Step> {
    if (header.sizeBytes > FRAGMENT_BYTES_MAX) return this.#search();
    const cursor = this.#cursor;
    const positionBytes = cursor.position;
    const context = fragmentContext(this.#movie, {
      positionBytes,
      nextTicks: this.#clock.nextTicks - this.#clock.offsetTicks,
    });
    this.#samples.close();
    this.#samples = await readWholeFragment(cursor, { header, context, work: this.#work });
    this.#sampleIndex = 0;
    this.#damageBytes = 0;
    const startTicks = this.#clock.enter(this.#samples);
    if (startTicks === undefined) return AGAIN;
    if (!this.#hasBase) {
      this.#hasBase = true;
      this.#packets.setBase(startTicks);
    }
    this.#note({ time: startTicks, positionBytes });
    return AGAIN;
  }

  #sample(sample: FragmentSample): Step {
    const { offsetBytes, sizeBytes, durationTicks } = sample;
    const ticks = sample.ticks + this.#clock.offsetTicks;
    const isGone = !this.#source.isRandomAccess && offsetBytes < this.#cursor.position;
    if (sizeBytes > SAMPLE_BYTES_MAX || isGone || ticks + durationTicks < this.#skipTicks) {
      this.#sampleIndex += 1;
      return AGAIN;
    }
    this.#cursor.moveTo(offsetBytes);
    if (!this.#cursor.has(sizeBytes)) return WAIT;
    this.#sampleIndex += 1;
    this.#skipTicks = Number.NEGATIVE_INFINITY;
    return this.#packets.create(this.#cursor.take(sizeBytes), {
      ticks,
      durationTicks,
      isLast: this.#sampleIndex === this.#samples.count,
      endTicks: Number.POSITIVE_INFINITY,
    });
  }

  /** Searches for the next fragment behind damage. */
  #search(): Step {
    const cursor = this.#cursor;
    cursor.skip(1);
    if (!cursor.has(8)) return WAIT;
    // The type follows four bytes of size.
    this.#damageBytes += cursor.scanFor(MOOF, 4).skippedBytes + 1;
    return this.#damageBytes > DAMAGE_BYTES_MAX ? undefined : AGAIN;
  }
}
