// Splits FLAC files into frames. A frame does not say how long it is: its end is where a header with the next number
// stands and the checksum over all before it is right. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { AudioStream, ContainerInfo, Demuxer, Packet } from "../demuxer.ts";
import { FLAC_HEADER_BYTES_MAX, type FlacFrameHeader, flacCrc16, parseFlacFrameHeader } from "../flac-frame-header.ts";
import type { LeadingTags } from "../id3.ts";
import { withTaggedLoudness } from "../loudness-tags.ts";
import { flacStream } from "../ogg/ogg-codec.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import type { Tags } from "../tags.ts";
import { type FlacHeader, readFlacHeader } from "./flac-header.ts";

/** Longest frame that is believed: 65,535 samples of 8 channels with 32 bits, uncompressed, are 2 MiB. */
const FRAME_BYTES_MAX = 2 * 1024 * 1024 + 1024;
/** How much further each look for the end of a frame goes. */
const LOOK_BYTES = 4096;
/** Damage in a row after which the stream counts as over. */
const DAMAGE_BYTES_MAX = 16 * 1024 * 1024;
/** A seek reads through this much instead of halving on. */
const RANGE_BYTES_MIN = 64 * 1024;
/** The smallest frame: header and two checksums. */
const FRAME_BYTES_MIN = 8;
const ID3V1_BYTES = 128;
/** Checksums tried in one frame at headers that do not follow it directly. */
const FAR_CHECK_COUNT_MAX = 8;

export async function openFlac(source: ByteSource, leading: LeadingTags): Promise<Demuxer> {
  const cursor = new ByteCursor(source, leading.endBytes);
  const tags = { ...leading.tags };
  const header = await readFlacHeader(cursor, tags);
  return new FlacDemuxer(source, { header, tags, firstFrame: cursor.position });
}

interface Opened {
  readonly header: FlacHeader;
  readonly tags: Tags;
  readonly firstFrame: number;
}

class FlacDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #source: ByteSource;
  readonly #opened: Opened;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  /** Bytes of the current frame that hold no end. */
  #scannedBytes = 0;
  #farChecks = 0;
  #timeMs = 0;
  #damageBytes = 0;

  constructor(source: ByteSource, opened: Opened) {
    const { info, infoBody } = opened.header;
    this.#source = source;
    this.#opened = opened;
    this.stream = withTaggedLoudness(flacStream(info, infoBody), opened.tags);
    const { title, author, isrc } = opened.tags;
    const lengthMs = info.totalSamples > 0 ? Math.floor((1000 * info.totalSamples) / info.sampleRateHz) : undefined;
    this.info = { probeName: "flac", title, author, isrc, artworkUrl: undefined, lengthMs };
    this.#cursor = new ByteCursor(source, opened.firstFrame);
    this.#pump = new PacketPump(
      this.#cursor,
      () => this.#step(),
      () => this.#takeLast(),
    );
  }

  get isSeekable(): boolean {
    return this.#source.isRandomAccess && this.#source.sizeBytes !== undefined;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    const { lengthMs } = this.info;
    if (lengthMs !== undefined && positionMs >= lengthMs) return this.#pump.finish();
    const targetMs = Math.max(0, positionMs);
    if (this.isSeekable) {
      const sample = Math.floor((targetMs * this.stream.sampleRateHz) / 1000);
      this.#cursor.moveTo(await this.#findFrameBefore(sample));
      this.#scannedBytes = 0;
      this.#damageBytes = 0;
    } else if (targetMs < this.#timeMs) {
      throw new NodeError("media-not-seekable", "cannot jump back: the server delivers this file only forwards");
    }
    this.#pump.dropUntil(targetMs);
  }

  close(): void {
    this.#source.close();
  }

  /** Start of a frame at or before the sample, at most a short way before: by the seek table, then by halving. */
  async #findFrameBefore(sample: number): Promise<number> {
    const { header, firstFrame } = this.#opened;
    const point = header.seekPoints.findLast((candidate) => candidate.sample <= sample);
    const next = header.seekPoints.find((candidate) => candidate.sample > sample);
    const sizeBytes = this.#source.sizeBytes ?? firstFrame;
    let low = Math.min(firstFrame + (point?.offsetBytes ?? 0), sizeBytes);
    let high = Math.min(next === undefined ? sizeBytes : firstFrame + next.offsetBytes, sizeBytes);
    for (let round = 0; round < 48 && high - low > RANGE_BYTES_MIN; round++) {
      const middle = Math.floor((low + high) / 2);
      const found = await this.#findHeader(middle, high);
      if (found !== undefined && found.sample <= sample) low = found.positionBytes;
      else high = middle;
    }
    return low;
  }

  async #findHeader(start: number, end: number): Promise<{ positionBytes: number; sample: number } | undefined> {
    const cursor = new ByteCursor(this.#source, start);
    const { totalSamples } = this.#opened.header.info;
    while (cursor.position < end && (await cursor.need(FLAC_HEADER_BYTES_MAX))) {
      const bytes = cursor.view(Math.min(cursor.bufferedBytes, end - cursor.position + FLAC_HEADER_BYTES_MAX));
      const at = findSync(bytes, 0, bytes.length - FLAC_HEADER_BYTES_MAX);
      if (at < 0) {
        cursor.skip(Math.max(1, bytes.length - FLAC_HEADER_BYTES_MAX + 1));
        continue;
      }
      const header = parseFlacFrameHeader(bytes, at);
      cursor.skip(at);
      const sample = header && this.#sampleOf(header);
      if (sample !== undefined && (totalSamples === 0 || sample < totalSamples)) {
        return { positionBytes: cursor.position, sample };
      }
      cursor.skip(1);
    }
    return undefined;
  }

  #sampleOf(header: FlacFrameHeader): number {
    return header.isVariable ? header.number : header.number * this.#opened.header.info.blockSamplesMax;
  }

  #step(): Step {
    const cursor = this.#cursor;
    if (this.#scannedBytes === 0) {
      if (!cursor.has(FLAC_HEADER_BYTES_MAX)) return WAIT;
      if (parseFlacFrameHeader(cursor.view(FLAC_HEADER_BYTES_MAX)) === undefined) return this.#searchHeader();
      this.#scannedBytes = FRAME_BYTES_MIN;
      this.#farChecks = 0;
    }
    const header = parseFlacFrameHeader(cursor.view(FLAC_HEADER_BYTES_MAX));
    if (header === undefined || this.#scannedBytes > FRAME_BYTES_MAX) return this.#drop(1);
    // Each look goes half as far again, so that a long frame is not fetched anew for every few bytes.
    const lookBytes = this.#scannedBytes + Math.max(LOOK_BYTES, this.#scannedBytes >> 1);
    if (!cursor.has(lookBytes) && !cursor.isShort) return WAIT;
    const bytes = cursor.view(cursor.bufferedBytes);
    const end = this.#findEnd(bytes, header);
    if (end === undefined) return cursor.isShort ? WAIT : AGAIN;
    if (!isWhole(bytes, end)) return this.#drop(end);
    return this.#packet(end, header);
  }

  /**
   * Where the frame at the start of `bytes` ends: at the header with the next number, or at a later one if that
   * checksum is right. Undefined when none is there yet; the search goes on where it stopped.
   */
  #findEnd(bytes: Uint8Array, header: FlacFrameHeader): number | undefined {
    const wanted = header.number + (header.isVariable ? header.blockSamples : 1);
    const last = bytes.length - (this.#cursor.isShort ? FRAME_BYTES_MIN : FLAC_HEADER_BYTES_MAX);
    for (let at = findSync(bytes, this.#scannedBytes, last); at >= 0; at = findSync(bytes, at + 1, last)) {
      const next = parseFlacFrameHeader(bytes, at);
      if (next === undefined || next.isVariable !== header.isVariable) continue;
      if (next.number === wanted) return at;
      const isLater = next.number > wanted && next.number - wanted < 1000 * header.blockSamples;
      if (!isLater || this.#farChecks >= FAR_CHECK_COUNT_MAX) continue;
      this.#farChecks += 1;
      if (isWhole(bytes, at)) return at;
    }
    this.#scannedBytes = Math.max(this.#scannedBytes, last + 1);
    return undefined;
  }

  #packet(sizeBytes: number, header: FlacFrameHeader): Packet {
    const timestampMs = (1000 * this.#sampleOf(header)) / this.stream.sampleRateHz;
    const durationMs = (1000 * header.blockSamples) / this.stream.sampleRateHz;
    this.#timeMs = timestampMs + durationMs;
    this.#scannedBytes = 0;
    this.#damageBytes = 0;
    return { data: this.#cursor.take(sizeBytes), timestampMs, durationMs, trimEndSamples: 0 };
  }

  /** The rest of the file is the last frame, perhaps with an old tag behind it. */
  #takeLast(): Step {
    const cursor = this.#cursor;
    const bytes = cursor.view(cursor.bufferedBytes);
    const header = parseFlacFrameHeader(bytes);
    if (header === undefined) return undefined;
    for (const sizeBytes of [bytes.length, bytes.length - ID3V1_BYTES]) {
      if (sizeBytes > FRAME_BYTES_MIN && isWhole(bytes, sizeBytes)) return this.#packet(sizeBytes, header);
    }
    return undefined;
  }

  /** Steps over a frame whose checksum is wrong, or over bytes that hold none. */
  #drop(sizeBytes: number): Step {
    this.#damageBytes += sizeBytes;
    this.#cursor.skip(sizeBytes);
    this.#scannedBytes = 0;
    return this.#damageBytes > DAMAGE_BYTES_MAX ? undefined : AGAIN;
  }

  #searchHeader(): Step {
    const bytes = this.#cursor.view(this.#cursor.bufferedBytes);
    const last = bytes.length - FLAC_HEADER_BYTES_MAX;
    const at = findSync(bytes, 1, last);
    return this.#drop(at > 0 ? at : Math.max(1, last + 1));
  }
}

/** Index of the next frame sync code from `start` up to `last`, or -1. */
function findSync(bytes: Uint8Array, start: number, last: number): number {
  for (let at = bytes.indexOf(0xff, start); at >= 0 && at <= last; at = bytes.indexOf(0xff, at + 1)) {
    if ((bytes[at + 1]! & 0xfe) === 0xf8) return at;
  }
  return -1;
}

/** True when the bytes up to `end` end with their own CRC-16. */
function isWhole(bytes: Uint8Array, end: number): boolean {
  return flacCrc16(bytes, { start: 0, end: end - 2 }) === ((bytes[end - 2]! << 8) | bytes[end - 1]!);
}
