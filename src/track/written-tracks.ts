// Lists of tracks that are JSON already, in parts: what a plugin's thread found is written there, and the main thread
// only passes it on, however long it is. Any thread.

import { stringifyJson } from "../lib/json.ts";
import { decodeTrack, type Track, trackToJson } from "./track.ts";
import type { TrackJson } from "./track-info.ts";

/** Limit of tracks per part, so that parsing one takes only a few milliseconds. */
const PART_TRACKS_MAX = 100;
/** Characters after which a part ends early: only tracks with very long texts come to so many. */
const PART_LENGTH = 256 * 1024;

/** Each part is the JSON of at least one track, in UTF-8, with commas between them and no brackets around them. */
export interface WrittenTracks {
  readonly count: number;
  readonly parts: readonly Uint8Array[];
}

/** Each part has its memory for itself, so that it can be transferred to another thread. */
export function writeTracks(tracks: readonly Track[]): WrittenTracks {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  let text = "";
  let count = 0;
  for (const [index, track] of tracks.entries()) {
    text += `${count === 0 ? "" : ","}${stringifyJson(trackToJson(track))}`;
    count++;
    if (count < PART_TRACKS_MAX && text.length < PART_LENGTH && index < tracks.length - 1) continue;
    parts.push(encoder.encode(text));
    text = "";
    count = 0;
  }
  return { count: tracks.length, parts };
}

/** The first of a list; undefined where it is empty. */
export function firstTrack(tracks: readonly Track[] | WrittenTracks): Track | undefined {
  if (!isWritten(tracks)) return tracks[0];
  const [part] = tracks.parts;
  const [first] = part === undefined ? [] : readPart(part);
  return first === undefined ? undefined : decodeTrack(first.encoded);
}

/** Parses one part. Times beyond 2^53, those of endless streams, become the nearest number. */
export function readPart(part: Uint8Array): readonly TrackJson[] {
  return JSON.parse(`[${new TextDecoder().decode(part)}]`) as TrackJson[]; // written here
}

/** True for a list that was written. */
export function isWritten(tracks: readonly Track[] | WrittenTracks): tracks is WrittenTracks {
  return "parts" in tracks;
}
