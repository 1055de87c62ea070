// Whether two tracks of different sites are the same recording: a plain comparison of titles, artists and lengths.
// Rather a recording that is missed than another song, or another version of it. Any thread.

import type { TrackInfo } from "../track/track-info.ts";
import { compareArtists } from "./compare-artists.ts";
import { compareTitles } from "./compare-titles.ts";
import { artistWordsOf, featuredWordsOf, joinedNamesOf, knownArtist, namesOf } from "./recording-words.ts";

/** The members that are compared; the length may be that of a track that came as JSON. */
export type ComparedTrack = Pick<TrackInfo, "title" | "author" | "length" | "isStream" | "isrc">;

export interface RecordingScore {
  /** 0 to 1; 0: not the same recording, or not surely; 1: the same ISRC. */
  readonly score: number;
  /** Why, for people: `same ISRC`. Empty where the score is 0. */
  readonly reasons: readonly string[];
}

/** How far the lengths of one recording are apart on different sites. */
const LENGTH_DIFFERENCE = { ms: 5000, share: 0.03 };
/** Below this share of the longer one, an equal ISRC is that of a preview, or of a loop. */
const ISRC_LENGTH_SHARE_MIN = 0.6;
/** How equal titles have to be, by what is known of the artists, and where a length is not known. */
const TITLE_MIN = { own: 0.6, part: 0.6, named: 0.8, guest: 0.8, unknownLength: 0.85 };
const WEIGHTS = { title: 0.5, artist: 0.3, length: 0.19 };
const UNKNOWN_LENGTH_SCORE = 0.3;
const OTHER_EDITION_PENALTY = 0.05;
const ARTIST_SCORES = { own: 1, part: 0.85, named: 0.6, guest: 0.5 };
const ARTIST_REASONS = {
  own: "same artist",
  part: "same artist beside others",
  named: "artist named in the title",
  guest: "by an artist who takes part",
};
const NOT_SAME: RecordingScore = { score: 0, reasons: [] };

/**
 * How sure it is that the candidate is the wanted recording. An equal ISRC decides, unless one is much shorter. Otherwise
 * titles, artists and lengths have to agree, and both have to be the same kind of version (live, remix, sped up …). A
 * stream is never the same; a length that is not known is made up for by an equal title and artist.
 */
export function scoreRecording(wanted: ComparedTrack, candidate: ComparedTrack): RecordingScore {
  return scoreCredited(withKnownArtist(wanted), withKnownArtist(candidate));
}

/** An unknown artist is the same as none: equal to nobody. */
function withKnownArtist(track: ComparedTrack): ComparedTrack {
  return { ...track, author: knownArtist(track.author) };
}

function scoreCredited(wanted: ComparedTrack, candidate: ComparedTrack): RecordingScore {
  if (wanted.isStream || candidate.isStream) return NOT_SAME;
  const lengths = [wanted, candidate]
    .map(({ length }) => Number(length))
    .filter((ms) => ms > 0 && Number.isSafeInteger(ms));
  const [shorter, longer] = lengths.length < 2 ? [] : [Math.min(...lengths), Math.max(...lengths)];
  const share = shorter === undefined || longer === undefined ? 1 : shorter / longer;
  if (hasSameIsrc(wanted, candidate) && share >= ISRC_LENGTH_SHARE_MIN) return { score: 1, reasons: ["same ISRC"] };
  const length = shorter === undefined || longer === undefined ? UNKNOWN_LENGTH : compareLengths(shorter, longer);
  if (length.score === 0) return NOT_SAME;
  const artists = compareArtists(wanted, candidate);
  if (artists === "different") return NOT_SAME;
  const title = compareTitles(wanted.title, candidate.title, [wanted, candidate].flatMap(namesIn));
  const isUnknown = length === UNKNOWN_LENGTH;
  if (title.score < TITLE_MIN[isUnknown ? "unknownLength" : artists]) return NOT_SAME;
  if (isUnknown && (title.isOtherEdition || artists === "guest")) return NOT_SAME;
  const sum = WEIGHTS.title * title.score + WEIGHTS.artist * ARTIST_SCORES[artists] + WEIGHTS.length * length.score;
  const score = sum - (title.isOtherEdition ? OTHER_EDITION_PENALTY : 0);
  return { score: Math.round(score * 100) / 100, reasons: [title.reason, ARTIST_REASONS[artists], length.reason] };
}

/** Both name the same recording by its code (ISO 3901), with or without dashes. */
function hasSameIsrc(a: Pick<ComparedTrack, "isrc">, b: Pick<ComparedTrack, "isrc">): boolean {
  const [one, other] = [a, b].map(({ isrc }) => isrc?.replaceAll(/[^a-z\d]/gi, "").toUpperCase());
  return one !== undefined && one.length === 12 && one === other;
}

interface LengthMatch {
  /** 0 to 1; 0: the lengths are those of different recordings. */
  readonly score: number;
  readonly reason: string;
}

const UNKNOWN_LENGTH: LengthMatch = { score: UNKNOWN_LENGTH_SCORE, reason: "length not known" };

/** Both in milliseconds. */
function compareLengths(shorter: number, longer: number): LengthMatch {
  const apart = longer - shorter;
  const allowedMs = Math.max(LENGTH_DIFFERENCE.ms, LENGTH_DIFFERENCE.share * longer);
  if (apart > allowedMs) return { score: 0, reason: "" };
  const seconds = Math.max(1, Math.ceil(apart / 1000));
  return { score: 1 - apart / (2 * allowedMs), reason: `length within ${seconds} s` };
}

/** The words of each artist's name, the longest first. */
function namesIn({ author, title }: ComparedTrack): readonly (readonly string[])[] {
  const names = namesOf(author);
  const joined = names.flatMap(joinedNamesOf).map((name) => [name]);
  return [...names.map(artistWordsOf), ...joined, featuredWordsOf(title)].filter((words) => words.length > 0);
}
