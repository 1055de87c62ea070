// What plugins are told about sessions and players, and what they ask of them, as plain data between the threads. Main
// and plugin threads; the interface for plugins is plugin-api/plugin.ts.

import type { Owner } from "../lib/owners.ts";
import type {
  Json,
  JsonMembers,
  NodeEvent,
  PlayerChange,
  PlayerState,
  PlayingTrack,
  TrackEvent,
  TrackMarker,
} from "../plugin-api/plugin.ts";
import type { Track } from "../track/track.ts";

/** As in the interface for plugins, but with the node's own tracks. */
type WithOwnTracks<Told> = Told extends PlayingTrack
  ? Omit<Told, "track" | "mirror"> & { readonly track: Track; readonly mirror: Track | undefined }
  : Told;

export type OwnNodeEvent = WithOwnTracks<NodeEvent>;

/** What happens to the track of a player, without what is the same for all of its events. */
export type OwnTrackEvent =
  WithOwnTracks<TrackEvent> extends infer Event
    ? Event extends unknown
      ? Omit<Event, "sessionId" | "guildId">
      : never
    : never;

/** `owner`: whose work follows from it. */
export interface ToldEvent {
  readonly event: OwnNodeEvent;
  readonly owner: Owner;
}

/** Answered with an EventsReply at once, whatever the listeners start. */
export interface EventsCommand {
  readonly type: "events";
  readonly requestId: number;
  readonly owner: Owner;
  readonly events: readonly ToldEvent[];
}

/** Answered with an EventsReply when what the listeners have started so far has ended. */
export interface DrainCommand {
  readonly type: "drain";
  readonly requestId: number;
  readonly owner: Owner;
}

export interface EventsReply {
  readonly kind: "told";
}

/** What a plugin asks of one guild of a session. */
export type PlayerWish = { readonly sessionId: string; readonly guildId: string } & (
  | { readonly kind: "state" }
  | { readonly kind: "setMarkers"; readonly playId: number; readonly markers: readonly TrackMarker[] }
  | { readonly kind: "update"; readonly change: PlayerChange }
  /** Undefined removes it. */
  | { readonly kind: "keep"; readonly json: string | undefined }
);

/** The result of each wish. */
export interface WishResults {
  readonly state: OwnGuildState | undefined;
  readonly setMarkers: number | undefined;
  readonly update: boolean;
  readonly keep: boolean;
}

export interface OwnGuildState {
  readonly kept: Json | undefined;
  readonly player: OwnPlayerState | undefined;
}

export type OwnPlayerState = Omit<PlayerState, "playing"> & {
  readonly playing: WithOwnTracks<NonNullable<PlayerState["playing"]>> | undefined;
};

/** An event of a plugin for a client. */
export interface SentEvent {
  readonly sessionId: string;
  readonly guildId: string;
  readonly eventType: string;
  readonly members: JsonMembers;
}

/** Types of events that only the node sends. */
export const OWN_EVENT_TYPES: ReadonlySet<string> = new Set([
  "TrackStartEvent",
  "TrackEndEvent",
  "TrackExceptionEvent",
  "TrackStuckEvent",
  "WebSocketClosedEvent",
  "FilterRemovedEvent",
  "LyricsFoundEvent",
  "LyricsNotFoundEvent",
  "LyricsLineEvent",
]);
