// Everything the main thread can ask of an audio worker, and of the thread that looks inputs up. Plain data: it must
// survive a structured clone, and later a network, but for the ports of two workers that share a player. Commands for
// one player are carried out in the order sent.

import type { MessagePort } from "node:worker_threads";
import type { FilterSettings } from "../filters/filter-settings.ts";
import type { Owner } from "../lib/owners.ts";
import type { Marker } from "./markers.ts";
import type { OpusCacheAnswer } from "./opus-cache.ts";
import type { PlayableInput } from "./playable-input.ts";
import type { PlayableLink } from "./playable-link.ts";
import type { VoiceCredentials } from "./voice-credentials.ts";
import type { WireError } from "./wire-error.ts";

/** Names one player on one worker; unique for the life of the process. */
export type PlayerId = number;
/**
 * Identifies one playback of a track; unique per player and increasing. Events carry it, so late ones can be
 * recognised.
 */
export type TrackId = number;
/** Counts the seeks of one playing of a track: 0 is its start. Reports carry it, so one made before a seek is known. */
export type SeekId = number;
/** Names one voice connection of a player; unique per player and growing, for the same reason. */
export type VoiceId = number;
/** Identifies one route request; unique per thread and increasing. */
export type RouteId = number;
/** Identifies one link request; unique per thread and increasing. */
export type LinkId = number;
/** Identifies one request to the Opus cache; unique per thread and increasing. */
export type OpusCacheId = number;

/** Volume of a new player, percent: audio stays unchanged. Both sides start with it. */
export const VOLUME_DEFAULT = 100;
/** How long a voice connection is tried to be opened that a player had before the process was restarted. */
export const VOICE_PATIENCE_MS_MAX = 120_000;

/** A filter of a plugin. */
export interface FilterModule {
  readonly name: string;
  /** File URL of the module with its factory as default export. */
  readonly url: string;
  /** Why it is not to be imported: it fails where it is used. */
  readonly refusal?: string;
}

/**
 * Replaces the current track, which gets no `trackEnded` (the main thread knows). Audio starts when the first frame is
 * ready; a track that cannot be opened is reported with `trackException` and `trackEnded` (`loadFailed`).
 */
export interface PlayCommand {
  readonly type: "play";
  readonly playerId: PlayerId;
  readonly trackId: TrackId;
  /** Whose it is: what the tracks of a thread share is shared out by it. */
  readonly owner: Owner;
  readonly input: PlayableInput;
  /** Start position, milliseconds of track time. */
  readonly startMs: number;
  /** Position at which the track ends, or undefined for its own end. Ignored when not after `startMs`. */
  readonly endMs: number | undefined;
  /**
   * Length of the whole track, milliseconds; undefined for streams. Fades need it where the container does not state
   * it.
   */
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
  /** No link is available, temporarily or permanently. */
  | { readonly type: "linkError"; readonly linkId: LinkId; readonly error: WireError };

/** The answer to an `opusCacheRequested`. */
export interface OpusCacheCommand {
  readonly type: "opusCache";
  readonly opusCacheId: OpusCacheId;
  readonly answer: OpusCacheAnswer;
}

/** Answers to the requests of any thread. */
export type AnswerCommand = RouteCommand | LinkCommand | OpusCacheCommand;

/** Commands for the probe thread. Its Heartbeat holds the request numbers, so they fit in 31 bits. */
export type ProbeThreadCommand =
  /** Probes an input; answered by a `reply` with a ProbeResult. */
  | { readonly type: "probe"; readonly requestId: number; readonly owner: Owner; readonly input: PlayableInput }
  /** Ends a probe that nobody waits for any more. An answer may already be on its way. */
  | { readonly type: "abortProbe"; readonly requestId: number };

/**
 * Commands for an audio worker. Commands for one player are carried out in the order sent; commands for a player that
 * is gone are ignored, but its requests are answered.
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
  /** Replaces the markers of a track, at most MARKERS_MAX. Ignored for another track than the playing one. */
  | {
      readonly type: "setMarkers";
      readonly playerId: PlayerId;
      readonly trackId: TrackId;
      readonly markers: readonly Marker[];
    }
  /** 0 to 1000, 100 is unchanged; takes effect with the next frame, as a ramp of 10 ms. */
  | { readonly type: "setVolume"; readonly playerId: PlayerId; readonly volume: number }
  /** Replaces all filters; takes effect with the next frames, faded over 20 ms. */
  | { readonly type: "setFilters"; readonly playerId: PlayerId; readonly filters: FilterSettings }
  /**
   * Connects, or moves: the previous connection keeps sending until the new one can, then closes with 1000 and without
   * a `voiceClosed` (the main thread has informed the client). The main thread sends it only when something differs or
   * the connection is closed. Answered by a `reply` when the gateway's WebSocket is open (value: { isConnected: true
   * }), or with an error when it could not be opened; after that error the connection is gone and reports nothing more.
   *
   * `isPatient`: the player has been restored, and failures that may pass are not given up for VOICE_PATIENCE_MS_MAX.
   * Default: they are after three attempts, or the time of the settings.
   */
  | {
      readonly type: "connectVoice";
      readonly playerId: PlayerId;
      readonly requestId: number;
      readonly voiceId: VoiceId;
      readonly credentials: VoiceCredentials;
      readonly isPatient?: boolean | undefined;
    }
  /**
   * Hands the audio of a playing player over to another worker, which has the other end of `port`: this worker keeps
   * playing until audio arrives from there and then passes that on. Voice stays, and commands come here as before.
   * Answered by `handedOver` or `handOverFailed`; cancelled when a command about its audio comes first.
   */
  | { readonly type: "handOver"; readonly playerId: PlayerId; readonly port: MessagePort }
  /**
   * Renders the audio of a player whose owner worker is at the other end of `port`, until `destroyPlayer`. Its events
   * are reported from here.
   */
  | { readonly type: "renderRemotePlayer"; readonly playerId: PlayerId; readonly port: MessagePort }
  /** For all encoders of the worker, from their next frame on; 0 to 10. */
  | { readonly type: "setComplexity"; readonly complexity: number }
  /** The filters of plugins, instead of those before; sent before the settings of any player that uses them. */
  | { readonly type: "setFilterModules"; readonly modules: readonly FilterModule[] }
  /** Sends through this pacer from now on: the answer to `pacerRequested`, sent again when that pacer is lost. */
  | {
      readonly type: "setPacer";
      readonly port: MessagePort;
      readonly wakeUpMemory: SharedArrayBuffer;
      /** Where in the time between two bursts the worker's start, on the pacer's clock: 0 to 1, another for each worker. */
      readonly turn: number;
    }
  /** Closes every player and exits. */
  | { readonly type: "close" };
