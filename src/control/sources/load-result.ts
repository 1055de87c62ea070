// The result of loading an identifier, and its JSON form (protocol-v4.md sections 3.4 and 3.5). Main thread; made by
// the track loader, answered by GET /v4/loadtracks.

import type { WireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Track, trackToJson } from "../../track/track.ts";
import type { TrackJson } from "../../track/track-info.ts";
import { isWritten, type WrittenTracks } from "../../track/written-tracks.ts";
import type { ExceptionJson, LoadResultJson, PlaylistJson } from "../protocol/load-result-json.ts";

/** Several tracks: written already where they were found on another thread. */
export type FoundTracks = readonly Track[] | WrittenTracks;

/** A playlist as a source found it; `name` and `pluginInfo` are sent unchanged. */
export interface Playlist {
  readonly name: string;
  /** Index of the selected track, -1 for none. */
  readonly selectedTrack: number;
  readonly pluginInfo: JsonObject;
  readonly tracks: FoundTracks;
}

/** The result of `TrackLoader.load`. A failure is a result too, so that clients get its cause. */
export type LoadResult =
  | { readonly kind: "track"; readonly track: Track }
  | { readonly kind: "playlist"; readonly playlist: Playlist }
  | { readonly kind: "search"; readonly tracks: FoundTracks }
  | { readonly kind: "empty" }
  | { readonly kind: "error"; readonly error: WireError };

/** The result in the protocol's form, without tracks that are written already: see `writtenTracksOf`. */
export function loadResultToJson(result: LoadResult): LoadResultJson {
  switch (result.kind) {
    case "track":
      return { loadType: "track", data: trackToJson(result.track) };
    case "playlist":
      return { loadType: "playlist", data: playlistToJson(result.playlist) };
    case "search":
      return { loadType: "search", data: tracksToJson(result.tracks) };
    case "empty":
      return { loadType: "empty", data: null };
    case "error":
      return { loadType: "error", data: exceptionToJson(result.error) };
  }
}

/** The tracks that belong into the empty list of `loadResultToJson`; undefined where it is complete. */
export function writtenTracksOf(result: LoadResult): WrittenTracks | undefined {
  if (result.kind !== "playlist" && result.kind !== "search") return undefined;
  const { tracks } = result.kind === "playlist" ? result.playlist : result;
  return isWritten(tracks) ? tracks : undefined;
}

/** How many tracks were found. */
export function trackCountOf(result: LoadResult): number {
  if (result.kind === "track") return 1;
  if (result.kind !== "playlist" && result.kind !== "search") return 0;
  const { tracks } = result.kind === "playlist" ? result.playlist : result;
  return isWritten(tracks) ? tracks.count : tracks.length;
}

/** Also the `exception` of a TrackExceptionEvent. */
export function exceptionToJson(error: WireError): ExceptionJson {
  const { message, severity, cause, causeStackTrace } = error;
  return { message, severity, cause, causeStackTrace };
}

function playlistToJson(playlist: Playlist): PlaylistJson {
  const { name, selectedTrack, pluginInfo, tracks } = playlist;
  return { info: { name, selectedTrack }, pluginInfo, tracks: tracksToJson(tracks) };
}

function tracksToJson(tracks: FoundTracks): readonly TrackJson[] {
  return isWritten(tracks) ? [] : tracks.map(trackToJson);
}

/** The track that was found. Throws `load-no-matches`, `load-not-a-track` or `load-failed` where it is not one. */
export function singleTrackOf(result: LoadResult): Track {
  switch (result.kind) {
    case "track":
      return result.track;
    case "empty":
      throw new NodeError("load-no-matches", "No matches found for identifier");
    case "playlist":
    case "search":
      throw new NodeError("load-not-a-track", "Cannot play a playlist or search result");
    case "error":
      // The published server stops after the first sentence; the reason is what people need.
      throw new NodeError("load-failed", `Something went wrong while looking up the track: ${result.error.message}`);
  }
}
