// All events that an audio worker reports to the main thread. Plain data, as in commands.ts.

import type { WorkerFaultReason } from "../filters/module-filters.ts";
import type { LogFields, LogLevel } from "../log/log.ts";
import type { LinkId, OpusCacheId, PlayerId, RouteId, SeekId, TrackId, VoiceId } from "./commands.ts";
import type { PassedMarker } from "./markers.ts";
import type { OpusCacheEvent, OpusCacheRequest } from "./opus-cache.ts";
import type { LinkRequest } from "./playable-link.ts";
import type { PositionReport } from "./position-report.ts";
import type { WorkerReply } from "./replies.ts";
import type { WireError } from "./wire-error.ts";
import type { PackedWorkerReport } from "./worker-report.ts";

/**
 * Why a track ended by itself. `loadFailed`: before any audio; a failure after some audio ends as `finished`.
 * `cleanup`: nobody has listened for long.
 */
export type EndReason = "finished" | "loadFailed" | "cleanup";

/** An IP version. */
export type AddressFamily = 4 | 6;

/** `banned`: the site refused it (HTTP 429). `unusable`: the system could not send from it. */
export type RouteFailure = "banned" | "unusable";

/** Route requests and results of any thread that sends requests. */
export type RouteEvent =
  /**
   * An address to send one request from is needed; answered by a RouteCommand. Never sent without routing in the
   * thread's settings.
   */
  | {
      readonly type: "routeRequested";
      readonly routeId: RouteId;
      /** Families of the target's addresses, at least one. */
      readonly families: readonly AddressFamily[];
      /** Host and port of the site. Default: no site in particular. */
      readonly site?: string | undefined;
      /** This one, as long as it may be used: what belongs together leaves from one address. */
      readonly preferred?: string | undefined;
    }
  /** A request from this address to that site, for that account, failed because of the address. */
  | {
      readonly type: "routeFailed";
      readonly address: string;
      readonly reason: RouteFailure;
      readonly site?: string;
      readonly account?: string;
    };

/**
 * Events of an audio worker or the probe thread, in the order in which they happened. Only `routeRequested`,
 * `linkRequested` and `opusCacheRequested` wait for an answer.
 */
export type WorkerEvent =
  /** The worker can take commands. */
  | { readonly type: "ready" }
  /** The reply to the request with that number. */
  | { readonly type: "reply"; readonly requestId: number; readonly value: WorkerReply }
  | { readonly type: "replyError"; readonly requestId: number; readonly error: WireError }
  /** The track has ended by itself; the last event of this playback. */
  | { readonly type: "trackEnded"; readonly playerId: PlayerId; readonly trackId: TrackId; readonly reason: EndReason }
  /** It cannot be played (on); its end follows. */
  | {
      readonly type: "trackException";
      readonly playerId: PlayerId;
      readonly trackId: TrackId;
      readonly error: WireError;
    }
  /** Nothing of it could be sent for `thresholdMs`, as configured. It plays on when it can. */
  | {
      readonly type: "trackStuck";
      readonly playerId: PlayerId;
      readonly trackId: TrackId;
      readonly thresholdMs: number;
    }
  /**
   * For some seconds its track has taken this share of the thread, 0 to 1: too much beside others, or even for a thread
   * with no other player.
   */
  | {
      readonly type: "trackOverQuota";
      readonly playerId: PlayerId;
      readonly trackId: TrackId;
      readonly share: number;
    }
  /** Markers of its track have been passed, since the seek with that number. */
  | {
      readonly type: "markersPassed";
      readonly playerId: PlayerId;
      readonly trackId: TrackId;
      readonly seekId: SeekId;
      readonly passed: readonly PassedMarker[];
    }
  /** A filter of a plugin was removed from its track because of a fault. Maybe more than once. */
  | {
      readonly type: "filterRemoved";
      readonly playerId: PlayerId;
      readonly filter: string;
      readonly reason: WorkerFaultReason;
      /** For the operator. */
      readonly message: string;
    }
  /** Sent whenever it changes other than by time; otherwise it comes with the `workerReport`. */
  | { readonly type: "position"; readonly report: PositionReport }
  /**
   * `isReady` becomes true when audio can be sent (op 4 and, with DAVE, a group); the main thread then sends a
   * playerUpdate.
   */
  | {
      readonly type: "voiceState";
      readonly playerId: PlayerId;
      readonly voiceId: VoiceId;
      readonly isConnected: boolean;
      readonly isReady: boolean;
      /** -1 without a connection, 0 before the first heartbeat is acknowledged. */
      readonly pingMs: number;
    }
  /**
   * The connection is closed permanently (reconnecting has failed or makes no sense). Not sent for requested closes.
   */
  | {
      readonly type: "voiceClosed";
      readonly playerId: PlayerId;
      readonly voiceId: VoiceId;
      /** Close code of the WebSocket (discord-voice.md), and its text. */
      readonly code: number;
      readonly reason: string;
      /** Discord has closed it. */
      readonly isByRemote: boolean;
    }
  /** The render worker now makes its audio: the events of that worker count. */
  | { readonly type: "handedOver"; readonly playerId: PlayerId }
  /** Its audio is made here as before: the render worker has to release it. */
  | { readonly type: "handOverFailed"; readonly playerId: PlayerId }
  /** Every 500 ms. */
  | PackedWorkerReport
  | RouteEvent
  /** A link to a site's track is needed; answered by a LinkCommand within 20 s, or in vain. */
  | ({ readonly type: "linkRequested"; readonly linkId: LinkId } & LinkRequest)
  /** Is there an entry for a track? Answered by an OpusCacheCommand. Never sent while the cache is off. */
  | ({ readonly type: "opusCacheRequested"; readonly opusCacheId: OpusCacheId } & OpusCacheRequest)
  | OpusCacheEvent
  /** The first voice connection is being opened; answered by `setPacer`. */
  | { readonly type: "pacerRequested" }
  /** A line for the log of the node. */
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string; readonly fields: LogFields };
