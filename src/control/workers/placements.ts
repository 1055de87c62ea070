// Which player is on which worker: chooses the worker, numbers the player there, and lets players without a worker wait
// in batches. Main thread; worker-pool.ts decides when, hand-overs.ts moves only the audio of a player.

import type { PlayerId } from "../../bridge/commands.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import { type PlayerEvent, type PooledPlayer, WorkerHandle } from "./worker-handle.ts";
import type { WorkerSlot, WorkerView } from "./worker-slot.ts";

/**
 * Players that move are handed over in batches of this size per worker: they open new connections, which takes some
 * milliseconds of a core each, and more at once would be audible to those that play on the worker already.
 */
const MOVES_PER_WORKER = 5;
const MOVE_INTERVAL_MS = 50;
/** How long a worker may take to destroy a player that leaves it. */
export const DESTROY_TIMEOUT_MS = 1000;

/** Where a player is: the worker of its voice, and the worker of its audio where that is another. */
export interface PlayerPlacement {
  readonly ownerWorker: WorkerView;
  readonly renderWorker: WorkerView | undefined;
}

interface Placement {
  readonly slot: WorkerSlot;
  readonly playerId: PlayerId;
}

/** The worker of a player's voice, and of its audio unless a render worker makes that. */
interface OwnerWorkerPlacement extends Placement {
  renderWorker?: RenderWorkerPlacement;
}

interface RenderWorkerPlacement extends Placement {
  /** Audio comes from there; before that, it is only being prepared. */
  isAudible: boolean;
}

interface PlacementsOptions {
  /** The workers that players share. */
  readonly slots: readonly WorkerSlot[];
  /** Called with each player that gets a worker. */
  readonly onAssigned: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One for the node. */
export class Placements {
  readonly #options: PlacementsOptions;
  readonly #placements = new Map<PooledPlayer, OwnerWorkerPlacement>();
  /** Players without a worker, because theirs was lost or none is running: served in order, a batch at a time. */
  readonly #waiting = new Set<PooledPlayer>();
  #nextBatch: Timer | undefined;
  #isClosed = false;
  #playerCount = 0;

  constructor(options: PlacementsOptions) {
    this.#options = options;
  }

  /** Players that have a worker. */
  get size(): number {
    return this.#placements.size;
  }

  /** The owner of each player that plays on a worker. */
  get busyOwners(): readonly Owner[] {
    return [...this.#placements.keys()].filter(({ needsCapacity }) => needsCapacity).map(({ owner }) => owner);
  }

  /** Undefined while the player waits for a worker. */
  get(player: PooledPlayer): OwnerWorkerPlacement | undefined {
    return this.#placements.get(player);
  }

  /** Undefined while the player waits for a worker. */
  viewOf(player: PooledPlayer): PlayerPlacement | undefined {
    const placement = this.#placements.get(player);
    if (placement === undefined) return undefined;
    return {
      ownerWorker: placement.slot.view,
      renderWorker: placement.renderWorker?.isAudible ? placement.renderWorker.slot.view : undefined,
    };
  }

  /** The worker with the least to do: by load, then by number of players; one that has failed only once it is ready. */
  get freest(): WorkerSlot | undefined {
    let best: WorkerSlot | undefined;
    for (const slot of this.#options.slots) {
      if (slot.thread !== undefined && (best === undefined || slot.isFreerThan(best))) best = slot;
    }
    return best;
  }

  /** The worker for one more player: the first with room, so that no more are awake than are needed; else the freest. */
  get #preferred(): WorkerSlot | undefined {
    return this.#options.slots.find(({ hasRoom }) => hasRoom) ?? this.freest;
  }

  /** Gives the player a shared worker, at once if one is running, otherwise when one is. */
  attach(player: PooledPlayer): void {
    if (this.#isClosed || this.#placements.has(player)) return;
    const slot = this.#preferred;
    if (slot === undefined) this.#waiting.add(player);
    else this.assign(player, slot);
  }

  /** Gives the player this worker, which runs. */
  assign(player: PooledPlayer, slot: WorkerSlot): void {
    const { thread, index, isIsolated } = slot;
    if (thread === undefined) return;
    const playerId = this.#numberAt(slot, player);
    this.#waiting.delete(player);
    this.#placements.set(player, { slot, playerId });
    this.#options.onAssigned();
    player.onWorkerAssigned(new WorkerHandle({ playerId, workerIndex: index, isIsolated, channel: thread.channel }));
  }

  /** Gives the player's audio a second worker. Returns its number there. */
  addRenderWorker(player: PooledPlayer, placement: OwnerWorkerPlacement, slot: WorkerSlot): PlayerId {
    const playerId = this.#numberAt(slot, player);
    placement.renderWorker = { slot, playerId, isAudible: false };
    placement.slot.leaving.add(placement.playerId);
    return playerId;
  }

  /** The player's audio is on the worker of its voice again, and on no other. */
  removeRenderWorker(placement: OwnerWorkerPlacement): void {
    const { renderWorker, slot, playerId } = placement;
    if (renderWorker === undefined) return;
    delete placement.renderWorker;
    renderWorker.slot.forget(renderWorker.playerId);
    slot.leaving.delete(playerId);
    slot.away.delete(playerId);
    this.destroyAt(renderWorker);
  }

  /** Takes the player off its worker, without a command there. Returns the worker. */
  remove(player: PooledPlayer): WorkerSlot | undefined {
    const placement = this.#placements.get(player);
    if (placement === undefined) return undefined;
    this.removeRenderWorker(placement);
    this.#placements.delete(player);
    placement.slot.forget(placement.playerId);
    return placement.slot;
  }

  /** Destroys on a worker what it has of a player. */
  destroyAt({ slot, playerId }: Placement): void {
    const ended = slot.thread?.channel.request({ type: "destroyPlayer", playerId }, { timeoutMs: DESTROY_TIMEOUT_MS });
    // The player counts as gone from there.
    ended?.catch(() => undefined);
  }

  /** Has the player, which has no worker, wait for one. */
  wait(player: PooledPlayer): void {
    this.#waiting.add(player);
  }

  /** The player waits no longer. */
  stopWaiting(player: PooledPlayer): void {
    this.#waiting.delete(player);
  }

  /** Gives waiting players a worker if one is running, the first batch at once. */
  serveWaiting(): void {
    const { slots, clock } = this.#options;
    this.#nextBatch?.cancel();
    this.#nextBatch = undefined;
    if (this.freest === undefined) return;
    const batch = [...this.#waiting].slice(0, MOVES_PER_WORKER * slots.length);
    for (const player of batch) this.guard(() => this.attach(player));
    if (this.#waiting.size === 0) return;
    this.#nextBatch = clock.after(MOVE_INTERVAL_MS, () => this.serveWaiting());
  }

  /** Passes an event of a worker on to the player of that number. */
  forward(slot: WorkerSlot, playerId: PlayerId, event: PlayerEvent): void {
    const player = slot.players.get(playerId);
    const renderWorker = player && this.#placements.get(player)?.renderWorker;
    // Events of a track on a render worker that is not audible yet are not for the client.
    if (renderWorker?.playerId === playerId && !renderWorker.isAudible) return;
    if (player !== undefined) this.guard(() => player.onWorkerEvent(event));
  }

  /** A failing player must not keep the others from their events. */
  guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.logger.error("player failed to handle an event of its worker", { error });
    }
  }

  /** Gives no waiting player a worker any more. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#nextBatch?.cancel();
  }

  #numberAt(slot: WorkerSlot, player: PooledPlayer): PlayerId {
    const playerId = ++this.#playerCount;
    slot.players.set(playerId, player);
    slot.newPlayerCount++;
    return playerId;
  }
}
