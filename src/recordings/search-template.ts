// Searches for one recording as operators write them: `ytsearch:%QUERY%`. Any thread; read from the configuration, and
// filled in by control/sources/mirror-search.ts.

import type { TrackInfo } from "../track/track-info.ts";
import { knownArtist, searchTextOf, signsOf } from "./recording-words.ts";

/** Characters of a template. */
export const TEMPLATE_LENGTH_MAX = 200;
/** Characters of a title, author or album in an identifier. */
const VALUE_LENGTH_MAX = 150;
/** A search prefix; what follows cannot change whose identifier it is. A link has none. */
const PREFIX = /^([a-z][\w-]{0,39}(?:\[[\d,]{1,20}\])?):(?!\/\/)/i;
/** A comma that another search follows: a prefix alone, or one that has something behind it. Others are part of one. */
const BETWEEN = /,(?=\s*(?:[a-z][\w-]{0,39}(?:\[[\d,]{1,20}\])?(?::|\s*(?:,|$))|,|$))/i;
const PLACEHOLDER = /%([a-z]+)%/gi;

/** The recording that a template is filled in with. */
export interface SearchedRecording {
  readonly info: Pick<TrackInfo, "title" | "author" | "isrc">;
  readonly album: string | undefined;
}

/** By the name of its placeholder. Undefined: the recording has no such value, and cannot be searched for by it. */
const VALUES: Readonly<Record<string, (recording: SearchedRecording) => string | undefined>> = {
  ISRC: ({ info }) => plainIsrc(info.isrc),
  QUERY: ({ info }) => searchTextOf(info) || undefined,
  TITLE: ({ info }) => plainValue(info.title) || signsOf(info.title) || undefined,
  AUTHOR: ({ info }) => plainValue(knownArtist(info.author)),
  ALBUM: ({ album = "" }) => plainValue(album),
};

export interface SearchTemplate {
  /** As written; for a prefix alone, `prefix:%QUERY%`. */
  readonly text: string;
  /** Without its colon. */
  readonly prefix: string;
  /** Searches for nothing but the code of the recording. */
  readonly isByIsrc: boolean;
}

/** The searches of a list in one text, which may have commas themselves: `scsearch[0,5]:%QUERY%, ytsearch`. */
export function splitTemplates(text: string): readonly string[] {
  return text
    .split(BETWEEN)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Undefined for what is no search prefix, alone or followed by placeholders. */
export function parseTemplate(written: string): SearchTemplate | undefined {
  const isBare = /^[a-z][\w-]{0,39}:?$/i.test(written);
  const text = isBare ? `${written.replace(/:$/, "")}:%QUERY%` : written;
  const prefix = PREFIX.exec(text)?.[1];
  const names = Array.from(text.matchAll(PLACEHOLDER), ([, name = ""]) => name.toUpperCase());
  const isValid =
    text.length <= TEMPLATE_LENGTH_MAX && !/\p{Cc}/u.test(text) && names.every((name) => Object.hasOwn(VALUES, name));
  if (prefix === undefined || names.length === 0 || !isValid) return undefined;
  return { text, prefix, isByIsrc: names.includes("ISRC") };
}

/** The identifier to load; undefined where the recording lacks a value. */
export function fillTemplate({ text }: SearchTemplate, recording: SearchedRecording): string | undefined {
  let isComplete = true;
  const identifier = text.replaceAll(PLACEHOLDER, (_all, name: string) => {
    const value = VALUES[name.toUpperCase()]?.(recording);
    isComplete &&= value !== undefined;
    return value ?? "";
  });
  return isComplete ? identifier.trim() : undefined;
}

/** ISO 3901, without dashes. Undefined for anything else. */
export function plainIsrc(isrc: string | null | undefined): string | undefined {
  const plain = isrc
    ?.slice(0, 40)
    .replaceAll(/[^a-z\d]/gi, "")
    .toUpperCase();
  return plain !== undefined && plain.length === 12 ? plain : undefined;
}

/** Words only: sites write anything into titles, and nothing of it may mean anything in an identifier. */
function plainValue(text: string): string {
  return text
    .slice(0, VALUE_LENGTH_MAX)
    .replaceAll(/[^\p{L}\p{N}\p{M}'’&.,!+-]+/gu, " ")
    .trim();
}
