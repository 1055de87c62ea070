// Recognises a container by its content (hints only order the guesses) and opens its reader: the step between the bytes of
// media/input and the packets that media/packet-reader queues. Audio thread.

import type { ByteSource } from "../input/byte-source.ts";
import { ByteCursor } from "./byte-cursor.ts";
import type { Demuxer } from "./demuxer.ts";
import { describeUnknown } from "./describe-unknown.ts";
import { readId3 } from "./id3.ts";
import { openMatroska } from "./matroska/matroska-demuxer.ts";
import { findFrame } from "./mp3/frame-search.ts";
import { MP3_JUNK_BYTES_MAX, openMp3 } from "./mp3/mp3-demuxer.ts";
import { openOgg } from "./ogg/ogg-demuxer.ts";

/** What is said about the content besides the content itself. Never believed against it. */
export interface ContainerHints {
  readonly mimeType?: string | undefined;
  readonly fileName?: string | undefined;
  /** Lavalink's probe name from an encoded track. */
  readonly container?: string | undefined;
}

/** Junk in front of frames without a container: what Lavalink searches, and more where a hint or a tag promises frames. */
const JUNK_BYTES_MAX = 1000;
const HEAD_BYTES = 1024;

/** Opens the reader for the content. Rejects with a NodeError that says what the content is; then closes nothing. */
export async function openDemuxer(source: ByteSource, hints: ContainerHints): Promise<Demuxer> {
  const cursor = new ByteCursor(source);
  const head = await cursor.peek(HEAD_BYTES);
  const text = String.fromCharCode(...head.subarray(0, 12));
  if (head.length >= 4 && cursor.u32be(0) === 0x1a45dfa3) return openMatroska(source);
  if (text.startsWith("OggS")) return openOgg(source);
  return openFrames(cursor, { head, hints });
}

/** Formats without a signature: frames follow each other from the start, behind tags or after some junk. */
async function openFrames(cursor: ByteCursor, known: { head: Uint8Array; hints: ContainerHints }): Promise<Demuxer> {
  await readId3(cursor, {});
  const isPromised = cursor.position > 0 || isMp3Hint(known.hints);
  if (await findFrame(cursor, isPromised ? MP3_JUNK_BYTES_MAX : JUNK_BYTES_MAX)) return openMp3(cursor.source);
  throw describeUnknown(known.head);
}

function isMp3Hint(hints: ContainerHints): boolean {
  const { mimeType, fileName, container } = hints;
  return container === "mp3" || mimeType === "audio/mpeg" || (fileName ?? "").toLowerCase().endsWith(".mp3");
}
