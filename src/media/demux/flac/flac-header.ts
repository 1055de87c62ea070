// The metadata blocks in front of a FLAC file's audio (RFC 9639 section 8): stream facts, seek table, comments.
// Pictures and padding are skipped unread. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";
import { type FlacStreamInfo, parseFlacFrameHeader, parseFlacStreamInfo } from "../flac-frame-header.ts";
import { readOwned } from "../owned-bytes.ts";
import { measureVorbisComments, readVorbisComments, type Tags } from "../tags.ts";
import { factsOf, findFirstFrame } from "./first-frame.ts";
import { SeekTable } from "./seek-table.ts";

const BLOCK_COUNT_MAX = 1024;
/** Largest block that is read: a seek table of 58,000 points. */
const BLOCK_BYTES_MAX = 1024 * 1024;
/** All blocks that are read, together. */
const READ_BYTES_MAX = 8 * 1024 * 1024;
/** The block has 34 bytes. */
const STREAM_INFO_BYTES_MAX = 64;
const PURPOSE = "its tags and seek points";

/** Comments that are read behind the stated end of their block. */
const LATE_BYTES_MAX = 32 * 1024;

const STREAM_INFO = 0;
const SEEK_TABLE = 3;
const VORBIS_COMMENT = 4;
/** Pictures; the types above are not in use. */
const LAST_TYPE = 6;

export interface FlacHeader {
  /** As the frames say where they contradict the block; the total of samples is only declared. */
  readonly info: FlacStreamInfo;
  /** Body of the STREAMINFO block, for the decoder. */
  readonly infoBody: Uint8Array;
  readonly seekTable: SeekTable | undefined;
}

/** Reads from "fLaC" on and leaves the cursor at the first frame. Fills `tags`. Throws NodeErrors. */
export async function readFlacHeader(
  { cursor, isRandomAccess }: { readonly cursor: ByteCursor; readonly isRandomAccess: boolean },
  tags: Tags,
  work: DemuxWork,
): Promise<FlacHeader> {
  cursor.skip(4);
  let searchFrom = cursor.position;
  let infoBody: Uint8Array | undefined;
  let seekTable: SeekTable | undefined;
  let readBytes = 0;
  for (let count = 0; count < BLOCK_COUNT_MAX; count++) {
    if (work.isSpent) await work.yield();
    const head = await cursor.read(4);
    if (head.length < 4) break;
    const type = head[0]! & 0x7f;
    const sizeBytes = (head[1]! << 16) | (head[2]! << 8) | head[3]!;
    const bodyStart = cursor.position;
    let end = bodyStart + sizeBytes;
    const isNeeded =
      type === STREAM_INFO || type === VORBIS_COMMENT || (type === SEEK_TABLE && seekTable === undefined);
    if (isNeeded && readBytes < READ_BYTES_MAX) {
      const body = await readOwned(cursor, { sizeBytes: Math.min(sizeBytes, BLOCK_BYTES_MAX), work, purpose: PURPOSE });
      readBytes += body.length;
      if (type === STREAM_INFO && infoBody === undefined) {
        infoBody = body.slice(0, STREAM_INFO_BYTES_MAX);
        searchFrom = end;
      } else if (type === VORBIS_COMMENT) end = await readComments(cursor, { body, bodyStart, end, tags });
      if (type === SEEK_TABLE) seekTable = new SeekTable(body);
      else work.release(body.length);
    }
    cursor.moveTo(end);
    if ((head[0]! & 0x80) !== 0) break;
  }
  const info = infoBody && parseFlacStreamInfo(infoBody);
  const first = await findFirstFrame(cursor, { searchFrom: isRandomAccess ? searchFrom : undefined, work });
  const facts = first === undefined ? undefined : factsOf(first, infoBody);
  if (facts !== undefined) return { ...facts, seekTable };
  if (infoBody !== undefined && info !== undefined) return { info, infoBody, seekTable };
  throw new NodeError("media-damaged", "the FLAC file cannot be read: its head is cut off or broken");
}

interface CommentBlock {
  readonly body: Uint8Array;
  readonly bodyStart: number;
  readonly end: number;
  readonly tags: Tags;
}

/** Returns where the block ends: some taggers write more comments than its size field says. */
async function readComments(cursor: ByteCursor, { body, bodyStart, end, tags }: CommentBlock): Promise<number> {
  const isCut = measureVorbisComments(body) === undefined && end - bodyStart === body.length;
  const longer = isCut ? await measureLonger(cursor, body) : undefined;
  readVorbisComments(longer ?? body, 0, tags);
  return longer === undefined ? end : bodyStart + longer.length;
}

/**
 * The comments with those that go on at the cursor, behind the end of their block; undefined when they are just damaged.
 */
async function measureLonger(cursor: ByteCursor, body: Uint8Array): Promise<Uint8Array | undefined> {
  const bytes = Buffer.concat([body, await cursor.peek(LATE_BYTES_MAX)]);
  const sizeBytes = measureVorbisComments(bytes);
  if (sizeBytes === undefined || sizeBytes >= bytes.length) return undefined;
  const next = bytes.subarray(sizeBytes);
  // Another block or a frame has to follow.
  const isRight = (next[0]! & 0x7f) <= LAST_TYPE || parseFlacFrameHeader(next) !== undefined;
  return isRight ? bytes.subarray(0, sizeBytes) : undefined;
}
