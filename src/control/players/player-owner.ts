// The interface that a player needs of its session. Main thread; control/sessions/session.ts is the real one.

import type { ByteBudget } from "../../lib/byte-budget.ts";
import type { OutgoingMessage } from "../protocol/outgoing-message.ts";

/** Where players send their messages: their session, connected or not. */
export interface EventSink {
  /**
   * Never throws and never waits. While the client is away events are buffered for it and player updates are dropped.
   */
  send(message: OutgoingMessage): void;
}

/** Given to a player when it is made; none of it changes. */
export interface PlayerOwner {
  readonly guildId: string;
  /** The bot's user id. */
  readonly userId: string;
  readonly sessionId: string;
  /** Of the client that has opened the session: what all share is counted by it. */
  readonly account: string;
  readonly sink: EventSink;
  /**
   * The session's memory budget, which everything that the player stores is taken from. Undefined: nothing is counted.
   */
  readonly memory?: ByteBudget | undefined;
  /**
   * True: the player is held, silent and without a worker, until `begin` or its first update. Only such a player can be
   * restored. Default: false.
   */
  readonly isHeld?: boolean | undefined;
  /**
   * What the player's `snapshot` gives has changed other than by the regular progress of its track: by an update, an end,
   * a jump of the position or a change of its rate. Synchronous for updates and ends; jumps and changes of the rate that
   * its worker reports are gathered for a second. Several calls may come for one change, none once it is being destroyed.
   * Must be cheap and must not throw. Default: nobody is told.
   */
  readonly onChanged?: (() => void) | undefined;
}
