// One track: what a source found or a client handed in encoded, and its JSON form (protocol-v4.md section 3.1). Any
// thread; used by sources, players and the API.

import type { JsonInteger, JsonObject } from "../lib/json.ts";
import { readEncodedTrack, type TrackLayouts, writeEncodedTrack } from "./encoded-track.ts";
import type { TrackDetails } from "./track-details.ts";
import type { TrackInfo, TrackJson } from "./track-info.ts";

/** Plain data, never changed: callers make a changed copy (`trackAtPosition`). */
export interface Track {
  /** The encoded form; for a track that a client sent, its own text, so possibly in an older version. */
  readonly encoded: string;
  readonly info: TrackInfo;
  readonly pluginInfo: JsonObject;
  readonly userData: JsonObject;
  readonly details: TrackDetails;
}

/**
 * A track that a source has found: encodes it, and derives `pluginInfo` unless the source has its own. Text too long
 * for the format is cut.
 */
export function createTrack(
  info: TrackInfo,
  details: TrackDetails,
  pluginInfo: JsonObject = pluginInfoOf(info, details),
): Track {
  return { encoded: writeEncodedTrack(info, details), info, pluginInfo, userData: {}, details };
}

/** A track that a client hands in; `encoded` stays as sent. Throws `track-undecodable`. */
export function decodeTrack(encoded: string, extraLayouts?: TrackLayouts): Track {
  const { info, details } = readEncodedTrack(encoded, extraLayouts);
  return { encoded, info, pluginInfo: pluginInfoOf(info, details), userData: {}, details };
}

/**
 * The same track at another position, encoded again: the form that players and events show (protocol-v4.md section
 * 3.1).
 */
export function trackAtPosition(track: Track, positionMs: JsonInteger): Track {
  const info = { ...track.info, position: positionMs };
  return { ...track, encoded: writeEncodedTrack(info, track.details), info };
}

/** The Track object of the protocol. */
export function trackToJson(track: Track): TrackJson {
  return { encoded: track.encoded, info: track.info, pluginInfo: track.pluginInfo, userData: track.userData };
}

/** The `pluginInfo` of a track with these fields, equal to that of Lavalink and its plugins. */
function pluginInfoOf(info: TrackInfo, details: TrackDetails): JsonObject {
  if (details.kind === "probe") return { probeInfo: details.probeInfo };
  if (details.kind === "fields") return Object.fromEntries(details.fields.map(({ name, value }) => [name, value]));
  if (details.kind !== "album") return {};
  const { kind: _kind, ...album } = details;
  return info.sourceName === "spotify" ? { ...album, isLocal: info.identifier === "local" } : album;
}
