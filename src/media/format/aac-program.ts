// The program_config_element of AAC (ISO 14496-3 section 4.4.1.1), by which a stream describes channels that have no
// configuration number: 2.1, quad, 5.1 with side speakers … Read by demuxers, which need the number of channels, and by
// the decoder, which needs the element itself. Audio thread.

import type { BitReader } from "../../lib/bit-reader.ts";
import type { Speaker } from "./speakers.ts";

export interface AacProgram {
  /** The element's bits without its identifier, comment and alignment, as text of zeros and ones. */
  readonly bits: string;
  /** Speakers in the output order of the decoder (FFmpeg's order). */
  readonly speakers: readonly Speaker[];
  readonly elements: readonly AacElement[];
}

/** An element of each packet that has audio. */
export interface AacElement {
  /** Its identifier (table 4.85): 0 a single channel, 1 a pair, 3 a channel of low frequencies. */
  readonly id: 0 | 1 | 3;
  /** Undefined: the next element of this kind, whatever its tag. */
  readonly tag: number | undefined;
  /** Where its channels are in the output. */
  readonly channels: readonly number[];
}

type Place = "front" | "side" | "back" | "lfe";

/** A single channel, or a pair of left and right. */
interface Element {
  readonly place: Place;
  readonly isPair: boolean;
  readonly tag: number;
}

/** Reads from behind the element's identifier. Undefined when it is cut off or has no channels. */
export function readAacProgram(reader: BitReader): AacProgram | undefined {
  let text = "";
  const read = (count: number): number => {
    const value = reader.read(count);
    text += value.toString(2).padStart(count, "0");
    return value;
  };
  read(4 + 2 + 4);
  const counts = [read(4), read(4), read(4)];
  const [lfeCount, dataCount, couplingCount] = [read(2), read(3), read(4)];
  // Two notes on mixing down, and one on surround.
  for (const noteBits of [4, 4, 3]) if (read(1) === 1) read(noteBits);
  const elements: Element[] = [];
  for (const [index, place] of (["front", "side", "back"] as const).entries()) {
    for (let count = 0; count < (counts[index] ?? 0); count++) {
      elements.push({ place, isPair: read(1) === 1, tag: read(4) });
    }
  }
  for (let count = 0; count < lfeCount; count++) {
    elements.push({ place: "lfe", isPair: false, tag: read(4) });
  }
  for (let count = 0; count < dataCount; count++) read(4);
  for (let count = 0; count < couplingCount; count++) read(5);
  if (reader.isPastEnd || elements.length === 0) return undefined;
  const places = outputPlaces(elements);
  const speakers = speakersOf(elements, places, isFromFfmpeg(reader.fork()));
  return { bits: text, speakers, elements: elementsAt(elements, places) };
}

/** FFmpeg's encoder signs itself in the comment: length in bytes, then "Lavc…". */
function isFromFfmpeg(reader: BitReader): boolean {
  reader.alignToByte();
  const length = reader.read(8);
  return length >= 4 && reader.peek32() === 0x4c617663;
}

/**
 * What FFmpeg's encoder (up to 5.1) writes for layouts that its elements do not describe: all channels in WAVE order
 * whatever the elements say, here by the elements' sizes as "front side back".
 */
const FFMPEG_LAYOUTS: Readonly<Record<string, readonly Speaker[]>> = {
  "21 1 1": ["FL", "FR", "FC", "LFE", "BC"],
  "21 1 2": ["FL", "FR", "FC", "LFE", "SL", "SR"],
  "21 2 1": ["FL", "FR", "FC", "BC", "SL", "SR"],
  "21 1 21": ["FL", "FR", "FC", "LFE", "BC", "SL", "SR"],
  "21 1 22": ["FL", "FR", "FC", "LFE", "BL", "BR", "FLC", "FRC"],
  "21 2 21": ["FL", "FR", "FC", "BL", "BR", "BC", "SL", "SR"],
};

function sizesOf(elements: readonly Element[], place: Place): string {
  const inPlace = elements.filter((element) => element.place === place);
  return inPlace.map(({ isPair }) => (isPair ? "2" : "1")).join("");
}

/** Speakers by their place in the output. */
function speakersOf(elements: readonly Element[], places: readonly number[], isFfmpeg: boolean): readonly Speaker[] {
  const [front, side, back, lfe] = (["front", "side", "back", "lfe"] as const).map((place) => sizesOf(elements, place));
  const known = isFfmpeg && lfe === "" ? FFMPEG_LAYOUTS[`${front} ${side} ${back}`] : undefined;
  if (known !== undefined) return known;
  const speakers = placeElements(elements);
  return speakers.map((_, place) => speakers[places.indexOf(place)]!);
}

/** Where each channel, in the order of the elements, is in the output. */
function outputPlaces(elements: readonly Element[]): readonly number[] {
  const speakers = placeElements(elements);
  // FFmpeg sorts the channels of layouts that it recognises; else it leaves them in the order of the elements.
  const isSorted = (["front", "side", "back"] as const).every((place) => isRegular(place, sizesOf(elements, place)));
  const order = speakers.map((_, channel) => channel);
  const rank = (channel: number) => WAVE_ORDER.indexOf(speakers[channel]!);
  const sorted = isSorted ? order.toSorted((a, b) => rank(a) - rank(b)) : order;
  return order.map((channel) => sorted.indexOf(channel));
}

function elementsAt(elements: readonly Element[], places: readonly number[]): readonly AacElement[] {
  let channel = 0;
  return elements.map(({ place, isPair, tag }) => {
    const channels = places.slice(channel, channel + (isPair ? 2 : 1));
    channel += channels.length;
    return { id: isPair ? 1 : place === "lfe" ? 3 : 0, tag, channels };
  });
}

const WAVE_ORDER: readonly Speaker[] = ["FL", "FR", "FC", "LFE", "BL", "BR", "FLC", "FRC", "BC", "SL", "SR"];

/** FFmpeg's rule (`count_paired_channels`): single channels stand where a centre can be. */
function isRegular(place: Place, sizes: string): boolean {
  let [isOdd, hasPair] = [false, false];
  for (const size of sizes) {
    if (size === "1") isOdd = !isOdd;
    else {
      if (isOdd && (place !== "front" || hasPair)) return false;
      isOdd = false;
      hasPair = true;
    }
  }
  return !(isOdd && ((place === "front" && hasPair) || place === "side"));
}

/** The speakers of the elements, from the centre outwards in each place. */
function placeElements(elements: readonly Element[]): readonly Speaker[] {
  const pairs = (place: Place) => elements.filter((element) => element.place === place && element.isPair).length;
  const left = { front: pairs("front"), side: pairs("side"), back: pairs("back"), lfe: 0 };
  return elements.flatMap(({ place, isPair }): readonly Speaker[] => {
    if (place === "lfe") return ["LFE"];
    // There is no single speaker at the side: encoders that write one put the low frequencies there.
    if (!isPair) return [place === "front" ? "FC" : place === "back" ? "BC" : "LFE"];
    left[place] -= 1;
    if (place === "front") return left.front > 0 ? ["FLC", "FRC"] : ["FL", "FR"];
    return place === "side" || left.back > 0 ? ["SL", "SR"] : ["BL", "BR"];
  });
}
