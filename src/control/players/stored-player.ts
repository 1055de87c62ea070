// What was asked for of one player as plain JSON, so that it can be kept outside of the process, and read again from
// wherever it comes. Main thread; written from a player's snapshot, and read for its `restore`.

import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import type { FilterSettings } from "../../filters/filter-settings.ts";
import { isSnowflake } from "../../lib/snowflake.ts";
import { type StoredTrack, storedTrackOf, trackOfStored } from "../../track/stored-track.ts";
import type { PlayerIntent, TrackIntent, TrackMirror, VoiceIntent } from "./player-intent.ts";
import { areFilterSettings } from "./stored-filters.ts";

const VOLUME_MAX = 1000;

/** To be written by `stringifyJson`. Secret: it holds voice credentials and user data. */
export interface StoredPlayer {
  readonly volume: number;
  readonly isPaused: boolean;
  readonly filters: FilterSettings;
  readonly track?: StoredTrackIntent | undefined;
  readonly voice?: (VoiceCredentials & { readonly isClosed: boolean }) | undefined;
}

type StoredTrackIntent = Omit<TrackIntent, "track" | "mirror"> & {
  readonly track: StoredTrack;
  readonly mirror?: StoredMirror | undefined;
};

type StoredMirror = Omit<TrackMirror, "track"> & { readonly track: StoredTrack };

/** All of a snapshot. */
export function storedPlayerOf({ track, volume, filters, isPaused, voice }: PlayerIntent): StoredPlayer {
  return {
    ...{ volume, isPaused, filters },
    track: track && storedTrackIntent(track),
    voice: voice && { ...voice.credentials, isClosed: voice.isClosed },
  };
}

/**
 * The snapshot that was stored. `stored` is what `plainJson` makes of the text, from wherever it came; undefined when
 * anything in it is not as `storedPlayerOf` writes it: a player is restored whole or not at all. Never throws.
 */
export function readStoredPlayer(stored: unknown): PlayerIntent | undefined {
  if (!isObject(stored)) return undefined;
  const { volume, isPaused, filters, track: storedTrack, voice: storedVoice } = stored;
  if (!isWithin(volume, 0, VOLUME_MAX) || !isFlag(isPaused) || !areFilterSettings(filters)) return undefined;
  const track = readTrackIntent(storedTrack);
  const voice = readVoice(storedVoice);
  if ((track === undefined && storedTrack !== undefined) || (voice === undefined && storedVoice !== undefined))
    return undefined;
  return { track, volume, filters, isPaused, voice };
}

function storedTrackIntent({ track, mirror, ...times }: TrackIntent): StoredTrackIntent {
  return {
    ...times,
    track: storedTrackOf(track),
    mirror: mirror && { ...mirror, track: storedTrackOf(mirror.track) },
  };
}

function readTrackIntent(stored: unknown): TrackIntent | undefined {
  if (!isObject(stored)) return undefined;
  const { positionMs, epochMs, rate, endMs, track: storedTrack, mirror: storedMirror } = stored;
  if (!isWithin(positionMs, 0) || !isWithin(epochMs, 0)) return undefined;
  if (rate !== undefined && !isWithin(rate, 0)) return undefined;
  if (endMs !== undefined && !isWithin(endMs, 0)) return undefined;
  const track = trackOfStored(storedTrack);
  if (track === undefined) return undefined;
  const times = { positionMs, epochMs, endMs, ...(rate !== undefined && { rate }) };
  if (storedMirror === undefined) return { track, ...times };
  const mirror = readMirror(storedMirror);
  return mirror && { track, mirror, ...times };
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
