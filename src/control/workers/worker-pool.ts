// Starts the audio workers and replaces one that dies or hangs: its players move to another at once and create
// themselves again there. Which worker a player gets: placements.ts, isolation.ts, hand-overs.ts. Main thread.

import { isDeepStrictEqual } from "node:util";
import type { PlayerCounts, WorkerMetrics } from "../../bridge/audio-metrics.ts";
import type { Incident } from "../../bridge/audio-report.ts";
import type { FilterModule } from "../../bridge/commands.ts";
import type { WorkerReport } from "../../bridge/worker-report.ts";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { Admission, type AdmissionRequest } from "./admission.ts";
import { AudioTotals } from "./audio-totals.ts";
import type { CodecLoader } from "./codec-loader.ts";
import { HandOvers } from "./hand-overs.ts";
import { attributionTo, Isolation } from "./isolation.ts";
import { LoadGovernor } from "./load-governor.ts";
import type { PacerKeeper } from "./pacer-keeper.ts";
import { Placements, type PlayerPlacement } from "./placements.ts";
import { SpareWorker } from "./spare-worker.ts";
import { type Answerers, answerThread } from "./thread-answers.ts";
import type { Threads } from "./threads.ts";
import type { ThreadLoss } from "./watched-thread.ts";
import type { PooledPlayer } from "./worker-handle.ts";
import { WorkerSlot } from "./worker-slot.ts";
import { type WorkerListener, WorkerThread, type WorkerThreadOptions } from "./worker-thread.ts";

const HEAP_MEGABYTES_DEFAULT = 512;
/** How one worker is doing. */
interface WorkerLoad {
  readonly index: number;
  /** It has one player, which is isolated. */
  readonly isIsolated: boolean;
  readonly isReady: boolean;
  readonly playerCount: number;
  /** From its last report; undefined before the first. */
  readonly metrics: WorkerMetrics | undefined;
  /** Sums of what its players have counted since it started; undefined while none runs. */
  readonly counts: PlayerCounts | undefined;
}

/** As of the workers' last reports, which come twice a second. */
export interface PoolLoad {
  readonly workers: readonly WorkerLoad[];
  /** Of the shared workers, their mean, with what is promised to players that have just begun; 1 while all are lost. */
  readonly load: number;
  /** What one more player that plays is expected to add to `load`. */
  readonly loadPerPlayer: number;
  /** A spare worker is ready to replace a lost one. */
  readonly hasSpare: boolean;
  /** Complexity of the encoders, 0 to 10: now, and as configured. */
  readonly complexity: number;
  readonly complexityMax: number;
  /** Players whose audio has moved to a worker with less load while playing. */
  readonly movedCount: number;
  /** Starts that were refused so far. */
  readonly refusedCount: number;
  /** False: the next one would be. */
  readonly hasCapacity: boolean;
}

interface WorkerPoolOptions extends Answerers {
  /** The module that runs in each worker. */
  readonly entry: URL;
  readonly count: number;
  /** Default true. False: encoders stay as configured, and no player is refused. */
  readonly isLoadControlled?: boolean;
  readonly settings: WorkerSettings;
  /** JavaScript heap of each worker, default 512. */
  readonly heapMegabytesMax?: number;
  /** Loads codecs for all of them; undefined: each worker does so by itself. */
  readonly codecs?: CodecLoader | undefined;
  /** Sends the finished frames of workers; undefined: each worker has its own pacer. */
  readonly pacer?: PacerKeeper | undefined;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * One for the node; the only one that starts audio workers. Never throws at a loss: players are notified, and given
 * another worker.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  /** Shared workers. */
  readonly #slots: readonly WorkerSlot[];
  readonly #placements: Placements;
  readonly #isolation: Isolation;
  readonly #handOvers: HandOvers;
  readonly #spare: SpareWorker;
  readonly #governor: LoadGovernor;
  readonly #admission: Admission;
  /** Totals of all audio so far. */
  readonly totals = new AudioTotals();
  #threadCount = 0;
  #filterModules: readonly FilterModule[] = [];
  #isClosed = false;

  /**
   * The first worker starts at once, each further one when those that run have no room. Players may be attached before
   * one is ready: their commands wait.
   */
  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const { count, threads, clock, logger } = options;
    this.#spare = new SpareWorker(clock, () => ({ ...this.#threadOptions(), isSpare: true }));
    this.#slots = Array.from({ length: count }, (_, index) => new WorkerSlot(index, { isIsolated: false }));
    const onAssigned = (): void => {
      this.#spare.isNeeded = true;
    };
    const placements = new Placements({ slots: this.#slots, onAssigned, clock, logger });
    this.#placements = placements;
    this.#isolation = new Isolation({ placements, firstIndex: count, start: (slot) => this.#start(slot), clock });
    this.#governor = this.#createGovernor();
    const isWorthMoving = (fromLoad: number, toLoad: number): boolean => this.#governor.isWorthMoving(fromLoad, toLoad);
    this.#handOvers = new HandOvers({ placements, threads, isWorthMoving });
    const move = (player: PooledPlayer, slot: WorkerSlot): void => this.#move(player, slot);
    this.#admission = new Admission({ placements, governor: this.#governor, move, clock });
    this.#grow();
  }

  /** Players may come soon: workers load what plays, which they do with their first command, whatever it is. */
  wake(): void {
    this.#sendComplexity(this.#governor.complexity);
  }

  /** Replaces the filters of plugins, on all workers. */
  setFilterModules(modules: readonly FilterModule[]): void {
    if (isDeepStrictEqual(modules, this.#filterModules)) return;
    this.#filterModules = modules;
    for (const { thread } of [...this.#slots, ...this.#isolation.slots])
      thread?.channel.send({ type: "setFilterModules", modules });
  }

  /** Gives the player a worker, at once if one is running, else when one is. */
  attach(player: PooledPlayer): void {
    this.#grow();
    this.#placements.attach(player);
  }

  /**
   * A player that was silent until now is about to play: moves it to another worker where its own has no capacity.
   * @throws NodeError "node-overloaded" when that would make others late, or the reason of the signal
   */
  async admit(player: PooledPlayer, request: AdmissionRequest): Promise<void> {
    this.#grow();
    await this.#admission.admit(player, request);
    this.#governor.judge(this.#peakLoad);
  }

  /** The load of the audio threads and the measures against it. */
  get load(): PoolLoad {
    const { complexity, complexityMax, refusedCount } = this.#governor;
    const freest = this.#placements.freest;
    const usable = this.#slots.filter(({ thread, isUnused }) => thread !== undefined || isUnused);
    return {
      load: usable.length === 0 ? 1 : meanOf(usable.map(({ promisedLoad }) => promisedLoad)),
      loadPerPlayer: meanOf(this.#slots.map(({ loadPerTrack }) => loadPerTrack)) / this.#slots.length,
      workers: [...this.#slots.filter(({ isUnused }) => !isUnused), ...this.#isolation.slots].map(
        ({ index, isIsolated, players, thread }) => ({
          index,
          isIsolated,
          isReady: thread?.isReady === true,
          playerCount: players.size,
          metrics: thread?.metrics,
          counts: thread?.counts,
        }),
      ),
      hasSpare: this.#spare.isReady,
      complexity,
      complexityMax,
      movedCount: this.#handOvers.movedCount,
      refusedCount,
      hasCapacity:
        this.#slots.some(({ isUnused }) => isUnused) ||
        (freest !== undefined && this.#governor.hasCapacity(freest.promisedLoad)),
    };
  }

  /** Workers of players that have left, until they are closed. */
  get closingCount(): number {
    return this.#isolation.closingCount;
  }

  /** Undefined while the player waits for a worker. */
  placementOf(player: PooledPlayer): PlayerPlacement | undefined {
    return this.#placements.viewOf(player);
  }

  /** Counts an incident that no worker could report. */
  addIncident(incident: Incident): void {
    this.totals.addIncident(incident);
  }

  /**
   * Moves a player from its shared worker to an isolated one. False, and no effect: the maximum is already isolated.
   */
  isolate(player: PooledPlayer): boolean {
    return this.#isolation.isolate(player);
  }

  /** Forgets the player. What it had on its worker is destroyed by the player's own command. */
  detach(player: PooledPlayer): void {
    this.#placements.stopWaiting(player);
    this.#isolation.leave(player);
    this.#spare.isNeeded = this.#placements.size > 0;
  }

  /** Ends all workers, each within about 2 s. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#placements.close();
    const slots = [...this.#slots, ...this.#isolation.close()];
    for (const slot of slots) slot.restart?.cancel();
    await Promise.all([this.#spare.close(), ...slots.map((slot) => slot.thread?.close())]);
  }

  #createGovernor(): LoadGovernor {
    const { clock, logger, settings, isLoadControlled = true } = this.#options;
    const { complexity, encoder } = settings.opus;
    return new LoadGovernor({
      complexityMax: complexity,
      canLower: encoder === "libopus",
      isOn: isLoadControlled,
      clock,
      logger,
      onComplexity: (complexity) => this.#sendComplexity(complexity),
    });
  }

  /** Moves a silent player: it starts a new voice connection. */
  #move(player: PooledPlayer, slot: WorkerSlot): void {
    const placements = this.#placements;
    const placement = placements.get(player);
    if (placement !== undefined) placements.destroyAt(placement);
    this.#isolation.leave(player);
    placements.guard(() => player.onWorkerLost({ kind: "none" }));
    placements.guard(() => placements.assign(player, slot));
  }

  /** Starts the next worker when none of those that run has room: the spare, if there is one. */
  #grow(): void {
    const next = this.#slots.find(({ isUnused }) => isUnused);
    if (next !== undefined && !this.#slots.some(({ hasRoom }) => hasRoom)) this.#start(next);
  }

  #start(slot: WorkerSlot): void {
    if (this.#isClosed) return;
    slot.onStart();
    slot.restart = undefined;
    const listener: WorkerListener = {
      onReady: () => this.#options.logger.debug("audio worker ready", { worker: slot.index }),
      onReport: (report) => this.#onReport(slot, report),
      onEvent: (event) => this.#onEvent(slot, event),
      onLost: (loss) => this.#onLost(slot, loss),
    };
    const spare = this.#spare.take(listener);
    slot.thread = spare ?? new WorkerThread(this.#threadOptions(), listener);
    const { complexity, complexityMax } = this.#governor;
    if (complexity < complexityMax) slot.thread.channel.send({ type: "setComplexity", complexity });
    const modules = this.#filterModules;
    if (modules.length > 0) slot.thread.channel.send({ type: "setFilterModules", modules });
  }

  #sendComplexity(complexity: number): void {
    for (const { thread } of [...this.#slots, ...this.#isolation.slots])
      thread?.channel.send({ type: "setComplexity", complexity });
  }

  #threadOptions(): WorkerThreadOptions {
    const { entry, settings, heapMegabytesMax = HEAP_MEGABYTES_DEFAULT } = this.#options;
    const { codecs, threads, clock, logger } = this.#options;
    return { index: this.#threadCount++, entry, settings, heapMegabytesMax, codecs, threads, clock, logger };
  }

  #onReport(slot: WorkerSlot, report: WorkerReport): void {
    this.totals.addReport(report);
    slot.onReport(report.worker);
    this.#grow();
    this.#handOvers.relieve(slot);
    this.#governor.judge(this.#peakLoad);
    this.#admission.onReport();
    for (const player of report.players)
      this.#placements.forward(slot, player.playerId, { type: "playerReport", report: player });
  }

  #onEvent(slot: WorkerSlot, event: Parameters<WorkerListener["onEvent"]>[0]): void {
    if (event.type === "log") {
      this.#options.logger[event.level](event.message, { ...event.fields, worker: slot.index });
    } else if (event.type === "position") {
      this.#placements.forward(slot, event.report.playerId, event);
    } else if (slot.thread !== undefined && answerThread(event, this.#options, slot.thread)) {
      return;
    } else if (event.type === "pacerRequested") {
      if (slot.thread !== undefined) this.#options.pacer?.serve(slot.thread, slot.index);
    } else if (event.type === "handedOver" || event.type === "handOverFailed") {
      this.#handOvers.onHandOver(slot, event);
    } else if ("playerId" in event) {
      if (event.type === "voiceClosed" && event.isByRemote) this.totals.addVoiceClose(event.code);
      this.#placements.forward(slot, event.playerId, event);
    }
  }

  #onLost(slot: WorkerSlot, { reason, wasReady, currentTask }: ThreadLoss): void {
    const ranMs = this.#options.clock.now() - (slot.thread?.startedMs ?? 0);
    const delayMs = slot.countLoss(ranMs);
    this.#isolation.onLost(slot);
    this.totals.addWorkerLoss();
    const players = [...slot.players];
    this.#options.logger.error("audio worker lost: its players move to another", {
      worker: slot.index,
      ranMs: Math.round(ranMs),
      players: players.length,
      lossesInARow: slot.failureCount,
      restartInMs: delayMs,
      ...(currentTask && { attributedPlayer: currentTask.owner, activity: currentTask.activity }),
      error: reason,
    });
    // First all players leave, then the worker restarts, then they move: with one worker, it has to exist to move to.
    const loss = { wasIsolated: slot.isIsolated && wasReady, ranMs, currentTask };
    for (const [playerId, player] of players) {
      const isSuspect = playerId === currentTask?.owner;
      if (this.#handOvers.survivesLoss(player, playerId, { isSuspect })) continue;
      this.#isolation.displace(player, attributionTo(playerId, player, loss));
    }
    if (!slot.isIsolated && delayMs > 0) slot.restart = this.#options.clock.after(delayMs, () => this.#restart(slot));
    else if (!slot.isIsolated) this.#start(slot);
    this.#grow();
    this.#placements.serveWaiting();
  }

  #restart(slot: WorkerSlot): void {
    this.#start(slot);
    this.#placements.serveWaiting();
  }

  get #peakLoad(): number {
    return Math.max(0, ...this.#slots.map(({ promisedLoad }) => promisedLoad));
  }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
