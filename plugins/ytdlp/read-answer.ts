// Converts yt-dlp's answer to tracks: one video, a playlist (its entries mostly short), a search. The output is
// untrusted, and each entry is checked separately. Plugin thread.

import { type SourceAnswer, SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { addressOf } from "../reading/address.ts";
import { type Members, numberOf, objectsOf } from "../reading/json.ts";
import { textOf, webAddressOf } from "./read-json.ts";

/** Lists within lists, as a channel has them. */
const DEPTH_MAX = 3;
/** Entries that are read, valid or not. */
const ENTRIES_MAX = 20_000;
const THUMBNAILS_MAX = 100;
const IDENTIFIER_LENGTH_MAX = 500;
const NAME_LENGTH_MAX = 500;
/** YouTube's titles of videos that cannot be viewed. */
const HIDDEN_TITLE = /^\[(?:private|deleted) video\]$/i;
const ISRC = /^[A-Z]{2}[A-Z0-9]{3}\d{7}$/;

interface AnswerOptions {
  /** The text that yt-dlp was given. */
  readonly input: string;
  readonly isSearch: boolean;
  readonly countMax: number;
}

/** Throws SourceError where the whole is nothing to play. */
export function readAnswer(answer: Members, options: AnswerOptions): SourceAnswer {
  if (!isPlaylist(answer)) return { kind: "track", track: singleTrack(answer, options.input) };
  const tracks = entriesOf(answer, options.countMax).flatMap((entry) => trackOf(entry) ?? []);
  if (tracks.length === 0) return { kind: "empty" };
  if (options.isSearch) return { kind: "search", tracks };
  return {
    kind: "playlist",
    name: textOf(answer.title, NAME_LENGTH_MAX) ?? "Unknown playlist",
    tracks,
    selectedTrack: selectedIn(tracks, options.input),
    pluginInfo: {
      type: "playlist",
      url: webAddressOf(answer.webpage_url) ?? options.input,
      artworkUrl: artworkOf(answer) ?? null,
      author: textOf(answer.uploader, NAME_LENGTH_MAX) ?? textOf(answer.channel, NAME_LENGTH_MAX) ?? null,
      totalTracks: numberOf(answer.playlist_count) ?? tracks.length,
    },
  };
}

export function isPlaylist({ _type: type, entries }: Members): boolean {
  return type === "playlist" || type === "multi_video" || Array.isArray(entries);
}

/** The entries of a list and of the lists in it, in their order. */
export function entriesOf(list: Members, countMax: number): readonly Members[] {
  const found: Members[] = [];
  let leftCount = ENTRIES_MAX;
  const walk = ({ entries }: Members, depth: number): void => {
    for (const entry of objectsOf(entries, leftCount)) {
      leftCount -= 1;
      if (leftCount < 0 || found.length >= countMax) return;
      if (!isPlaylist(entry)) found.push(entry);
      else if (depth < DEPTH_MAX) walk(entry, depth + 1);
    }
  };
  walk(list, 1);
  return found;
}

/** The track identifier of an entry. */
export function identifierOf(entry: Members): string | undefined {
  return textOf(entry.id, IDENTIFIER_LENGTH_MAX) ?? pageOf(entry)?.slice(0, IDENTIFIER_LENGTH_MAX);
}

/** The page where people watch it; for a short entry also the link that leads there. */
export function pageOf(entry: Members): string | undefined {
  return webAddressOf(entry.webpage_url) ?? webAddressOf(entry.original_url) ?? webAddressOf(entry.url);
}

function singleTrack(video: Members, input: string): SourceTrack {
  if (video.live_status === "is_upcoming") throw new SourceError("unavailable", "this stream has not started yet");
  const isNamed = textOf(video.id) !== undefined || textOf(video.title) !== undefined;
  const track = trackOf({ ...video, webpage_url: webAddressOf(video.webpage_url) ?? input });
  if (track !== undefined && isNamed) return track;
  throw new SourceError("changed", "yt-dlp answered neither a video nor a list; update it");
}

/** Undefined: nothing that could be played. */
function trackOf(entry: Members): SourceTrack | undefined {
  const uri = pageOf(entry);
  const identifier = identifierOf(entry);
  const title = textOf(entry.title, NAME_LENGTH_MAX);
  if (uri === undefined || identifier === undefined || entry.live_status === "is_upcoming") return undefined;
  if (title !== undefined && HIDDEN_TITLE.test(title)) return undefined;
  const song = textOf(entry.track, NAME_LENGTH_MAX);
  const artist = textOf(entry.artist, NAME_LENGTH_MAX);
  const isSong = song !== undefined && artist !== undefined;
  const uploader = textOf(entry.uploader, NAME_LENGTH_MAX) ?? textOf(entry.channel, NAME_LENGTH_MAX);
  const isStream = entry.is_live === true || entry.live_status === "is_live";
  return {
    identifier,
    title: (isSong ? song : title) ?? titleFrom(uri),
    author: isSong ? artist : (uploader ?? artist ?? textOf(entry.creator, NAME_LENGTH_MAX)),
    lengthMs: isStream ? undefined : lengthMsOf(entry),
    isStream,
    uri,
    artworkUrl: artworkOf(entry),
    isrc: isrcOf(entry),
  };
}

function lengthMsOf({ duration }: Members): number | undefined {
  const seconds = numberOf(duration);
  return seconds === undefined || seconds <= 0 ? undefined : Math.round(seconds * 1000);
}

/** The largest picture: yt-dlp puts the best last. */
function artworkOf({ thumbnail, thumbnails }: Members): string | undefined {
  const urls = objectsOf(thumbnails, THUMBNAILS_MAX).flatMap(({ url }) => webAddressOf(url) ?? []);
  return webAddressOf(thumbnail) ?? urls.at(-1);
}

function isrcOf({ isrc }: Members): string | undefined {
  const text = textOf(isrc)?.replaceAll("-", "").toUpperCase();
  return text !== undefined && ISRC.test(text) ? text : undefined;
}

/** Short entries of some sites have nothing but a link, which often says what it is. */
function titleFrom(uri: string): string {
  const { pathname, hostname } = new URL(uri);
  const words = (pathname.split("/").findLast((part) => part !== "") ?? "").replaceAll(/[-_+]+|%20/g, " ").trim();
  return words === "" ? hostname : words.slice(0, NAME_LENGTH_MAX);
}

/** `watch?v=…&list=…` is a list, and one of it was meant. */
function selectedIn(tracks: readonly SourceTrack[], input: string): number {
  const sought = addressOf(input)?.searchParams.get("v") ?? null;
  return sought === null ? -1 : tracks.findIndex(({ identifier }) => identifier === sought);
}
