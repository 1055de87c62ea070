// What two audio workers tell each other about a player whose voice connection is on one of them (its home) while its
// sound is made on the other (its host). Plain data over a port of their own, in order.

import type { PlainCommand } from "../../bridge/channel.ts";
import type { PlayCommand, SeekId } from "../../bridge/commands.ts";
import type { FilterSettings } from "../../filters/filter-settings.ts";
import type { SendBlockReason, Voice } from "../voice/voice.ts";

/** Commands that are about the sound of a player, and so are carried out where that is made. */
export type AudioCommand = Extract<
  PlainCommand,
  { readonly type: "play" | "stop" | "pause" | "seek" | "setEndTime" | "setVolume" | "setFilters" }
>;

/** What the host needs to go on with a track. */
export interface RemoteTrack {
  readonly volume: number;
  readonly filters: FilterSettings;
  /** With the place at which the host takes over as its start. */
  readonly play: PlayCommand;
  readonly seekId: SeekId;
}

export type MessageToRenderer =
  /** First of all: make this ready. */
  | { readonly type: "begin"; readonly track: RemoteTrack }
  /**
   * The voice connection's gate, whenever it is another. Before the first `send` the home makes the sound itself, up to
   * `startsEpochMs`, Unix epoch milliseconds.
   */
  | {
      readonly type: "gate";
      readonly gate: Voice["gate"];
      readonly sendBlockReason: SendBlockReason;
      readonly startsEpochMs: number | undefined;
    }
  | { readonly type: "command"; readonly command: AudioCommand };

export type MessageToOwner =
  /** To leave at `dueEpochMs`, Unix epoch milliseconds. */
  | { readonly type: "frame"; readonly opus: Uint8Array; readonly dueEpochMs: number }
  | { readonly type: "silence"; readonly dueEpochMs: number }
  | { readonly type: "stopSpeaking" };
