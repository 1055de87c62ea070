// Moves the audio of playing players to workers with less load; their voice stays, so the move is inaudible
// (docs/internals/moving.md). Main thread; worker-pool.ts asks with each report of a worker.

import type { PlayerId } from "../../bridge/commands.ts";
import type { Placements } from "./placements.ts";
import type { Threads } from "./threads.ts";
import type { HandOverEvent, PooledPlayer } from "./worker-handle.ts";
import type { WorkerSlot } from "./worker-slot.ts";

/** Players of one worker whose audio may be moving to other workers at once: each has its track opened there. */
const HAND_OVERS_MAX = 4;

interface HandOversOptions {
  readonly placements: Placements;
  readonly threads: Pick<Threads, "createChannel">;
  /** Whether a move from the first load to the second is worth it. */
  readonly isWorthMoving: (fromLoad: number, toLoad: number) => boolean;
}

/** One for the node. */
export class HandOvers {
  readonly #options: HandOversOptions;
  #movedCount = 0;

  constructor(options: HandOversOptions) {
    this.#options = options;
  }

  /** Players whose audio has moved so far. */
  get movedCount(): number {
    return this.#movedCount;
  }

  /** Moves the audio of the worker's heaviest player to the freest worker, if that is worth it. */
  relieve(slot: WorkerSlot): void {
    const { placements, threads, isWorthMoving } = this.#options;
    const target = placements.freest;
    const player = slot.heaviestPooledPlayer;
    if (slot.isIsolated || slot.leaving.size >= HAND_OVERS_MAX || player === undefined) return;
    if (target === undefined || !isWorthMoving(slot.promisedLoad, target.promisedLoad)) return;
    const placement = placements.get(player);
    if (placement?.slot !== slot || placement.renderWorker !== undefined || !target.thread?.isReady) return;
    const playerId = placements.addRenderWorker(player, placement, target);
    const { port1, port2 } = threads.createChannel();
    target.thread.channel.send({ type: "renderRemotePlayer", playerId, port: port1 });
    slot.thread?.channel.send({ type: "handOver", playerId: placement.playerId, port: port2 });
  }

  /** The owner worker reports the end of a hand-over. */
  onHandOver(slot: WorkerSlot, { type, playerId }: HandOverEvent): void {
    const { placements } = this.#options;
    const player = slot.players.get(playerId);
    const placement = player && placements.get(player);
    if (placement?.playerId !== playerId || placement.renderWorker === undefined) return;
    slot.leaving.delete(playerId);
    if (type === "handOverFailed") {
      placements.removeRenderWorker(placement);
      return;
    }
    placement.renderWorker.isAudible = true;
    slot.away.add(playerId);
    this.#movedCount++;
  }

  /**
   * The worker on which the player has this number is lost. True: it was only being prepared there and plays on where
   * it is; a suspect does not.
   */
  survivesLoss(player: PooledPlayer, playerId: PlayerId, { isSuspect }: { readonly isSuspect: boolean }): boolean {
    const { placements } = this.#options;
    const placement = placements.get(player);
    if (placement?.renderWorker?.playerId !== playerId) return false;
    if (placement.renderWorker.isAudible || isSuspect) {
      placements.destroyAt(placement);
      return false;
    }
    placements.removeRenderWorker(placement);
    return true;
  }
}
