// Whether two tracks of different sites are by the same artist. Any thread; used by same-recording.ts.

import {
  artistWordsOf,
  featuredWordsOf,
  joinedNamesOf,
  nameSegmentsOf,
  namesOf,
  versionKindsOf,
  wordSet,
} from "./recording-words.ts";
import { LABEL_WORDS } from "./version-words.ts";

interface Credits {
  readonly title: string;
  readonly author: string;
}

/**
 * `own`: the same name; `part`: one of several names, or more words than the other; `guest`: only the name of somebody who
 * takes part; `named`: the artist of one stands in the title of the other, whose author is somebody who uploads;
 * `different`: none of these.
 */
export type ArtistMatch = "own" | "part" | "guest" | "named" | "different";

/** Characters of an author that are read. */
const NAME_LENGTH_MAX = 300;
const labelWords = wordSet(LABEL_WORDS);

export function compareArtists(wanted: Credits, candidate: Credits): ArtistMatch {
  const names = joinedNamesOf(candidate.author);
  if (joinedNamesOf(wanted.author).some((name) => names.includes(name))) return "own";
  const first = leadOf(wanted);
  const allNames = namesOf(candidate.author).flatMap(joinedNamesOf);
  const isAmong = (name: string) => joinedNamesOf(name).some((joined) => allNames.includes(joined));
  if (namesOf(wanted.author).some(isAmong)) return isAmong(first) ? "part" : "guest";
  if (isOtherKind(wanted, candidate) || isOtherKind(candidate, wanted)) return "different";
  const [one, other] = [artistWordsOf(wanted.author), artistWordsOf(candidate.author)];
  if (isWithin(one, [...other, ...featuredWordsOf(candidate.title)])) return "part";
  if (isWithin(other, artistWordsOf(first))) return "part";
  if (isUploadOf(wanted, candidate) || isUploadOf(candidate, wanted)) return "named";
  return isWithin(other, [...one, ...featuredWordsOf(wanted.title)]) ? "guest" : "different";
}

/** The name before the first comma. */
function leadOf({ author }: Credits): string {
  return author.slice(0, NAME_LENGTH_MAX).split(/[,;]/, 1)[0] ?? "";
}

function isWithin(words: readonly string[], others: readonly string[]): boolean {
  return words.length > 0 && words.every((word) => others.includes(word));
}

/** The author of one says that they make covers, karaoke, sped up versions …, and the other does not. */
function isOtherKind({ author }: Credits, other: Credits): boolean {
  const others = [...artistWordsOf(other.author), ...nameSegmentsOf(other.title, { isWhole: true }).flat()];
  const odd = artistWordsOf(author).filter((word) => !others.includes(word));
  return versionKindsOf(odd).length > 0;
}

/** Somebody who is not the artist has uploaded it, and does not name themselves in its title, as labels may. */
function isUploadOf(song: Credits, upload: Credits): boolean {
  const segments = nameSegmentsOf(upload.title, { isWhole: false });
  if (!namesOf(song.author).some((name) => isNamedIn(name, segments))) return false;
  const uploader = artistWordsOf(upload.author);
  const isLabel = (words: readonly string[]) => words.some((word) => labelWords.has(word));
  const ownSegments = nameSegmentsOf(upload.title, { isWhole: true }).filter((segment) => isWithin(uploader, segment));
  return isLabel(uploader) || ownSegments.every(isLabel);
}

/** As `artist - title`: in a separate part of the title; a name of several words may stand at the start or end of one. */
function isNamedIn(author: string, segments: readonly (readonly string[])[]): boolean {
  const artist = artistWordsOf(author);
  const joined = joinedNamesOf(author);
  const isPart = (segment: readonly string[]) => isWithin(artist, segment) || joined.includes(segment.join(""));
  if (segments.length > 1 && segments.some(isPart)) return true;
  const name = artist.join(" ");
  const isAtEdge = segments.some((segment) => {
    const text = segment.join(" ");
    return text.startsWith(`${name} `) || text.endsWith(` ${name}`);
  });
  return artist.length > 1 && isAtEdge;
}
