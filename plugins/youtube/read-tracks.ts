// Converts one video of a list, in any of YouTube's forms, to a track. An invalid entry is left out of its list. Plugin
// thread.

import type { SourceTrack } from "../../src/plugin-api/plugin.ts";
import { isVideoId } from "./identifiers.ts";
import { findMember, findMembers, label, list, member, number, string } from "./read-json.ts";

/** Where an entry stands decides what it must have. */
type ListKind = "search" | "playlist" | "mix";

const VIDEO_MEMBERS: ReadonlySet<string> = new Set([
  ...["videoRenderer", "compactVideoRenderer", "videoWithContextRenderer", "playlistVideoRenderer"],
  ...["playlistPanelVideoRenderer", "lockupViewModel", "musicResponsiveListItemRenderer"],
]);
const MIX_MEMBERS: ReadonlySet<string> = new Set(["playlistPanelVideoRenderer"]);
/** Advertisements, and what YouTube thinks one might like too. */
export const ASIDE: ReadonlySet<string> = new Set([
  ...["shelfRenderer", "reelShelfRenderer", "richShelfRenderer", "horizontalCardListRenderer", "adSlotRenderer"],
  ...["secondaryContents", "secondarySearchContainerRenderer", "gridShelfViewModel", "engagementPanels"],
]);
const DURATION = /^\d{1,4}(?:[:.]\d{1,2}){1,3}$/;

interface Entries {
  /** Number of all entries, including invalid ones. */
  readonly count: number;
  readonly tracks: readonly SourceTrack[];
}

/** All entries below `tree`, at most `countMax`. `owner`: the author of entries that name none. */
export function readEntries(tree: unknown, kind: ListKind, countMax: number, owner?: string): Entries {
  const names = kind === "mix" ? MIX_MEMBERS : VIDEO_MEMBERS;
  const found = findMembers(tree, names, { except: ASIDE, countMax });
  const tracks = found.flatMap(({ name, value }) => readEntry(name, value, kind) ?? []);
  return { count: found.length, tracks: tracks.map((track) => ({ ...track, author: track.author ?? owner })) };
}

/** Adds the members common to all tracks of this source. */
export function toTrack(found: {
  readonly videoId: string;
  readonly title: string;
  readonly author: string | undefined;
  readonly lengthMs: number | undefined;
  readonly isStream?: boolean;
  readonly artworkUrl?: string | undefined;
}): SourceTrack {
  const { videoId, title, author, lengthMs, isStream = lengthMs === undefined, artworkUrl } = found;
  return {
    identifier: videoId,
    title,
    author,
    lengthMs,
    isStream,
    uri: `https://www.youtube.com/watch?v=${videoId}`,
    artworkUrl: artworkUrl ?? `https://i.ytimg.com/vi/${videoId}/mqdefault.jpg`,
  };
}

/** The largest picture where it is one of the good ones. */
export function artworkOf(thumbnails: readonly unknown[]): string | undefined {
  const url = string(thumbnails.at(-1), "url");
  return url?.includes("maxresdefault") ? url : undefined;
}

/** `1:02:03` and `3.33` in milliseconds. */
function durationOf(text: string | undefined): number | undefined {
  if (text === undefined || !DURATION.test(text)) return undefined;
  const seconds = text.split(/[:.]/).reduce((sum, part) => sum * 60 + Number(part), 0);
  return seconds * 1000;
}

function readEntry(name: string, entry: unknown, kind: ListKind): SourceTrack | undefined {
  if (name === "musicResponsiveListItemRenderer") return readMusicEntry(entry);
  if (name === "lockupViewModel") return readLockup(entry);
  return readRenderer(name, entry, kind);
}

function readRenderer(name: string, entry: unknown, kind: ListKind): SourceTrack | undefined {
  const videoId = string(entry, "videoId");
  const title = label(entry, "title") ?? label(entry, "headline");
  if (videoId === undefined || !isVideoId(videoId) || title === undefined) return undefined;
  if (member(entry, "unplayableText") !== undefined) return undefined;
  if (name === "playlistVideoRenderer" && member(entry, "isPlayable") !== true) return undefined;
  const author = label(entry, "longBylineText") ?? label(entry, "shortBylineText") ?? label(entry, "ownerText");
  const seconds = number(entry, "lengthSeconds");
  const lengthMs = seconds === undefined ? durationOf(label(entry, "lengthText")) : seconds * 1000;
  // A live stream; searches leave them out, as Lavalink's do.
  if (kind === "search" && lengthMs === undefined) return undefined;
  return toTrack({ videoId, title, author, lengthMs, artworkUrl: artworkOf(list(entry, "thumbnail", "thumbnails")) });
}

function readLockup(entry: unknown): SourceTrack | undefined {
  const videoId = string(entry, "contentId");
  if (string(entry, "contentType") !== "LOCKUP_CONTENT_TYPE_VIDEO" || !isVideoId(videoId ?? "")) return undefined;
  const view = member(entry, "metadata", "lockupMetadataViewModel");
  const title = label(view, "title");
  const badges = findMembers(member(entry, "contentImage"), new Set(["thumbnailBadgeViewModel"]), { countMax: 20 });
  const isLive = badges.some(({ value }) => string(value, "badgeStyle")?.endsWith("_LIVE"));
  const lengthMs = badges.map(({ value }) => durationOf(label(value, "text"))).find((length) => length !== undefined);
  // Neither live nor over: it has not started yet.
  if (videoId === undefined || title === undefined || isLive || lengthMs === undefined) return undefined;
  const thumbnails = list(entry, "contentImage", "thumbnailViewModel", "image", "sources");
  return toTrack({ videoId, title, author: lockupAuthor(view), lengthMs, artworkUrl: artworkOf(thumbnails) });
}

/**
 * The first part that links to a channel; with several artists their names are in a dialogue. A channel without a link
 * has a row of its own above those with views and age, which are all that there is in the lists of a channel.
 */
export function lockupAuthor(view: unknown): string | undefined {
  const rows = findMembers(member(view, "metadata"), new Set(["metadataParts"]), { countMax: 10 })
    .map(({ value }) => list(value).slice(0, 20))
    .filter((parts) => parts.length > 0);
  const channel = rows.flat().find((part) => findMember(part, "browseId") !== undefined);
  if (channel !== undefined) return label(channel, "text");
  const dialogue = label(findMember(member(view, "image"), "listItemViewModel"), "title");
  const [first = []] = rows;
  return dialogue ?? (rows.length > 1 && first.length === 1 ? label(first[0], "text") : undefined);
}

function readMusicEntry(entry: unknown): SourceTrack | undefined {
  const columns = list(entry, "flexColumns").map((column) =>
    list(column, "musicResponsiveListItemFlexColumnRenderer", "text", "runs"),
  );
  const videoId =
    string(entry, "playlistItemData", "videoId") ??
    string(columns[0]?.[0], "navigationEndpoint", "watchEndpoint", "videoId");
  const title = string(columns[0]?.[0], "text");
  const lengthMs = musicLength(entry, columns.slice(1).flat());
  if (videoId === undefined || !isVideoId(videoId) || title === undefined || lengthMs === undefined) return undefined;
  const artworkUrl = musicArtwork(list(entry, "thumbnail", "musicThumbnailRenderer", "thumbnail", "thumbnails"));
  return toTrack({ videoId, title, author: string(columns[1]?.[0], "text"), lengthMs, artworkUrl });
}

/** The largest picture. The server of covers makes any size, which its addresses name; others have a query instead. */
function musicArtwork(thumbnails: readonly unknown[]): string | undefined {
  const url = string(thumbnails.at(-1), "url");
  if (url === undefined || !/^https:\/\/[\w.-]+\.(?:googleusercontent|ggpht)\.com\//.test(url)) return url;
  return url.replace(/=[ws]\d[\w-]*$/, "=w1000-h1000");
}

/** The last text that looks like a duration and has no link: views and plays may follow it. */
function musicLength(entry: unknown, runs: readonly unknown[]): number | undefined {
  const times = runs.filter((run) => member(run, "navigationEndpoint") === undefined);
  const last = times.findLast((run) => durationOf(string(run, "text")) !== undefined);
  const fixed = list(entry, "fixedColumns")[0];
  return durationOf(string(last, "text") ?? label(fixed, "musicResponsiveListItemFixedColumnRenderer", "text"));
}
