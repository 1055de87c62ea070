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
 * `own`: the same name; `part`: one of several names, or more words than the other; `named`: the artist of one stands in
 * the title of the other, whose author is somebody who uploads; `different`: none of these.
 */
export type ArtistMatch = "own" | "part" | "named" | "different";

const labelWords = wordSet(LABEL_WORDS);

export function compareArtists(a: Credits, b: Credits): ArtistMatch {
  const [one, other] = [artistWordsOf(a.author), artistWordsOf(b.author)];
  const wholeNames = joinedNamesOf(b.author);
  if (joinedNamesOf(a.author).some((name) => wholeNames.includes(name))) return "own";
  if (isOtherKind(a, b) || isOtherKind(b, a)) return "different";
  const names = namesOf(b.author).flatMap(joinedNamesOf);
  if (
    namesOf(a.author)
      .flatMap(joinedNamesOf)
      .some((name) => names.includes(name))
  )
    return "part";
  if (isWithin(one, [...other, ...featuredWordsOf(b.title)])) return "part";
  if (isWithin(other, [...one, ...featuredWordsOf(a.title)])) return "part";
  return isUploadOf(a, b) || isUploadOf(b, a) ? "named" : "different";
}

export function isWithin(words: readonly string[], others: readonly string[]): boolean {
  return words.length > 0 && words.every((word) => others.includes(word));
}

/** The author of one says that they make covers, karaoke, sped up versions …, and the other does not. */
function isOtherKind({ author }: Credits, other: Credits): boolean {
  const others = [...artistWordsOf(other.author), ...nameSegmentsOf(other.title).flat()];
  const odd = artistWordsOf(author).filter((word) => !others.includes(word));
  return versionKindsOf(odd).length > 0;
}

/** Somebody who is not the artist has uploaded it, and does not name themselves in its title, as labels may. */
function isUploadOf(song: Credits, upload: Credits): boolean {
  const segments = nameSegmentsOf(upload.title);
  const isNamed = namesOf(song.author).some((name) => isNamedIn(artistWordsOf(name), segments));
  if (!isNamed) return false;
  const uploader = artistWordsOf(upload.author);
  const isLabel = uploader.some((word) => labelWords.has(word)) || /\b(?:vevo|records)\b/i.test(upload.author);
  return isLabel || !segments.some((segment) => isWithin(uploader, segment));
}

/** As `artist - title`: in a separate part of the title; a name of several words may stand at the start or end of one. */
function isNamedIn(artist: readonly string[], segments: readonly (readonly string[])[]): boolean {
  if (artist.length === 0) return false;
  if (segments.length > 1 && segments.some((segment) => isWithin(artist, segment))) return true;
  const name = artist.join(" ");
  const isAtEdge = segments.some((segment) => {
    const text = segment.join(" ");
    return text.startsWith(`${name} `) || text.endsWith(` ${name}`);
  });
  return artist.length > 1 && isAtEdge;
}
