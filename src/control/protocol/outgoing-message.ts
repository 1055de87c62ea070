// Every message the node sends to clients over their WebSocket (protocol-v4.md section 4.3 to 4.6). Main thread; made
// by sessions and players, written by the session.

import type { TrackJson } from "../../track/track-info.ts";
import type { ExtensionMessage } from "./extension-message.ts";
import type { ExceptionJson } from "./load-result-json.ts";
import type { PlayerStateJson } from "./player-json.ts";
import type { StatsJson } from "./stats-json.ts";

/** The first message on every socket; `resumed` when the session was there before. */
interface ReadyMessage {
  readonly op: "ready";
  readonly resumed: boolean;
  readonly sessionId: string;
}

/** Where a player is: regularly (players/update-timer.ts), and at every change in between. */
interface PlayerUpdateMessage {
  readonly op: "playerUpdate";
  readonly state: PlayerStateJson;
  readonly guildId: string;
}

/** Every minute, and at the start. */
interface StatsMessage extends StatsJson {
  readonly op: "stats";
}

/** `finished` and `loadFailed`: the client may start the next one; after the others it has acted already. */
export type TrackEndReasonJson = "finished" | "loadFailed" | "stopped" | "replaced" | "cleanup";

interface EventOf<Type extends string> {
  readonly op: "event";
  readonly type: Type;
  readonly guildId: string;
}

/** Each is sent once, in the order in which it happened to the player. */
export type EventMessage =
  | (EventOf<"TrackStartEvent"> & { readonly track: TrackJson })
  | (EventOf<"TrackEndEvent"> & { readonly track: TrackJson; readonly reason: TrackEndReasonJson })
  | (EventOf<"TrackExceptionEvent"> & { readonly track: TrackJson; readonly exception: ExceptionJson })
  | (EventOf<"TrackStuckEvent"> & { readonly track: TrackJson; readonly thresholdMs: number })
  /** Tonearm's own: a filter of a plugin was removed from the player because of a fault. */
  | (EventOf<"FilterRemovedEvent"> & { readonly filter: string; readonly reason: string; readonly message: string })
  | (EventOf<"WebSocketClosedEvent"> & { readonly code: number; readonly reason: string; readonly byRemote: boolean });

/** A message in v4 form; a session's dialect converts it to the client's form. */
export type OutgoingMessage = ReadyMessage | PlayerUpdateMessage | StatsMessage | EventMessage | ExtensionMessage;
