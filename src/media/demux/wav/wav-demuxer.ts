// Reads WAV: RIFF and its 64-bit forms RF64 and BW64 (EBU Tech 3306), with integer, float, A-law and mu-law samples, or
// with MPEG audio or AAC inside. Audio thread.

import { NodeError } from "../../../errors.ts";
import { openAdts } from "../adts/adts-demuxer.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import type { Demuxer } from "../demuxer.ts";
import { type LeadingTags, readId3 } from "../id3.ts";
import { findFrameIn } from "../mp3/frame-search.ts";
import { openMp3 } from "../mp3/mp3-demuxer.ts";
import { PartSource } from "../part-source.ts";
import { PcmDemuxer } from "../pcm-demuxer.ts";
import type { Tags } from "../tags.ts";
import { readRiffInfo } from "./riff-info.ts";
import { foreignAudioIn, parseWavFormat, type WavFormat } from "./wav-format.ts";

const CHUNK_COUNT_MAX = 256;
/** A size field without a size: written by programs that stream and cannot go back. */
const UNKNOWN_SIZE = 0xffffffff;
/** Samples in which another codec is recognised. */
const SNIFF_BYTES = 4096;

interface Layout {
  readonly tags: Tags;
  readonly format: WavFormat;
  readonly dataStart: number;
  /** Infinite when the header does not declare it. */
  readonly dataBytes: number;
}

/**
 * Reads up to the samples, past at most 256 other chunks; if the length is needed, also the tags behind the samples.
 * The source stays open when it throws.
 * @throws NodeError "media-damaged", "media-no-audio", "media-unsupported-codec", and the errors of the source
 */
export async function openWav(
  parts: ReaderParts,
  { tags: leadingTags }: LeadingTags,
  hints: { readonly isLengthNeeded?: boolean | undefined } = {},
): Promise<Demuxer> {
  const { source, work } = parts;
  const cursor = new ByteCursor(source);
  cursor.skip(12);
  const layout = await readLayout(cursor, parts, { ...leadingTags });
  const { tags, dataStart, dataBytes } = layout;
  const end = dataStart + dataBytes;
  const format = layout.format.kind === "pcm" ? await sniffed(layout, parts) : layout.format;
  if ((hints.isLengthNeeded ?? true) && source.isRandomAccess && end < (source.sizeBytes ?? 0)) {
    cursor.moveTo(end + (dataBytes & 1));
    await readTagChunks(cursor, tags, parts);
  }
  if (format.kind === "pcm") return new PcmDemuxer(parts, { probeName: "wav", tags, ...format, dataStart, dataBytes });
  const inside = { source: new PartSource(source, { startBytes: dataStart, endBytes: end }), work };
  const leading = { tags, endBytes: 0 };
  return format.kind === "mpeg" ? openMp3(inside, leading, hints) : openAdts(inside, leading, hints);
}

/** The format of samples that are what they are said to be, or of the MPEG audio that lies there instead. */
async function sniffed({ format, dataStart }: Layout, { source }: ReaderParts): Promise<WavFormat> {
  const bytes = await new ByteCursor(source, dataStart).peek(SNIFF_BYTES);
  const foreign = foreignAudioIn(bytes);
  if (foreign !== undefined) throw unsupported(foreign);
  return findFrameIn(bytes, { lastStart: 0, isEnd: false }) === 0 ? { kind: "mpeg" } : format;
}

async function readLayout(cursor: ByteCursor, parts: ReaderParts, tags: Tags): Promise<Layout> {
  let format: WavFormat | undefined;
  let wideDataBytes: number | undefined;
  for (let count = 0; count < CHUNK_COUNT_MAX; count++) {
    const chunk = await readChunkHead(cursor);
    if (chunk === undefined) break;
    const { id, sizeBytes, start } = chunk;
    if (id === "fmt ") {
      const parsed = parseWavFormat(await cursor.peek(Math.min(sizeBytes, 64)));
      if (parsed.kind === "damaged") throw damaged(parsed.why);
      if (parsed.kind === "unsupported") throw unsupported(parsed.name);
      format = parsed;
    }
    if (id === "ds64") wideDataBytes = readWideSize(await cursor.peek(28));
    if (id === "data") {
      if (format === undefined) throw damaged("its audio comes before its format");
      const dataBytes = sizeBytes === UNKNOWN_SIZE ? (wideDataBytes ?? 0) : sizeBytes;
      return { tags, format, dataStart: start, dataBytes: dataBytes === 0 ? Number.POSITIVE_INFINITY : dataBytes };
    }
    await readTagChunk(cursor, chunk, { tags, parts });
    cursor.moveTo(chunk.next);
  }
  if (format === undefined) throw damaged("its head is cut off or broken");
  throw new NodeError("media-no-audio", "the WAV file holds no audio");
}

interface Chunk {
  readonly id: string;
  readonly sizeBytes: number;
  readonly start: number;
  readonly next: number;
}

async function readChunkHead(cursor: ByteCursor): Promise<Chunk | undefined> {
  const head = await cursor.read(8);
  if (head.length < 8) return undefined;
  const id = String.fromCharCode(...head.subarray(0, 4));
  const sizeBytes = new DataView(head.buffer, head.byteOffset).getUint32(4, true);
  const start = cursor.position;
  // Chunks are padded to an even size.
  return { id, sizeBytes, start, next: start + sizeBytes + (sizeBytes & 1) };
}

async function readTagChunk(
  cursor: ByteCursor,
  { id, start, sizeBytes }: Chunk,
  { tags, parts }: { readonly tags: Tags; readonly parts: ReaderParts },
): Promise<void> {
  if (id === "LIST") await readRiffInfo(cursor, tags, { end: start + sizeBytes, work: parts.work });
  if (id.toLowerCase() === "id3 ") await readId3(cursor, tags, parts.work);
}

/** The chunks from the cursor to the end, as far as they hold tags. */
async function readTagChunks(cursor: ByteCursor, tags: Tags, parts: ReaderParts): Promise<void> {
  for (let count = 0; count < CHUNK_COUNT_MAX; count++) {
    if (parts.work.isSpent) await parts.work.yield();
    const chunk = await readChunkHead(cursor);
    if (chunk === undefined) return;
    await readTagChunk(cursor, chunk, { tags, parts });
    cursor.moveTo(chunk.next);
  }
}

/** ds64: size of the file, then of the data, 64 bits each. */
function readWideSize(body: Uint8Array): number | undefined {
  if (body.length < 16) return undefined;
  const view = new DataView(body.buffer, body.byteOffset);
  return view.getUint32(12, true) * 2 ** 32 + view.getUint32(8, true);
}

function unsupported(name: string): NodeError {
  return new NodeError("media-unsupported-codec", `cannot play the audio codec of the WAV file: ${name}`);
}

function damaged(why: string): NodeError {
  return new NodeError("media-damaged", `the WAV file cannot be read: ${why}`);
}
