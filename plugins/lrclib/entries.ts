// Reads what LRCLIB answers, without believing it, and chooses the entry of the wanted recording. Pure. Plugin thread.

import type { Lyrics } from "../../src/plugin-api/plugin.ts";
import { type ComparedTrack, scoreRecording } from "../../src/recordings/same-recording.ts";
import { type Members, numberOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";
import { readLrc, textOfLines } from "../reading/lrc.ts";

const ENTRIES_MAX = 50;
const TEXT_LENGTH_MAX = 64 * 1024;
/** The times of another edition of the song would be wrong. */
const SYNCED_DIFFERENCE_MS = 2000;

/** An entry that has lyrics, or says that the song has none. */
export interface LyricsEntry {
  readonly title: string;
  readonly artist: string;
  readonly lengthMs: number | undefined;
  readonly isInstrumental: boolean;
  readonly plain: string | undefined;
  readonly synced: string | undefined;
}

/** Undefined: not an entry. */
export function readEntry(answer: unknown): LyricsEntry | undefined {
  const entry = objectOf(answer);
  const title = trimmedText(entry?.trackName) ?? trimmedText(entry?.name);
  if (entry === undefined || title === undefined) return undefined;
  const seconds = numberOf(entry.duration);
  return {
    title,
    artist: trimmedText(entry.artistName) ?? "",
    lengthMs: seconds === undefined || seconds <= 0 ? undefined : seconds * 1000,
    isInstrumental: entry.instrumental === true,
    plain: lyricsIn(entry, "plainLyrics"),
    synced: lyricsIn(entry, "syncedLyrics"),
  };
}

/** Undefined: not a list. */
export function readEntries(answer: unknown): readonly LyricsEntry[] | undefined {
  if (!Array.isArray(answer)) return undefined;
  return objectsOf(answer, ENTRIES_MAX)
    .map(readEntry)
    .filter((entry) => entry !== undefined);
}

/** Of the entries of the wanted recording the one with times that fit, else the one with the nearest length. */
export function chooseEntry(
  entries: readonly LyricsEntry[],
  wanted: Pick<ComparedTrack, "title" | "author"> & { readonly lengthMs: number | undefined },
): LyricsEntry | undefined {
  const compared = comparedTrack(wanted);
  const same = entries.filter(({ title, artist: author, lengthMs }) => {
    return scoreRecording(compared, comparedTrack({ title, author, lengthMs })).score > 0;
  });
  const distance = ({ lengthMs }: LyricsEntry): number => distanceOf(lengthMs, wanted.lengthMs);
  const rank = (entry: LyricsEntry): number => {
    if (entry.synced !== undefined && distance(entry) <= SYNCED_DIFFERENCE_MS) return 0;
    return entry.plain !== undefined || entry.synced !== undefined ? 1 : 2;
  };
  return same.toSorted((one, other) => rank(one) - rank(other) || distance(one) - distance(other))[0];
}

/** Undefined: it has none. `lengthMs`: of the track that they are for. */
export function lyricsOf(entry: LyricsEntry, lengthMs: number | undefined): Lyrics | undefined {
  const { plain, synced, isInstrumental } = entry;
  if (isInstrumental) return undefined;
  const lines = synced === undefined ? [] : readLrc(synced);
  const text = plain ?? (lines.length > 0 ? textOfLines(lines) : undefined);
  if (text === undefined || text.trim() === "") return undefined;
  const areTimesRight = distanceOf(entry.lengthMs, lengthMs) <= SYNCED_DIFFERENCE_MS;
  return { sourceName: "lrclib", provider: "LRCLIB", text, ...(areTimesRight && lines.length > 0 && { lines }) };
}

/** 0 where one is not known. */
function distanceOf(one: number | undefined, other: number | undefined): number {
  return one === undefined || other === undefined ? 0 : Math.abs(one - other);
}

function comparedTrack({ title, author, lengthMs }: Parameters<typeof chooseEntry>[1]): ComparedTrack {
  return { title, author, length: lengthMs ?? 0, isStream: false, isrc: null };
}

function lyricsIn(entry: Members, name: string): string | undefined {
  return trimmedText(entry[name])?.slice(0, TEXT_LENGTH_MAX);
}
