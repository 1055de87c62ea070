// The few tags that the protocol shows and those that give a track's loudness, and how their text is cleaned. Filled by
// each container's tag reader. Audio thread.

import { decodeText } from "../input/legacy-text.ts";

/** As found in the file, cleaned by `setTag`; absent when the file has none. */
export interface Tags {
  title?: string;
  author?: string;
  isrc?: string;
  /** `REPLAYGAIN_TRACK_GAIN` as written: "-7.03 dB". */
  replayGain?: string;
  /** `R128_TRACK_GAIN` as written: "-1280". */
  r128Gain?: string;
}

/** Longest tag text retained, in characters; the encoded track format ends at 65535 bytes. */
const TEXT_LENGTH_MAX = 4096;

/** Bytes of text worth decoding: more than `TEXT_LENGTH_MAX` in any encoding. */
export const TEXT_BYTES_MAX = 4 * TEXT_LENGTH_MAX;

/** Sets a tag unless an earlier one was set already or the text is empty. Text ends at its first NUL. */
export function setTag(tags: Tags, name: keyof Tags, text: string): void {
  const end = text.indexOf("\0");
  const clean = (end < 0 ? text : text.slice(0, end)).trim().slice(0, TEXT_LENGTH_MAX);
  if (clean !== "" && tags[name] === undefined) tags[name] = clean;
}

const TAG_BY_COMMENT: Readonly<Record<string, keyof Tags>> = { TITLE: "title", ARTIST: "author", ISRC: "isrc" };
const LOUDNESS_TAG_BY_NAME: Readonly<Record<string, keyof Tags>> = {
  REPLAYGAIN_TRACK_GAIN: "replayGain",
  R128_TRACK_GAIN: "r128Gain",
};
/** Longer than any name above. */
const NAME_LENGTH_MAX = 32;

/** The tag for a name that is the same wherever names are free: comments, `TXXX` of ID3, `----` of MP4. */
export function loudnessTagForName(name: string): keyof Tags | undefined {
  const key = name.toUpperCase();
  return Object.hasOwn(LOUDNESS_TAG_BY_NAME, key) ? LOUDNESS_TAG_BY_NAME[key] : undefined;
}

/** The tag for a Vorbis comment or Matroska tag name, whatever its case. */
export function tagForName(name: string): keyof Tags | undefined {
  const key = name.toUpperCase();
  return Object.hasOwn(TAG_BY_COMMENT, key) ? TAG_BY_COMMENT[key] : loudnessTagForName(key);
}

/** Decodes at most `TEXT_BYTES_MAX` bytes of text that should be UTF-8 and often is not. */
export function decodeTag(bytes: Uint8Array): string {
  return decodeText(bytes.length > TEXT_BYTES_MAX ? bytes.subarray(0, TEXT_BYTES_MAX) : bytes);
}

/** Comments read in one block, and how many of them have their text decoded: a step must stay short. */
const COMMENT_COUNT_MAX = 4096;
const DECODED_COUNT_MAX = 32;

/**
 * Reads a Vorbis comment block (Vorbis I section 5; also in Opus and FLAC), which starts at `offset`. A block that is
 * cut off yields the comments before the cut.
 */
export function readVorbisComments(block: Uint8Array, offset: number, tags: Tags): void {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  if (offset + 4 > block.length) return;
  let at = offset + 4 + view.getUint32(offset, true);
  if (at + 4 > block.length) return;
  const count = Math.min(view.getUint32(at, true), COMMENT_COUNT_MAX);
  at += 4;
  let decodedCount = 0;
  for (let index = 0; index < count && at + 4 <= block.length && decodedCount < DECODED_COUNT_MAX; index++) {
    const start = at + 4;
    const end = start + view.getUint32(at, true);
    const isDecoded = readComment(block.subarray(start, Math.min(end, start + TEXT_BYTES_MAX, block.length)), tags);
    if (isDecoded) decodedCount += 1;
    at = end;
  }
}

/** Bytes of the Vorbis comment block at the start; undefined when it is cut off, or has too many comments. */
export function measureVorbisComments(block: Uint8Array): number | undefined {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  if (block.length < 8) return undefined;
  let at = 4 + view.getUint32(0, true);
  if (at + 4 > block.length) return undefined;
  const count = view.getUint32(at, true);
  at += 4;
  if (count > COMMENT_COUNT_MAX) return undefined;
  for (let index = 0; index < count; index++) {
    if (at + 4 > block.length) return undefined;
    at += 4 + view.getUint32(at, true);
  }
  return at <= block.length ? at : undefined;
}

/** True when it was worth decoding. */
function readComment(comment: Uint8Array, tags: Tags): boolean {
  const equals = comment.subarray(0, NAME_LENGTH_MAX).indexOf(0x3d);
  if (equals < 0) return false;
  const name = tagForName(String.fromCharCode(...comment.subarray(0, equals)));
  if (name === undefined || tags[name] !== undefined) return false;
  setTag(tags, name, decodeTag(comment.subarray(equals + 1)));
  return true;
}
