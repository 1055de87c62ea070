// Reads fragmented MP4 (DASH, CMAF, recordings, streams): fragment by fragment, seeking by an index where the file has
// one and from fragment to fragment where not. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { AudioStream, ContainerInfo, Demuxer, Packet } from "../demuxer.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import { BOX_HEADER_BYTES_MAX, type BoxHeader, parseBoxHeader } from "./box.ts";
import {
  type FragmentPlace,
  type FragmentSample,
  type Mp4Head,
  readFragment,
  readFragmentTicks,
  readRandomAccess,
} from "./fragment.ts";
import { type FragmentDefaults, type Movie, mp4Info } from "./movie.ts";
import { Mp4Packets, SAMPLE_BYTES_MAX } from "./mp4-packets.ts";

/** Largest `moof`: 6 minutes of AAC take 200 kB. */
const FRAGMENT_BYTES_MAX = 4 * 1024 * 1024;
const INDEX_BYTES_MAX = 4 * 1024 * 1024;
/** Fragments a seek without an index may step over, and places kept. */
const HOP_COUNT_MAX = 65_536;
/** Damage that is searched for the next fragment before the stream counts as over. */
const DAMAGE_BYTES_MAX = 16 * 1024 * 1024;

const MOOF = [0x6d, 0x6f, 0x6f, 0x66];

export async function openFragmented(source: ByteSource, head: Mp4Head): Promise<Demuxer> {
  const { movie, index } = head;
  const places = index?.places ?? (source.isRandomAccess ? await readTailIndex(source, movie) : []);
  const lengthMs = await findLengthMs(source, { head, places });
  return new FragmentedDemuxer(source, { head, places, lengthMs });
}

/** `mfro`, the last box, tells how far back `mfra` starts. */
async function readTailIndex(source: ByteSource, movie: Movie): Promise<readonly FragmentPlace[]> {
  if (source.sizeBytes === undefined || source.sizeBytes < 16) return [];
  const tail = await new ByteCursor(source, source.sizeBytes - 16).peek(16);
  const header = parseBoxHeader(tail);
  if (header?.type !== "mfro") return [];
  const sizeBytes = new DataView(tail.buffer, tail.byteOffset).getUint32(12);
  if (sizeBytes < 24 || sizeBytes > Math.min(INDEX_BYTES_MAX, source.sizeBytes)) return [];
  const box = await new ByteCursor(source, source.sizeBytes - sizeBytes).peek(sizeBytes);
  return parseBoxHeader(box)?.type === "mfra" ? readRandomAccess(box.subarray(8), movie.trackId) : [];
}

/** Announced, or by the index in front, or by the last fragment that the index at the end names. */
async function findLengthMs(source: ByteSource, opened: Omit<Opened, "lengthMs">): Promise<number | undefined> {
  const { movie, index } = opened.head;
  const toMs = (ticks: number) => Math.floor((1000 * ticks) / movie.timescale);
  if (movie.fragments?.lengthMs !== undefined) return movie.fragments.lengthMs;
  const start = opened.places[0]?.ticks ?? 0;
  if (index !== undefined) return toMs(index.endTicks - start);
  const last = opened.places.at(-1);
  if (last === undefined || movie.fragments === undefined) return undefined;
  const cursor = new ByteCursor(source, last.positionBytes);
  const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
  if (header?.type !== "moof" || header.sizeBytes > FRAGMENT_BYTES_MAX) return undefined;
  const box = await cursor.peek(header.sizeBytes);
  const context = {
    ...movie.fragments,
    trackId: movie.trackId,
    positionBytes: last.positionBytes,
    nextTicks: last.ticks,
  };
  const sample = readFragment(box.subarray(header.headerBytes), context).at(-1);
  return sample && toMs(sample.ticks + sample.durationTicks - start);
}

interface Opened {
  readonly head: Mp4Head;
  readonly places: readonly FragmentPlace[];
  readonly lengthMs: number | undefined;
}

class FragmentedDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #source: ByteSource;
  readonly #movie: Movie;
  readonly #defaults: FragmentDefaults;
  readonly #packets: Mp4Packets;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  /** Where fragments start, from the file's index or as they were met. */
  readonly #places: FragmentPlace[];
  readonly #isIndexed: boolean;
  #samples: readonly FragmentSample[] = [];
  #sampleIndex = 0;
  /** True once inside the `mdat` of the current fragment. */
  #isInside = false;
  #nextBox: number;
  /** Time at which the next fragment starts if it does not say. */
  #nextTicks = 0;
  #hasBase = false;
  #damageBytes = 0;

  constructor(source: ByteSource, opened: Opened) {
    const { movie, bodyStart } = opened.head;
    this.#source = source;
    this.#movie = movie;
    this.#defaults = movie.fragments ?? { durationTicks: 0, sizeBytes: 0, lengthMs: undefined };
    this.stream = movie.stream;
    this.info = mp4Info(movie, opened.lengthMs);
    this.#packets = new Mp4Packets(movie);
    this.#places = [...opened.places];
    this.#isIndexed = opened.places.length > 0;
    this.#nextBox = bodyStart;
    this.#cursor = new ByteCursor(source, bodyStart);
    this.#pump = new PacketPump(this.#cursor, () => this.#step());
  }

  get isSeekable(): boolean {
    return this.#source.isRandomAccess;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    // The first fragment tells where the time starts.
    if (!this.#hasBase) await this.#pump.next();
    if (this.info.lengthMs !== undefined && positionMs >= this.info.lengthMs) return this.#pump.finish();
    const ticks = this.#packets.seekTicks(positionMs);
    if (this.isSeekable) await this.#jump(ticks);
    else if (ticks < (this.#samples[this.#sampleIndex]?.ticks ?? this.#nextTicks)) {
      throw new NodeError("media-not-seekable", "cannot jump back: the server delivers this stream only forwards");
    }
    this.#pump.dropUntil(this.#packets.toMs(ticks));
  }

  close(): void {
    this.#source.close();
  }

  async #jump(ticks: number): Promise<void> {
    const place = this.#isIndexed ? this.#placeBefore(ticks) : await this.#hop(ticks);
    this.#nextBox = place?.positionBytes ?? this.#nextBox;
    this.#nextTicks = place?.ticks ?? 0;
    this.#samples = [];
    this.#sampleIndex = 0;
    this.#isInside = false;
    this.#damageBytes = 0;
    this.#cursor.moveTo(this.#nextBox);
  }

  #placeBefore(ticks: number): FragmentPlace | undefined {
    return this.#places.findLast((place) => place.ticks <= ticks) ?? this.#places[0];
  }

  /** Goes from fragment to fragment, reading only their heads, from the last one known before the target. */
  async #hop(ticks: number): Promise<FragmentPlace | undefined> {
    let place = this.#placeBefore(ticks);
    if (place === undefined || place !== this.#places.at(-1)) return place;
    const cursor = new ByteCursor(this.#source, place.positionBytes);
    for (let count = 0; count < HOP_COUNT_MAX; count++) {
      const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
      if (header === undefined || !Number.isFinite(header.sizeBytes)) break;
      const positionBytes = cursor.position;
      if (header.type === "moof" && header.sizeBytes <= FRAGMENT_BYTES_MAX) {
        const box = await cursor.peek(header.sizeBytes);
        const found = readFragmentTicks(box.subarray(header.headerBytes), this.#movie.trackId);
        if (found !== undefined && found > ticks) break;
        if (found !== undefined) {
          place = { ticks: found, positionBytes };
          this.#note(place);
        }
      }
      cursor.moveTo(positionBytes + header.sizeBytes);
    }
    return place;
  }

  #note(place: FragmentPlace): void {
    const last = this.#places.at(-1);
    if (this.#isIndexed || this.#places.length >= HOP_COUNT_MAX) return;
    if (last === undefined || place.ticks > last.ticks) this.#places.push(place);
  }

  #step(): Step {
    if (this.#isInside) {
      const sample = this.#samples[this.#sampleIndex];
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
    if (header.type === "mdat" && this.#sampleIndex < this.#samples.length) {
      this.#isInside = true;
      this.#nextBox = cursor.position + header.sizeBytes;
      cursor.skip(header.headerBytes);
      return AGAIN;
    }
    if (!Number.isFinite(header.sizeBytes)) return undefined;
    cursor.skip(header.sizeBytes);
    return AGAIN;
  }

  #enterFragment(header: BoxHeader): Step {
    const cursor = this.#cursor;
    if (header.sizeBytes > FRAGMENT_BYTES_MAX) return this.#search();
    if (!cursor.has(header.sizeBytes)) return WAIT;
    const positionBytes = cursor.position;
    const box = cursor.take(header.sizeBytes).subarray(header.headerBytes);
    const { trackId } = this.#movie;
    const context = { ...this.#defaults, trackId, positionBytes, nextTicks: this.#nextTicks };
    this.#samples = readFragment(box, context);
    this.#sampleIndex = 0;
    this.#damageBytes = 0;
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined) return AGAIN;
    this.#nextTicks = last.ticks + last.durationTicks;
    if (!this.#hasBase) {
      this.#hasBase = true;
      this.#packets.setBase(first.ticks);
    }
    this.#note({ ticks: first.ticks, positionBytes });
    return AGAIN;
  }

  #sample(sample: FragmentSample): Step {
    const { offsetBytes, sizeBytes, ticks, durationTicks } = sample;
    const isGone = !this.#source.isRandomAccess && offsetBytes < this.#cursor.position;
    if (sizeBytes === 0 || sizeBytes > SAMPLE_BYTES_MAX || isGone) {
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

  /** Looks for the next fragment behind damage. */
  #search(): Step {
    const cursor = this.#cursor;
    cursor.skip(1);
    if (!cursor.has(8)) return WAIT;
    const found = cursor.indexOf(MOOF);
    // The type stands behind four bytes of size.
    const skippedBytes = found >= 4 ? found - 4 : Math.max(0, cursor.bufferedBytes - 8);
    this.#damageBytes += skippedBytes + 1;
    cursor.skip(skippedBytes);
    return this.#damageBytes > DAMAGE_BYTES_MAX ? undefined : AGAIN;
  }
}
