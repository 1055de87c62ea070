// The metadata blocks in front of a FLAC file's sound (RFC 9639 section 8): stream facts, seek table, comments.
// Pictures and padding are stepped over unread. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { ByteCursor } from "../byte-cursor.ts";
import { type FlacStreamInfo, parseFlacStreamInfo } from "../flac-frame-header.ts";
import { readVorbisComments, type Tags } from "../tags.ts";

const BLOCK_COUNT_MAX = 1024;
/** Largest block that is read: a seek table of 58,000 points. */
const BLOCK_BYTES_MAX = 1024 * 1024;

const STREAM_INFO = 0;
const SEEK_TABLE = 3;
const VORBIS_COMMENT = 4;

export interface SeekPoint {
  readonly sample: number;
  /** Counted from the first frame. */
  readonly offsetBytes: number;
}

export interface FlacHeader {
  readonly info: FlacStreamInfo;
  /** Body of the STREAMINFO block, for the decoder. */
  readonly infoBody: Uint8Array;
  readonly seekPoints: readonly SeekPoint[];
}

/** Reads from "fLaC" on and leaves the cursor at the first frame. Fills `tags`. Throws NodeErrors. */
export async function readFlacHeader(cursor: ByteCursor, tags: Tags): Promise<FlacHeader> {
  cursor.skip(4);
  let infoBody: Uint8Array | undefined;
  let seekPoints: readonly SeekPoint[] = [];
  for (let count = 0; count < BLOCK_COUNT_MAX; count++) {
    const head = await cursor.read(4);
    if (head.length < 4) break;
    const type = head[0]! & 0x7f;
    const sizeBytes = (head[1]! << 16) | (head[2]! << 8) | head[3]!;
    const end = cursor.position + sizeBytes;
    if (type === STREAM_INFO || type === SEEK_TABLE || type === VORBIS_COMMENT) {
      const body = await cursor.read(Math.min(sizeBytes, BLOCK_BYTES_MAX));
      if (type === STREAM_INFO) infoBody ??= Uint8Array.from(body);
      else if (type === SEEK_TABLE) seekPoints = readSeekTable(body);
      else readVorbisComments(body, 0, tags);
    }
    cursor.moveTo(end);
    if ((head[0]! & 0x80) === 0) continue;
    const info = infoBody && parseFlacStreamInfo(infoBody);
    if (infoBody === undefined || info === undefined) break;
    return { info, infoBody, seekPoints };
  }
  throw new NodeError("media-damaged", "the FLAC file cannot be read: its head is cut off or broken");
}

/** Points of 18 bytes: sample, offset, samples in the frame; a sample of all ones is a placeholder. */
function readSeekTable(body: Uint8Array): SeekPoint[] {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const points: SeekPoint[] = [];
  for (let at = 0; at + 18 <= body.length; at += 18) {
    const high = view.getUint32(at);
    if (high === 0xffffffff) break;
    const sample = high * 2 ** 32 + view.getUint32(at + 4);
    points.push({ sample, offsetBytes: view.getUint32(at + 8) * 2 ** 32 + view.getUint32(at + 12) });
  }
  return points.sort((a, b) => a.sample - b.sample);
}
