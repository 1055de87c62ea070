// What was asked for of one player as plain JSON, so that it can be kept outside of the process, and read again from
// wherever it comes. Main thread; written from a player's snapshot, and read for its `restore`.

import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import type { FilterSettings } from "../../filters/filter-settings.ts";
import { isSnowflake } from "../../lib/snowflake.ts";
import { type StoredTrack, storedTrackOf, trackOfStored } from "../../track/stored-track.ts";
import type { PlayerIntent, TrackIntent, TrackMirror, VoiceIntent } from "./player-intent.ts";
import { readFilterSettings } from "./stored-filters.ts";

const VOLUME_MAX = 1000;

/** To be written by `stringifyJson`. Secret: it holds voice credentials. */
interface StoredPlayer {
  readonly volume: number;
  readonly isPaused: boolean;
  readonly filters: FilterSettings;
  /** Where its track is, if any. */
  readonly track?: Omit<TrackIntent, "track" | "mirror"> | undefined;
  readonly voice?: (VoiceCredentials & { readonly isClosed: boolean }) | undefined;
}

/** What is large and changes less often. Secret: it holds user data. */
interface StoredTracks {
  readonly track: StoredTrack;
  readonly mirror?: (Omit<TrackMirror, "track"> & { readonly track: StoredTrack }) | undefined;
}

/** All of a snapshot but the tracks. */
export function storedPlayerOf({ track, volume, filters, isPaused, voice }: PlayerIntent): StoredPlayer {
  return {
    ...{ volume, isPaused, filters },
    track: track && timesOf(track),
    voice: voice && { ...voice.credentials, isClosed: voice.isClosed },
  };
}

/** The tracks of a snapshot. */
export function storedTracksOf({ track, mirror }: TrackIntent): StoredTracks {
  return { track: storedTrackOf(track), mirror: mirror && { ...mirror, track: storedTrackOf(mirror.track) } };
}

/**
 * The snapshot that was stored. The arguments are what `plainJson` makes of the texts, from wherever they came; `tracks`
 * counts only where `player` has a track. Undefined when anything is not as it is written: a player is restored whole or
 * not at all. Never throws.
 */
export function readStoredPlayer(player: unknown, tracks: unknown): PlayerIntent | undefined {
  if (!isObject(player)) return undefined;
  const { volume, isPaused, filters: storedFilters, track: times, voice: storedVoice } = player;
  const filters = readFilterSettings(storedFilters);
  if (!isWithin(volume, 0, VOLUME_MAX) || !isFlag(isPaused) || filters === undefined) return undefined;
  const track = readTrackIntent(times, tracks);
  const voice = readVoice(storedVoice);
  if ((track === undefined && times !== undefined) || (voice === undefined && storedVoice !== undefined))
    return undefined;
  return { track, volume, filters, isPaused, voice };
}

function timesOf({ positionMs, epochMs, rate, endMs }: TrackIntent): StoredPlayer["track"] {
  return { positionMs, epochMs, rate, endMs };
}

function readTrackIntent(times: unknown, tracks: unknown): TrackIntent | undefined {
  if (!isObject(times) || !isObject(tracks)) return undefined;
  const { positionMs, epochMs, rate, endMs } = times;
  if (!isWithin(positionMs, 0) || !isWithin(epochMs, 0)) return undefined;
  if (rate !== undefined && !isWithin(rate, 0)) return undefined;
  if (endMs !== undefined && !isWithin(endMs, 0)) return undefined;
  const track = trackOfStored(tracks.track);
  if (track === undefined) return undefined;
  const read = { track, positionMs, epochMs, endMs, ...(rate !== undefined && { rate }) };
  if (tracks.mirror === undefined) return read;
  const mirror = readMirror(tracks.mirror);
  return mirror && { ...read, mirror };
}

function readMirror(stored: unknown): TrackMirror | undefined {
  if (!isObject(stored)) return undefined;
  const { provider, score, reasons, failure, track: storedTrack } = stored;
  const track = trackOfStored(storedTrack);
  if (track === undefined || !isText(provider) || !isWithin(score, 0)) return undefined;
  if (!Array.isArray(reasons) || !reasons.every(isText)) return undefined;
  return failure === undefined || isText(failure) ? { track, provider, score, reasons, failure } : undefined;
}

function readVoice(stored: unknown): VoiceIntent | undefined {
  if (!isObject(stored)) return undefined;
  const { token, endpoint, sessionId, channelId, isClosed } = stored;
  if (!isText(token) || !isText(endpoint) || !isText(sessionId) || !isFlag(isClosed)) return undefined;
  if (channelId !== undefined && !(isText(channelId) && isSnowflake(channelId))) return undefined;
  return { credentials: { token, endpoint, sessionId, channelId }, isClosed };
}

/** What an object of unknown origin has. */
interface Members {
  readonly [name: string]: unknown;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isFlag(value: unknown): value is boolean {
  return typeof value === "boolean";
}

/** A finite number of that range. */
function isWithin(value: unknown, min: number, max = Number.MAX_VALUE): value is number {
  return typeof value === "number" && value >= min && value <= max;
}
