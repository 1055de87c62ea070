// Reads fragmented MP4 (DASH, CMAF, recordings, streams): fragment by fragment, seeking by an index where the file has
// one and from fragment to fragment where not. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { readOwned } from "../owned-bytes.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import { SeekIndex, type SeekPoint } from "../seek-index.ts";
import { BOX_HEADER_BYTES_MAX, type BoxHeader, parseBoxHeader } from "./box.ts";
import { type FragmentContext, type Mp4Head, readFragment, readFragmentTicks, readRandomAccess } from "./fragment.ts";
import { type FragmentSample, FragmentSamples } from "./fragment-samples.ts";
import { type FragmentDefaults, type Movie, mp4Info } from "./movie.ts";
import { Mp4Packets, SAMPLE_BYTES_MAX } from "./mp4-packets.ts";

/** Largest `moof`: 6 minutes of AAC take 200 kB. */
const FRAGMENT_BYTES_MAX = 4 * 1024 * 1024;
const INDEX_BYTES_MAX = 4 * 1024 * 1024;
/** Fragments that a seek without an index may skip, and positions retained. */
const HOP_COUNT_MAX = 65_536;
/** Damage that is searched for the next fragment before the stream counts as over. */
const DAMAGE_BYTES_MAX = 16 * 1024 * 1024;

const MOOF = [0x6d, 0x6f, 0x6f, 0x66];

export async function openFragmented(parts: ReaderParts, head: Mp4Head): Promise<Demuxer> {
  const { movie, index } = head;
  const seekPoints = index?.seekPoints ?? new SeekIndex(parts.work);
  if (index === undefined && parts.source.isRandomAccess) await readTailIndex(parts, movie, seekPoints);
  const lengthMs = await findLengthMs(parts, { head, seekPoints });
  return new FragmentedDemuxer(parts, { head, seekPoints, lengthMs });
}

/** Reads `mfra`; `mfro`, the last box, says how far back it starts. */
async function readTailIndex({ source, work }: ReaderParts, movie: Movie, seekPoints: SeekIndex): Promise<void> {
  if (source.sizeBytes === undefined || source.sizeBytes < 16) return;
  const tail = await new ByteCursor(source, source.sizeBytes - 16).peek(16);
  const header = parseBoxHeader(tail);
  if (header?.type !== "mfro") return;
  const sizeBytes = new DataView(tail.buffer, tail.byteOffset).getUint32(12);
  if (sizeBytes < 24 || sizeBytes > Math.min(INDEX_BYTES_MAX, source.sizeBytes)) return;
  const cursor = new ByteCursor(source, source.sizeBytes - sizeBytes);
  const box = await readOwned(cursor, { sizeBytes, work, purpose: "its index" });
  if (parseBoxHeader(box)?.type === "mfra") {
    await readRandomAccess(box.subarray(8), { trackId: movie.trackId, seekPoints, work });
  }
  work.release(box.length);
}

/** The length as declared, or by the index in front, or by the last fragment that the index at the end names. */
async function findLengthMs(parts: ReaderParts, opened: Omit<Opened, "lengthMs">): Promise<number | undefined> {
  const { movie, index } = opened.head;
  const toMs = (ticks: number) => Math.floor((1000 * ticks) / movie.timescale);
  if (movie.fragments?.lengthMs !== undefined) return movie.fragments.lengthMs;
  const start = opened.seekPoints.earliest?.time ?? 0;
  if (index !== undefined) return toMs(index.endTicks - start);
  const last = opened.seekPoints.latest;
  if (last === undefined || movie.fragments === undefined) return undefined;
  const cursor = new ByteCursor(parts.source, last.positionBytes);
  const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
  if (header?.type !== "moof" || header.sizeBytes > FRAGMENT_BYTES_MAX) return undefined;
  const context = {
    ...movie.fragments,
    trackId: movie.trackId,
    positionBytes: last.positionBytes,
    nextTicks: last.time,
  };
  const samples = await readWholeFragment(cursor, { header, context, work: parts.work });
  const { startTicks, endTicks } = samples;
  samples.close();
  return startTicks === undefined ? undefined : toMs(endTicks - start);
}

interface FragmentStart {
  readonly header: BoxHeader;
  readonly context: FragmentContext;
  readonly work: DemuxWork;
}

/** The samples of the fragment whose `moof` is at the cursor; moves behind it. */
async function readWholeFragment(cursor: ByteCursor, point: FragmentStart): Promise<FragmentSamples> {
  const { header, context, work } = point;
  const box = await readOwned(cursor, { sizeBytes: header.sizeBytes, work, purpose: "a fragment's tables" });
  const samples = await readFragment(box.subarray(header.headerBytes), context, work);
  work.release(box.length);
  return samples;
}

interface Opened {
  readonly head: Mp4Head;
  readonly seekPoints: SeekIndex;
  readonly lengthMs: number | undefined;
}

class FragmentedDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #source: ByteSource;
  readonly #work: DemuxWork;
  readonly #movie: Movie;
  readonly #defaults: FragmentDefaults;
  readonly #packets: Mp4Packets;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  /** Where fragments start, from the file's index or as encountered. */
  readonly #seekPoints: SeekIndex;
  readonly #isIndexed: boolean;
  #samples: FragmentSamples;
  #sampleIndex = 0;
  /** True once inside the `mdat` of the current fragment. */
  #isInside = false;
  #nextBox: number;
  /** Time at which the next fragment starts if it does not declare it. */
  #nextTicks = 0;
  #hasBase = false;
  #damageBytes = 0;

  constructor({ source, work }: ReaderParts, opened: Opened) {
    const { movie, bodyStart } = opened.head;
    this.#source = source;
    this.#work = work;
    this.#samples = new FragmentSamples(work);
    this.#movie = movie;
    this.#defaults = movie.fragments ?? { durationTicks: 0, sizeBytes: 0, lengthMs: undefined };
    this.stream = movie.stream;
    this.info = mp4Info(movie, opened.lengthMs);
    this.#packets = new Mp4Packets(movie);
    this.#seekPoints = opened.seekPoints;
    this.#isIndexed = opened.seekPoints.count > 0;
    this.#nextBox = bodyStart;
    this.#cursor = new ByteCursor(source, bodyStart);
    this.#pump = new PacketPump({ cursor: this.#cursor, work, step: () => this.#step() });
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
    if (this.info.lengthMs !== undefined && positionMs >= this.info.lengthMs) return this.#pump.finish();
    const ticks = this.#packets.seekTicks(positionMs);
    if (this.isSeekable) await this.#jump(ticks);
    else if (ticks < (this.#samples.at(this.#sampleIndex)?.ticks ?? this.#nextTicks)) {
      throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this stream only forwards");
    }
    this.#pump.dropUntil(this.#packets.toMs(ticks));
  }

  close(): void {
    this.#source.close();
  }

  async #jump(ticks: number): Promise<void> {
    const point = this.#isIndexed ? this.#seekPointBefore(ticks) : await this.#hop(ticks);
    this.#nextBox = point?.positionBytes ?? this.#nextBox;
    this.#nextTicks = point?.time ?? 0;
    this.#samples.close();
    this.#sampleIndex = 0;
    this.#isInside = false;
    this.#damageBytes = 0;
    this.#cursor.moveTo(this.#nextBox);
  }

  #seekPointBefore(ticks: number): SeekPoint | undefined {
    return this.#seekPoints.before(ticks) ?? this.#seekPoints.earliest;
  }

  /** Goes from fragment to fragment, reading only their heads, from the last one known before the target. */
  async #hop(ticks: number): Promise<SeekPoint | undefined> {
    let point = this.#seekPointBefore(ticks);
    if (point === undefined || point.positionBytes !== this.#seekPoints.newest?.positionBytes) return point;
    const work = this.#work;
    const cursor = new ByteCursor(this.#source, point.positionBytes);
    for (let count = 0; count < HOP_COUNT_MAX; count++) {
      if (work.isSpent) await work.yield();
      const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
      if (header === undefined || !Number.isFinite(header.sizeBytes)) break;
      const positionBytes = cursor.position;
      if (header.type === "moof" && header.sizeBytes <= FRAGMENT_BYTES_MAX) {
        const box = await readOwned(cursor, { sizeBytes: header.sizeBytes, work, purpose: "a fragment's tables" });
        const found = await readFragmentTicks(box.subarray(header.headerBytes), this.#movie.trackId, work);
        work.release(box.length);
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
    const newest = this.#seekPoints.newest;
    if (this.#isIndexed || (newest !== undefined && point.time <= newest.time)) return;
    this.#seekPoints.add(point.time, point.positionBytes);
  }

  #step(): Step | Promise<Step> {
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

  async #enterFragment(header: BoxHeader): Promise<Step> {
    if (header.sizeBytes > FRAGMENT_BYTES_MAX) return this.#search();
    const cursor = this.#cursor;
    const positionBytes = cursor.position;
    const { trackId } = this.#movie;
    const context = { ...this.#defaults, trackId, positionBytes, nextTicks: this.#nextTicks };
    this.#samples.close();
    this.#samples = await readWholeFragment(cursor, { header, context, work: this.#work });
    this.#sampleIndex = 0;
    this.#damageBytes = 0;
    const { startTicks, endTicks } = this.#samples;
    if (startTicks === undefined) return AGAIN;
    this.#nextTicks = endTicks;
    if (!this.#hasBase) {
      this.#hasBase = true;
      this.#packets.setBase(startTicks);
    }
    this.#note({ time: startTicks, positionBytes });
    return AGAIN;
  }

  #sample(sample: FragmentSample): Step {
    const { offsetBytes, sizeBytes, ticks, durationTicks } = sample;
    const isGone = !this.#source.isRandomAccess && offsetBytes < this.#cursor.position;
    if (sizeBytes > SAMPLE_BYTES_MAX || isGone) {
      this.#sampleIndex += 1;
      return AGAIN;
    }
    this.#cursor.moveTo(offsetBytes);
    if (!this.#cursor.has(sizeBytes)) return WAIT;
    this.#sampleIndex += 1;
    return this.#packets.create(this.#cursor.take(sizeBytes), {
      ticks,
      durationTicks,
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
