// The objects of v3 that differ from those of v4, made from the latter (protocol-v4.md section 2.11). Main thread; sent
// by the routes and messages beside this file.

import type { JsonObject } from "../../../lib/json.ts";
import type { TrackInfo, TrackJson } from "../../../track/track-info.ts";
import type { InfoJson } from "../../protocol/info-json.ts";
import type { ExceptionJson, LoadResultJson, PlaylistJson } from "../../protocol/load-result-json.ts";
import type { PlayerJson } from "../../protocol/player-json.ts";
import type { StatsJson } from "../../protocol/stats-json.ts";

/** The last release that spoke v3, whose protocol this is. */
const V3_RELEASE = { major: 3, minor: 7, patch: 13 };

type V3TrackInfo = Omit<TrackInfo, "artworkUrl" | "isrc">;

interface V3Track {
  readonly encoded: string;
  /** Equal to `encoded`. */
  readonly track: string;
  readonly info: V3TrackInfo;
}

interface V3LoadResult {
  readonly loadType: "TRACK_LOADED" | "PLAYLIST_LOADED" | "SEARCH_RESULT" | "NO_MATCHES" | "LOAD_FAILED";
  readonly playlistInfo: Partial<PlaylistJson["info"]>;
  readonly tracks: readonly V3Track[];
  readonly exception?: JsonObject;
}

export function v3Track({ encoded, info }: TrackJson): V3Track {
  return { encoded, track: encoded, info: v3TrackInfo(info) };
}

/**
 * A part of written tracks in v3 form. Times beyond 2^53, those of endless streams, become texts in between: the engine
 * reads and writes texts exactly, and many times faster than we do. No text can contain a name with bare quotes.
 */
export function v3WrittenPart(part: Uint8Array): string {
  const text = Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString();
  const quoted = text.replaceAll(/"(length|position)":(-?\d{16,})/g, '"$1":"$2"');
  const tracks = JSON.parse(`[${quoted}]`) as TrackJson[]; // that is what a part is, but for those times
  const written = JSON.stringify(tracks.map(v3Track)).slice(1, -1);
  return written.replaceAll(/"(length|position)":"(-?\d{16,})"/g, '"$1":$2');
}

/** GET decodetrack of v3 shows the information twice. */
export function v3DecodedTrack({ encoded, info }: TrackJson): object {
  return { encoded, info: v3TrackInfo(info), ...v3TrackInfo(info) };
}

export function v3Player({ guildId, track, volume, paused, state, voice, filters }: PlayerJson): object {
  const { token, endpoint, sessionId } = voice;
  const { connected, ping } = state;
  return {
    guildId,
    track: track && v3Track(track),
    volume,
    paused,
    voice: { token, endpoint, sessionId, connected, ping },
    filters: v3Filters(filters),
  };
}

/** Plugin filters stand among the others. */
function v3Filters({ pluginFilters, ...filters }: PlayerJson["filters"]): object {
  return typeof pluginFilters === "object" ? { ...filters, ...pluginFilters } : filters;
}

export function v3LoadResult(result: LoadResultJson): V3LoadResult {
  const none = { playlistInfo: {}, tracks: [] };
  switch (result.loadType) {
    case "track":
      return { ...none, loadType: "TRACK_LOADED", tracks: [v3Track(result.data)] };
    case "playlist":
      return { loadType: "PLAYLIST_LOADED", playlistInfo: result.data.info, tracks: result.data.tracks.map(v3Track) };
    case "search":
      return { ...none, loadType: "SEARCH_RESULT", tracks: result.data.map(v3Track) };
    case "empty":
      return { ...none, loadType: "NO_MATCHES" };
    case "error":
      return { ...none, loadType: "LOAD_FAILED", exception: v3Exception(result.data) };
  }
}

export function v3Exception({ message, severity, cause }: ExceptionJson): JsonObject {
  return { message, severity: severity.toUpperCase(), cause };
}

export function v3Info(info: InfoJson): object {
  const { semver, preRelease } = info.version;
  return { ...info, version: { semver, ...V3_RELEASE, preRelease, build: null } };
}

export function v3Stats({ frameStats, ...stats }: StatsJson): object {
  return frameStats === null ? stats : { ...stats, frameStats };
}

function v3TrackInfo({ artworkUrl: _artworkUrl, isrc: _isrc, ...info }: TrackInfo): V3TrackInfo {
  return info;
}
