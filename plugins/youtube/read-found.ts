// Reads the albums, playlists and channels that a search has found, in any of YouTube's forms, and the suggestions of its
// search field. Plugin thread.

import { type SearchList, SourceError } from "../../src/plugin-api/plugin.ts";
import { findMember, findMembers, label, list, member, string } from "./read-json.ts";
import { saysNothing } from "./read-lists.ts";
import { ASIDE, lockupAuthor } from "./read-tracks.ts";

const ENTRIES_MAX = 100;
const SUGGESTIONS_MAX = 50;
const SUGGESTION_LENGTH_MAX = 500;
const BADGES_MAX = 20;
const MEMBERS: ReadonlySet<string> = new Set([
  ...["playlistRenderer", "compactPlaylistRenderer", "channelRenderer", "compactChannelRenderer", "lockupViewModel"],
]);
const PLAYLIST_ID = /^[\w-]{2,200}$/;
const CHANNEL_ID = /^UC[\w-]{22}$/;
const LOCKUPS: Readonly<Record<string, keyof FoundLists>> = {
  LOCKUP_CONTENT_TYPE_ALBUM: "albums",
  LOCKUP_CONTENT_TYPE_CHANNEL: "artists",
  LOCKUP_CONTENT_TYPE_PLAYLIST: "playlists",
  LOCKUP_CONTENT_TYPE_PODCAST: "playlists",
};

export interface FoundLists {
  readonly albums: readonly SearchList[];
  /** Channels; their links are of all that they have uploaded. */
  readonly artists: readonly SearchList[];
  readonly playlists: readonly SearchList[];
}

interface Entry {
  readonly kind: keyof FoundLists;
  readonly list: SearchList;
}

/** `isSure`: whether it is all; otherwise nothing was recognised. Throws `changed` if the answer is not a search result. */
export function readFoundLists(answer: unknown): { readonly found: FoundLists; readonly isSure: boolean } {
  const contents = member(answer, "contents");
  if (typeof contents !== "object" || contents === null) {
    throw new SourceError("changed", "a search was answered without contents");
  }
  const found = findMembers(contents, MEMBERS, { except: ASIDE, countMax: ENTRIES_MAX });
  const entries = found.flatMap(({ name, value }) => readEntry(name, value) ?? []);
  const of = (kind: keyof FoundLists): SearchList[] =>
    entries.filter((entry) => entry.kind === kind).map((entry) => entry.list);
  return {
    found: { albums: of("albums"), artists: of("artists"), playlists: of("playlists") },
    isSure: entries.length > 0 || saysNothing(answer),
  };
}

/** Of a call with a JSON list, whose second member has the texts. Undefined: it has another form. */
export function readSuggestions(answer: string): readonly string[] | undefined {
  const text = answer.slice(answer.indexOf("["), answer.lastIndexOf("]") + 1);
  let entries: unknown;
  try {
    entries = member(JSON.parse(text), 1);
  } catch {
    return undefined;
  }
  if (!Array.isArray(entries)) return undefined;
  const texts = entries.flatMap((entry: unknown) => string(entry) ?? string(entry, 0) ?? []);
  return texts.filter(({ length }) => length <= SUGGESTION_LENGTH_MAX).slice(0, SUGGESTIONS_MAX);
}

function readEntry(name: string, entry: unknown): Entry | undefined {
  if (name === "lockupViewModel") return readLockup(entry);
  const title = label(entry, "title");
  const channelId = string(entry, "channelId");
  const artworkUrl = pictureIn(member(entry, "thumbnails") ?? member(entry, "thumbnail"));
  if (name.toLowerCase().endsWith("channelrenderer")) return channel(channelId, title, artworkUrl);
  const author = label(entry, "longBylineText") ?? label(entry, "shortBylineText");
  const videoCount = member(entry, "videoCount");
  const count =
    typeof videoCount === "number"
      ? String(videoCount)
      : (string(videoCount) ?? label(entry, "videoCountShortText") ?? label(entry, "videoCountText"));
  return playlist("playlists", string(entry, "playlistId"), { title, author, artworkUrl, count });
}

function readLockup(entry: unknown): Entry | undefined {
  const kind = LOCKUPS[string(entry, "contentType") ?? ""];
  const id = string(entry, "contentId");
  const view = member(entry, "metadata", "lockupMetadataViewModel");
  const title = label(view, "title");
  const image = member(entry, "contentImage");
  const artworkUrl = pictureIn(image);
  if (kind === undefined) return undefined;
  if (kind === "artists") return channel(id, title, artworkUrl);
  const badges = findMembers(image, new Set(["thumbnailBadgeViewModel"]), { countMax: BADGES_MAX });
  const count = badges.map(({ value }) => label(value, "text")).find((text) => /^\d/.test(text ?? ""));
  return playlist(kind, id, { title, author: lockupAuthor(view), artworkUrl, count });
}

function channel(id: string | undefined, name: string | undefined, artworkUrl: string | undefined): Entry | undefined {
  if (id === undefined || !CHANNEL_ID.test(id) || name === undefined) return undefined;
  return { kind: "artists", list: { name, url: listAddress(`UU${id.slice("UC".length)}`), artworkUrl, author: name } };
}

function playlist(
  kind: "albums" | "playlists",
  id: string | undefined,
  {
    title: name,
    author,
    artworkUrl,
    count,
  }: Readonly<Record<"title" | "author" | "artworkUrl" | "count", string | undefined>>,
): Entry | undefined {
  if (id === undefined || !PLAYLIST_ID.test(id) || name === undefined) return undefined;
  return { kind, list: { name, url: listAddress(id), artworkUrl, author, totalTracks: totalIn(count) } };
}

/** Of `1,234 videos`; undefined for what is no whole number, such as `1.2K videos` and `100+`. */
function totalIn(count: string | undefined): number | undefined {
  const digits = count?.replaceAll(/(?<=\d)[.,\s](?=\d{3}(?!\d))/g, "").match(/^\d{1,6}(?=\s|$)/)?.[0];
  return digits === undefined ? undefined : Number(digits);
}

function listAddress(id: string): string {
  return `https://www.youtube.com/playlist?list=${id}`;
}

/** The largest one of the first list of pictures. */
function pictureIn(tree: unknown): string | undefined {
  const url = string(list(findMember(tree, "sources", "thumbnails")).at(-1), "url")?.replace(/^\/\//, "https://");
  return url !== undefined && /^https:\/\/[^\s"<>]{1,2048}$/.test(url) ? url : undefined;
}
