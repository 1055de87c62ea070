// ID3v2 tags in front of MP3, AAC, FLAC and other files, and in chunks of WAV and AIFF (id3.org: 2.2, 2.3, 2.4). Reads
// the needed texts and skips the rest: pictures are never loaded when the source can jump. Audio and probe threads.

import type { ByteCursor } from "./byte-cursor.ts";
import type { DemuxWork } from "./demux-work.ts";
import { readExtendedHeader, readId3Frames } from "./id3-frames.ts";
import { syncSafe, UNDO_BYTES, undoUnsynchronisation } from "./id3-values.ts";
import { memoryCursor } from "./memory-cursor.ts";
import { readOwned } from "./owned-bytes.ts";
import type { Tags } from "./tags.ts";

const HEADER_BYTES = 10;
/** Tags in a row that are skipped. */
const TAG_COUNT_MAX = 8;
/** The maximum of a tag's size field. */
const ID3_BYTES_MAX = 256 * 1024 * 1024;
/** How much of a tag is searched for its texts when it must be read whole (unsynchronised). */
const UNSYNCHRONISED_BYTES_MAX = 1024 * 1024;

/** Size of the ID3v2 tag at the start of `head`, header and footer included; 0 when there is none. */
export function id3Size(head: Uint8Array): number {
  const isTag = head.length >= HEADER_BYTES && head[0] === 0x49 && head[1] === 0x44 && head[2] === 0x33;
  if (!isTag || head[3]! < 2 || head[3]! > 4 || [6, 7, 8, 9].some((at) => head[at]! > 0x7f)) return 0;
  const footerBytes = head[3] === 4 && (head[5]! & 0x10) !== 0 ? HEADER_BYTES : 0;
  return HEADER_BYTES + syncSafe(head, 6) + footerBytes;
}

/** The tags in front of a file's actual format. */
export interface LeadingTags {
  readonly tags: Tags;
  /** Where the format itself starts. */
  readonly endBytes: number;
}

/**
 * Reads the tags at the cursor, one after another, and leaves it behind them; where a tag claims to be longer than the
 * file, behind its last frame.
 */
export async function readId3(cursor: ByteCursor, tags: Tags, work: DemuxWork): Promise<void> {
  const limit = cursor.position + ID3_BYTES_MAX;
  for (let count = 0; count < TAG_COUNT_MAX; count++) {
    const head = await cursor.peek(HEADER_BYTES);
    const bodyBytes = bodySize(head);
    const end = cursor.position + HEADER_BYTES + bodyBytes;
    if (bodyBytes < 0 || end > limit) return;
    cursor.skip(HEADER_BYTES);
    await readTag(cursor, { version: head[3]!, flags: head[5]!, end, tags, work });
    if (end > (cursor.endBytes ?? Number.POSITIVE_INFINITY)) return;
    cursor.moveTo(end);
    // The flag of the footer is not always right.
    if (String.fromCharCode(...(await cursor.peek(3))) === "3DI") cursor.skip(HEADER_BYTES);
  }
}

/** Bytes between the header and the footer; -1 when it is no tag. Versions to come keep the header. */
function bodySize(head: Uint8Array): number {
  const isTag = head.length >= HEADER_BYTES && head[0] === 0x49 && head[1] === 0x44 && head[2] === 0x33;
  if (!isTag || head[3] === 0xff || head[4] === 0xff) return -1;
  // Seven bits in a byte; some writers use all eight.
  if ([6, 7, 8, 9].every((at) => head[at]! <= 0x7f)) return syncSafe(head, 6);
  return new DataView(head.buffer, head.byteOffset).getUint32(6);
}

interface TagContext {
  readonly version: number;
  readonly flags: number;
  readonly end: number;
  readonly tags: Tags;
  readonly work: DemuxWork;
}

async function readTag(cursor: ByteCursor, context: TagContext): Promise<void> {
  const { version, flags, end, tags, work } = context;
  // 2.2: the bit means compression, which was never defined.
  if (version <= 2 && (flags & 0x40) !== 0) return;
  const isUnsynchronised = (flags & 0x80) !== 0;
  if (isUnsynchronised && version < 4) return readEscaped(cursor, context);
  if ((flags & 0x40) !== 0) await readExtendedHeader(cursor, version);
  await readId3Frames(cursor, { version, isUnsynchronised, end, tags, work });
}

/** Up to 2.3 the whole tag is escaped, frame headers too: undo that, then read it in memory. */
async function readEscaped(cursor: ByteCursor, { version, flags, end, tags, work }: TagContext): Promise<void> {
  const sizeBytes = Math.min(end - cursor.position, UNSYNCHRONISED_BYTES_MAX);
  const escaped = await readOwned(cursor, { sizeBytes, work, purpose: "its tags" });
  try {
    // Some writers set the flag and escape nothing.
    const plain = (await isEscaped(escaped, work)) ? await undoUnsynchronisation(escaped, work) : escaped;
    const inside = memoryCursor(plain);
    if ((flags & 0x40) !== 0) await readExtendedHeader(inside, version);
    await readId3Frames(inside, { version, isUnsynchronised: false, end: plain.length, tags, work });
  } finally {
    work.release(escaped.length);
  }
}

async function isEscaped(bytes: Uint8Array, work: DemuxWork): Promise<boolean> {
  let until = UNDO_BYTES;
  for (let at = bytes.indexOf(0xff); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    if (at + 1 < bytes.length && bytes[at + 1]! >= 0xe0) return false;
    if (at < until) continue;
    until = at + UNDO_BYTES;
    if (work.isSpent) await work.yield();
  }
  return true;
}
