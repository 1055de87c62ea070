// Lists of tracks that are JSON already, in parts: what a plugin's thread found is written there, and the main thread
// only passes it on, however long it is. Any thread.

import { stringifyJson } from "../lib/json.ts";
import { readEncodedTrack } from "./encoded-track.ts";
import { type Track, trackToJson } from "./track.ts";
import type { TrackJson } from "./track-info.ts";

/** What one part holds at most, so that whoever reads it has done so within a few milliseconds. */
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
  for (let at = 0; at < tracks.length; ) {
    let text = stringifyJson(trackToJson(tracks[at]!)); // the loop's bound
    const end = Math.min(at + PART_TRACKS_MAX, tracks.length);
    for (at++; at < end && text.length < PART_LENGTH; at++) text += `,${stringifyJson(trackToJson(tracks[at]!))}`; // same
    parts.push(encoder.encode(text));
  }
  return { count: tracks.length, parts };
}

/** True for a list that was written. */
export function isWritten(tracks: readonly Track[] | WrittenTracks): tracks is WrittenTracks {
  return "parts" in tracks;
}

/** The tracks of one part, times to the digit. Throws a SyntaxError for what `writeTracks` has not written. */
export function readWrittenPart(part: Uint8Array): readonly TrackJson[] {
  const text = Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString();
  return (JSON.parse(`[${text}]`) as TrackJson[]).map(withExactTimes); // that is what a part is
}

/** Beyond 2^53 the engine's parser loses digits: those of endless streams. Their encoded form has them, too. */
function withExactTimes(track: TrackJson): TrackJson {
  if (Number.isSafeInteger(track.info.length) && Number.isSafeInteger(track.info.position)) return track;
  const { length, position } = readEncodedTrack(track.encoded).info;
  return { ...track, info: { ...track.info, length, position } };
}
