// A player's connection to its worker: its number there and a way to command it. Main thread. A handle dies with its
// worker; the pool then gives the player another one.

import type { CommandChannel, UnnumberedRequest, WorkerNotice } from "../../bridge/channel.ts";
import type { PlayerId } from "../../bridge/commands.ts";
import type { WorkerEvent } from "../../bridge/events.ts";
import type { Activity } from "../../bridge/heartbeat.ts";
import type { WorkerReplies } from "../../bridge/replies.ts";
import type { PlayerReport } from "../../bridge/worker-report.ts";
import type { Owner } from "../../lib/owners.ts";

type WithoutPlayerId<Command> = Command extends { readonly playerId: PlayerId } ? Omit<Command, "playerId"> : never;

/** Commands for one player, the player's number left out. */
export type PlayerNotice = WithoutPlayerId<WorkerNotice>;
type PlayerRequest = WithoutPlayerId<UnnumberedRequest>;

/** Events about moving a player's audio to another worker, handled by the pool. */
export type HandOverEvent = Extract<WorkerEvent, { readonly type: "handedOver" | "handOverFailed" }>;

/** Events that concern one player. A `position` also comes with the regular report of its worker. */
export type PlayerEvent =
  | Exclude<Extract<WorkerEvent, { readonly playerId: PlayerId }>, HandOverEvent>
  | Extract<WorkerEvent, { readonly type: "position" }>
  | { readonly type: "playerReport"; readonly report: PlayerReport };

/** How the loss of a worker is attributed to a player. */
export type CrashAttribution =
  /** Nothing that is known. */
  | { readonly kind: "none" }
  /** The worker was doing this for it at the end: the player continues isolated. */
  | { readonly kind: "suspect"; readonly activity: Activity }
  /** It was isolated on the worker: what it was doing is given up. */
  | { readonly kind: "culprit"; readonly activity: Activity };

/** A player as the pool sees it. */
export interface PooledPlayer {
  /** The player has a worker: create it there from all that was asked for. Called again after a worker was lost. */
  onWorkerAssigned(handle: WorkerHandle): void;
  /** Its worker is gone, with all its state. */
  onWorkerLost(attribution: CrashAttribution): void;
  onWorkerEvent(event: PlayerEvent): void;
  /** It has a track that is not paused, or has been admitted with one that is about to start. */
  readonly needsCapacity: boolean;
  /** Whose it is: what players share is shared out by it. */
  readonly owner: Owner;
  /** Its work has probably crashed a worker: it must not share one with others. */
  readonly isSuspect: boolean;
}

/** Valid until `onWorkerLost`; after that sending has no effect, and requests reject with `worker-lost`. */
export class WorkerHandle {
  readonly playerId: PlayerId;
  /** Which worker, counted from 0: for logs. */
  readonly workerIndex: number;
  /** True when it is the only player of the worker. */
  readonly isIsolated: boolean;
  readonly #channel: CommandChannel;

  constructor(options: { playerId: PlayerId; workerIndex: number; isIsolated?: boolean; channel: CommandChannel }) {
    this.playerId = options.playerId;
    this.workerIndex = options.workerIndex;
    this.isIsolated = options.isIsolated ?? false;
    this.#channel = options.channel;
  }

  /** In order with all that is sent and asked for this player; without an answer. */
  send(command: PlayerNotice): void {
    // Putting back the number that PlayerNotice leaves out gives the command again; the compiler cannot follow that.
    this.#channel.send({ ...command, playerId: this.playerId } as WorkerNotice);
  }

  /** As CommandChannel.request: rejects with the worker's error, `worker-timeout` or `worker-lost`. */
  request<R extends PlayerRequest>(command: R, options: { timeoutMs: number }): Promise<WorkerReplies[R["type"]]> {
    // As above.
    return this.#channel.request({ ...command, playerId: this.playerId } as UnnumberedRequest, options) as Promise<
      WorkerReplies[R["type"]]
    >;
  }
}
