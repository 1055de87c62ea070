// Every message the node sends to clients over their WebSocket (protocol-v4.md section 4.3 to 4.6). Main thread; made by
// sessions and players, written by the session.

import type { PlayerStateJson } from "../api/player-json.ts";
import type { StatsJson } from "../api/stats-json.ts";
import type { ExceptionJson } from "../sources/load-result.ts";
import type { TrackJson } from "../sources/track.ts";

export interface ReadyMessage {
  readonly op: "ready";
  readonly resumed: boolean;
  readonly sessionId: string;
}

export interface PlayerUpdateMessage {
  readonly op: "playerUpdate";
  readonly state: PlayerStateJson;
  readonly guildId: string;
}

export interface StatsMessage extends StatsJson {
  readonly op: "stats";
}

export type TrackEndReasonJson = "finished" | "loadFailed" | "stopped" | "replaced" | "cleanup";

interface EventOf<Type extends string> {
  readonly op: "event";
  readonly type: Type;
  readonly guildId: string;
}

export type EventMessage =
  | (EventOf<"TrackStartEvent"> & { readonly track: TrackJson })
  | (EventOf<"TrackEndEvent"> & { readonly track: TrackJson; readonly reason: TrackEndReasonJson })
  | (EventOf<"TrackExceptionEvent"> & { readonly track: TrackJson; readonly exception: ExceptionJson })
  | (EventOf<"TrackStuckEvent"> & { readonly track: TrackJson; readonly thresholdMs: number })
  | (EventOf<"WebSocketClosedEvent"> & { readonly code: number; readonly reason: string; readonly byRemote: boolean });

export type OutgoingMessage = ReadyMessage | PlayerUpdateMessage | StatsMessage | EventMessage;

/** Where players send their messages: their session, connected or not. */
export interface EventSink {
  /** Never throws and never waits. While the client is away events are kept for it and player updates are dropped. */
  send(message: OutgoingMessage): void;
}
