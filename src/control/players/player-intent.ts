// What a client asked for of one player, as one value: enough to create the player again on any worker, and in another
// process. Main thread. How a worker is doing with it (positions, connections) is in loaded-track.ts and
// player-voice.ts.

import { VOLUME_DEFAULT } from "../../bridge/commands.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import type { FilterSettings } from "../../filters/filter-settings.ts";
import type { Track } from "../../track/track.ts";
import type { Mirror } from "../sources/mirror-memory.ts";

/** Plain data that survives a structured clone, and is never changed. Secret: it holds voice credentials. */
export interface PlayerIntent {
  /** Undefined: nothing is loaded. */
  readonly track: TrackIntent | undefined;
  /** 0 to 1000, percent. */
  readonly volume: number;
  /** Every present filter with all its members. */
  readonly filters: FilterSettings;
  readonly isPaused: boolean;
  /** Undefined: the client has sent no credentials, or they were refused. */
  readonly voice: VoiceIntent | undefined;
}

export interface TrackIntent {
  /** With the user data of the client. */
  readonly track: Track;
  /** What plays in its place. */
  readonly mirror?: TrackMirror | undefined;
  /** Milliseconds of track time at `epochMs`: where to start. */
  readonly positionMs: number;
  /** When `positionMs` was valid, Unix epoch milliseconds. */
  readonly epochMs: number;
  /**
   * Only in snapshots: milliseconds of track time per millisecond from then on, 0 while it stands still. A track that has
   * not reported yet that it plays, and should, counts as playing.
   */
  readonly rate?: number | undefined;
  /** Milliseconds of track time at which the track ends; undefined: at its own end. */
  readonly endMs: number | undefined;
}

/** The same recording from another source. */
export interface TrackMirror extends Mirror {
  /** Why the client's track could not be played; undefined: its source has no audio. */
  readonly failure: string | undefined;
}

export interface VoiceIntent {
  readonly credentials: VoiceCredentials;
  /** The connection was closed, or given up: the node opens it again only when the client asks. */
  readonly isClosed: boolean;
}

const NEW_PLAYER: PlayerIntent = {
  track: undefined,
  volume: VOLUME_DEFAULT,
  filters: {},
  isPaused: false,
  voice: undefined,
};

/** Holds the intent of one player for its parts: they read and replace it here and have no copy. */
export class IntentHolder {
  readonly #onChanged: () => void;
  #intent = NEW_PLAYER;

  /** `onChanged` is called after every change. */
  constructor(onChanged: () => void) {
    this.#onChanged = onChanged;
  }

  get value(): PlayerIntent {
    return this.#intent;
  }

  /** Nothing has been asked for so far. */
  get isNew(): boolean {
    return this.#intent === NEW_PLAYER;
  }

  /** Call it only while a track is loaded. */
  get track(): TrackIntent {
    if (this.#intent.track === undefined) throw new Error("no track is loaded");
    return this.#intent.track;
  }

  replace(change: Partial<PlayerIntent>): void {
    this.#intent = { ...this.#intent, ...change };
    this.#onChanged();
  }

  /** Takes over what was stored, which is no change. */
  restore(snapshot: PlayerIntent): void {
    const { rate: _rate, ...track } = snapshot.track ?? {};
    this.#intent = snapshot.track === undefined ? snapshot : { ...snapshot, track: track as TrackIntent };
  }

  replaceTrack(change: Partial<TrackIntent>): void {
    this.replace({ track: { ...this.track, ...change } });
  }
}

/** The same for a clock that is ahead by `offsetMs` of the one it was made by. */
export function onOtherClock(intent: PlayerIntent, offsetMs: number): PlayerIntent {
  const { track } = intent;
  if (track === undefined || offsetMs === 0) return intent;
  return { ...intent, track: { ...track, epochMs: track.epochMs + offsetMs } };
}

/** The rate of a track as long as nothing is known of it: 1 where it should play, 0 while paused or without voice. */
export function intendedRate({ isPaused, voice }: PlayerIntent): number {
  return isPaused || voice === undefined || voice.isClosed ? 0 : 1;
}

interface TrackTimes {
  readonly startMs: number;
  readonly endMs: number | undefined;
  readonly epochMs: number;
}

/** The intent to play `track` from `startMs` at `epochMs`. Streams start at 0 whatever is asked for. */
export function trackIntentOf(track: Track, { startMs, endMs, epochMs }: TrackTimes): TrackIntent {
  const positionMs = track.info.isStream ? 0 : Math.max(0, startMs);
  return { track, positionMs, epochMs, endMs: endAhead(endMs, positionMs) };
}

/** An end time that is not ahead of `positionMs` is ignored: the track then plays to its own end. */
export function endAhead(endMs: number | undefined, positionMs: number): number | undefined {
  return endMs !== undefined && endMs > positionMs ? endMs : undefined;
}
