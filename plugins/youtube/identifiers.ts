// Parses YouTube identifiers by the rules of Lavalink's youtube-source, without any request. Plugin thread.

import { parsedLink, queryOf } from "./links.ts";
import type { YoutubeOptions } from "./manifest.ts";

export type ParsedIdentifier =
  | { readonly kind: "search"; readonly of: "videos" | "music"; readonly text: string }
  | { readonly kind: "video"; readonly videoId: string }
  | { readonly kind: "playlist"; readonly playlistId: string; readonly selectedId?: string | undefined }
  | { readonly kind: "mix"; readonly playlistId: string; readonly selectedId?: string | undefined }
  /** An address that redirects to another one. */
  | { readonly kind: "redirect"; readonly url: string }
  /** It is ours, and nothing. */
  | { readonly kind: "nothing" };

type Allowed = Pick<YoutubeOptions, "allowSearch" | "allowDirectVideoIds" | "allowDirectPlaylistIds">;

const VIDEO_ID = /^[\w-]{11}$/;
const PLAYLIST_ID = /^[\w-]{2,200}$/;
/** Lists that only their logged-in owner can see. */
const PRIVATE_LIST = /^(?:LL|WL|LM)/;
/** Words in `/embed/…` that look like ids. */
const EMBED_WORDS = new Set(["videoseries", "live_stream"]);
const MAIN_HOST = /^(?:(?:www|m|music)\.)?youtube\.com$/;
const SHORT_HOST = /^(?:www\.)?youtu\.be$/;

export function isVideoId(text: string): boolean {
  return VIDEO_ID.test(text);
}

/** Undefined: not YouTube's. */
export function readIdentifier(identifier: string, allowed: Allowed): ParsedIdentifier | undefined {
  const text = identifier.trim();
  if (text.startsWith("ytsearch:")) return searchFor("videos", text.slice("ytsearch:".length), allowed);
  if (text.startsWith("ytmsearch:")) return searchFor("music", text.slice("ytmsearch:".length), allowed);
  if (VIDEO_ID.test(text)) return allowed.allowDirectVideoIds ? { kind: "video", videoId: text } : undefined;
  if (/^(?:PL|UU)/.test(text) && PLAYLIST_ID.test(text)) {
    return allowed.allowDirectPlaylistIds ? { kind: "playlist", playlistId: text } : undefined;
  }
  return readLink(text);
}

function searchFor(of: "videos" | "music", text: string, { allowSearch }: Allowed): ParsedIdentifier | undefined {
  if (!allowSearch) return undefined;
  const query = text.trim();
  return query === "" ? { kind: "nothing" } : { kind: "search", of, text: query };
}

function readLink(text: string): ParsedIdentifier | undefined {
  const link = parsedLink(text);
  if (link === undefined) return undefined;
  const { host, path } = link;
  if (SHORT_HOST.test(host)) return videoAt(/^\/([^/]+)/.exec(path)?.[1]);
  if (!MAIN_HOST.test(host)) return undefined;
  const query = queryOf(link.query);
  const playlistId = query.get("list");
  if (path === "/watch") return readWatch(query.get("v"), playlistId);
  if (path === "/playlist") return playlistId === undefined ? undefined : readList(playlistId);
  if (path === "/watch_videos") {
    return query.has("video_ids") ? { kind: "redirect", url: `https://${host}${path}${link.query}` } : undefined;
  }
  return videoAt(/^\/(?:live|embed|shorts)\/([^/]+)/.exec(path)?.[1]);
}

function videoAt(word: string | undefined): ParsedIdentifier | undefined {
  if (word === undefined || EMBED_WORDS.has(word)) return undefined;
  const videoId = word.slice(0, 11);
  return VIDEO_ID.test(videoId) ? { kind: "video", videoId } : { kind: "nothing" };
}

function readWatch(word: string | undefined, playlistId: string | undefined): ParsedIdentifier | undefined {
  if (word === undefined) return undefined;
  const videoId = word.slice(0, 11);
  if (!VIDEO_ID.test(videoId)) return { kind: "nothing" };
  if (playlistId === undefined || PRIVATE_LIST.test(playlistId) || !PLAYLIST_ID.test(playlistId)) {
    return { kind: "video", videoId };
  }
  return { kind: playlistId.startsWith("RD") ? "mix" : "playlist", playlistId, selectedId: videoId };
}

function readList(playlistId: string): ParsedIdentifier {
  if (!PLAYLIST_ID.test(playlistId)) return { kind: "nothing" };
  if (!playlistId.startsWith("RD")) return { kind: "playlist", playlistId };
  const seed = playlistId.slice(2);
  return { kind: "mix", playlistId, selectedId: VIDEO_ID.test(seed) ? seed : undefined };
}
