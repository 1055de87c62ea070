// Messages between two audio workers about a player whose voice connection is on one of them (the owner worker) while
// its audio is rendered on the other (the render worker). Plain data over a dedicated port, in order.

import type { PlainCommand } from "../../bridge/channel.ts";
import type { PlayCommand, SeekId } from "../../bridge/commands.ts";
import type { Marker } from "../../bridge/markers.ts";
import type { FilterSettings } from "../../filters/filter-settings.ts";
import type { SendBlockReason, VoiceGate } from "../voice/frame-sink.ts";

/** Commands about the audio of a player, which are executed where that audio is rendered. */
export type AudioCommand = Extract<
  PlainCommand,
  { readonly type: "play" | "stop" | "pause" | "seek" | "setEndTime" | "setMarkers" | "setVolume" | "setFilters" }
>;

/** What the render worker needs to continue a track. */
export interface RemoteTrack {
  readonly volume: number;
  readonly filters: FilterSettings;
  /** Starts at the position where the render worker takes over. */
  readonly play: PlayCommand;
  readonly seekId: SeekId;
  /** Those that are ahead there are not done. */
  readonly markers: readonly Marker[];
}

export type MessageToRenderer =
  /** The first message: prepare this track. */
  | { readonly type: "begin"; readonly track: RemoteTrack }
  /**
   * The voice connection's gate, sent on each change. Before the first `send` the owner worker renders the audio
   * itself, up to `startsEpochMs`, Unix epoch milliseconds.
   */
  | {
      readonly type: "gate";
      readonly gate: VoiceGate;
      readonly sendBlockReason: SendBlockReason;
      readonly startsEpochMs: number | undefined;
    }
  | { readonly type: "command"; readonly command: AudioCommand };

export type MessageToOwner =
  /** Due at `dueEpochMs`, Unix epoch milliseconds. */
  | { readonly type: "frame"; readonly opus: Uint8Array; readonly dueEpochMs: number }
  | { readonly type: "silence"; readonly dueEpochMs: number }
  | { readonly type: "stopSpeaking" };
