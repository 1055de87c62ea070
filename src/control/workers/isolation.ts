// Keeps players whose work has probably crashed a worker apart from the others, each on its own worker, and decides to
// whom a crash is attributed (docs/internals/recovery.md). Main thread; worker-pool.ts starts and replaces the workers.

import type { Activity, CurrentTask } from "../../bridge/heartbeat.ts";
import type { Clock } from "../../lib/clock.ts";
import { greediest } from "../../lib/greediest.ts";
import { DESTROY_TIMEOUT_MS, type Placements } from "./placements.ts";
import type { CrashAttribution, PooledPlayer } from "./worker-handle.ts";
import { STABLE_AFTER_MS, WorkerSlot } from "./worker-slot.ts";

/** Players isolated at once, each on its own worker. */
const ISOLATED_MAX = 4;

interface IsolationOptions {
  readonly placements: Placements;
  /** Index of the first isolated worker. */
  readonly firstIndex: number;
  /** Starts the worker of an isolated slot. */
  readonly start: (slot: WorkerSlot) => void;
  readonly clock: Clock;
}

/** One for the node. */
export class Isolation {
  readonly #options: IsolationOptions;
  /** Workers with one player each, oldest first; and those whose player has left, until they are closed. */
  readonly #isolated = new Set<WorkerSlot>();
  readonly #emptied = new Set<WorkerSlot>();
  #nextIndex: number;
  #isClosed = false;

  constructor(options: IsolationOptions) {
    this.#options = options;
    this.#nextIndex = options.firstIndex;
  }

  /** Workers with one player each, oldest first. */
  get slots(): readonly WorkerSlot[] {
    return [...this.#isolated];
  }

  /** Workers whose player has left, until they are closed. */
  get closingCount(): number {
    return this.#emptied.size;
  }

  /** Moves a player from its shared worker to an isolated one. False, and no effect: its owner has enough of them. */
  isolate(player: PooledPlayer): boolean {
    const { placements } = this.#options;
    const placement = placements.get(player);
    if (placement === undefined || placement.slot.isIsolated) return true;
    if (!this.#makeSpace(player)) return false;
    placements.destroyAt(placement);
    this.displace(player, { kind: "suspect", activity: "prepare" });
    placements.serveWaiting();
    return true;
  }

  /** Takes the player off its worker. An isolated worker is closed once it has closed its player. */
  leave(player: PooledPlayer): void {
    const slot = this.#options.placements.remove(player);
    if (slot === undefined || !this.#isolated.delete(slot) || slot.thread === undefined) return;
    this.#emptied.add(slot);
    slot.restart = this.#options.clock.after(DESTROY_TIMEOUT_MS, () => {
      void slot.thread?.close().then(() => this.#emptied.delete(slot));
    });
  }

  /** Takes the player off its worker and notifies it. A suspect or culprit continues isolated; all others wait. */
  displace(player: PooledPlayer, attribution: CrashAttribution): void {
    const { placements } = this.#options;
    this.leave(player);
    const isAttributed = attribution.kind !== "none";
    const hasCapacity = !isAttributed || this.#makeSpace(player);
    // Among the others again it would cost them another worker.
    placements.guard(() =>
      player.onWorkerLost(isAttributed && !hasCapacity ? { ...attribution, kind: "culprit" } : attribution),
    );
    if ((isAttributed && hasCapacity) || (player.isSuspect && this.#makeSpace(player))) this.#startWorker(player);
    else placements.wait(player);
  }

  /** An isolated worker whose player has left is lost: nothing is left to close. */
  onLost(slot: WorkerSlot): void {
    if (this.#emptied.delete(slot)) slot.restart?.cancel();
  }

  /** Isolates no more players. Returns the workers to close. */
  close(): readonly WorkerSlot[] {
    this.#isClosed = true;
    return [...this.#isolated, ...this.#emptied];
  }

  /**
   * True when this player, too, can be isolated: the longest isolated one that is no longer suspect returns to the
   * others, or what the last one of the owner with most of them was doing is given up.
   */
  #makeSpace(player: PooledPlayer): boolean {
    if (this.#isolated.size < ISOLATED_MAX) return true;
    const players = [...this.#isolated].flatMap((slot) => [...slot.players.values()]);
    const cleared = players.find((isolated) => !isolated.isSuspect);
    if (cleared !== undefined) {
      this.displace(cleared, { kind: "none" });
      return true;
    }
    const refused = greediest([...players, player], ({ owner }) => owner);
    if (refused === undefined || refused === player) return false;
    this.#giveUp(refused);
    return true;
  }

  /** It is not suspect afterwards, and returns to the others. */
  #giveUp(player: PooledPlayer): void {
    const { placements } = this.#options;
    const placement = placements.get(player);
    if (placement !== undefined) placements.destroyAt(placement);
    this.leave(player);
    placements.guard(() => player.onWorkerLost({ kind: "culprit", activity: "idle" }));
    placements.wait(player);
  }

  #startWorker(player: PooledPlayer): void {
    if (this.#isClosed) return;
    const { placements, start } = this.#options;
    const slot = new WorkerSlot(this.#nextIndex++, { isIsolated: true });
    this.#isolated.add(slot);
    start(slot);
    placements.guard(() => placements.assign(player, slot));
  }
}

interface WorkerLoss {
  /** The worker had one player and was ready. */
  readonly wasIsolated: boolean;
  /** How long it ran, milliseconds. */
  readonly ranMs: number;
  readonly currentTask: CurrentTask | undefined;
}

/** How the loss of a worker is attributed to one of its players. */
export function attributionTo(
  playerId: number,
  { isSuspect }: PooledPlayer,
  { wasIsolated, ranMs, currentTask }: WorkerLoss,
): CrashAttribution {
  const activity: Activity = currentTask?.activity ?? "idle";
  // A player stays isolated with its next tracks, which have cost no worker yet.
  if (wasIsolated) return { kind: isSuspect || ranMs < STABLE_AFTER_MS ? "culprit" : "suspect", activity };
  return playerId === currentTask?.owner ? { kind: "suspect", activity } : { kind: "none" };
}
