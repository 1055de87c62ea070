// Whether two tracks of different sites are the same recording: a plain comparison of titles, artists and lengths.
// Rather a recording that is missed than another song, or another version of it. Any thread.

import type { TrackInfo } from "../track/track-info.ts";
import {
  artistWordsOf,
  featuredWordsOf,
  joinedNamesOf,
  segmentsOf,
  titleWordsOf,
  VERSION_WORDS,
  versionMarksOf,
  withoutBrackets,
} from "./recording-words.ts";

/** The members that are compared; the length may be that of a track that came as JSON. */
export type ComparedTrack = Pick<TrackInfo, "title" | "author" | "length" | "isStream" | "isrc">;

/** How far the lengths of one recording are apart on different sites. */
const LENGTH_DIFFERENCE = { ms: 5000, share: 0.03 };
/** The share of the words of the longer title that both titles have. */
const TITLE_SHARE_MIN = 0.75;
/** Counts for that part of a title where the whole titles differ. */
const OUTSIDE_BRACKETS = 0.9;
/** A year of a release says nothing about the recording. */
const YEAR = /^(?:19|20)\d\d$/;
const NUMBER = /^(?:\d+|i{2,3}|iv|vi{0,3}|ix)$/;

/**
 * An equal ISRC decides. Otherwise titles, artists and lengths have to agree, and both have to be the same kind of
 * version (live, remix, sped up …). Streams are never the same; a length that is not known is made up for by an equal
 * title and artist.
 */
export function isSameRecording(a: ComparedTrack, b: ComparedTrack): boolean {
  if (a.isStream || b.isStream) return false;
  if (hasSameIsrc(a, b)) return true;
  const lengths = compareLengths(a, b);
  if (lengths === "different") return false;
  const artists = compareArtists(a, b);
  if (artists === "different" || !haveSameVersion(a, b)) return false;
  const share = titleShare(a, b);
  if (share === 1) return true;
  return lengths === "same" && artists === "same" && share >= TITLE_SHARE_MIN;
}

export interface RecordingScore {
  /** 0 to 1; 0: not the same recording, or not surely. */
  readonly score: number;
  /** Why, for people: `same ISRC`. Empty where the score is 0. */
  readonly reasons: readonly string[];
}

/** How sure it is that the candidate is the wanted recording. */
export function scoreRecording(wanted: ComparedTrack, candidate: ComparedTrack): RecordingScore {
  if (!isSameRecording(candidate, wanted)) return { score: 0, reasons: [] };
  return hasSameIsrc(wanted, candidate)
    ? { score: 1, reasons: ["same ISRC"] }
    : { score: 0.8, reasons: ["same title, artist and length"] };
}

/** Both name the same recording by its code (ISO 3901), with or without dashes. */
export function hasSameIsrc(a: Pick<ComparedTrack, "isrc">, b: Pick<ComparedTrack, "isrc">): boolean {
  const [one, other] = [a, b].map(({ isrc }) => isrc?.replaceAll(/[^a-z\d]/gi, "").toUpperCase());
  return one !== undefined && one.length === 12 && one === other;
}

function compareLengths(a: ComparedTrack, b: ComparedTrack): "same" | "unknown" | "different" {
  const [one, other] = [Number(a.length), Number(b.length)];
  if (![one, other].every((ms) => ms > 0 && Number.isSafeInteger(ms))) return "unknown";
  const allowedMs = Math.max(LENGTH_DIFFERENCE.ms, LENGTH_DIFFERENCE.share * Math.max(one, other));
  return Math.abs(one - other) <= allowedMs ? "same" : "different";
}

/** `named`: the artist of one is only named in the title of the other, where an uploader is the author. */
function compareArtists(a: ComparedTrack, b: ComparedTrack): "same" | "named" | "different" {
  const [one, other] = [artistWordsOf(a.author), artistWordsOf(b.author)];
  if (isWithin(one, [...other, ...featuredWordsOf(b.title)])) return "same";
  if (isWithin(other, [...one, ...featuredWordsOf(a.title)])) return "same";
  const names = joinedNamesOf(b.author);
  if (joinedNamesOf(a.author).some((name) => names.includes(name))) return "same";
  return isNamedIn(one, b.title) || isNamedIn(other, a.title) ? "named" : "different";
}

/** As `artist - title`: the words of the artist stand in a separate part of the title. */
function isNamedIn(artist: readonly string[], title: string): boolean {
  const segments = segmentsOf(title);
  return segments.length > 1 && segments.some((segment) => isWithin(artist, segment));
}

function isWithin(words: readonly string[], others: readonly string[]): boolean {
  return words.length > 0 && words.every((word) => others.includes(word));
}

/** Neither says live, remix, karaoke … more often than the other, in its title or as its artist. */
function haveSameVersion(a: ComparedTrack, b: ComparedTrack): boolean {
  const names = [...artistWordsOf(a.author), ...artistWordsOf(b.author)];
  const [one, other] = [a, b].map(({ title }) => versionMarksOf(title, names));
  if (one !== other) return false;
  const [ofOne, ofOther] = [a, b].map(({ author, title }) => [...artistWordsOf(author), ...titleWordsOf(title)]);
  const isOdd = (words: readonly string[] = [], others: readonly string[] = []): boolean =>
    words.some((word) => VERSION_WORDS.has(word) && !others.includes(word));
  return !isOdd(artistWordsOf(a.author), ofOther) && !isOdd(artistWordsOf(b.author), ofOne);
}

/**
 * 0 to 1: the words that both titles have, without artists and what says nothing. Below 1 where only what stands outside
 * of brackets is equal; 0 where their numbers differ.
 */
function titleShare(a: ComparedTrack, b: ComparedTrack): number {
  const artists = new Set([a, b].flatMap(artistsIn));
  const [one, other] = [titleWordsOf(a.title), titleWordsOf(b.title)];
  const odd = [...one, ...other].filter((word) => !(one.includes(word) && other.includes(word)));
  if (odd.some((word) => NUMBER.test(word) && !YEAR.test(word) && !artists.has(word))) return 0;
  const [ofOne, ofOther] = [without(artists, one), without(artists, other)];
  const full = shareOf(ofOne.length > 0 ? ofOne : one, ofOther.length > 0 ? ofOther : other);
  const core = ({ title }: ComparedTrack): string[] => without(artists, titleWordsOf(withoutBrackets(title)));
  return Math.max(full, OUTSIDE_BRACKETS * shareOf(core(a), core(b)));
}

function artistsIn({ author, title }: ComparedTrack): readonly string[] {
  return [...artistWordsOf(author), ...joinedNamesOf(author), ...featuredWordsOf(title)];
}

function without(artists: ReadonlySet<string>, words: readonly string[]): string[] {
  return words.filter((word) => !artists.has(word));
}

function shareOf(words: readonly string[], others: readonly string[]): number {
  const [one, other] = [new Set(words), new Set(others)];
  const both = [...one].filter((word) => other.has(word));
  return both.length / Math.max(one.size, other.size, 1);
}
