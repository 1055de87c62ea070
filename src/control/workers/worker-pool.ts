// Starts the audio workers, gives every player one of them, and replaces a worker that dies or hangs: its players move
// to another at once and create themselves again there. Main thread.

import type { PlayerId } from "../../bridge/commands.ts";
import type { WorkerCounters, WorkerEvent } from "../../bridge/events.ts";
import { unpackPositions } from "../../bridge/position-batch.ts";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import type { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";
import { type RouteSource, serveRoutes } from "./route-source.ts";
import { type PlayerEvent, WorkerHandle, type WorkerTenant } from "./worker-handle.ts";
import { WorkerThread } from "./worker-thread.ts";

const HEAP_MEGABYTES_DEFAULT = 512;
/** Wait before a lost worker is started again, by how often its place has failed in a row; the last one repeats. */
const RESTART_DELAYS_MS = [0, 250, 1000, 5000, 15_000, 30_000] as const;
/** A worker that ran this long was sound: the next loss counts as the first again. */
const STABLE_AFTER_MS = 60_000;
/**
 * Players that move are handed over in batches: each opens connections anew, and a few hundred at once would be heard by
 * those that play on the worker already. A thousand have moved after a second.
 */
const MOVE_BATCH = 50;
const MOVE_INTERVAL_MS = 50;
/** Loads are compared in steps of this size, so that noise does not outweigh the number of players. */
const LOAD_STEP = 0.05;
/** What a player is taken to cost until the worker's next counters, share of a core. */
const LOAD_PER_PLAYER_MIN = 0.001;

export interface WorkerPoolOptions {
  /** The module that runs in each worker. */
  readonly entry: URL;
  readonly count: number;
  readonly settings: WorkerSettings;
  /** Undefined where the settings have no routing: workers ask for no address then. */
  readonly routes?: RouteSource | undefined;
  /** JavaScript heap of each worker, default 512. */
  readonly heapMegabytesMax?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One place for a worker; the worker in it may change. */
interface Slot {
  readonly index: number;
  readonly tenants: Map<PlayerId, WorkerTenant>;
  thread: WorkerThread | undefined;
  restart: Timer | undefined;
  /** Losses in a row without a stable run between. */
  failureCount: number;
  /** Players given to it since its last counters, which do not know of them. */
  newTenantCount: number;
}

export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #slots: Slot[];
  /** Players without a worker, because theirs was lost or none is running: served in order, a batch at a time. */
  readonly #waiting = new Set<WorkerTenant>();
  #nextBatch: Timer | undefined;
  readonly #places = new Map<WorkerTenant, { readonly slot: Slot; readonly playerId: PlayerId }>();
  #playerCount = 0;
  #isClosed = false;

  /** Workers start at once. Players may be attached before they are ready: what they are told waits for them. */
  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.count }, (_, index) => ({
      index,
      tenants: new Map(),
      thread: undefined,
      restart: undefined,
      failureCount: 0,
      newTenantCount: 0,
    }));
    for (const slot of this.#slots) this.#start(slot);
  }

  /** The last counters of each worker that runs. */
  get counters(): readonly WorkerCounters[] {
    return this.#slots.flatMap((slot) => slot.thread?.counters ?? []);
  }

  /** Gives the player a worker, at once if one is running, else when one is. */
  attach(tenant: WorkerTenant): void {
    if (this.#isClosed || this.#places.has(tenant)) return;
    const slot = this.#freest();
    if (slot?.thread === undefined) {
      this.#waiting.add(tenant);
      return;
    }
    const playerId = ++this.#playerCount;
    this.#waiting.delete(tenant);
    this.#places.set(tenant, { slot, playerId });
    slot.tenants.set(playerId, tenant);
    slot.newTenantCount++;
    tenant.onWorkerAssigned(new WorkerHandle({ playerId, workerIndex: slot.index, channel: slot.thread.channel }));
  }

  /** Forgets the player. What it had on its worker is destroyed by the player's own command. */
  detach(tenant: WorkerTenant): void {
    const place = this.#places.get(tenant);
    this.#waiting.delete(tenant);
    this.#places.delete(tenant);
    place?.slot.tenants.delete(place.playerId);
  }

  /** Ends all workers, each within about 2 s. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#nextBatch?.cancel();
    for (const slot of this.#slots) slot.restart?.cancel();
    await Promise.all(this.#slots.map((slot) => slot.thread?.close()));
  }

  #start(slot: Slot): void {
    if (this.#isClosed) return;
    slot.newTenantCount = 0;
    slot.restart = undefined;
    slot.thread = new WorkerThread({
      index: slot.index,
      entry: this.#options.entry,
      settings: this.#options.settings,
      heapMegabytesMax: this.#options.heapMegabytesMax ?? HEAP_MEGABYTES_DEFAULT,
      clock: this.#options.clock,
      logger: this.#options.logger,
      onReady: () => this.#options.logger.debug("audio worker ready", { worker: slot.index }),
      onEvent: (event) => this.#onEvent(slot, event),
      onLost: (reason) => this.#onLost(slot, reason),
    });
    this.#serveWaiting();
  }

  #serveWaiting(): void {
    this.#nextBatch?.cancel();
    this.#nextBatch = undefined;
    if (this.#freest() === undefined) return;
    for (const tenant of [...this.#waiting].slice(0, MOVE_BATCH)) this.#guarded(() => this.attach(tenant));
    if (this.#waiting.size === 0) return;
    this.#nextBatch = this.#options.clock.after(MOVE_INTERVAL_MS, () => this.#serveWaiting());
  }

  #onEvent(slot: Slot, event: WorkerEvent): void {
    if (event.type === "log") {
      this.#options.logger[event.level](event.message, { ...event.fields, worker: slot.index });
    } else if (event.type === "counters") {
      slot.newTenantCount = 0;
      for (const report of unpackPositions(event.positions)) {
        this.#toTenant(slot, report.playerId, { type: "position", report });
      }
    } else if (event.type === "frameMinutes") {
      for (const minute of event.minutes) this.#toTenant(slot, minute.playerId, { type: "frameMinute", minute });
    } else if (event.type === "position") {
      this.#toTenant(slot, event.report.playerId, event);
    } else if (serveRoutes(event, this.#options.routes, (answer) => slot.thread?.channel.send(answer))) {
      return;
    } else if ("playerId" in event) {
      this.#toTenant(slot, event.playerId, event);
    }
  }

  #toTenant(slot: Slot, playerId: PlayerId, event: PlayerEvent): void {
    const tenant = slot.tenants.get(playerId);
    if (tenant !== undefined) this.#guarded(() => tenant.onWorkerEvent(event));
  }

  /** One player's mistake must not keep the others from hearing theirs. */
  #guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.logger.error("a player failed to handle an event of its worker", { error });
    }
  }

  #onLost(slot: Slot, reason: NodeError): void {
    const ranMs = this.#options.clock.now() - (slot.thread?.startedMs ?? 0);
    slot.failureCount = ranMs >= STABLE_AFTER_MS ? 1 : slot.failureCount + 1;
    slot.thread = undefined;
    const delayMs = RESTART_DELAYS_MS[Math.min(slot.failureCount, RESTART_DELAYS_MS.length) - 1] ?? 0;
    const tenants = [...slot.tenants.values()];
    this.#options.logger.error("an audio worker was lost and will be replaced", {
      worker: slot.index,
      ranMs: Math.round(ranMs),
      players: tenants.length,
      lossesInARow: slot.failureCount,
      restartInMs: delayMs,
      error: reason,
    });
    // First all leave, then the worker starts anew, then they move: a lone worker has to be there to move to.
    for (const tenant of tenants) {
      this.detach(tenant);
      this.#waiting.add(tenant);
      this.#guarded(() => tenant.onWorkerLost());
    }
    slot.restart = delayMs === 0 ? undefined : this.#options.clock.after(delayMs, () => this.#start(slot));
    if (delayMs === 0) this.#start(slot);
    else this.#serveWaiting();
  }

  /** The worker for one more player: by load, then by number of players; one that has failed only once it is ready. */
  #freest(): Slot | undefined {
    let best: Slot | undefined;
    for (const slot of this.#slots) {
      if (slot.thread !== undefined && (best === undefined || isFreer(slot, best))) best = slot;
    }
    return best;
  }
}

function isFreer(slot: Slot, other: Slot): boolean {
  const isSound = isTrusted(slot);
  if (isSound !== isTrusted(other)) return isSound;
  const step = Math.floor(expectedLoad(slot) / LOAD_STEP);
  const otherStep = Math.floor(expectedLoad(other) / LOAD_STEP);
  return step === otherStep ? slot.tenants.size < other.tenants.size : step < otherStep;
}

/** While the node starts, players need not crowd on the worker that was ready first: what they are told waits. */
function isTrusted(slot: Slot): boolean {
  return slot.failureCount === 0 || slot.thread?.isReady === true;
}

/** Measured load plus what the players that came since will cost if they are like the others. */
function expectedLoad(slot: Slot): number {
  const counters = slot.thread?.counters;
  if (counters === undefined) return slot.newTenantCount * LOAD_PER_PLAYER_MIN;
  const loadPerPlayer = counters.tickLoad / Math.max(1, counters.playingCount);
  return counters.tickLoad + slot.newTenantCount * Math.max(LOAD_PER_PLAYER_MIN, loadPerPlayer);
}
