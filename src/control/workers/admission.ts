// Whether a silent player may begin to play. What was admitted lately shows in the load of its worker only with the next
// reports: until then its cost is an estimate, and a player that the estimate leaves no room for waits for them instead
// of being refused. Main thread; worker-pool.ts asks, and carries out moves.

import type { Clock, Timer } from "../../lib/clock.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { holdsMost, type LoadGovernor } from "./load-governor.ts";
import type { Placements } from "./placements.ts";
import type { PooledPlayer } from "./worker-handle.ts";
import type { WorkerSlot } from "./worker-slot.ts";

/** Longest wait: two seconds of reports of players that were admitted within the two before. */
const WAIT_MS_MAX = 4000;

export interface AdmissionRequest {
  /** Called at the moment of admission: from then on the player counts, by its `needsCapacity`. */
  readonly onAdmitted: () => void;
  /** Fires when the player is destroyed. */
  readonly signal: AbortSignal;
}

interface AdmissionOptions {
  readonly placements: Placements;
  readonly governor: LoadGovernor;
  /** Gives a silent player another worker. */
  readonly move: (player: PooledPlayer, slot: WorkerSlot) => void;
  readonly clock: Clock;
}

interface Waiting extends AdmissionRequest {
  readonly player: PooledPlayer;
  readonly timer: Timer;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Undefined: admitted. */
type Obstacle = { readonly load: number; readonly isMeasured: boolean } | undefined;

/** One for the node. */
export class Admission {
  readonly #options: AdmissionOptions;
  /** First come, first served. */
  readonly #waiting = new Set<Waiting>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the player may play; it may have another worker by then.
   * @throws NodeError "node-overloaded" when that would make others late, or the reason of the signal
   */
  async admit(player: PooledPlayer, { onAdmitted, signal }: AdmissionRequest): Promise<void> {
    // Who waits comes first.
    const obstacle = this.#waiting.size === 0 ? this.#tryAdmit(player) : { load: 0, isMeasured: false };
    if (obstacle === undefined) return onAdmitted();
    if (obstacle.isMeasured) throw this.#options.governor.refuse(obstacle.load);
    const admitted = new Promise<void>((resolve, reject) => {
      const timer = this.#options.clock.after(WAIT_MS_MAX, () => this.#decide(waiting, { isLast: true }));
      const waiting: Waiting = { player, onAdmitted, signal, timer, resolve, reject };
      this.#waiting.add(waiting);
    });
    await unlessAborted(admitted, signal);
  }

  /** A worker has reported its load. */
  onReport(): void {
    for (const waiting of this.#waiting) this.#decide(waiting, { isLast: false });
  }

  #decide(waiting: Waiting, { isLast }: { readonly isLast: boolean }): void {
    const { player, onAdmitted, signal, timer, resolve, reject } = waiting;
    const isGone = signal.aborted;
    const obstacle = isGone ? undefined : this.#tryAdmit(player);
    if (obstacle !== undefined && !obstacle.isMeasured && !isLast) return;
    this.#waiting.delete(waiting);
    timer.cancel();
    if (isGone) return;
    if (obstacle === undefined) {
      onAdmitted();
      resolve();
    } else {
      reject(this.#options.governor.refuse(obstacle.load));
    }
  }

  /** Moves the player where its own worker has no capacity and another one has. */
  #tryAdmit(player: PooledPlayer): Obstacle {
    const { placements, governor, move } = this.#options;
    const placement = placements.get(player);
    if (placement === undefined) return undefined;
    const { slot } = placement.renderWorker ?? placement;
    const { freest } = placements;
    const isMoved =
      !slot.isIsolated && freest !== undefined && freest !== slot && !governor.hasCapacity(slot.promisedLoad);
    const target = isMoved ? freest : slot;
    const load = target.promisedLoad;
    if (!governor.hasCapacityFor(load, () => holdsMost(player.owner, placements.busyOwners)))
      return { load, isMeasured: target.isMeasured };
    if (isMoved) move(player, freest);
    return undefined;
  }
}
