// Tags of MP4 files: the items of iTunes' list (`moov/udta/meta/ilst`), with its note about encoder padding, and the texts
// of QuickTime and 3GP, which are directly in `udta`. Audio thread.

import { decodeTag, loudnessTagForName, setTag, type Tags } from "../tags.ts";
import { findBox, readBoxes } from "./box.ts";

/** Samples in front of, in and behind the music, as iTunes writes them. */
export interface Gapless {
  readonly delaySamples: number;
  readonly paddingSamples: number;
  readonly musicSamples: number;
}

/** Values from the items read so far. */
export interface ItemList {
  readonly tags: Tags;
  gapless: Gapless | undefined;
}

/** Items of `ilst` that are called by their number in `keys` instead (QuickTime, FFmpeg's use_metadata_tags). */
const KEYS: Readonly<Record<string, string>> = {
  title: "\u00a9nam",
  artist: "\u00a9ART",
  "com.apple.quicktime.title": "\u00a9nam",
  "com.apple.quicktime.artist": "\u00a9ART",
};
/** Keys that are read; phones write a dozen. */
const KEY_COUNT_MAX = 256;

/** The item types that the entries of a `keys` box stand for, by the type of four bytes that their numbers make. */
export function readItemKeys(body: Uint8Array): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  let number = 0;
  // Each entry has the form of a box, with its namespace as the type.
  for (const { body: name } of readBoxes(body, 8)) {
    if (++number > KEY_COUNT_MAX) break;
    const type = KEYS[Buffer.from(name.subarray(0, 64)).toString("latin1").toLowerCase()];
    if (type !== undefined) types.set(String.fromCharCode(0, 0, number >> 8, number & 255), type);
  }
  return types;
}

/** Adds the value in the body of one item to `list`. */
export function readItem(type: string, body: Uint8Array, list: ItemList): void {
  if (type === "\u00a9nam") setTag(list.tags, "title", readData(body));
  else if (type === "\u00a9ART") setTag(list.tags, "author", readData(body));
  else if (type === "----") {
    const name = decodeTag((findBox(body, "name") ?? NOTHING).subarray(4));
    const tag = name.toUpperCase() === "ISRC" ? "isrc" : loudnessTagForName(name);
    if (tag !== undefined) setTag(list.tags, tag, readData(body));
    else if (name === "iTunSMPB") list.gapless = parseGapless(readData(body));
  }
}

/** Texts directly in `udta`, by the type of their box. */
export const USER_TEXTS: Readonly<Record<string, "title" | "author">> = {
  "\u00a9nam": "title",
  "\u00a9ART": "author",
  titl: "title",
  perf: "author",
};

/** Adds the text in the body of a box of `USER_TEXTS`; the first of each kind counts. */
export function readUserText(type: string, body: Uint8Array, tags: Tags): void {
  const tag = USER_TEXTS[type];
  if (tag === undefined) return;
  setTag(tags, tag, type.startsWith("\u00a9") ? readQuickTimeText(body) : decodeTag(body.subarray(TEXT_3GP_START)));
}

/** Behind version, flags and language (TS 26.244 section 8). */
const TEXT_3GP_START = 6;

/** 16 bits of size and of language, then the text. Some write an item of iTunes' list here. */
function readQuickTimeText(body: Uint8Array): string {
  if (String.fromCharCode(...body.subarray(4, 8)) === "data") return readData(body);
  return decodeTag(body.subarray(4, 4 + (((body[0] ?? 0) << 8) | (body[1] ?? 0))));
}

const NOTHING = new Uint8Array(0);

/** Type of big-endian UTF-16; text of all other types is UTF-8 or an older encoding. */
const UTF_16 = 2;
const BYTE_ORDER_MARK = Uint8Array.of(0xfe, 0xff);

/** The text of the first `data` child: type and locale, four bytes each, then the text. */
function readData(item: Uint8Array): string {
  const data = findBox(item, "data") ?? NOTHING;
  const text = data.subarray(8);
  const isMarked = text[0] === 0xfe || text[0] === 0xff;
  return decodeTag(data[3] === UTF_16 && !isMarked ? Buffer.concat([BYTE_ORDER_MARK, text]) : text);
}

/** Hexadecimal words: nothing, delay, padding, samples of music, more. */
function parseGapless(text: string): Gapless | undefined {
  const words = text
    .trim()
    .split(/\s+/, 4)
    .map((word) => Number.parseInt(word, 16));
  const [, delaySamples, paddingSamples, musicSamples] = words;
  if (delaySamples === undefined || paddingSamples === undefined || musicSamples === undefined) return undefined;
  if (!(delaySamples >= 0 && delaySamples < 65_536 && musicSamples > 0 && musicSamples < 2 ** 40)) return undefined;
  if (!(paddingSamples >= 0 && paddingSamples < 65_536)) return undefined;
  return { delaySamples, musicSamples, paddingSamples };
}
