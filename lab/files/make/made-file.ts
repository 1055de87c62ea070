// One file that `--make` makes: ffmpeg's arguments, and what is done to its bytes afterwards. Lab only.

import { seededRandom } from "../../seeded-random.ts";
import type { Expected } from "../judge-file.ts";

export const SECONDS = 3;

export interface MadeFile {
  /** Path below the folder; a folder for itself where ffmpeg writes several. */
  readonly file: string;
  /** ffmpeg's arguments between input and output, separated by blanks; undefined: `make` writes it all. */
  readonly encode?: string;
  /** Default 44100. */
  readonly rateHz?: number;
  /** ffmpeg's name of a channel layout; default stereo. */
  readonly layout?: string;
  /** What ffmpeg writes, when it is not the file itself. */
  readonly output?: string;
  readonly finish?: (bytes: Uint8Array) => Uint8Array;
  readonly make?: () => Uint8Array | Promise<Uint8Array>;
  /** What ffprobe does not know about it. */
  readonly expected?: Expected;
}

export const TITLE = "Song of 3 s";
export const ARTIST = "Singer";
/** ffmpeg splits at blanks here: the title has none. */
export const TAGS = "-metadata title=Song -metadata artist=Singer";

/** Number and channel of ffmpeg's layouts that are used. */
export const LAYOUTS: Readonly<Record<string, number>> = {
  mono: 1,
  stereo: 2,
  "2.1": 3,
  "3.0": 3,
  quad: 4,
  "5.0": 5,
  "5.1": 6,
  "5.1(side)": 6,
  "6.1": 7,
  "7.1": 8,
};

/** A name for a file. */
export function plainName(text: string | number): string {
  return String(text).replaceAll(/\W+/g, "-").replace(/-$/, "");
}

const TONES_HZ = [440, 660, 554, 70, 370, 831, 495, 740];
const SWINGS = [
  { rateHz: 0.437, widthHz: 500, phase: 0 },
  { rateHz: 0.271, widthHz: 400, phase: 1 },
];

/** For ffmpeg's aevalsrc: on each channel a tone under one that wanders, so that every moment is unique. */
export function soundExpression(layout: string): string {
  const swings = SWINGS.map(({ rateHz, widthHz, phase }) => `${widthHz / rateHz}*sin(2*PI*${rateHz}*t+${phase})`);
  const fade = `min(1,min(t,${SECONDS}-t)/0.005)`;
  const channel = (_: unknown, index: number) =>
    `${fade}*(0.25*sin(2*PI*${TONES_HZ[index]}*t)+0.2*sin(2*PI*1200*t+${swings.join("+")}+${index}))`;
  return Array.from({ length: LAYOUTS[layout] ?? 2 }, channel).join("|");
}

/** The same as samples, of one channel. */
export function soundSamples(channel: number, rateHz: number): Float32Array {
  return Float32Array.from({ length: SECONDS * rateHz }, (_, index) => {
    const t = index / rateHz;
    const swing = SWINGS.reduce(
      (sum, { rateHz: hz, widthHz, phase }) => sum + (widthHz / hz) * Math.sin(2 * Math.PI * hz * t + phase),
      0,
    );
    const fade = Math.min(1, Math.min(t, SECONDS - t) / 0.005);
    const tone = 0.25 * Math.sin(2 * Math.PI * TONES_HZ[channel]! * t);
    return fade * (tone + 0.2 * Math.sin(2 * Math.PI * 1200 * t + swing + channel));
  });
}

/** Bytes in the middle replaced by random ones. */
export function damage(sizeBytes: number): (bytes: Uint8Array) => Uint8Array {
  return (bytes) => {
    const random = seededRandom(sizeBytes);
    const from = Math.floor(bytes.length / 2);
    return bytes.map((byte, at) => (at >= from && at < from + sizeBytes ? Math.floor(random() * 256) : byte));
  };
}

/** The last third is missing. */
export function truncate(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, Math.floor((bytes.length * 2) / 3));
}
