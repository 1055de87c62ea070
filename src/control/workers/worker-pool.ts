// Starts the audio workers, gives every player one of them, and replaces a worker that dies or hangs: its players move
// to another at once and create themselves again there. Main thread.

import { unpackAudioStates } from "../../bridge/audio-batch.ts";
import type { Incident } from "../../bridge/audio-report.ts";
import type { PlayerId } from "../../bridge/commands.ts";
import type { WorkerCounters, WorkerEvent } from "../../bridge/events.ts";
import { unpackPositions } from "../../bridge/position-batch.ts";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { AudioTotals } from "./audio-totals.ts";
import type { CodecLoader } from "./codec-loader.ts";
import { LoadGovernor } from "./load-governor.ts";
import type { PacerKeeper } from "./pacer-keeper.ts";
import { SpareWorker } from "./spare-worker.ts";
import { type Answerers, answerThread } from "./thread-answers.ts";
import type { Threads } from "./threads.ts";
import type { ThreadLoss } from "./watched-thread.ts";
import {
  type CrashAttribution,
  type HandOverEvent,
  type PlayerEvent,
  type PooledPlayer,
  WorkerHandle,
} from "./worker-handle.ts";
import { WorkerSlot, type WorkerView } from "./worker-slot.ts";
import { type WorkerListener, WorkerThread, type WorkerThreadOptions } from "./worker-thread.ts";

const HEAP_MEGABYTES_DEFAULT = 512;
/**
 * Players that move are handed over in batches of this size per worker: they open new connections, which takes some
 * milliseconds of a core each, and more at once would be audible to those that play on the worker already.
 */
const MOVES_PER_WORKER = 5;
const MOVE_INTERVAL_MS = 50;
/** Players isolated at once, each on its own worker. */
const ISOLATED_MAX = 4;
/** Players of one worker whose audio may be moving to other workers at once: each has its track opened there. */
const HAND_OVERS_MAX = 4;
/** How long an isolated worker may take to close its player after that has left. */
const EMPTIED_MS = 1000;

/** How one worker is doing. */
interface WorkerLoad {
  readonly index: number;
  /** It has one player, which is isolated. */
  readonly isIsolated: boolean;
  readonly isReady: boolean;
  readonly playerCount: number;
  /** Its last report; undefined before the first. */
  readonly counters: WorkerCounters | undefined;
}

/** Where a player is: the worker of its voice, and the worker of its audio where that is another. */
export interface PlayerPlacement {
  readonly ownerWorker: WorkerView;
  readonly renderWorker: WorkerView | undefined;
}

/** As of the workers' last reports, which come twice a second. */
export interface PoolLoad {
  readonly workers: readonly WorkerLoad[];
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

/**
 * One for the node; the only one that starts audio workers. Never throws at a loss: players are notified, and given
 * another worker.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  /** Shared workers. */
  readonly #slots: readonly WorkerSlot[];
  /** Workers with one player each, oldest first; and those whose player has left, until they are closed. */
  readonly #isolated = new Set<WorkerSlot>();
  readonly #emptied = new Set<WorkerSlot>();
  readonly #spare: SpareWorker;
  readonly #governor: LoadGovernor;
  /** Players without a worker, because theirs was lost or none is running: served in order, a batch at a time. */
  readonly #waiting = new Set<PooledPlayer>();
  /** Totals of all audio so far. */
  readonly totals = new AudioTotals();
  #nextBatch: Timer | undefined;
  readonly #placements = new Map<PooledPlayer, OwnerWorkerPlacement>();
  #playerCount = 0;
  #movedCount = 0;
  #threadCount = 0;
  #slotCount: number;
  #isClosed = false;

  /** Workers start at once. Players may be attached before they are ready: their commands wait. */
  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#spare = new SpareWorker(options.clock, () => ({ ...this.#threadOptions(), isSpare: true }));
    this.#slots = Array.from({ length: options.count }, (_, index) => new WorkerSlot(index, { isIsolated: false }));
    this.#slotCount = options.count;
    const { clock, logger, isLoadControlled = true } = options;
    const { complexity, encoder } = options.settings.opus;
    this.#governor = new LoadGovernor({
      complexityMax: complexity,
      canLower: encoder === "libopus",
      isOn: isLoadControlled,
      clock,
      logger,
      onComplexity: (complexity) => this.#sendComplexity(complexity),
    });
    for (const slot of this.#slots) this.#start(slot);
  }

  /** Players may come soon: workers load what plays, which they do with their first command, whatever it is. */
  wake(): void {
    this.#sendComplexity(this.#governor.complexity);
  }

  /** Gives the player a worker, at once if one is running, else when one is. */
  attach(player: PooledPlayer): void {
    if (this.#isClosed || this.#placements.has(player)) return;
    const slot = this.#freest();
    if (slot?.thread === undefined) {
      this.#waiting.add(player);
      return;
    }
    this.#assign(player, slot);
  }

  /**
   * A player that was silent until now is about to play: moves it to another worker where its own has no capacity.
   * @throws NodeError "node-overloaded" when that would make others late
   */
  admit(player: PooledPlayer): void {
    const placement = this.#placements.get(player);
    if (placement === undefined) return;
    const { slot } = placement.renderWorker ?? placement;
    const freest = this.#freest();
    const isMoved =
      !slot.isIsolated && freest !== undefined && freest !== slot && !this.#governor.hasCapacity(slot.promisedLoad);
    const target = isMoved ? freest : slot;
    this.#governor.admit(target.promisedLoad);
    if (isMoved) this.#move(player, freest);
    this.#governor.judge(this.#peakLoad);
  }

  /** The load of the audio threads and the measures against it. */
  get load(): PoolLoad {
    const { complexity, complexityMax, refusedCount } = this.#governor;
    const freest = this.#freest();
    return {
      workers: [...this.#slots, ...this.#isolated].map(({ index, isIsolated, players, thread }) => ({
        index,
        isIsolated,
        isReady: thread?.isReady === true,
        playerCount: players.size,
        counters: thread?.counters,
      })),
      hasSpare: this.#spare.isReady,
      complexity,
      complexityMax,
      movedCount: this.#movedCount,
      refusedCount,
      hasCapacity: freest !== undefined && this.#governor.hasCapacity(freest.promisedLoad),
    };
  }

  /** Workers of players that have left, until they are closed. */
  get closingCount(): number {
    return this.#emptied.size;
  }

  /** Undefined while the player waits for a worker. */
  placementOf(player: PooledPlayer): PlayerPlacement | undefined {
    const placement = this.#placements.get(player);
    if (placement === undefined) return undefined;
    return {
      ownerWorker: placement.slot.view,
      renderWorker: placement.renderWorker?.isAudible ? placement.renderWorker.slot.view : undefined,
    };
  }

  /** Counts an incident that no worker could report. */
  addIncident(incident: Incident): void {
    this.totals.addIncident(incident);
  }

  /**
   * Moves a player from its shared worker to an isolated one. False, and no effect: the maximum is already isolated.
   */
  isolate(player: PooledPlayer): boolean {
    const placement = this.#placements.get(player);
    if (placement === undefined || placement.slot.isIsolated) return true;
    if (!this.#makeSpace()) return false;
    this.#destroyAt(placement);
    this.#displace(player, { kind: "suspect", activity: "prepare" });
    this.#serveWaiting();
    return true;
  }

  /** Forgets the player. What it had on its worker is destroyed by the player's own command. */
  detach(player: PooledPlayer): void {
    this.#waiting.delete(player);
    this.#leave(player);
    this.#spare.isNeeded = this.#placements.size > 0;
  }

  /** Ends all workers, each within about 2 s. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#nextBatch?.cancel();
    const slots = [...this.#slots, ...this.#isolated, ...this.#emptied];
    for (const slot of slots) slot.restart?.cancel();
    await Promise.all([this.#spare.close(), ...slots.map((slot) => slot.thread?.close())]);
  }

  /** Moves a silent player: it starts a new voice connection. */
  #move(player: PooledPlayer, slot: WorkerSlot): void {
    const placement = this.#placements.get(player);
    if (placement !== undefined) this.#destroyAt(placement);
    this.#leave(player);
    this.#guarded(() => player.onWorkerLost({ kind: "none" }));
    this.#guarded(() => this.#assign(player, slot));
  }

  #destroyAt({ slot, playerId }: Placement): void {
    const ended = slot.thread?.channel.request({ type: "destroyPlayer", playerId }, { timeoutMs: EMPTIED_MS });
    // The pool treats it as gone from there.
    ended?.catch(() => undefined);
  }

  #assign(player: PooledPlayer, slot: WorkerSlot): void {
    const { thread, index, isIsolated } = slot;
    if (thread === undefined) return;
    const playerId = ++this.#playerCount;
    this.#waiting.delete(player);
    this.#placements.set(player, { slot, playerId });
    this.#spare.isNeeded = true;
    slot.players.set(playerId, player);
    slot.newPlayerCount++;
    player.onWorkerAssigned(new WorkerHandle({ playerId, workerIndex: index, isIsolated, channel: thread.channel }));
  }

  /** An isolated worker is closed with its player, when it has closed that. */
  #leave(player: PooledPlayer): void {
    const placement = this.#placements.get(player);
    if (placement === undefined) return;
    const { slot, playerId } = placement;
    this.#dismissRenderWorker(placement);
    this.#placements.delete(player);
    slot.forget(playerId);
    if (!this.#isolated.delete(slot) || slot.thread === undefined) return;
    this.#emptied.add(slot);
    slot.restart = this.#options.clock.after(EMPTIED_MS, () => {
      void slot.thread?.close().then(() => this.#emptied.delete(slot));
    });
  }

  /**
   * Takes the player off its worker and notifies it. A suspect or culprit continues isolated; all others wait for a
   * slot.
   */
  #displace(player: PooledPlayer, attribution: CrashAttribution): void {
    this.#leave(player);
    const isAttributed = attribution.kind !== "none";
    const hasCapacity = !isAttributed || this.#makeSpace();
    // Among the others again it would cost them another worker.
    this.#guarded(() =>
      player.onWorkerLost(isAttributed && !hasCapacity ? { ...attribution, kind: "culprit" } : attribution),
    );
    if ((isAttributed && hasCapacity) || (player.isSuspect && this.#makeSpace())) this.#startIsolatedWorker(player);
    else this.#waiting.add(player);
  }

  /**
   * True when one more player can be isolated: the longest isolated one that is no longer suspect returns to the
   * others.
   */
  #makeSpace(): boolean {
    if (this.#isolated.size < ISOLATED_MAX) return true;
    const players = [...this.#isolated].flatMap((slot) => [...slot.players.values()]);
    const cleared = players.find((player) => !player.isSuspect);
    if (cleared !== undefined) this.#displace(cleared, { kind: "none" });
    return cleared !== undefined;
  }

  #startIsolatedWorker(player: PooledPlayer): void {
    if (this.#isClosed) return;
    const slot = new WorkerSlot(this.#slotCount++, { isIsolated: true });
    this.#isolated.add(slot);
    this.#start(slot);
    this.#guarded(() => this.#assign(player, slot));
  }

  #start(slot: WorkerSlot): void {
    if (this.#isClosed) return;
    slot.onStart();
    slot.restart = undefined;
    const listener: WorkerListener = {
      onReady: () => this.#options.logger.debug("audio worker ready", { worker: slot.index }),
      onEvent: (event) => this.#onEvent(slot, event),
      onLost: (loss) => this.#onLost(slot, loss),
    };
    const spare = slot.failureCount > 0 ? this.#spare.take(listener) : undefined;
    slot.thread = spare ?? new WorkerThread(this.#threadOptions(), listener);
    const { complexity, complexityMax } = this.#governor;
    if (complexity < complexityMax) slot.thread.channel.send({ type: "setComplexity", complexity });
  }

  #sendComplexity(complexity: number): void {
    for (const { thread } of [...this.#slots, ...this.#isolated])
      thread?.channel.send({ type: "setComplexity", complexity });
  }

  #threadOptions(): WorkerThreadOptions {
    const { entry, settings, heapMegabytesMax = HEAP_MEGABYTES_DEFAULT } = this.#options;
    const { codecs, threads, clock, logger } = this.#options;
    return { index: this.#threadCount++, entry, settings, heapMegabytesMax, codecs, threads, clock, logger };
  }

  #serveWaiting(): void {
    this.#nextBatch?.cancel();
    this.#nextBatch = undefined;
    if (this.#freest() === undefined) return;
    const batch = [...this.#waiting].slice(0, MOVES_PER_WORKER * this.#slots.length);
    for (const player of batch) this.#guarded(() => this.attach(player));
    if (this.#waiting.size === 0) return;
    this.#nextBatch = this.#options.clock.after(MOVE_INTERVAL_MS, () => this.#serveWaiting());
  }

  /** Moves a player's audio to a worker with less load. Its voice stays, so the move is inaudible. */
  #relieve(slot: WorkerSlot): void {
    const target = this.#freest();
    const player = slot.heaviestPooledPlayer;
    if (slot.isIsolated || slot.leaving.size >= HAND_OVERS_MAX || player === undefined) return;
    if (target === undefined || !this.#governor.isWorthMoving(slot.promisedLoad, target.promisedLoad)) return;
    const placement = this.#placements.get(player);
    if (placement?.slot !== slot || placement.renderWorker !== undefined || !target.thread?.isReady) return;
    const playerId = ++this.#playerCount;
    placement.renderWorker = { slot: target, playerId, isAudible: false };
    slot.leaving.add(placement.playerId);
    target.players.set(playerId, player);
    target.newPlayerCount++;
    const { port1, port2 } = this.#options.threads.createChannel();
    target.thread.channel.send({ type: "renderRemotePlayer", playerId, port: port1 });
    slot.thread?.channel.send({ type: "handOver", playerId: placement.playerId, port: port2 });
  }

  #onHandOver(slot: WorkerSlot, { type, playerId }: HandOverEvent): void {
    const player = slot.players.get(playerId);
    const placement = player && this.#placements.get(player);
    if (placement?.playerId !== playerId || placement.renderWorker === undefined) return;
    slot.leaving.delete(playerId);
    if (type === "handOverFailed") {
      this.#dismissRenderWorker(placement);
      return;
    }
    placement.renderWorker.isAudible = true;
    slot.away.add(playerId);
    this.#movedCount++;
  }

  #dismissRenderWorker(placement: OwnerWorkerPlacement): void {
    const { renderWorker, slot, playerId } = placement;
    if (renderWorker === undefined) return;
    delete placement.renderWorker;
    renderWorker.slot.forget(renderWorker.playerId);
    slot.leaving.delete(playerId);
    slot.away.delete(playerId);
    this.#destroyAt(renderWorker);
  }

  #onEvent(slot: WorkerSlot, event: WorkerEvent): void {
    if (event.type === "log") {
      this.#options.logger[event.level](event.message, { ...event.fields, worker: slot.index });
    } else if (event.type === "counters") {
      this.totals.addCounters(event.worker, slot.onCounters(event.worker));
      this.#relieve(slot);
      this.#governor.judge(this.#peakLoad);
      for (const report of unpackPositions(event.positions)) {
        this.#forwardToPlayer(slot, report.playerId, { type: "position", report });
      }
      for (const state of unpackAudioStates(event.audioStates))
        this.#forwardToPlayer(slot, state.playerId, { type: "audioState", state });
    } else if (event.type === "playerReports") {
      for (const report of event.reports) {
        this.totals.addReport(report);
        this.#forwardToPlayer(slot, report.playerId, { type: "playerReport", report });
      }
    } else if (event.type === "frameMinutes") {
      for (const minute of event.minutes) this.#forwardToPlayer(slot, minute.playerId, { type: "frameMinute", minute });
    } else if (event.type === "position") {
      this.#forwardToPlayer(slot, event.report.playerId, event);
    } else if (slot.thread !== undefined && answerThread(event, this.#options, slot.thread)) {
      return;
    } else if (event.type === "pacerRequested") {
      if (slot.thread !== undefined) this.#options.pacer?.serve(slot.thread);
    } else if (event.type === "handedOver" || event.type === "handOverFailed") {
      this.#onHandOver(slot, event);
    } else if ("playerId" in event) {
      if (event.type === "voiceClosed" && event.isByRemote) this.totals.addVoiceClose(event.code);
      this.#forwardToPlayer(slot, event.playerId, event);
    }
  }

  #forwardToPlayer(slot: WorkerSlot, playerId: PlayerId, event: PlayerEvent): void {
    const player = slot.players.get(playerId);
    const renderWorker = player && this.#placements.get(player)?.renderWorker;
    // Events of a track on a render worker that is not audible yet are not for the client.
    if (renderWorker?.playerId === playerId && !renderWorker.isAudible) return;
    if (player !== undefined) this.#guarded(() => player.onWorkerEvent(event));
  }

  /** A failing player must not keep the others from their events. */
  #guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.logger.error("a player failed to handle an event of its worker", { error });
    }
  }

  #onLost(slot: WorkerSlot, { reason, wasReady, currentTask }: ThreadLoss): void {
    const ranMs = this.#options.clock.now() - (slot.thread?.startedMs ?? 0);
    const delayMs = slot.countLoss(ranMs);
    // Nothing is left to close.
    if (this.#emptied.delete(slot)) slot.restart?.cancel();
    this.totals.workersLost++;
    const players = [...slot.players];
    this.#options.logger.error("an audio worker was lost and will be replaced", {
      worker: slot.index,
      ranMs: Math.round(ranMs),
      players: players.length,
      lossesInARow: slot.failureCount,
      restartInMs: delayMs,
      ...(currentTask && { attributedPlayer: currentTask.owner, activity: currentTask.activity }),
      error: reason,
    });
    // First all players leave, then the worker restarts, then they move: with one worker, it has to exist to move to.
    const activity = currentTask?.activity ?? "idle";
    for (const [playerId, player] of players) {
      const placement = this.#placements.get(player);
      if (placement?.renderWorker?.playerId === playerId) {
        const isNeeded = placement.renderWorker.isAudible || playerId === currentTask?.owner;
        if (isNeeded) this.#destroyAt(placement);
        else this.#dismissRenderWorker(placement);
        if (!isNeeded) continue;
      }
      if (slot.isIsolated && wasReady) this.#displace(player, { kind: "culprit", activity });
      else this.#displace(player, playerId === currentTask?.owner ? { kind: "suspect", activity } : { kind: "none" });
    }
    if (!slot.isIsolated && delayMs > 0) slot.restart = this.#options.clock.after(delayMs, () => this.#restart(slot));
    else if (!slot.isIsolated) this.#start(slot);
    this.#serveWaiting();
  }

  #restart(slot: WorkerSlot): void {
    this.#start(slot);
    this.#serveWaiting();
  }

  get #peakLoad(): number {
    return Math.max(0, ...this.#slots.map(({ promisedLoad }) => promisedLoad));
  }

  /** The worker for one more player: by load, then by number of players; one that has failed only once it is ready. */
  #freest(): WorkerSlot | undefined {
    let best: WorkerSlot | undefined;
    for (const slot of this.#slots) {
      if (slot.thread !== undefined && (best === undefined || slot.isFreerThan(best))) best = slot;
    }
    return best;
  }
}
