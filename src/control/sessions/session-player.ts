// What a session needs of the players it owns; control/players/player.ts is the real one. Main thread.

import type { FrameMinute } from "../../bridge/events.ts";
import type { ByteBudget } from "../../lib/byte-budget.ts";
import type { PlayerJson } from "../api/player-json.ts";
import type { PlayerUpdate } from "../api/player-update.ts";
import type { EventSink } from "./outgoing-message.ts";

export interface SessionPlayer {
  readonly guildId: string;
  /** Has a track and is not paused. */
  readonly isPlaying: boolean;
  /**
   * Applies one update in the order of protocol-v4.md section 2.7, after those before it; resolves when the answer may
   * be sent. With `isReplacing` false a track that is loaded stays (`noReplace`).
   */
  update(update: PlayerUpdate, options: { readonly isReplacing: boolean }): Promise<void>;
  toJson(): PlayerJson;
  /** Sends the client where the player is. */
  sendPlayerUpdate(): void;
  /** The frame counts of that minute (epoch milliseconds / 60000), if the worker has reported them. */
  frameMinute(minute: number): FrameMinute | undefined;
  /** Ends track and voice; resolves when its last events are out. May be called more than once. */
  destroy(): Promise<void>;
}

export interface CreatePlayerOptions {
  readonly guildId: string;
  /** The bot's user id. */
  readonly userId: string;
  readonly sessionId: string;
  readonly sink: EventSink;
  /** That of the session, which all that the player keeps is taken from. Undefined: nothing is counted. */
  readonly memory?: ByteBudget | undefined;
}

export type CreatePlayer = (options: CreatePlayerOptions) => SessionPlayer;
