// Every message the node sends to clients over their WebSocket (protocol-v4.md section 4.3 to 4.6). Main thread; made
// by sessions and players, written by the session.

import type { ExceptionJson } from "./load-result-json.ts";
import type { PlayerStateJson } from "./player-json.ts";
import type { StatsJson } from "./stats-json.ts";
import type { TrackJson } from "./track-json.ts";

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
