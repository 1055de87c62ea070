// Everything the main thread can ask of an audio worker, and of the thread that looks inputs up. Plain data: it must
// survive a structured clone, and later a network, but for the ports of two workers that share a player. Commands for
// one player are carried out in the order sent.

import type { MessagePort } from "node:worker_threads";
import type { FilterSettings } from "../filters/filter-settings.ts";
import type { PlayableInput } from "./playable-input.ts";
import type { PlayableLink } from "./playable-link.ts";
import type { VoiceCredentials } from "./voice-credentials.ts";
import type { WireError } from "./wire-error.ts";

/** Names one player on one worker; unique for the life of the process. */
export type PlayerId = number;
/** Names one playing of a track; unique per player and growing. Events carry it so that late ones can be told apart. */
export type TrackId = number;
/** Counts the seeks of one playing of a track: 0 is its start. Reports carry it, so one made before a seek is known. */
export type SeekId = number;
/** Names one voice connection of a player; unique per player and growing, for the same reason. */
export type VoiceId = number;
/** Names one wish for an address to send from; unique per thread and growing. */
export type RouteId = number;
/** Names one wish for a link; unique per thread and growing. */
export type LinkId = number;

/** Of a player that was never told another, percent: sound stays as it is. Both sides begin with it. */
export const VOLUME_DEFAULT = 100;

/**
 * Replaces whatever plays; the old track gets no `trackEnded` (the main thread knows). Sound begins when its first
 * frame is ready; what cannot be opened comes back as `trackException` and `trackEnded` (`loadFailed`).
 */
export interface PlayCommand {
  readonly type: "play";
  readonly playerId: PlayerId;
  readonly trackId: TrackId;
  readonly input: PlayableInput;
  /** First position to be heard, milliseconds of track time. */
  readonly startMs: number;
  /** Position at which the track ends, or undefined for its own end. Ignored when not after `startMs`. */
  readonly endMs: number | undefined;
  /** Milliseconds of the whole track, undefined for streams: fades need it where the container does not tell. */
  readonly lengthMs: number | undefined;
  readonly isPaused: boolean;
}

/** A seek to or past the end of the track, or its end time, ends it (`trackEnded`, finished). */
export interface SeekCommand {
  readonly type: "seek";
  readonly playerId: PlayerId;
  readonly trackId: TrackId;
  readonly seekId: SeekId;
  /** Milliseconds of track time, 0 or more. */
  readonly positionMs: number;
}

/** The answer to a `routeWanted`: where to send that one request from. */
export type RouteCommand =
  /** `address` undefined: from no address in particular, as no block has a family of the target. */
  | { readonly type: "route"; readonly routeId: RouteId; readonly address: string | undefined }
  /** Every address is barred: `routes-exhausted`. */
  | { readonly type: "routeError"; readonly routeId: RouteId; readonly error: WireError };

/** The answer to a `linkWanted`. */
export type LinkCommand =
  | { readonly type: "link"; readonly linkId: LinkId; readonly link: PlayableLink }
  /** There is none, for now or for ever. */
  | { readonly type: "linkError"; readonly linkId: LinkId; readonly error: WireError };

/** What any thread is told because it has asked. */
export type AnswerCommand = RouteCommand | LinkCommand;

/** What the probe thread is asked. Request numbers are those of its Heartbeat, so they fit in 31 bits. */
export type ProbeThreadCommand =
  /** Look at an input; answered by a `reply` with a ProbeResult. */
  | { readonly type: "probe"; readonly requestId: number; readonly input: PlayableInput }
  /** Nobody waits for that look any more: it is ended. An answer may be on its way. */
  | { readonly type: "abortProbe"; readonly requestId: number };

/**
 * What an audio worker is told. Those for one player are carried out in the order they were sent; what is about one
 * that is gone is passed over, but its requests are answered.
 */
export type WorkerCommand =
  | AnswerCommand
  | {
      readonly type: "createPlayer";
      readonly playerId: PlayerId;
      readonly guildId: string;
      readonly userId: string;
      /** 0 to 1000, 100 is unchanged. */
      readonly volume: number;
      readonly filters: FilterSettings;
    }
  /**
   * Stops everything of the player and closes voice with 1000, without events. Answered by a `reply` when that is done.
   */
  | { readonly type: "destroyPlayer"; readonly playerId: PlayerId; readonly requestId: number }
  | PlayCommand
  /** Ends the current track without an event. */
  | { readonly type: "stop"; readonly playerId: PlayerId }
  | { readonly type: "pause"; readonly playerId: PlayerId; readonly isPaused: boolean }
  | SeekCommand
  | {
      readonly type: "setEndTime";
      readonly playerId: PlayerId;
      readonly trackId: TrackId;
      readonly endMs: number | undefined;
    }
  /** 0 to 1000, 100 is unchanged; heard with the next frame, as a ramp of 10 ms. */
  | { readonly type: "setVolume"; readonly playerId: PlayerId; readonly volume: number }
  /** Replaces all of them; heard with the next frames, faded over 20 ms. */
  | { readonly type: "setFilters"; readonly playerId: PlayerId; readonly filters: FilterSettings }
  /**
   * Connects, or moves: the connection before this one sends on until the new one can, then closes with 1000 and
   * without a `voiceClosed` (the main thread has told the client). The main thread sends it only when something differs
   * or the connection is closed. Answered by a `reply` when the gateway's WebSocket is open (value: { isConnected: true
   * }), or with an error when it could not be opened; after that error the connection is gone and nothing more comes of
   * it.
   */
  | {
      readonly type: "connectVoice";
      readonly playerId: PlayerId;
      readonly requestId: number;
      readonly voiceId: VoiceId;
      readonly credentials: VoiceCredentials;
    }
  /**
   * The sound of a player that plays is to be made on another worker, which has the other end of `port`: it plays on
   * here until sound comes from there, and that is passed on then. Voice stays, and commands come here as before.
   * Answered by `handedOver` or `handOverFailed`; given up when a command about its sound comes first.
   */
  | { readonly type: "handOver"; readonly playerId: PlayerId; readonly port: MessagePort }
  /**
   * Makes the sound of a player whose home is at the other end of `port`, until `destroyPlayer`. Its events are its
   * own.
   */
  | { readonly type: "renderRemotePlayer"; readonly playerId: PlayerId; readonly port: MessagePort }
  /** For all encoders of the worker, from their next frame on; 0 to 10. */
  | { readonly type: "setComplexity"; readonly complexity: number }
  /** What it sends leaves through this pacer from now on: the answer to `pacerWanted`, and again when that is lost. */
  | { readonly type: "setPacer"; readonly port: MessagePort; readonly wakeUpMemory: SharedArrayBuffer }
  /** Closes every player and exits. */
  | { readonly type: "close" };
