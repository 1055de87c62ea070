// Isolates players from each other's errors: every call into a player (tick, timer, command, socket, unhandled
// rejection) passes through here. An exception ends that player's track or voice connection, and the worker continues.
// Also writes into shared memory which player the thread is working for, for when the thread is lost. Audio thread.

import type { PlayerId } from "../../bridge/commands.ts";
import type { Activity, Heartbeat } from "../../bridge/heartbeat.ts";
import { type Clock, wrapTimers } from "../../lib/clock.ts";

/** What the tick drives: one player. */
export interface Tickable {
  readonly playerId: PlayerId;
  /** Makes the next frame, if possible. True: it contains audio and may be sent before it is due. */
  prepare(): boolean;
  /** Sends the frame of `prepare` for its deadline; once that has come, sends silence or nothing without one. */
  send(deadlineMs: number): void;
}

interface ErrorBoundaryOptions {
  readonly heartbeat: Heartbeat;
  /** An exception in this player's code. Must not throw itself. */
  readonly onFault: (playerId: PlayerId, error: unknown) => void;
  /** Before work that belongs to no other: lets the tick catch up when much work comes at once. Must not throw. */
  readonly beforeWork?: () => void;
}

/** One per worker. Never throws. */
export class ErrorBoundary {
  readonly #options: ErrorBoundaryOptions;
  /** How many pieces of work have been entered and not left. */
  #depth = 0;

  constructor(options: ErrorBoundaryOptions) {
    this.#options = options;
  }

  /** Runs a player's work; undefined when it has thrown. */
  run<Result>(playerId: PlayerId, activity: Activity, work: () => Result): Result | undefined {
    const { heartbeat, onFault } = this.#options;
    this.beforeWork();
    this.#depth += 1;
    heartbeat.enter(playerId, activity);
    try {
      return work();
    } catch (error) {
      onFault(playerId, error);
      return undefined;
    } finally {
      heartbeat.leave();
      this.#depth -= 1;
    }
  }

  /** To be called before work that does not pass through here. */
  beforeWork(): void {
    if (this.#depth === 0) this.#options.beforeWork?.();
  }

  // Like `run`, for the tick: without a closure per frame.

  send(player: Tickable, deadlineMs: number): void {
    const { heartbeat, onFault } = this.#options;
    this.#depth += 1;
    heartbeat.enter(player.playerId, "send");
    try {
      player.send(deadlineMs);
    } catch (error) {
      onFault(player.playerId, error);
    } finally {
      heartbeat.leave();
      this.#depth -= 1;
    }
  }

  /** Also false when it has thrown. */
  prepare(player: Tickable): boolean {
    const { heartbeat, onFault } = this.#options;
    let isReady = false;
    this.#depth += 1;
    heartbeat.enter(player.playerId, "prepare");
    try {
      isReady = player.prepare();
    } catch (error) {
      onFault(player.playerId, error);
    } finally {
      heartbeat.leave();
      this.#depth -= 1;
    }
    return isReady;
  }

  /** A clock whose timers run inside the player's error boundary. */
  clockOf(playerId: PlayerId, clock: Clock): Clock {
    return wrapTimers(clock, (callback) => () => this.run(playerId, "timer", callback));
  }

  /**
   * Attributes an uncaught exception of a callback or promise to the player the thread was working for. False: unknown.
   */
  attribute(error: unknown): boolean {
    const { heartbeat, onFault } = this.#options;
    const { currentTask } = heartbeat;
    if (currentTask === undefined) return false;
    onFault(currentTask.owner, error);
    return true;
  }
}
