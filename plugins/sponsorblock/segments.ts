// Reads what SponsorBlock answers, without believing it: the segments and chapters of one video. Pure. Plugin thread.

import { listOf, type Members, numberOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";
import { CATEGORIES, type Category } from "./manifest.ts";

/** Videos that share the start of a hash. */
const VIDEOS_MAX = 10_000;
/** Entries of a video that are read. */
const ENTRIES_MAX = 10_000;
/** The first of each kind. All of them are sent to the client, and are markers of its player. */
const KEPT_MAX = 100;
/** With all of its escapes it fits into the note of a marker. */
const NAME_LENGTH_MAX = 100;

/** A part of a video that is skipped. Whole milliseconds. */
export interface Segment {
  readonly category: Category;
  readonly start: number;
  readonly end: number;
}

/** A named part of a video. Whole milliseconds. */
export interface Chapter {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Each in the order of their starts. */
export interface VideoParts {
  readonly segments: readonly Segment[];
  readonly chapters: readonly Chapter[];
}

export const NO_PARTS: VideoParts = { segments: [], chapters: [] };

/** Those of one video in the answer, which is of all videos whose hash starts alike. Undefined: it is no answer. */
export function readParts(answer: unknown, videoId: string): VideoParts | undefined {
  if (!Array.isArray(answer)) return undefined;
  const ofVideo = objectsOf(answer, VIDEOS_MAX).filter(({ videoID }) => videoID === videoId);
  const entries = ofVideo.flatMap(({ segments }) => objectsOf(segments, ENTRIES_MAX));
  return { segments: firstOf(entries.map(readSegment)), chapters: firstOf(entries.map(readChapter)) };
}

function firstOf<Part extends Segment | Chapter>(parts: readonly (Part | undefined)[]): readonly Part[] {
  const valid = parts.filter((part) => part !== undefined);
  return valid.toSorted((one, other) => one.start - other.start || one.end - other.end).slice(0, KEPT_MAX);
}

/** Undefined for what is not skipped: what is muted, single moments, labels of whole videos. */
function readSegment({ category, actionType = "skip", segment }: Members): Segment | undefined {
  const known = CATEGORIES.find((name) => name === category);
  const times = timesOf(segment);
  return known === undefined || times === undefined || actionType !== "skip"
    ? undefined
    : { category: known, ...times };
}

function readChapter({ actionType, segment, description }: Members): Chapter | undefined {
  const name = trimmedText(description)?.slice(0, NAME_LENGTH_MAX);
  const times = timesOf(segment);
  return name === undefined || times === undefined || actionType !== "chapter" ? undefined : { name, ...times };
}

function timesOf(segment: unknown): Pick<Segment, "start" | "end"> | undefined {
  const [start, end] = listOf(segment).map((seconds) => Math.round((numberOf(seconds) ?? Number.NaN) * 1000));
  if (start === undefined || end === undefined || !(start >= 0 && end > start)) return undefined;
  return Number.isSafeInteger(end) ? { start, end } : undefined;
}

/** What a marker's note says. `fromMs`: where the track was when it was set. */
export type PartNote =
  | { readonly segment: Segment; readonly fromMs: number; readonly chapter?: undefined }
  | { readonly chapter: Chapter; readonly segment?: undefined };

/** A note as it was set. Undefined: it is none of a part. */
export function readNote(note: unknown): PartNote | undefined {
  const members = objectOf(note);
  return members?.segment === undefined && members?.chapter === undefined ? undefined : (members as PartNote);
}
