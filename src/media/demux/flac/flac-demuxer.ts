// Splits FLAC files into frames. A frame does not declare its length: it ends where a header with the next number is
// and the checksum over everything before it is right. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { FLAC_HEADER_BYTES_MAX, type FlacFrameHeader, parseFlacFrameHeader } from "../flac-frame-header.ts";
import type { LeadingTags } from "../id3.ts";
import { withTaggedLoudness } from "../loudness-tags.ts";
import { flacStream } from "../ogg/ogg-codec.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import type { Tags } from "../tags.ts";
import { isFrameOf } from "./first-frame.ts";
import { type FlacHeader, readFlacHeader } from "./flac-header.ts";
import { FRAME_BYTES_MIN, FrameEnd, findSync } from "./frame-end.ts";
import { measureFlac } from "./measure-flac.ts";

/** Longest frame that is accepted: 65,535 samples of 8 channels with 32 bits, uncompressed, are 2 MiB. */
const FRAME_BYTES_MAX = 2 * 1024 * 1024 + 1024;
/** A frame is at most this much longer than its samples uncoded. */
const FRAME_OVERHEAD_BYTES = 1024;
/** Bytes scanned for the ends of frames that had none, beyond the bytes that were passed. */
const WASTED_BYTES_MAX = 4 * FRAME_BYTES_MAX;
/** Minimum of bytes by which each scan for the end of a frame goes further. */
const SNIFF_BYTES = 4096;
/** Bytes scanned for headers in one step: where each seems to be one, a good many checksums. */
const STEP_BYTES = 8 * 1024;
/** Damage in a row after which the stream counts as over. */
const DAMAGE_BYTES_MAX = 16 * 1024 * 1024;
/** A seek reads through this much instead of bisecting further. */
const RANGE_BYTES_MIN = 64 * 1024;
const ID3V1_BYTES = 128;
/**
 * Bytes scanned for a header from one position in a seek: two of the longest frames. Then that half counts as empty.
 */
const PROBE_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes scanned in all such searches of one seek; then playback continues from the best position so far. */
const SEARCH_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Reads the metadata blocks from `endBytes` on, behind any ID3 tags. The source stays open when it throws.
 * @throws NodeError "media-damaged", "memory-exhausted", and the errors of the source
 */
export async function openFlac(
  parts: ReaderParts,
  leading: LeadingTags,
  { isLengthNeeded = true }: { readonly isLengthNeeded?: boolean | undefined },
): Promise<Demuxer> {
  const cursor = new ByteCursor(parts.source, leading.endBytes);
  const tags = { ...leading.tags };
  const { isRandomAccess } = parts.source;
  const header = await readFlacHeader({ cursor, isRandomAccess }, tags, parts.work);
  const firstFrame = cursor.position;
  const { info } = header;
  const measured = isLengthNeeded ? await measureFlac(parts, { firstFrame, info }) : 0;
  return new FlacDemuxer(parts, {
    ...{ header, tags, firstFrame },
    lengthSamples: measured || info.totalSamples,
    isMeasured: isLengthNeeded,
  });
}

interface Opened {
  readonly header: FlacHeader;
  readonly tags: Tags;
  readonly firstFrame: number;
  /** 0 when unknown. */
  readonly lengthSamples: number;
  /** The frames have been asked for the length, not only the head. */
  readonly isMeasured: boolean;
}

class FlacDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #source: ByteSource;
  readonly #work: DemuxWork;
  readonly #opened: Opened;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  /** The frame at the cursor, while its end is searched. */
  #end: FrameEnd | undefined;
  #wastedBytes = 0;
  #timeMs = 0;
  #damageBytes = 0;
  #lengthSamples: number;
  #isMeasured: boolean;

  constructor({ source, work }: ReaderParts, opened: Opened) {
    const { info, infoBody } = opened.header;
    this.#source = source;
    this.#work = work;
    this.#opened = opened;
    this.stream = withTaggedLoudness(flacStream(info, infoBody), opened.tags);
    const { title, author, isrc } = opened.tags;
    const { lengthSamples } = opened;
    this.#lengthSamples = lengthSamples;
    this.#isMeasured = opened.isMeasured;
    const lengthMs = lengthSamples > 0 ? Math.floor((1000 * lengthSamples) / info.sampleRateHz) : undefined;
    this.info = { probeName: "flac", title, author, isrc, artworkUrl: undefined, lengthMs };
    this.#cursor = new ByteCursor(source, opened.firstFrame);
    this.#pump = new PacketPump({
      cursor: this.#cursor,
      work,
      step: () => this.#step(),
      onShort: () => this.#takeLast(),
    });
  }

  get isSeekable(): boolean {
    return this.#source.isRandomAccess && this.#source.sizeBytes !== undefined;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    if (await this.#isBehind(positionMs)) return this.#pump.finish();
    const targetMs = Math.max(0, positionMs);
    if (this.isSeekable) {
      const sample = Math.floor((targetMs * this.stream.sampleRateHz) / 1000);
      this.#cursor.moveTo(await this.#findFrameBefore(sample));
      this.#end = undefined;
      this.#damageBytes = 0;
    } else if (targetMs < this.#timeMs) {
      throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this file only forwards");
    }
    this.#pump.dropUntil(targetMs);
  }

  close(): void {
    this.#source.close();
  }

  /** True behind the end. The head alone is not believed: its total of samples may be too small. */
  async #isBehind(positionMs: number): Promise<boolean> {
    const isBehind = () =>
      this.#lengthSamples > 0 && positionMs >= Math.floor((1000 * this.#lengthSamples) / this.stream.sampleRateHz);
    if (!isBehind() || this.#isMeasured) return isBehind();
    this.#isMeasured = true;
    const { firstFrame, header } = this.#opened;
    const parts = { source: this.#source, work: this.#work };
    const measured = await measureFlac(parts, { firstFrame, info: header.info });
    this.#lengthSamples = measured || this.#lengthSamples;
    return isBehind();
  }

  /** Start of a frame at or shortly before the sample: by the seek table, then by bisection. */
  async #findFrameBefore(sample: number): Promise<number> {
    const { header, firstFrame } = this.#opened;
    const range = await header.seekTable?.around(sample, this.#work);
    const sizeBytes = this.#source.sizeBytes ?? firstFrame;
    let low = Math.min(firstFrame + (range?.lowBytes ?? 0), sizeBytes);
    let high = Math.min(range?.highBytes === undefined ? sizeBytes : firstFrame + range.highBytes, sizeBytes);
    for (let searchedBytes = 0; high - low > RANGE_BYTES_MIN && searchedBytes < SEARCH_BYTES_MAX; ) {
      const middle = Math.floor((low + high) / 2);
      const cursor = new ByteCursor(this.#source, middle);
      const found = await this.#findHeader(cursor, Math.min(high, middle + PROBE_BYTES_MAX));
      searchedBytes += cursor.fetchedBytes;
      if (found !== undefined && found.sample <= sample) low = found.positionBytes;
      else high = middle;
    }
    return low;
  }

  async #findHeader(cursor: ByteCursor, end: number): Promise<{ positionBytes: number; sample: number } | undefined> {
    while (cursor.position < end && (await cursor.need(FLAC_HEADER_BYTES_MAX))) {
      if (this.#work.isSpent) await this.#work.yield();
      const sniffBytes = Math.min(cursor.bufferedBytes, end - cursor.position + FLAC_HEADER_BYTES_MAX, STEP_BYTES);
      const bytes = cursor.view(sniffBytes);
      const at = findSync(bytes, 0, bytes.length - FLAC_HEADER_BYTES_MAX);
      if (at < 0) {
        cursor.skip(Math.max(1, bytes.length - FLAC_HEADER_BYTES_MAX + 1));
        continue;
      }
      const header = parseFlacFrameHeader(bytes, at);
      cursor.skip(at);
      if (header !== undefined && isFrameOf(this.#opened.header.info, header)) {
        return { positionBytes: cursor.position, sample: this.#sampleOf(header) };
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
    if (this.#end === undefined) {
      if (!cursor.has(FLAC_HEADER_BYTES_MAX)) return WAIT;
      const header = parseFlacFrameHeader(cursor.view(FLAC_HEADER_BYTES_MAX));
      if (header === undefined || this.#wastedBytes >= WASTED_BYTES_MAX) return this.#searchHeader();
      this.#end = new FrameEnd(header);
    }
    const end = this.#end;
    const { scannedBytes } = end;
    if (scannedBytes > this.#frameBytesMax(end.header)) return this.#giveUp(end);
    if (scannedBytes + FLAC_HEADER_BYTES_MAX > cursor.bufferedBytes && !end.isLast) {
      // Each scan goes half as far again, so that a long frame is not fetched again for every few bytes.
      const isThere = cursor.has(scannedBytes + Math.max(SNIFF_BYTES, scannedBytes >> 1));
      if (!isThere && !cursor.isShort) return WAIT;
      end.isLast = !isThere;
    }
    const bytes = cursor.view(cursor.bufferedBytes);
    const found = end.find(bytes, scannedBytes + STEP_BYTES);
    if (found === "later") return AGAIN;
    // `takeLast` handles the rest of the data: the requested bytes do not exist.
    if (found === undefined) return end.isLast && !cursor.has(bytes.length + 1) ? WAIT : AGAIN;
    return found.isWhole ? this.#packet(found.sizeBytes, end.header) : this.#drop(found.sizeBytes);
  }

  /** Uncoded samples, of one bit more where a channel is the difference of two. */
  #frameBytesMax({ blockSamples, channelCount, bitsPerSample }: FlacFrameHeader): number {
    const sampleBits = 1 + (bitsPerSample || this.#opened.header.info.bitsPerSample);
    return Math.min(FRAME_BYTES_MAX, FRAME_OVERHEAD_BYTES + (blockSamples * channelCount * sampleBits) / 8);
  }

  #packet(sizeBytes: number, header: FlacFrameHeader): Packet {
    const times = this.#timesOf(header);
    this.#timeMs = times.timestampMs + times.durationMs;
    this.#end = undefined;
    this.#damageBytes = 0;
    this.#wastedBytes = 0;
    return { data: this.#cursor.take(sizeBytes), ...times, trimEndSamples: 0 };
  }

  #timesOf(header: FlacFrameHeader): { readonly timestampMs: number; readonly durationMs: number } {
    const { sampleRateHz } = this.stream;
    return {
      timestampMs: (1000 * this.#sampleOf(header)) / sampleRateHz,
      durationMs: (1000 * header.blockSamples) / sampleRateHz,
    };
  }

  /** The rest of the file is the last frame, perhaps with an old tag or damage behind it. */
  #takeLast(): Step {
    const bytes = this.#cursor.view(this.#cursor.bufferedBytes);
    const header = this.#end?.header ?? parseFlacFrameHeader(bytes);
    if (header === undefined || this.#wastedBytes >= WASTED_BYTES_MAX) {
      return bytes.length > FRAME_BYTES_MIN ? this.#searchHeader() : undefined;
    }
    const end = this.#end ?? new FrameEnd(header);
    for (const sizeBytes of [bytes.length, bytes.length - ID3V1_BYTES]) {
      if (sizeBytes > FRAME_BYTES_MIN && end.isWhole(bytes, sizeBytes)) return this.#packet(sizeBytes, header);
    }
    return this.#giveUp(end);
  }

  /**
   * The frame's end was not found: the header behind it is damaged, or it is no frame. The decoder finds where it ends,
   * if it is one; the search for the next frame continues at the first header that may follow.
   */
  #giveUp(end: FrameEnd): Step {
    const { header, laterBytes, scannedBytes } = end;
    const sizeBytes = Math.min(laterBytes ?? this.#cursor.bufferedBytes, this.#frameBytesMax(header));
    const data = this.#cursor.view(sizeBytes);
    this.#wastedBytes += scannedBytes;
    const step = this.#drop(laterBytes ?? header.sizeBytes);
    return step === AGAIN ? { ...this.#timesOf(header), data, trimEndSamples: 0 } : step;
  }

  /** Skips a frame whose checksum is wrong, or bytes that hold no frame. */
  #drop(sizeBytes: number): Step {
    this.#damageBytes += sizeBytes;
    this.#wastedBytes = Math.max(0, this.#wastedBytes - sizeBytes);
    this.#cursor.skip(sizeBytes);
    this.#end = undefined;
    return this.#damageBytes > DAMAGE_BYTES_MAX ? undefined : AGAIN;
  }

  #searchHeader(): Step {
    const bytes = this.#cursor.view(STEP_BYTES);
    const last = bytes.length - FLAC_HEADER_BYTES_MAX;
    const at = findSync(bytes, 1, last);
    return this.#drop(at > 0 ? at : Math.max(1, last + 1));
  }
}
