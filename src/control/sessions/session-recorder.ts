// What a session tells of all that is to outlive the process. Main thread; control/state/state-recorder.ts is the real
// one.

import type { QueuedMessage } from "./resume-queue.ts";
import type { Session } from "./session.ts";

/** Called on every change, after it. No call waits or throws; what is to be stored is read later. */
export interface SessionRecorder {
  /** Its settings, or whether its client is there. */
  onSession(session: Session): void;
  /** A player was created, has changed other than by playing on, or has been destroyed. */
  onPlayer(session: Session, guildId: string): void;
  /** A value that a plugin keeps for a guild. */
  onKept(session: Session, guildId: string, plugin: string): void;
  /** A message waits for the client. */
  onMessage(session: Session, message: QueuedMessage): void;
  /** It waits no longer: it was sent, or dropped. */
  onMessageGone(session: Session, number: number): void;
  /** The session has ended, for a reason of its client's or of its own. */
  onEnded(session: Session): void;
}

/** Records nothing. */
export const NO_RECORDER: SessionRecorder = {
  onSession: () => undefined,
  onPlayer: () => undefined,
  onKept: () => undefined,
  onMessage: () => undefined,
  onMessageGone: () => undefined,
  onEnded: () => undefined,
};
