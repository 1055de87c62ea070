// Reads the page of a track or an album: all that is known of it stands as JSON in one attribute. Pure. Plugin thread.

import { SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { addressOf } from "../reading/address.ts";
import { listOf, type Members, membersOf, numberOf, trimmedText } from "../reading/json.ts";
import { parseTrackAddress } from "./links.ts";
import { attributeValues } from "./page-reader.ts";

/** Further tracks of an album are left out. */
const TRACKS_MAX = 5000;
const ART_ID_DIGITS = 10;

export interface Release {
  /** Title of the album; undefined for a single track. */
  readonly albumTitle: string | undefined;
  readonly title: string | undefined;
  readonly artist: string | undefined;
  readonly artworkUrl: string | null;
  /** The tracks that can be played. */
  readonly tracks: readonly ReleaseTrack[];
  /** Number of all tracks, including those that cannot be played. */
  readonly trackCount: number;
}

interface ReleaseTrack {
  readonly track: SourceTrack;
  /** Expires. */
  readonly streamUrl: string;
  /** Stays the same for the same audio. */
  readonly trackId: number | undefined;
}

/**
 * Reads the release from the page at `url`, whose host is used for the tracks' addresses. Throws a SourceError if the
 * page does not describe a release.
 */
export function readReleasePage(page: string, url: string): Release {
  const release = findRelease(page);
  if (release === undefined) {
    throw new SourceError("changed", `the page ${url} has no data-tralbum attribute with a release in it`);
  }
  const current = membersOf(release.current);
  const entries = listOf(release.trackinfo);
  const artist = trimmedText(release.artist);
  const artworkUrl = artworkOf(numberOf(release.art_id));
  const albumTitle = trimmedText(albumOf(page).album_title);
  const isSingleTrack = /^https?:\/\/[^/]+\/track\//.test(url);
  const shared = { artist, artworkUrl, url, albumTitle, isrc: isSingleTrack ? trimmedText(current.isrc) : undefined };
  return {
    title: trimmedText(current.title),
    artist,
    albumTitle,
    artworkUrl,
    trackCount: entries.length,
    tracks: entries.slice(0, TRACKS_MAX).flatMap((entry) => trackOf(membersOf(entry), shared) ?? []),
  };
}

/** Whether the page is that of a release: the page of an artist with a single release is one. */
export function hasRelease(page: string): boolean {
  return findRelease(page) !== undefined;
}

function findRelease(page: string): Members | undefined {
  const candidates = attributeValues(page, "data-tralbum").map((text) => membersOf(parsed(text)));
  return candidates.find(({ trackinfo }) => Array.isArray(trackinfo));
}

function albumOf(page: string): Members {
  return membersOf(parsed(attributeValues(page, "data-embed")[0] ?? ""));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Another attribute of that name, or a damaged page: the caller reports the missing part.
    return undefined;
  }
}

interface Shared {
  readonly artist: string | undefined;
  readonly artworkUrl: string | null;
  readonly url: string;
  readonly albumTitle: string | undefined;
  readonly isrc: string | undefined;
}

/** Undefined for tracks that are only sold, announced or removed: they cannot be played. */
function trackOf(entry: Members, { artist, artworkUrl, url, albumTitle, isrc }: Shared): ReleaseTrack | undefined {
  const title = trimmedText(entry.title);
  const streamUrl = streamOf(membersOf(entry.file)["mp3-128"]);
  const uri = parseTrackAddress(trimmedText(entry.title_link) ?? url, url);
  if (title === undefined || streamUrl === undefined || uri === undefined) return undefined;
  const seconds = numberOf(entry.duration) ?? 0;
  return {
    track: {
      identifier: uri,
      uri,
      title,
      artworkUrl,
      isrc: isrc ?? null,
      isStream: false,
      author: trimmedText(entry.artist) ?? artist,
      lengthMs: seconds > 0 ? Math.round(seconds * 1000) : undefined,
      pluginInfo: albumTitle === undefined ? {} : { albumName: albumTitle },
    },
    streamUrl,
    trackId: numberOf(entry.track_id),
  };
}

function streamOf(value: unknown): string | undefined {
  const text = trimmedText(value);
  const url = text?.startsWith("//") ? `https:${text}` : text;
  return url !== undefined && /^https?:\/\//i.test(url) && addressOf(url) !== undefined ? url : undefined;
}

/** The largest picture of that id; null: it is no id. */
export function artworkOf(artId: number | undefined): string | null {
  if (artId === undefined || !Number.isSafeInteger(artId) || artId <= 0) return null;
  return `https://f4.bcbits.com/img/a${String(artId).padStart(ART_ID_DIGITS, "0")}_1.png`;
}
