// Recognises a container by its content (hints only order the attempts) and opens its reader: the step between the
// bytes of media/input and the packets that media/packet-reader queues. Audio thread.

import { NodeError } from "../../errors.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { requirePlayable } from "../decode/require-playable.ts";
import { ADTS_JUNK_BYTES_MAX, findAdtsFrame, openAdts } from "../demux/adts/adts-demuxer.ts";
import { openAiff } from "../demux/aiff-demuxer.ts";
import { ByteCursor } from "../demux/byte-cursor.ts";
import { openCaf } from "../demux/caf/caf-demuxer.ts";
import { DemuxWork, type ReaderParts } from "../demux/demux-work.ts";
import type { Demuxer } from "../demux/demuxer.ts";
import { openFlac } from "../demux/flac/flac-demuxer.ts";
import { type LeadingTags, readId3 } from "../demux/id3.ts";
import { openMatroska } from "../demux/matroska/matroska-demuxer.ts";
import { type FrameSearch, findFrame } from "../demux/mp3/frame-search.ts";
import { MP3_JUNK_BYTES_MAX, openMp3 } from "../demux/mp3/mp3-demuxer.ts";
import { readApeInFront } from "../demux/mp3/trailing-tags.ts";
import { openMp4 } from "../demux/mp4/mp4-demuxer.ts";
import { openMpegTs } from "../demux/mpegts/ts-demuxer.ts";
import { findTsLayout, TS_HEAD_BYTES } from "../demux/mpegts/ts-packets.ts";
import { openOgg } from "../demux/ogg/ogg-demuxer.ts";
import { PartSource } from "../demux/part-source.ts";
import type { Tags } from "../demux/tags.ts";
import { openWav } from "../demux/wav/wav-demuxer.ts";
import { BudgetedSource } from "../input/budgeted-source.ts";
import type { ByteSource } from "../input/byte-source.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { describeUnknown } from "./describe-unknown.ts";

/** External information about the content, never trusted over the content itself, and the purpose of the opening. */
export interface ContainerHints {
  readonly mimeType?: string | undefined;
  readonly fileName?: string | undefined;
  /** Lavalink's probe name from an encoded track. */
  readonly container?: string | undefined;
  /** False: audio is needed soon, so `info.lengthMs` may be left out if it is at the end. Default true. */
  readonly isLengthNeeded?: boolean | undefined;
  /** Ends the opening at its next time slice, unless it is waiting for the source. */
  readonly signal?: AbortSignal | undefined;
}

/** Junk in front of frames without a container: a live stream is joined in the middle of one, up to 2881 bytes long. */
const JUNK_BYTES_MAX = 4096;

type Open = (parts: ReaderParts, leading: LeadingTags, hints: ContainerHints) => Promise<Demuxer>;

/**
 * Opens the reader for the content; it owns the source from then on. Rejects with a NodeError that names the content,
 * or with the source's own error; the source then stays open.
 */
export async function openDemuxer(bytes: ByteSource, hints: ContainerHints, budget: TrackBudget): Promise<Demuxer> {
  const work = new DemuxWork(budget);
  const close = () => work.close();
  const source = new BudgetedSource(bytes, budget, close);
  const stopListening = hints.signal && onAbort(hints.signal, close);
  try {
    return await openRecognised(source, hints, work);
  } catch (error) {
    work.close();
    if (error instanceof NodeError) throw error;
    throw new NodeError("media-damaged", "the media cannot be read: its structure is invalid", { cause: error });
  } finally {
    stopListening?.();
  }
}

async function openRecognised(source: ByteSource, hints: ContainerHints, work: DemuxWork): Promise<Demuxer> {
  const cursor = new ByteCursor(source);
  const head = await cursor.peek(TS_HEAD_BYTES);
  const leading = await readLeadingTags(cursor, work);
  const { endBytes } = leading;
  const inner = endBytes === 0 ? head : await cursor.peek(TS_HEAD_BYTES);
  const signature = recogniseSignature(inner);
  const open = signature ?? (await recogniseFrames({ cursor, order: orderOf(hints), work }));
  if (open === undefined) throw describeUnknown(inner, hints.mimeType);
  const startBytes = signature === undefined ? cursor.position : endBytes;
  // FLAC knows about tags in front, as players write them; containers count from where they start.
  const isPart = signature !== undefined && signature !== openFlac && endBytes > 0;
  const demuxer = isPart
    ? await open({ source: behind(source, endBytes), work }, { ...leading, endBytes: 0 }, hints)
    : await open({ source, work }, { ...leading, endBytes: startBytes }, hints);
  requirePlayable(demuxer.stream);
  return demuxer;
}

function behind(source: ByteSource, startBytes: number): ByteSource {
  return new PartSource(source, { startBytes, endBytes: Number.POSITIVE_INFINITY });
}

/** Boxes a file of the MP4 family may start with; old QuickTime files have no `ftyp`. */
const MP4_BOXES: readonly string[] = ["ftyp", "styp", "moov", "mdat", "wide", "free", "skip", "moof", "sidx"];

/** The reader by the signature at the start, which is unambiguous. */
function recogniseSignature(head: Uint8Array): Open | undefined {
  const text = String.fromCharCode(...head.subarray(0, 12));
  if (/^(RIFF|RF64|BW64)/.test(text) && text.endsWith("WAVE")) return openWav;
  if (/^FORM/.test(text) && /AIF[FC]$/.test(text)) return openAiff;
  if (text.startsWith("caff\0\x01")) return openCaf;
  if (text.startsWith("\x1a\x45\xdf\xa3")) return openMatroska;
  if (MP4_BOXES.includes(text.slice(4, 8)) && head[0] === 0) return openMp4;
  if (text.startsWith("fLaC")) return openFlac;
  if (text.startsWith("OggS")) return openOgg;
  return findTsLayout(head) === undefined ? undefined : openMpegTs;
}

interface FrameFormat {
  readonly open: Open;
  readonly junkBytesMax: number;
  readonly find: (cursor: ByteCursor, search: FrameSearch) => Promise<boolean>;
}

const MP3: FrameFormat = { open: openMp3, junkBytesMax: MP3_JUNK_BYTES_MAX, find: findFrame };
const ADTS: FrameFormat = { open: openAdts, junkBytesMax: ADTS_JUNK_BYTES_MAX, find: findAdtsFrame };

interface FrameOrder {
  readonly formats: readonly FrameFormat[];
  readonly isPromised: boolean;
}

async function readLeadingTags(cursor: ByteCursor, work: DemuxWork): Promise<LeadingTags> {
  const tags: Tags = {};
  await readId3(cursor, tags, work);
  await readApeInFront(cursor, tags, work);
  return { tags, endBytes: cursor.position };
}

interface Recognising {
  readonly cursor: ByteCursor;
  readonly order: FrameOrder;
  readonly work: DemuxWork;
}

/**
 * The reader for what the cursor has in front of it: frames that follow each other, perhaps after some junk. Leaves the
 * cursor at the first one.
 */
async function recogniseFrames({ cursor, order, work }: Recognising): Promise<Open | undefined> {
  const start = cursor.position;
  for (const format of order.formats) {
    cursor.moveTo(start);
    if (await format.find(cursor, { junkBytesMax: JUNK_BYTES_MAX, work })) return format.open;
  }
  const [first] = order.formats;
  if (first === undefined || (start === 0 && !order.isPromised)) return undefined;
  cursor.moveTo(start);
  return (await first.find(cursor, { junkBytesMax: first.junkBytesMax, work })) ? first.open : undefined;
}

function orderOf(hints: ContainerHints): FrameOrder {
  const hinted = `${hints.container ?? ""} ${hints.mimeType ?? ""} ${extensionOf(hints.fileName ?? "")}`;
  if (/\b(adts|aac|aacp)\b/.test(hinted)) return { formats: [ADTS, MP3], isPromised: true };
  return { formats: [MP3, ADTS], isPromised: /\b(mp3|mpeg|mpa)\b/.test(hinted) };
}

function extensionOf(fileName: string): string {
  const dot = fileName.lastIndexOf(".");
  return dot < 0 ? "" : fileName.slice(dot + 1).toLowerCase();
}
