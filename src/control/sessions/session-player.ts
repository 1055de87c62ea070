// The interface that a session needs of its players; control/players/player.ts is the real one. Main thread.

import type { OwnPlayerState } from "../../bridge/plugin-players.ts";
import type { FrameMinute } from "../../bridge/worker-report.ts";
import type { PlayerIntent } from "../players/player-intent.ts";
import type { GroupOptions, MarkerRequest, OnMarker } from "../players/player-markers.ts";
import type { PlayerOverview } from "../players/player-overview.ts";
import type { PlayerOwner } from "../players/player-owner.ts";
import type { PlayerUpdate, UpdateOptions } from "../players/player-update.ts";
import type { PlayerDiagnosisJson } from "../protocol/player-diagnosis-json.ts";
import type { PlayerJson } from "../protocol/player-json.ts";

/** Calls come from the session and, through it, from the API; all on the main thread. */
export interface SessionPlayer {
  readonly guildId: string;
  /** Has a track and is not paused. */
  readonly isPlaying: boolean;
  /** No update has been carried out so far, and none is waiting. */
  readonly isUnused: boolean;
  /** An update has been carried out, or it was restored: it is more than an attempt. */
  readonly hasBeenUpdated: boolean;
  /**
   * It was made held (`PlayerOwner.isHeld`), and has not begun: it is silent and has no worker. Updates, skips and `begin`
   * end that.
   */
  readonly isHeld: boolean;
  /**
   * What has been asked for, with the position of the track at this moment: enough for `restore`, also in another process.
   * Plain data that does not change any more. Secret: it holds voice credentials and user data.
   */
  snapshot(): PlayerIntent;
  /**
   * Makes a held player, to which nothing was sent so far, the one that gave `snapshot`. Its track moves on to where it
   * would be by now, unless it is paused, a stream, or without a voice connection. The client is sent nothing. Throws
   * `memory-exhausted`, and the player is then still new.
   */
  restore(snapshot: PlayerIntent): void;
  /**
   * Gives a held player its worker: voice connects again and the track plays on, or has ended by now, which the client is
   * told as its end ("finished"). Needs no admission. Resolves once voice is connected or has failed, after 2 s at the
   * latest, and at once without voice; never rejects. What is not held stays as it is.
   */
  begin(): Promise<void>;
  /**
   * Applies one update in the order of protocol-v4.md section 2.7, after those before it; resolves when the answer may
   * be sent. An update that is refused changes
   * nothing, except that `voice-connect-failed` leaves the player without a voice connection.
   */
  update(update: PlayerUpdate, options: UpdateOptions): Promise<void>;
  /** What it plays and how, for plugins. */
  readonly state: OwnPlayerState;
  toJson(): PlayerJson;
  /** The state of its audio and why it stuttered, from its worker's last report. */
  diagnose(): PlayerDiagnosisJson;
  /** A summary, for lists of many players. */
  overview(): PlayerOverview;
  /** When its audio stuttered last, Unix epoch milliseconds; -Infinity: never. */
  readonly lastTroubleEpochMs: number;
  /** Ends the track as if it were over, so that its client continues with the next; after the updates before it. */
  skip(): Promise<void>;
  /**
   * Replaces the markers of a group on the track that is loaded, at most 1,500 in all groups; they end with it. False,
   * without any effect, while none is loaded. Throws a RangeError for too many, or a position that is none. Each is
   * reported when it is passed, never within this call: docs/internals/markers.md.
   */
  setMarkers(group: string, markers: readonly MarkerRequest[], onMarker: OnMarker, options?: GroupOptions): boolean;
  /** Sends the client where the player is. */
  sendPlayerUpdate(): void;
  /** The frame counts of that minute (epoch milliseconds / 60000), if the worker has reported them. */
  frameMinute(minute: number): FrameMinute | undefined;
  /** Ends track and voice; resolves when its last events are out. May be called more than once. */
  destroy(): Promise<void>;
}

/** Called for the first update of a guild; the player is silent, and has no worker yet. */
export type CreatePlayer = (owner: PlayerOwner) => SessionPlayer;
