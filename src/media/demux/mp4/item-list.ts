// Tags of MP4 files: the item list that iTunes made (`moov/udta/meta/ilst`), with its note about encoder padding. Audio
// thread.

import { decodeUtf8, loudnessTagForName, setTag, type Tags } from "../tags.ts";
import { findBox, readBoxes } from "./box.ts";

/** Samples in front of and in the music, as iTunes writes them. */
export interface Gapless {
  readonly delaySamples: number;
  readonly musicSamples: number;
}

export interface ItemList {
  readonly tags: Tags;
  readonly gapless: Gapless | undefined;
}

export function readItemList(moov: Uint8Array): ItemList {
  const tags: Tags = {};
  let gapless: Gapless | undefined;
  const meta = findBox(moov, "udta", "meta") ?? findBox(moov, "meta");
  const list = meta && findBox(meta.subarray(metaHeaderBytes(meta)), "ilst");
  for (const { type, body } of readBoxes(list ?? new Uint8Array(0))) {
    if (type === "\u00a9nam") setTag(tags, "title", readData(body));
    else if (type === "\u00a9ART") setTag(tags, "author", readData(body));
    else if (type === "----") {
      const name = decodeUtf8(findBox(body, "name")?.subarray(4) ?? new Uint8Array(0));
      const tag = name.toUpperCase() === "ISRC" ? "isrc" : loudnessTagForName(name);
      if (tag !== undefined) setTag(tags, tag, readData(body));
      else if (name === "iTunSMPB") gapless = parseGapless(readData(body));
    }
  }
  return { tags, gapless };
}

/** In MP4 `meta` has version and flags, in QuickTime it starts with its first child. */
function metaHeaderBytes(meta: Uint8Array): number {
  return String.fromCharCode(...meta.subarray(4, 8)) === "hdlr" ? 0 : 4;
}

/** The text of the first `data` child: type and locale, four bytes each, then UTF-8. */
function readData(item: Uint8Array): string {
  return decodeUtf8(findBox(item, "data")?.subarray(8) ?? new Uint8Array(0));
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
  return { delaySamples, musicSamples };
}
