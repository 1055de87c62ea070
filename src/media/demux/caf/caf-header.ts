// The chunks of an Apple Core Audio Format file around its audio: format, magic cookie, packet table, texts. Audio and
// probe threads.

import { NodeError } from "../../../errors.ts";
import type { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import { readOwned } from "../owned-bytes.ts";
import { decodeTag, setTag, type Tags } from "../tags.ts";

const CHUNK_COUNT_MAX = 256;
const COOKIE_BYTES_MAX = 64 * 1024;
const INFO_BYTES_MAX = 64 * 1024;
const INFO_ENTRIES_MAX = 256;
/** A packet table of 24 hours of ALAC, and more. */
const TABLE_BYTES_MAX = 4 * 1024 * 1024;
const TAG_BY_KEY: Readonly<Record<string, keyof Tags>> = { title: "title", artist: "author", isrc: "isrc" };

/** The `desc` chunk. Zeros mean that it varies. */
export interface CafFormat {
  readonly codec: string;
  readonly flags: number;
  readonly sampleRateHz: number;
  readonly packetBytes: number;
  readonly packetFrames: number;
  readonly channelCount: number;
  readonly bitsPerSample: number;
}

/** The `pakt` chunk. */
interface CafTable {
  readonly packetCount: number;
  /** Frames of audio without padding. */
  readonly validFrames: number;
  readonly primingFrames: number;
  /** Sizes in seven bits a byte; its memory is counted. */
  readonly sizes: Uint8Array;
}

export interface CafHeader {
  readonly format: CafFormat;
  readonly tags: Tags;
  readonly cookie: Uint8Array | undefined;
  readonly table: CafTable | undefined;
  readonly dataStart: number;
  /** Infinite when not declared: to the end of the file. */
  readonly dataBytes: number;
}

/**
 * Reads the chunks; those behind the audio only if they are needed and the source can jump.
 * @throws NodeError "media-damaged", "media-no-audio", "memory-exhausted", and the errors of the source
 */
export async function readCafHeader(
  cursor: ByteCursor,
  { source, work }: ReaderParts,
  { tags, isLengthNeeded = true }: { readonly tags: Tags; readonly isLengthNeeded?: boolean | undefined },
): Promise<CafHeader> {
  let format: CafFormat | undefined;
  let cookie: Uint8Array | undefined;
  let table: CafTable | undefined;
  let data: Pick<CafHeader, "dataStart" | "dataBytes"> | undefined;
  cursor.skip(8);
  for (let count = 0; count < CHUNK_COUNT_MAX; count++) {
    if (work.isSpent) await work.yield();
    const head = await cursor.read(12);
    if (head.length < 12) break;
    const id = String.fromCharCode(...head.subarray(0, 4));
    const sizeBytes = Number(new DataView(head.buffer, head.byteOffset).getBigInt64(4));
    const start = cursor.position;
    if (id === "desc") format = parseFormat(await cursor.peek(32));
    else if (id === "kuki") cookie = (await cursor.peek(Math.min(Math.max(0, sizeBytes), COOKIE_BYTES_MAX))).slice();
    else if (id === "pakt" && table === undefined) {
      table = parseTable(
        await readOwned(cursor, { sizeBytes: Math.min(sizeBytes, TABLE_BYTES_MAX), work, purpose: "its packet table" }),
      );
    } else if (id === "info") readInfo(await cursor.peek(Math.min(Math.max(0, sizeBytes), INFO_BYTES_MAX)), tags);
    else if (id === "data") {
      const dataBytes = sizeBytes < 4 ? Number.POSITIVE_INFINITY : sizeBytes - 4;
      // A count of edits comes first.
      data ??= { dataStart: start + 4, dataBytes };
    }
    // All but samples need the table.
    const isComplete = data !== undefined && (format?.codec === "lpcm" || table !== undefined) && !isLengthNeeded;
    if (isComplete || (data !== undefined && !source.isRandomAccess) || data?.dataBytes === Number.POSITIVE_INFINITY)
      break;
    cursor.moveTo(start + Math.max(0, sizeBytes));
  }
  if (format === undefined) throw damagedCaf("its head is cut off or broken");
  if (data === undefined) throw new NodeError("media-no-audio", "the CAF file holds no audio");
  return { format, tags, cookie, table, ...data };
}

function parseFormat(body: Uint8Array): CafFormat {
  if (body.length < 32) throw damagedCaf("its format is cut off");
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  return {
    sampleRateHz: Math.round(view.getFloat64(0)),
    codec: String.fromCharCode(...body.subarray(8, 12)),
    flags: view.getUint32(12),
    packetBytes: view.getUint32(16),
    packetFrames: view.getUint32(20),
    channelCount: view.getUint32(24),
    bitsPerSample: view.getUint32(28),
  };
}

function parseTable(body: Uint8Array): CafTable | undefined {
  if (body.length < 24) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  return {
    packetCount: Number(view.getBigUint64(0)),
    validFrames: Number(view.getBigUint64(8)),
    primingFrames: view.getUint32(16),
    sizes: body.subarray(24),
  };
}

/** A count (32 bits), then keys and values, each with a NUL behind. */
function readInfo(body: Uint8Array, tags: Tags): void {
  let at = 4;
  const take = () => {
    const end = body.indexOf(0, at);
    const text = body.subarray(at, end < 0 ? body.length : end);
    at = end < 0 ? body.length : end + 1;
    return text;
  };
  for (let count = 0; count < INFO_ENTRIES_MAX && at < body.length; count++) {
    const key = String.fromCharCode(...take().subarray(0, 32)).toLowerCase();
    const value = take();
    if (Object.hasOwn(TAG_BY_KEY, key)) setTag(tags, TAG_BY_KEY[key]!, decodeTag(value));
  }
}

export function damagedCaf(why: string): NodeError {
  return new NodeError("media-damaged", `the CAF file cannot be read: ${why}`);
}
