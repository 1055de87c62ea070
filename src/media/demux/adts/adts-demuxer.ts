// Reads raw AAC in ADTS frames: files, radio streams, HLS segments of packed audio. The length of files that can be read
// anywhere is counted (small ones) or estimated (adts-length.ts); radio is a stream. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { id3Size, type LeadingTags } from "../id3.ts";
import { withTaggedLoudness } from "../loudness-tags.ts";
import type { FrameSearch } from "../mp3/frame-search.ts";
import { readTrailingTags } from "../mp3/trailing-tags.ts";
import { seekPreRollMs } from "../packet-clock.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import { SeekIndex } from "../seek-index.ts";
import type { Tags } from "../tags.ts";
import { ADTS_HEADER_BYTES, type AdtsHeader, isAdtsStart, parseAdtsHeader } from "./adts-header.ts";
import { measureAdts } from "./adts-length.ts";

/** Junk in front of the first frame and between frames that is searched. */
export const ADTS_JUNK_BYTES_MAX = 1024 * 1024;
const FRAME_BYTES_MAX = 8191;
const CONFIRM_FRAMES = 3;
/** Enough for common frames, so that a slow stream starts soon; then enough for the greatest. */
const SNIFF_BYTES = [4096, 2 * CONFIRM_FRAMES * FRAME_BYTES_MAX] as const;
/** Two frames of common size fit several times. */
const SEARCH_BYTES = 8192;
/** A position is noted this often. */
const PASSED_MS = 10_000;

/** Moves the cursor to the first confirmed frame, at most `junkBytesMax` ahead; false when there is none. */
export async function findAdtsFrame(cursor: ByteCursor, { junkBytesMax, work }: FrameSearch): Promise<boolean> {
  const limit = cursor.position + junkBytesMax;
  for (;;) {
    if (work.isSpent) await work.yield();
    let lastStart = 0;
    let isEnd = false;
    for (const sniffBytes of SNIFF_BYTES) {
      const bytes = await cursor.peek(sniffBytes);
      isEnd = bytes.length < sniffBytes;
      lastStart = isEnd ? bytes.length - ADTS_HEADER_BYTES : sniffBytes / 2;
      const at = findStart(bytes, { lastStart, isEnd, frameCount: CONFIRM_FRAMES });
      if (at >= 0) {
        cursor.skip(at);
        return cursor.position <= limit;
      }
    }
    if (isEnd || cursor.position + lastStart >= limit) return false;
    cursor.skip(lastStart + 1);
  }
}

/** Index of the first confirmed frame that starts at or before `lastStart`, or -1. */
function findStart(bytes: Uint8Array, options: { lastStart: number; isEnd: boolean; frameCount: number }): number {
  const { lastStart, isEnd, frameCount } = options;
  for (let at = bytes.indexOf(0xff); at >= 0 && at <= lastStart; at = bytes.indexOf(0xff, at + 1)) {
    if (isAdtsStart(bytes, { at, frameCount, isEnd })) return at;
  }
  return -1;
}

/**
 * Reads from `endBytes`, behind the tags, to the first frame, across at most `ADTS_JUNK_BYTES_MAX` of other data. The
 * source stays open when it throws.
 * @throws NodeError "media-damaged" when there is no frame, and the errors of the source and of the budget
 */
export async function openAdts(
  parts: ReaderParts,
  { tags: leadingTags, endBytes }: LeadingTags,
  { isLengthNeeded = true }: { readonly isLengthNeeded?: boolean | undefined } = {},
): Promise<Demuxer> {
  const { source, work } = parts;
  const cursor = new ByteCursor(source, endBytes);
  const isFound = await findAdtsFrame(cursor, { junkBytesMax: ADTS_JUNK_BYTES_MAX, work });
  const header = isFound ? parseAdtsHeader(cursor.view(ADTS_HEADER_BYTES)) : undefined;
  if (header === undefined)
    throw new NodeError("media-damaged", "the AAC file cannot be read: no audio in its first part");
  const firstFrame = cursor.position;
  const tags = { ...leadingTags };
  const { sizeBytes } = source;
  const isMeasured = isLengthNeeded && source.isRandomAccess && sizeBytes !== undefined;
  const audioEnd = isMeasured
    ? await readTrailingTags(parts, tags, { startBytes: firstFrame, endBytes: sizeBytes })
    : 0;
  const lengthMs = isMeasured ? await measureAdts(parts, firstFrame, audioEnd) : undefined;
  return new AdtsDemuxer(parts, { tags, header, firstFrame, lengthMs });
}

/** The stream that ADTS frames make: the decoder reads their headers itself. */
function adtsStream(header: AdtsHeader): AudioStream {
  const { sampleRateHz, channelCount } = header;
  return { codec: "aac", sampleRateHz, channelCount, description: undefined, pcm: undefined };
}

class AdtsDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  /** Otherwise `seek` goes forward only. */
  readonly isSeekable: boolean;
  readonly #source: ByteSource;
  readonly #firstFrame: number;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  readonly #tags: Tags;
  #stream: AudioStream;
  #timeMs = 0;
  /** Positions on the way, to go back to. */
  readonly #passed: SeekIndex;
  #isLost = false;
  #damageBytes = 0;

  constructor(
    { source, work }: ReaderParts,
    opened: { tags: Tags; header: AdtsHeader; firstFrame: number; lengthMs: number | undefined },
  ) {
    this.#source = source;
    this.#firstFrame = opened.firstFrame;
    this.#tags = opened.tags;
    this.#stream = withTaggedLoudness(adtsStream(opened.header), opened.tags);
    const { title, author, isrc } = opened.tags;
    this.info = { probeName: "adts", title, author, isrc, artworkUrl: undefined, lengthMs: opened.lengthMs };
    this.isSeekable = source.isRandomAccess && source.sizeBytes !== undefined;
    this.#passed = new SeekIndex(work);
    this.#cursor = new ByteCursor(source, opened.firstFrame);
    this.#pump = new PacketPump({ cursor: this.#cursor, work, step: () => this.#step() });
  }

  get stream(): AudioStream {
    return this.#stream;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    const targetMs = Math.max(0, positionMs) - seekPreRollMs(this.#stream);
    if (targetMs < this.#timeMs) {
      if (!this.#source.isRandomAccess) {
        throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this stream only forwards");
      }
      const { positionBytes, time } = this.#passed.before(targetMs) ?? { positionBytes: this.#firstFrame, time: 0 };
      this.#cursor.moveTo(positionBytes);
      this.#timeMs = time;
      this.#isLost = false;
      this.#damageBytes = 0;
    }
    this.#pump.dropUntil(targetMs);
  }

  close(): void {
    this.#source.close();
  }

  #step(): Step {
    if (this.#isLost) return this.#search();
    const cursor = this.#cursor;
    if (!cursor.has(ADTS_HEADER_BYTES)) return WAIT;
    const header = parseAdtsHeader(cursor.view(ADTS_HEADER_BYTES));
    if (header === undefined) return this.#lose();
    if (!cursor.has(header.sizeBytes)) return WAIT;
    this.#damageBytes = 0;
    this.#adopt(header);
    const timestampMs = this.#timeMs;
    if (timestampMs >= (this.#passed.newest?.time ?? 0) + PASSED_MS) this.#passed.add(timestampMs, cursor.position);
    const data = cursor.take(header.sizeBytes);
    const durationMs = (1000 * header.frameSamples) / header.sampleRateHz;
    this.#timeMs += durationMs;
    return { data, timestampMs, durationMs, trimEndSamples: 0 };
  }

  /** A tag between the frames is skipped as a whole; anything else is searched for the next frame. */
  #lose(): Step {
    if (!this.#cursor.has(10)) return WAIT;
    const tagBytes = id3Size(this.#cursor.view(10));
    if (tagBytes > 0) this.#cursor.skip(tagBytes);
    else this.#isLost = true;
    return AGAIN;
  }

  #search(): Step {
    const cursor = this.#cursor;
    if (!cursor.has(SEARCH_BYTES) && !cursor.isShort) return WAIT;
    const bytes = cursor.view(SEARCH_BYTES);
    const isEnd = bytes.length < SEARCH_BYTES;
    const lastStart = isEnd ? bytes.length - ADTS_HEADER_BYTES : SEARCH_BYTES / 2;
    if (lastStart < 0 || this.#damageBytes > ADTS_JUNK_BYTES_MAX) return undefined;
    const at = findStart(bytes, { lastStart, isEnd, frameCount: 2 });
    this.#isLost = at < 0;
    const skippedBytes = at < 0 ? lastStart + 1 : at;
    this.#damageBytes += skippedBytes;
    cursor.skip(skippedBytes);
    return AGAIN;
  }

  #adopt(header: AdtsHeader): void {
    const { sampleRateHz, channelCount } = this.#stream;
    if (header.sampleRateHz !== sampleRateHz || header.channelCount !== channelCount) {
      this.#stream = withTaggedLoudness(adtsStream(header), this.#tags);
    }
  }
}
