// Everything an audio worker can tell the main thread. Plain data, as in commands.ts.

import type { LogFields, LogLevel } from "../log.ts";
import type { PlayerId, RouteId, TrackId, VoiceId } from "./commands.ts";
import type { PositionBatch } from "./position-batch.ts";
import type { PositionReport } from "./position-report.ts";
import type { WireError } from "./wire-error.ts";

/** Frames of one wall-clock minute of one player (protocol-v4.md section 4.5). */
export interface FrameMinute {
  readonly playerId: PlayerId;
  /** Epoch milliseconds divided by 60000, rounded down. */
  readonly minute: number;
  readonly sentFrames: number;
  /** Due frames that were not sent, by cause. */
  readonly lostFrames: {
    readonly inputDry: number;
    readonly decoderLate: number;
    readonly loopLate: number;
    readonly voiceNotReady: number;
  };
  /** True when it was playing without a gap of more than 100 ms since before the start of this minute. */
  readonly isWholeMinute: boolean;
}

/** How a worker is doing; sent every 500 ms and so also its sign of life. */
export interface WorkerCounters {
  readonly playerCount: number;
  readonly playingCount: number;
  /** Share of the last period spent producing and sending, 0 to 1. Decides where new players go. */
  readonly tickLoad: number;
  /** Share of a core that the thread used over the last period, with anything, 0 to 1. */
  readonly threadLoad: number;
  /** Since the worker started, as the next one. */
  readonly framesSent: number;
  readonly framesLost: number;
  /** Lateness of sent packets over the last period, milliseconds. */
  readonly latenessMsP99: number;
  readonly latenessMsMax: number;
  /** Who takes most of the thread of those whose sound could be made elsewhere (`handOver`). */
  readonly heaviestPlayer: PlayerId | undefined;
}

/** Why a track ended by itself. `loadFailed`: before any sound; after some sound a failure ends as `finished`. */
export type EndReason = "finished" | "loadFailed" | "cleanup";

/** An IP version. */
export type AddressFamily = 4 | 6;

/** `banned`: the site refused it (HTTP 429). `unusable`: the system could not send from it. */
export type RouteFailure = "banned" | "unusable";

/**
 * What an audio worker or the look-up thread tells, in the order in which it happened. None waits for an answer but
 * `routeWanted`.
 */
export type WorkerEvent =
  /** The worker can take commands. */
  | { readonly type: "ready" }
  | { readonly type: "reply"; readonly requestId: number; readonly value: unknown }
  | { readonly type: "replyError"; readonly requestId: number; readonly error: WireError }
  | { readonly type: "trackEnded"; readonly playerId: PlayerId; readonly trackId: TrackId; readonly reason: EndReason }
  | {
      readonly type: "trackException";
      readonly playerId: PlayerId;
      readonly trackId: TrackId;
      readonly error: WireError;
    }
  | {
      readonly type: "trackStuck";
      readonly playerId: PlayerId;
      readonly trackId: TrackId;
      readonly thresholdMs: number;
    }
  /** For some seconds its track has taken this share of the thread, 0 to 1: too much beside others, or even for one alone. */
  | {
      readonly type: "trackGreedy";
      readonly playerId: PlayerId;
      readonly trackId: TrackId;
      readonly share: number;
    }
  | { readonly type: "position"; readonly report: PositionReport }
  /** `isReady` turns true when sound can flow (op 4 and, with DAVE, a group); a playerUpdate follows at the main thread. */
  | {
      readonly type: "voiceState";
      readonly playerId: PlayerId;
      readonly voiceId: VoiceId;
      readonly isConnected: boolean;
      readonly isReady: boolean;
      /** -1 without a connection, 0 before the first heartbeat is acknowledged. */
      readonly pingMs: number;
    }
  /** The connection is gone for good (own reconnecting has failed or makes no sense). Not sent for closes asked for. */
  | {
      readonly type: "voiceClosed";
      readonly playerId: PlayerId;
      readonly voiceId: VoiceId;
      readonly code: number;
      readonly reason: string;
      readonly isByRemote: boolean;
    }
  /** Its sound comes from the host now: that one's events count. */
  | { readonly type: "handedOver"; readonly playerId: PlayerId }
  /** Its sound is made here as before: the host is to let go of it. */
  | { readonly type: "handOverFailed"; readonly playerId: PlayerId }
  | { readonly type: "counters"; readonly worker: WorkerCounters; readonly positions: PositionBatch }
  | { readonly type: "frameMinutes"; readonly minutes: readonly FrameMinute[] }
  /** An address to send one request from is needed; answered by a RouteCommand. Never sent without WorkerSettings.routing. */
  | {
      readonly type: "routeWanted";
      readonly routeId: RouteId;
      /** Those of the target's addresses, at least one. */
      readonly families: readonly AddressFamily[];
    }
  /** A request from this address failed because of the address. */
  | {
      readonly type: "routeFailed";
      readonly address: string;
      /** True for a search, which counts only where the operator says so. */
      readonly isSearch: boolean;
      readonly reason: RouteFailure;
    }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string; readonly fields: LogFields };
