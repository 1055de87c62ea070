// Loads HLS playlists: directly, again after changes, through a master playlist, and from the link of a plugin's track.
// Part of segment-list.ts. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { Logger } from "../../../log/log.ts";
import { BAN_STATUS } from "../../../network/site-refusals.ts";
import type { HttpClient } from "../../input/http-client.ts";
import { type Downloaded, download, downloadIfChanged } from "../../input/http-download.ts";
import { isWorthRetrying, refusalStatusOf, refusedAgainError } from "../../input/http-errors.ts";
import type { Validator } from "../../input/http-headers.ts";
import type { RequestPace } from "../../input/request-pace.ts";
import type { RetryLimits } from "../../input/retry-budget.ts";
import { InputReplacedError, type TrackLink } from "../../input/track-link.ts";
import { type HlsMaster, readHlsPlaylist } from "./hls-playlist.ts";
import type { MediaPlaylist } from "./media-playlist.ts";
import { chooseVariants } from "./variant-choice.ts";

export interface PlaylistAccess {
  readonly client: HttpClient;
  readonly pace: RequestPace;
  readonly logger: Logger;
  /** See DownloadOptions. */
  readonly retryLimits?: RetryLimits | undefined;
  /** The plugin's track link: its headers are sent with every request, which uses the egress the link is valid for. */
  readonly link?: TrackLink | undefined;
  /** Without a link: the address that redirected to the playlist's, which may expire. */
  readonly originUrl?: URL | undefined;
}

export interface LoadedPlaylist<Playlist = MediaPlaylist> {
  readonly playlist: Playlist;
  /** The requested address, and the one it was found at after redirects. */
  readonly requestedUrl: URL;
  readonly url: URL;
  readonly validator: Validator;
}

interface StreamLoading {
  readonly signal: AbortSignal;
  /** False: a refusal may be due to the link, and a renewed one may fix it. */
  readonly isRenewed: boolean;
}

/** A hundred thousand segments at 80 bytes each, or ten thousand with signed addresses. */
const PLAYLIST_BYTES_MAX = 8 * 1024 * 1024;
const NO_RETRIES: RetryLimits = { triesMax: 0 };
/** How many streams of a master playlist are tried. */
const VARIANTS_TRIED_MAX = 3;
/** Error codes of single answers that are no playlist, or none that can be used. */
export const BAD_ANSWER_CODES: readonly string[] = [
  "hls-playlist-invalid",
  "input-answer-invalid",
  "input-http-status",
  "input-redirects",
];
/** Error codes which show that a link no longer leads to an HLS playlist. */
const NO_PLAYLIST_CODES: readonly string[] = ["hls-playlist-invalid", "input-answer-invalid"];

/** Loads the playlist at `url`; for a master playlist, the playlist of the best suited stream that can be loaded. */
export async function loadStream(
  url: URL,
  access: PlaylistAccess,
  { signal, isRenewed }: StreamLoading,
): Promise<LoadedPlaylist> {
  const outer = await loadPlaylist(url, access, signal);
  if (isMedia(outer)) return outer;
  const candidates = outer.playlist.kind === "master" ? chooseVariants(outer.playlist) : [];
  let failure: unknown;
  for (const candidate of candidates.slice(0, VARIANTS_TRIED_MAX)) {
    try {
      const inner = await loadPlaylist(candidate, access, signal);
      if (isMedia(inner)) return inner;
      failure = new NodeError("hls-playlist-invalid", "reading an HLS playlist: a master playlist within another");
    } catch (error) {
      signal.throwIfAborted();
      if (!isRenewed && refusalStatusOf(error) !== undefined) throw error;
      failure = error;
    }
  }
  throw failure;
}

/**
 * Loads the playlist that a link leads to, and renews the link once if it is refused.
 * @throws NodeError "link-refused"; InputReplacedError when it leads to something else
 */
export async function loadLinked(
  link: TrackLink,
  access: PlaylistAccess,
  { signal, isRenewed }: StreamLoading,
): Promise<LoadedPlaylist> {
  for (let isLast = isRenewed; ; isLast = true) {
    const { url } = link.destination;
    try {
      return await loadStream(url, access, { signal, isRenewed: isLast });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NodeError && NO_PLAYLIST_CODES.includes(error.code)) throw new InputReplacedError(link);
      const status = refusalStatusOf(error);
      if (status === undefined) throw error;
      if (isLast && status !== BAN_STATUS) throw refusedAgainError(url, status);
      await link.renewRefused(status, signal);
    }
  }
}

interface Reloading {
  readonly requestedUrl: URL;
  readonly signal: AbortSignal;
  readonly known: Validator;
  /** The playlist as it was loaded before. */
  readonly before: MediaPlaylist;
}

/** Reloads the playlist that was loaded from `url` before; undefined: it has not changed. */
export async function loadAgain(
  url: URL,
  { client, pace, link }: PlaylistAccess,
  { requestedUrl, signal, known, before }: Reloading,
): Promise<LoadedPlaylist | undefined> {
  const { headers, egress } = link?.destination ?? {};
  const downloaded = await downloadIfChanged(url, {
    client,
    pace,
    headers,
    egress,
    headersOf: requestedUrl,
    sizeBytesMax: PLAYLIST_BYTES_MAX,
    signal,
    known,
  });
  const loaded = downloaded && (await read(downloaded, requestedUrl, pace));
  if (loaded === undefined) return undefined;
  if (!isMedia(loaded)) {
    throw new NodeError(
      "hls-playlist-invalid",
      "reading an HLS playlist: it changed between master and media playlist",
    );
  }
  const { playlist } = loaded;
  if (before.endsInNewline && !playlist.endsInNewline && !playlist.isEnded) {
    playlist.close();
    throw new NodeError("hls-playlist-invalid", "reading an HLS playlist: it is cut off in the middle of a line");
  }
  return loaded;
}

/** An answer that is no playlist, or not all of one, may be a passing one: it is asked for once more. */
async function loadPlaylist(
  url: URL,
  access: PlaylistAccess,
  signal: AbortSignal,
): Promise<LoadedPlaylist<HlsMaster | MediaPlaylist>> {
  let first: LoadedPlaylist<HlsMaster | MediaPlaylist> | undefined;
  try {
    first = await loadOnce(url, access, signal);
    if (isWhole(first.playlist)) return first;
  } catch (error) {
    const isBad = error instanceof NodeError && BAD_ANSWER_CODES.includes(error.code);
    // Statuses that pass have been waited for.
    if (!isBad || refusalStatusOf(error) !== undefined || isWorthRetrying(error)) throw error;
  }
  const usable = first !== undefined && isUsable(first.playlist) ? first : undefined;
  try {
    signal.throwIfAborted();
    const second = await loadOnce(url, usable === undefined ? access : { ...access, retryLimits: NO_RETRIES }, signal);
    const best = isUsable(second.playlist) ? second : (usable ?? second);
    close(best === second ? first : second);
    return best;
  } catch (error) {
    if (usable !== undefined && !signal.aborted) return usable;
    close(first);
    throw error;
  }
}

function close(loaded: LoadedPlaylist<HlsMaster | MediaPlaylist> | undefined): void {
  if (loaded?.playlist.kind === "media") loaded.playlist.close();
}

/** False when it may have been cut off, or is not filled yet. */
function isWhole(playlist: HlsMaster | MediaPlaylist): boolean {
  if (playlist.kind === "media" && playlist.isEnded) return true;
  return playlist.endsInNewline && isUsable(playlist);
}

function isUsable(playlist: HlsMaster | MediaPlaylist): boolean {
  return playlist.kind === "master" || playlist.segmentCount > 0;
}

async function loadOnce(
  url: URL,
  { client, pace, link, retryLimits }: PlaylistAccess,
  signal: AbortSignal,
): Promise<LoadedPlaylist<HlsMaster | MediaPlaylist>> {
  const { headers, egress } = link?.destination ?? {};
  const options = { client, pace, headers, egress, signal, retryLimits };
  const loaded = await download(url, { ...options, sizeBytesMax: PLAYLIST_BYTES_MAX });
  return read(loaded, url, pace);
}

async function read(
  loaded: Downloaded,
  requestedUrl: URL,
  { budget }: RequestPace,
): Promise<LoadedPlaylist<HlsMaster | MediaPlaylist>> {
  const { data, url, validator } = loaded;
  return { playlist: await readHlsPlaylist(data, url, budget), requestedUrl, url, validator };
}

function isMedia(loaded: LoadedPlaylist<HlsMaster | MediaPlaylist>): loaded is LoadedPlaylist {
  return loaded.playlist.kind === "media";
}
