// Reads MP3 files and streams frame by frame: skips tags and damage, counts frames so that times and seeks are exact,
// and removes encoder padding at both ends when the file declares it. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { id3Size, type LeadingTags } from "../id3.ts";
import { withTaggedLoudness } from "../loudness-tags.ts";
import { MPEG_FRAME_BYTES_MAX, type MpegAudioHeader, parseMpegAudioHeader } from "../mpeg-audio-header.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import type { Tags } from "../tags.ts";
import { FrameIndex, type FramePosition } from "./frame-index.ts";
import { CONFIRM_BYTES, type FrameSearch, findFrame, findFrameIn, isSameStream } from "./frame-search.ts";
import { checkedSummary, exactFrameBytes, type Mp3Extent, mp3Length } from "./mp3-length.ts";
import { type Mp3Summary, parseSummary } from "./mp3-summary.ts";
import { readTrailingTags } from "./trailing-tags.ts";

/** Junk in front of the first frame and between frames that is searched. */
export const MP3_JUNK_BYTES_MAX = 1024 * 1024;
/** Bytes of frames at the start that show whether the bit rate varies: many only when nothing else gives the length. */
const SAMPLE_BYTES = { file: 64 * 1024, stream: 8 * 1024 };
/** A seek counts frames over this distance; beyond it a table of seek points is used if there is one. */
const COUNT_BYTES_MAX = 32 * 1024 * 1024;
/** The main data of a frame may start this many bytes back, in the frames before. */
const RESERVOIR_BYTES = 511;
/** The runs of a VBRI table may differ this much from the audio in size: the last one is often short or missing. */
const RUNS_TOLERANCE = 0.1;
/** Frames that hold the bit reservoir at 32 kbit/s, and one for the overlap. */
const PRE_ROLL_FRAMES_MAX = 10;

/**
 * Reads from `endBytes`, behind the tags, to the first frame, across at most `MP3_JUNK_BYTES_MAX` of other data, and
 * its summary (Xing, Info, VBRI) if it is one; if the length is needed, also the tags behind the audio. The source
 * stays open when it throws.
 * @throws NodeError "media-damaged" when there is no frame, "media-no-audio" when there is only the summary, and the
 * errors of the source
 */
export async function openMp3(
  parts: ReaderParts,
  { tags: leadingTags, endBytes }: LeadingTags,
  { isLengthNeeded = true }: { readonly isLengthNeeded?: boolean | undefined } = {},
): Promise<Demuxer> {
  const { source, work } = parts;
  const search = { junkBytesMax: MP3_JUNK_BYTES_MAX, work };
  const cursor = new ByteCursor(source, endBytes);
  if (!(await findFrame(cursor, search))) {
    throw new NodeError("media-damaged", "the MP3 file cannot be read: no audio in its first part");
  }
  const summaryStart = cursor.position;
  let header = await headerAt(cursor);
  const declared = parseSummary(await cursor.peek(header.sizeBytes), header);
  if (declared !== undefined) {
    cursor.skip(header.sizeBytes);
    if (!(await findFrame(cursor, search))) throw new NodeError("media-no-audio", "the MP3 file holds no audio");
    header = await headerAt(cursor);
  }
  const isEstimated = declared === undefined && source.isRandomAccess;
  const sample = sampleFrames(await cursor.peek(isEstimated ? SAMPLE_BYTES.file : SAMPLE_BYTES.stream));
  const [firstFrame, word] = [cursor.position, cursor.u32be(0)];
  const tags = { ...leadingTags };
  const hasTail = isLengthNeeded && source.isRandomAccess && source.sizeBytes !== undefined;
  const audioEnd = hasTail
    ? await readTrailingTags(parts, tags, { startBytes: firstFrame, endBytes: source.sizeBytes })
    : source.sizeBytes;
  const isMeasured = isLengthNeeded;
  const extent: Mp3Extent = { header, word, summaryStart, firstFrame, audioEnd, isMeasured, sample };
  // A station begins with the summary of the file that it is playing.
  const summary = source.isLive === true ? undefined : checkedSummary(declared, extent);
  const lengthMs = source.isLive === true ? undefined : await mp3Length(parts, summary, extent);
  return new Mp3Demuxer(parts, { ...extent, tags, summary, lengthMs });
}

async function headerAt(cursor: ByteCursor): Promise<MpegAudioHeader> {
  await cursor.need(4);
  const header = parseMpegAudioHeader(cursor.u32be(0));
  if (header === undefined)
    throw new NodeError("media-damaged", "the MP3 file cannot be read: its first frame is broken");
  return header;
}

/** Average frame size over the first frames, and whether all have one bit rate. */
function sampleFrames(bytes: Uint8Array): { isConstant: boolean; frameBytes: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const bitrates = new Set<number>();
  let at = 0;
  let count = 0;
  while (at + 4 <= bytes.length) {
    const header = parseMpegAudioHeader(view.getUint32(at));
    if (header === undefined) break;
    bitrates.add(header.bitrateBps);
    at += header.sizeBytes;
    count += 1;
  }
  return { isConstant: bitrates.size <= 1, frameBytes: at / Math.max(1, count) };
}

interface Layout extends Mp3Extent {
  readonly tags: Tags;
  readonly summary: Mp3Summary | undefined;
  readonly lengthMs: number | undefined;
}

class Mp3Demuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly #source: ByteSource;
  readonly #work: DemuxWork;
  readonly #layout: Layout;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  readonly #index: FrameIndex;
  #stream: AudioStream;
  /** A header of the stream, to distinguish its frames from chance matches. */
  #streamWord: number;
  /** All frames seen so far have one bit rate, so that positions can be calculated. */
  #isConstant: boolean;
  #frame = 0;
  #samplesPerFrame: number;
  /** Added to all times: the length of the audio before a change of rate within the file. */
  #baseMs = 0;
  #damageBytes = 0;

  constructor({ source, work }: ReaderParts, layout: Layout) {
    const { header, summary, tags, sample } = layout;
    this.#source = source;
    this.#work = work;
    this.#layout = layout;
    this.#stream = withTaggedLoudness(streamOf(header), tags);
    this.#samplesPerFrame = header.frameSamples;
    this.#isConstant = summary?.kind !== "vbr" && sample.isConstant;
    this.#cursor = new ByteCursor(source, layout.firstFrame);
    this.#streamWord = layout.word;
    this.#pump = new PacketPump({ cursor: this.#cursor, work, step: () => this.#step(), stream: () => this.#stream });
    this.#index = new FrameIndex(work, positionsOfRuns(layout));
    const { title, author, isrc } = tags;
    this.info = { probeName: "mp3", title, author, isrc, artworkUrl: undefined, lengthMs: layout.lengthMs };
  }

  get stream(): AudioStream {
    return this.#pump.stream ?? this.#stream;
  }

  get isSeekable(): boolean {
    return this.#source.isRandomAccess && this.#source.sizeBytes !== undefined;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  nextNow(): Packet | undefined {
    return this.#pump.nextNow();
  }

  async seek(positionMs: number): Promise<void> {
    const { lengthMs } = this.info;
    if (lengthMs !== undefined && positionMs >= lengthMs) return this.#pump.finish();
    const { header } = this.#layout;
    const sample = (Math.max(0, positionMs) * header.sampleRateHz) / 1000 + this.#startSamples;
    const target = Math.floor(sample / header.frameSamples);
    const frameBefore = () => Math.max(0, target - this.#preRollFrames);
    if (!this.isSeekable) return this.#seekForward(frameBefore());
    // Calculating may reveal that the frames are not all of one size.
    const framePosition =
      (this.#isConstant ? await this.#calculate(frameBefore()) : undefined) ?? (await this.#count(frameBefore()));
    this.#cursor.moveTo(framePosition.positionBytes);
    this.#frame = framePosition.frame;
    this.#baseMs = 0;
    this.#damageBytes = 0;
    this.#samplesPerFrame = header.frameSamples;
    this.#pump.dropUntil(Number.NEGATIVE_INFINITY);
  }

  close(): void {
    this.#source.close();
  }

  get #junkSearch(): FrameSearch {
    return { junkBytesMax: MP3_JUNK_BYTES_MAX, work: this.#work };
  }

  get #startSamples(): number {
    return this.#layout.summary?.startSamples ?? 0;
  }

  /** Frames to decode before the first audible one: it may depend on the bytes of many when they are small. */
  get #preRollFrames(): number {
    const { header } = this.#layout;
    if (!this.#isConstant) return PRE_ROLL_FRAMES_MAX;
    const mainBytes = Math.max(1, header.sizeBytes - 4 - header.sideBytes);
    return Math.min(PRE_ROLL_FRAMES_MAX, 1 + Math.ceil(RESERVOIR_BYTES / mainBytes));
  }

  #seekForward(frame: number): void {
    if (frame < this.#frame) {
      throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this stream only forwards");
    }
    this.#pump.dropUntil(this.#timeMs(frame));
  }

  /** The position of a frame when all have one size (except a byte of padding now and then). */
  async #calculate(frame: number): Promise<FramePosition | undefined> {
    const { firstFrame, header } = this.#layout;
    const frameBytes = exactFrameBytes(header);
    const start = Math.floor(firstFrame + Math.max(0, frame - 0.5) * frameBytes);
    if (start >= (this.#source.sizeBytes ?? 0)) return { frame, positionBytes: start };
    const cursor = new ByteCursor(this.#source, frame === 0 ? firstFrame : start);
    if (!(await findFrame(cursor, { junkBytesMax: 2 * MPEG_FRAME_BYTES_MAX, work: this.#work }))) return undefined;
    const found = parseMpegAudioHeader(cursor.u32be(0));
    if (found?.bitrateBps !== header.bitrateBps) {
      this.#isConstant = false;
      return undefined;
    }
    const positionBytes = cursor.position;
    return { frame: Math.round((positionBytes - firstFrame) / frameBytes), positionBytes };
  }

  /** The position of a frame by counting headers from the last known one before it. */
  async #count(frame: number): Promise<FramePosition> {
    let { frame: at, positionBytes } = this.#index.before(frame) ?? {
      frame: 0,
      positionBytes: this.#layout.firstFrame,
    };
    const estimateFromBytes = positionBytes + COUNT_BYTES_MAX;
    let isEstimated = false;
    const cursor = new ByteCursor(this.#source, positionBytes);
    while (at < frame) {
      if (this.#work.isSpent) await this.#work.yield();
      if (!cursor.has(4) && !(await cursor.need(4))) break;
      const header = parseMpegAudioHeader(cursor.u32be(0));
      if (header === undefined || !isSameStream(cursor.u32be(0), this.#streamWord)) {
        if (!(await findFrame(cursor, this.#junkSearch))) break;
        if (!isSameStream(cursor.u32be(0), this.#streamWord)) break;
        continue;
      }
      this.#index.add(at, cursor.position);
      cursor.skip(header.sizeBytes);
      at += 1;
      positionBytes = cursor.position;
      if (positionBytes <= estimateFromBytes || isEstimated) continue;
      isEstimated = true;
      const framePosition = await this.#estimate(frame);
      if (framePosition !== undefined) return framePosition;
    }
    return { frame: at, positionBytes };
  }

  /** The position of a frame by the table of hundredths: accurate to about a hundredth of the length. */
  async #estimate(frame: number): Promise<FramePosition | undefined> {
    const { summary, summaryStart } = this.#layout;
    const sizeBytes = summary?.sizeBytes ?? (this.#source.sizeBytes ?? 0) - summaryStart;
    const { frameCount, hundredths } = summary ?? {};
    if (frameCount === undefined || hundredths === undefined) return undefined;
    const hundredth = Math.min(99, (100 * frame) / frameCount);
    const low = hundredths[Math.floor(hundredth)] ?? 0;
    const high = hundredths[Math.floor(hundredth) + 1] ?? 256;
    const share = (low + (high - low) * (hundredth % 1)) / 256;
    const cursor = new ByteCursor(this.#source, summaryStart + Math.floor(share * sizeBytes));
    return (await findFrame(cursor, this.#junkSearch)) ? { frame, positionBytes: cursor.position } : undefined;
  }

  #step(): Step {
    const cursor = this.#cursor;
    if (!cursor.has(4)) return WAIT;
    const word = cursor.u32be(0);
    const header = parseMpegAudioHeader(word);
    if (header === undefined || !isSameStream(word, this.#streamWord)) return this.#resync();
    if (!cursor.has(header.sizeBytes)) return WAIT;
    this.#damageBytes = 0;
    if (header.bitrateBps !== this.#layout.header.bitrateBps) this.#isConstant = false;
    if (this.#source.isRandomAccess) this.#index.add(this.#frame, cursor.position);
    return this.#packet(cursor.take(header.sizeBytes));
  }

  #packet(data: Uint8Array): Packet {
    const timestampMs = this.#timeMs(this.#frame);
    const samples = this.#samplesPerFrame;
    this.#frame += 1;
    const durationMs = (1000 * samples) / this.#stream.sampleRateHz;
    return { data, timestampMs, durationMs, trimEndSamples: this.#trimEnd() };
  }

  /** Samples of the frame before `#frame` that lie behind the end of the music. */
  #trimEnd(): number {
    const { frameCount, endSamples } = this.#layout.summary ?? {};
    if (frameCount === undefined || endSamples === undefined || this.#baseMs > 0 || this.#frame > frameCount) return 0;
    const samples = this.#samplesPerFrame;
    const surplus = this.#frame * samples - (frameCount * samples - endSamples);
    return Math.max(0, Math.min(samples, surplus));
  }

  #timeMs(frame: number): number {
    const samples = frame * this.#samplesPerFrame - (this.#baseMs > 0 ? 0 : this.#startSamples);
    return this.#baseMs + (1000 * samples) / this.#stream.sampleRateHz;
  }

  /** Handles bytes that are not a frame: a tag is skipped as a whole, anything else is searched for the next frame. */
  #resync(): Step {
    const cursor = this.#cursor;
    if (this.#damageBytes > MP3_JUNK_BYTES_MAX) return undefined;
    if (!cursor.has(32) && !cursor.isShort) return WAIT;
    const tagBytes = trailingTagBytes(cursor.view(32));
    if (tagBytes > 0) {
      cursor.skip(tagBytes);
      return AGAIN;
    }
    const sniffBytes = CONFIRM_BYTES;
    if (!cursor.has(2 * sniffBytes) && !cursor.isShort) return WAIT;
    const bytes = cursor.view(2 * sniffBytes);
    if (bytes.length < 5) return undefined;
    const isEnd = bytes.length < 2 * sniffBytes;
    const lastStart = isEnd ? bytes.length - 4 : sniffBytes;
    const found = findFrameIn(bytes.subarray(1), { lastStart: lastStart - 1, isEnd });
    const skippedBytes = found >= 0 ? found + 1 : lastStart + 1;
    this.#damageBytes += skippedBytes;
    cursor.skip(skippedBytes);
    if (found >= 0) this.#adopt();
    return AGAIN;
  }

  /** A confirmed frame of another kind: from here on the file is another stream. */
  #adopt(): void {
    const word = this.#cursor.u32be(0);
    const header = parseMpegAudioHeader(word);
    if (header === undefined || isSameStream(word, this.#streamWord)) return;
    this.#baseMs = Math.max(0, this.#timeMs(this.#frame)) || Number.MIN_VALUE;
    this.#frame = 0;
    this.#streamWord = word;
    this.#samplesPerFrame = header.frameSamples;
    this.#stream = withTaggedLoudness(streamOf(header), this.#layout.tags);
  }
}

/** Seek points of a VBRI table, which counts from the first frame with audio. */
function positionsOfRuns({ summary, firstFrame, audioEnd }: Layout): FramePosition[] {
  const { sizesBytes = [], frames = 0 } = summary?.runs ?? {};
  // Runs that are not as long as the audio are no positions in it.
  const sumBytes = sizesBytes.reduce((sum, bytes) => sum + bytes, 0);
  const wholeBytes = summary?.sizeBytes || (audioEnd ?? sumBytes) - firstFrame;
  if (Math.abs(sumBytes - wholeBytes) > RUNS_TOLERANCE * wholeBytes) return [];
  let next = firstFrame;
  return sizesBytes.map((sizeBytes, index) => {
    const positionBytes = next;
    next += sizeBytes;
    return { frame: index * frames, positionBytes };
  });
}

function streamOf(header: MpegAudioHeader): AudioStream {
  const { sampleRateHz, channelCount } = header;
  return { codec: "mp3", sampleRateHz, channelCount, description: undefined, pcm: undefined };
}

/** Size of a tag behind or between the frames: ID3v1, APE, ID3v2. 0 for none. */
function trailingTagBytes(bytes: Uint8Array): number {
  const text = String.fromCharCode(...bytes.subarray(0, 8));
  if (text.startsWith("TAG+")) return 227;
  if (text.startsWith("TAG")) return 128;
  if (text === "APETAGEX" && bytes.length >= 32) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const isHeader = (view.getUint32(20, true) & 0x20000000) !== 0;
    return isHeader ? 32 + view.getUint32(12, true) : 32;
  }
  return id3Size(bytes);
}
