// Reads answers with lists of videos: searches, pages of playlists, mixes. They are searched for known members instead
// of fixed paths, which differ by client and change often. Plugin thread.

import { SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { findMember, findMembers, label, list, member, string, wholeLabel } from "./read-json.ts";
import { readEntries } from "./read-tracks.ts";

const SEARCH_ENTRIES_MAX = 200;
/** Pages have a hundred. */
const PAGE_ENTRIES_MAX = 500;
const TOKEN_LENGTH_MAX = 8000;
const CONTINUATIONS: ReadonlySet<string> = new Set([
  ...["continuationItemRenderer", "continuationItemViewModel", "nextContinuationData"],
]);

interface SearchReading {
  readonly found: readonly SourceTrack[];
  /** Whether it is all; otherwise none were recognised. */
  readonly isSure: boolean;
}

export interface PageReading {
  readonly name: string | undefined;
  /** The channel that the list is of. */
  readonly owner: string | undefined;
  /** Number of all entries, including those that cannot be played. */
  readonly count: number;
  readonly tracks: readonly SourceTrack[];
  /** Asks for the next page. */
  readonly token: string | undefined;
}

interface MixReading {
  readonly name: string | undefined;
  readonly tracks: readonly SourceTrack[];
}

/** Throws `changed` if the answer is not a search result. */
export function readSearch(answer: unknown): SearchReading {
  const contents = member(answer, "contents");
  if (typeof contents !== "object" || contents === null) {
    throw new SourceError("changed", "a search was answered without contents");
  }
  const shelf = findMember(contents, "musicShelfRenderer");
  const { tracks } = readEntries(shelf ?? contents, "search", SEARCH_ENTRIES_MAX);
  return { found: distinct(tracks), isSure: tracks.length > 0 || saysNothing(answer) };
}

/** Whether YouTube itself says that a search finds nothing. */
export function saysNothing(answer: unknown): boolean {
  const promo = findMember(member(answer, "contents"), "backgroundPromoRenderer", "noResultsRenderer");
  return string(answer, "estimatedResults") === "0" || promo !== undefined;
}

/**
 * Throws YouTube's error message, or `changed` if the answer is not a page of a playlist. `ownerBefore`: of the page before,
 * as only the first page names it; the author of entries that name none.
 */
export function readPlaylistPage(answer: unknown, ownerBefore?: string): PageReading {
  const alert = findMembers(member(answer, "alerts"), new Set(["alertRenderer"]), { countMax: 20 })
    .map(({ value }) => value)
    .find((value) => string(value, "type") === "ERROR");
  const alertText = wholeLabel("", alert, "text");
  if (alertText !== undefined) throw new SourceError("unavailable", alertText);
  const scope = scopeOf(answer);
  if (scope === undefined) throw new SourceError("changed", "a playlist was answered without contents");
  const owner = ownerOf(answer) ?? ownerBefore;
  const { count, tracks } = readEntries(scope, "playlist", PAGE_ENTRIES_MAX, owner);
  return { name: playlistName(answer), owner, count, tracks, token: tokenIn(scope) };
}

/** Throws `changed` if the answer is not a mix. */
export function readMix(answer: unknown): MixReading {
  const contents = member(answer, "contents");
  const names = new Set(["playlist", "playlistPanelRenderer"]);
  const panels = findMembers(contents, names, { countMax: 20 }).map(({ value }) => innermost(value));
  const panel = panels.find((value) => list(value, "contents").length > 0);
  if (panel === undefined) throw new SourceError("changed", "a mix was answered without a list");
  return { name: label(panel, "title"), tracks: readEntries(panel, "mix", PAGE_ENTRIES_MAX).tracks };
}

/** A playlist within `playlist`, as most clients have it. */
function innermost(panel: unknown): unknown {
  return member(panel, "playlist") ?? panel;
}

/** The part of the answer that contains the list: other parts have separate continuations. */
function scopeOf(answer: unknown): unknown {
  const more = list(answer, "onResponseReceivedActions").concat(list(answer, "onResponseReceivedEndpoints"));
  const appended = findMember(more, "continuationItems");
  if (appended !== undefined) return appended;
  const contents = member(answer, "continuationContents") ?? member(answer, "contents");
  return findMember(contents, "playlistVideoListRenderer", "musicPlaylistShelfRenderer") ?? contents;
}

function tokenIn(scope: unknown): string | undefined {
  const found = findMembers(scope, CONTINUATIONS, { countMax: 10 }).map(({ name, value }) => {
    if (name === "nextContinuationData") return string(value, "continuation");
    return string(findMembers(value, new Set(["token"]), { countMax: 1 })[0]?.value);
  });
  return found.find((token) => token !== undefined && token.length <= TOKEN_LENGTH_MAX);
}

function playlistName(answer: unknown): string | undefined {
  const header = member(answer, "header");
  return (
    label(answer, "metadata", "playlistMetadataRenderer", "title") ??
    label(header, "playlistHeaderRenderer", "title") ??
    label(header, "pageHeaderRenderer", "pageTitle") ??
    label(findMember(answer, "musicDetailHeaderRenderer", "musicResponsiveHeaderRenderer"), "title")
  );
}

/** Where each client and kind of list names its channel; some write "by" before it. */
function ownerOf(answer: unknown): string | undefined {
  const header = member(answer, "header");
  const owner =
    label(header, "playlistHeaderRenderer", "ownerText") ??
    label(findMember(member(answer, "sidebar"), "videoOwnerRenderer"), "title") ??
    label(answer, "metadata", "channelMetadataRenderer", "title") ??
    label(header, "c4TabbedHeaderRenderer", "title") ??
    label(findMember(member(header, "pageHeaderRenderer"), "avatarStackViewModel"), "text") ??
    label(findMember(answer, "musicResponsiveHeaderRenderer"), "straplineTextOne");
  return owner?.replace(/^by /, "");
}

function distinct(tracks: readonly SourceTrack[]): SourceTrack[] {
  const seen = new Set<string>();
  return tracks.filter(({ identifier }) => !seen.has(identifier) && seen.add(identifier));
}
