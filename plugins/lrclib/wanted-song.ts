// The song that a track is of, as LRCLIB may know it: title and artist without what uploaders add ("(Official Video)",
// "feat. …", "- Topic"). Unlike the words of src/recordings, the texts stay as people write them. Pure. Plugin thread.

import type { SourceTrack } from "../../src/plugin-api/plugin.ts";
import { artistWordsOf, joinedNamesOf, titleWordsOf } from "../../src/recordings/recording-words.ts";
import { trimmedText } from "../reading/json.ts";

const TEXT_LENGTH_MAX = 300;
const BRACKETS = /[([（［【][^()[\]（）［］【】]{0,100}[)\]）］】]/g;
const FEATURING = /\s(?:feat|ft|featuring)(?:\.\s*|\s).*$/i;
/** What the node writes where a source has no title or artist. */
const UNKNOWN = /^unknown (?:artist|title)$/i;
/** Identifiers of the speech plugin, whose tracks may have the link of a web page. */
const SPOKEN = /^(?:speak:|f?tts:\/\/)/i;
const SEPARATOR = /\s+[-–—|]\s+/;

/** What to ask for. */
export interface WantedSong {
  readonly title: string;
  /** One name, with or without commas (`Tyler, The Creator`), or several. */
  readonly artist: string;
  /** The artist up to the first comma: the first of several names, or a part of one. */
  readonly firstName: string;
  readonly album: string | undefined;
  /** Undefined: not known. */
  readonly lengthMs: number | undefined;
}

/** Undefined where the track names no song that others may know: a stream, a file of this machine, spoken text. */
export function wantedSong({ title, author = "", lengthMs, isStream, ...track }: SourceTrack): WantedSong | undefined {
  if (isStream === true || !isOfWeb(track) || SPOKEN.test(track.identifier)) return undefined;
  const parts = partsOf(title);
  const uploader = cleanedArtist(author);
  const own = parts.findIndex((part) => isNamed(part, uploader));
  // `Artist - Title`: the artist is the uploader, or else the first part.
  const artistIndex = Math.max(own, 0);
  const isSplit = parts.length > 1;
  const wanted = {
    title: isSplit ? parts.filter((_, index) => index !== artistIndex).join(" - ") : (parts[0] ?? ""),
    artist: isSplit ? (parts[artistIndex] ?? "") : uploader,
  };
  if ([wanted.title, wanted.artist].some((text) => text === "" || UNKNOWN.test(text))) return undefined;
  const album = trimmedText(track.fields?.albumName) ?? trimmedText(track.pluginInfo?.albumName);
  return { ...wanted, firstName: firstNameOf(wanted.artist), album: album?.slice(0, TEXT_LENGTH_MAX), lengthMs };
}

/** What has another `uri` than a web page is a file's path, or made here. */
function isOfWeb({ uri }: Pick<SourceTrack, "uri">): boolean {
  return !uri || /^https?:/i.test(uri);
}

/** The parts of a title between dashes and bars, without those that say nothing about the song. */
function partsOf(title: string): readonly string[] {
  const text = title.slice(0, TEXT_LENGTH_MAX).replaceAll(BRACKETS, (found) => (isEmpty(found) ? " " : found));
  const parts = text.split(SEPARATOR).map((part) => part.replace(FEATURING, "").replaceAll(/\s+/g, " ").trim());
  const telling = parts.filter((part) => part !== "" && !isEmpty(part));
  return telling.length > 0 ? telling : parts.slice(0, 1);
}

function cleanedArtist(author: string): string {
  const text = author
    .slice(0, TEXT_LENGTH_MAX)
    .replace(/\s+-\s+Topic$/i, "")
    .replace(/\s*(?:VEVO|Official)$/, "");
  return text.replace(FEATURING, "").trim();
}

function firstNameOf(artist: string): string {
  return artist.split(/\s*[,;]/).find((name) => name !== "") ?? artist;
}

/** "Official Video", "feat. somebody", "2011 Remaster". */
function isEmpty(text: string): boolean {
  return titleWordsOf(`x ${text}`).length === 1;
}

/** Both are the same artist: `Daft Punk` and `DaftPunkVEVO`. */
function isNamed(part: string, artist: string): boolean {
  const names = joinedNamesOf(artist);
  if (joinedNamesOf(part).some((name) => names.includes(name))) return true;
  const words = artistWordsOf(firstNameOf(artist));
  return words.length > 0 && artistWordsOf(part).every((word) => words.includes(word));
}
