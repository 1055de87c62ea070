// Keeps what goes wrong in one player's code from everybody else: every way into a player (the tick, a timer, a
// command, a socket, a promise nobody waited for) leads through here. What it throws ends that player's track or voice
// connection, and the worker goes on. Also says in shared memory whose work the thread is doing, for when it is lost.
// Audio thread.

import type { PlayerId } from "../../bridge/commands.ts";
import type { Activity, Heartbeat } from "../../bridge/heartbeat.ts";
import { type Clock, wrapTimers } from "../../lib/clock.ts";

/** What the tick drives: one player. */
export interface Tickable {
  readonly playerId: PlayerId;
  /** Makes the next frame, if it can. True: it is one of sound that may be sent before it is due. */
  prepare(): boolean;
  /** Sends what `prepare` left, to leave at its deadline; when that has come, something or nothing. */
  send(deadlineMs: number): void;
}

interface ErrorBoundaryOptions {
  readonly heartbeat: Heartbeat;
  /** Something of this player threw. Must not throw itself. */
  readonly onFault: (playerId: PlayerId, error: unknown) => void;
}

/** One per worker. It throws nothing itself, and lets nothing through. */
export class ErrorBoundary {
  readonly #options: ErrorBoundaryOptions;

  constructor(options: ErrorBoundaryOptions) {
    this.#options = options;
  }

  /** Does a player's work; undefined when it has thrown. */
  run<Result>(playerId: PlayerId, activity: Activity, work: () => Result): Result | undefined {
    const { heartbeat, onFault } = this.#options;
    heartbeat.enter(playerId, activity);
    try {
      return work();
    } catch (error) {
      onFault(playerId, error);
      return undefined;
    } finally {
      heartbeat.leave();
    }
  }

  // As `run`, for the tick: without a closure a frame.

  send(player: Tickable, deadlineMs: number): void {
    const { heartbeat, onFault } = this.#options;
    heartbeat.enter(player.playerId, "send");
    try {
      player.send(deadlineMs);
    } catch (error) {
      onFault(player.playerId, error);
    } finally {
      heartbeat.leave();
    }
  }

  /** False when it has thrown, too. */
  prepare(player: Tickable): boolean {
    const { heartbeat, onFault } = this.#options;
    let isReady = false;
    heartbeat.enter(player.playerId, "prepare");
    try {
      isReady = player.prepare();
    } catch (error) {
      onFault(player.playerId, error);
    } finally {
      heartbeat.leave();
    }
    return isReady;
  }

  /** A clock whose timers are the player's. */
  clockOf(playerId: PlayerId, clock: Clock): Clock {
    return wrapTimers(clock, (callback) => () => this.run(playerId, "timer", callback));
  }

  /**
   * What nobody has caught, from a callback or a promise: it belongs to whoever the thread was working for. False: that
   * is not known.
   */
  attribute(error: unknown): boolean {
    const { heartbeat, onFault } = this.#options;
    const { currentTask } = heartbeat;
    if (currentTask === undefined) return false;
    onFault(currentTask.owner, error);
    return true;
  }
}
