// Tags of MP4 files: the items of iTunes' list (`moov/udta/meta/ilst`), with its note about encoder padding, and the texts
// of QuickTime and 3GP, which are directly in `udta`. Audio thread.

import { decodeTag, loudnessTagForName, setTag, type Tags } from "../tags.ts";
import { findBox } from "./box.ts";

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

/** The text of the first `data` child: type and locale, four bytes each, then UTF-8. */
function readData(item: Uint8Array): string {
  return decodeTag((findBox(item, "data") ?? NOTHING).subarray(8));
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
