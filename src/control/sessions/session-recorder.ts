// What a session tells of all that is to outlive the process. Main thread; control/state/state-recorder.ts is the real
// one.

import type { JsonInteger } from "../../lib/json.ts";
import type { Dialect } from "./dialect.ts";
import type { KeptValues } from "./kept-values.ts";
import type { QueuedMessage } from "./resume-queue.ts";
import type { SessionPlayer } from "./session-player.ts";

/** What of a session can be stored; session.ts documents it. */
export interface RecordedSession {
  readonly id: string;
  readonly userId: string;
  readonly clientName: string | undefined;
  readonly dialect: Dialect;
  readonly owner: string | undefined;
  readonly account: string;
  readonly timeout: JsonInteger;
  readonly resumeKey: string | null;
  readonly isLasting: boolean;
  readonly isRemote: boolean;
  readonly relayedFrom: string | undefined;
  readonly taken: ReadonlyMap<string, number>;
  readonly waitMs: number | undefined;
  readonly waitingMessages: readonly QueuedMessage[];
  readonly players: ReadonlyMap<string, SessionPlayer>;
  readonly kept: KeptValues;
}

/** `on…` is called on every change, after it. No call waits or throws; what is to be stored is read later. */
export interface SessionRecorder {
  /** Whether it is stored: it would wait for its client. */
  isStored(session: RecordedSession): boolean;
  /** Resolves when all that was told so far is stored, or nobody should wait for it; undefined: at once. */
  written(): Promise<void> | undefined;
  /** Its settings, or whether its client is there. */
  onSession(session: RecordedSession): void;
  /** A player was created, has changed other than by playing on, or has been destroyed. */
  onPlayer(session: RecordedSession, guildId: string): void;
  /** A value that a plugin keeps for a guild. */
  onKept(session: RecordedSession, guildId: string, plugin: string): void;
  /** A message waits for the client, or is on its way to it. */
  onMessage(session: RecordedSession, message: QueuedMessage): void;
  /** It waits no longer: it was sent, or dropped. */
  onMessageGone(session: RecordedSession, number: number): void;
  /** The session has ended. */
  onEnded(session: RecordedSession): void;
}

/** Records nothing. */
export const NO_RECORDER: SessionRecorder = {
  isStored: () => false,
  written: () => undefined,
  onSession: () => undefined,
  onPlayer: () => undefined,
  onKept: () => undefined,
  onMessage: () => undefined,
  onMessageGone: () => undefined,
  onEnded: () => undefined,
};
