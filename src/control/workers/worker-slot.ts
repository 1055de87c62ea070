// One slot for an audio worker; the worker in it may change. Knows its players, how often it failed, and what one more
// player would cost there. Main thread; worker-pool.ts decides which player goes where.

import type { WorkerMetrics } from "../../bridge/audio-metrics.ts";
import type { PlayerId } from "../../bridge/commands.ts";
import type { Timer } from "../../lib/clock.ts";
import type { PooledPlayer } from "./worker-handle.ts";
import type { WorkerThread } from "./worker-thread.ts";

/** Wait before a lost worker is restarted, by how often its slot has failed in a row; the last one repeats. */
const RESTART_DELAYS_MS = [0, 250, 1000, 5000, 15_000, 30_000] as const;
/** A worker that ran this long was stable: the next loss counts as the first again. */
export const STABLE_AFTER_MS = 60_000;
/** Loads are compared in steps of this size, so that noise does not outweigh the number of players. */
const LOAD_STEP = 0.05;
/** Assumed cost of a track before any is measured, a little more than MP3's; and the bounds of measured costs. */
const LOAD_PER_TRACK = 0.01;
const LOAD_PER_TRACK_MIN = 0.005;
const LOAD_PER_TRACK_MAX = 0.03;
/** What a worker plays is steady while it changes by less than this factor. */
const STEADY_FACTOR = 1.1;
/**
 * A load is trusted up to this multiple of the processor time used: beyond that, other processes have the processor.
 */
const WAITING_FACTOR_MAX = 2;
/** Up to this load a worker gets players before others do, and before another one is started. */
const LOAD_ROOM = 0.4;
/** Reports, half a second apart, whose mean is a worker's load: a single one may include loading a codec. */
const REPORTS = 4;

/** A worker as its players see it. */
export interface WorkerView {
  readonly index: number;
  readonly isIsolated: boolean;
  /** From its last report, and the age of that, milliseconds; undefined before the first. */
  readonly metrics: WorkerMetrics | undefined;
  readonly reportedAgoMs: number | undefined;
}

export class WorkerSlot {
  readonly index: number;
  /** Its one player is isolated from all others. */
  readonly isIsolated: boolean;
  /** Players that have something here: everything, or only their voice, or only their audio. */
  readonly players = new Map<PlayerId, PooledPlayer>();
  /** Those of `players` whose audio is rendered elsewhere. */
  readonly away = new Set<PlayerId>();
  /** Those of `players` whose audio is being prepared on another worker. */
  readonly leaving = new Set<PlayerId>();
  thread: WorkerThread | undefined;
  /** No worker has been started in it: those that run are enough. */
  isUnused = true;
  restart: Timer | undefined;
  /** Players given to it since its last report, which does not know of them. */
  newPlayerCount = 0;
  /** Its last reports, newest first. */
  #reports: readonly WorkerMetrics[] = [];
  /** Costs of a track by the last reports that knew them, newest first. */
  #trackLoads: readonly number[] = [];
  /** Losses in a row without a stable run between. */
  #failureCount = 0;

  constructor(index: number, { isIsolated }: { readonly isIsolated: boolean }) {
    this.index = index;
    this.isIsolated = isIsolated;
  }

  get failureCount(): number {
    return this.#failureCount;
  }

  /** Its worker was lost after `ranMs`. Returns how long to wait before the next starts. */
  countLoss(ranMs: number): number {
    this.thread = undefined;
    this.#failureCount = ranMs >= STABLE_AFTER_MS ? 1 : this.#failureCount + 1;
    return RESTART_DELAYS_MS[Math.min(this.#failureCount, RESTART_DELAYS_MS.length) - 1] ?? 0;
  }

  /**
   * True when one more player fits better here than there: by load, then by number; a slot that has failed counts only
   * once it is ready.
   */
  isFreerThan(other: WorkerSlot): boolean {
    if (this.#isTrusted !== other.#isTrusted) return this.#isTrusted;
    const step = Math.floor(this.#expectedLoad / LOAD_STEP);
    const otherStep = Math.floor(other.#expectedLoad / LOAD_STEP);
    return step === otherStep ? this.players.size < other.players.size : step < otherStep;
  }

  /** True while it is to get players, though others may have less to do. */
  get hasRoom(): boolean {
    return this.thread !== undefined && this.#isTrusted && this.#expectedLoad < LOAD_ROOM;
  }

  /** While the node starts, players need not crowd on the worker that was ready first: their commands wait. */
  get #isTrusted(): boolean {
    return this.#failureCount === 0 || this.thread?.isReady === true;
  }

  get view(): WorkerView {
    const { index, isIsolated, thread } = this;
    return { index, isIsolated, metrics: thread?.metrics, reportedAgoMs: thread?.reportedAgoMs };
  }

  /** Another worker has started in this slot. */
  onStart(): void {
    this.isUnused = false;
    this.newPlayerCount = 0;
    this.#reports = [];
  }

  /** Takes a report of its worker. */
  onReport(metrics: WorkerMetrics): void {
    const [before] = this.#reports;
    const { playingCount } = metrics;
    this.newPlayerCount = 0;
    this.#reports = [metrics, ...this.#reports].slice(0, REPORTS);
    // Those that began within the last half second cost more and have played for less than that.
    if (before === undefined || playingCount === 0 || playingCount > STEADY_FACTOR * before.playingCount) return;
    this.#trackLoads = [loadOf([metrics]) / playingCount, ...this.#trackLoads].slice(0, REPORTS);
  }

  /** The player that uses most of it among those whose audio can be rendered elsewhere. */
  get heaviestPooledPlayer(): PooledPlayer | undefined {
    return this.players.get(this.thread?.metrics?.heaviestPlayer ?? 0);
  }

  /** The player has nothing here any more. */
  forget(playerId: PlayerId): void {
    this.players.delete(playerId);
    this.away.delete(playerId);
    this.leaving.delete(playerId);
  }

  /** Share of its time that it spent on frames over the last two seconds: what lasts as long as the players do. */
  get load(): number {
    return loadOf(this.#reports);
  }

  /**
   * Its load, plus the expected cost of players that now play and did not all the time, if they are like the others.
   */
  get promisedLoad(): number {
    const measured = meanOf(this.#reports, ({ playingCount }) => playingCount);
    return this.load + Math.max(0, this.#playingNow - measured) * this.loadPerTrack;
  }

  /** Its load is known from reports, not promised: for two seconds it has played about what it plays now. */
  get isMeasured(): boolean {
    const [least, most] = [this.#playingNow / STEADY_FACTOR, this.#playingNow * STEADY_FACTOR];
    const isSteady = this.#reports.every(({ playingCount }) => playingCount >= least && playingCount <= most);
    return this.#reports.length === REPORTS && isSteady;
  }

  /** The expected cost of one more player that plays, if it is like the others. */
  get loadPerTrack(): number {
    if (this.#trackLoads.length === 0) return LOAD_PER_TRACK;
    const measured = meanOf(this.#trackLoads, (trackLoad) => trackLoad);
    return Math.min(LOAD_PER_TRACK_MAX, Math.max(LOAD_PER_TRACK_MIN, measured));
  }

  get #playingNow(): number {
    let count = 0;
    for (const [playerId, { needsCapacity }] of this.players)
      count += needsCapacity && !this.away.has(playerId) ? 1 : 0;
    return count;
  }

  /** Its load, plus the expected cost of players that arrived lately if they are like the others: some will play. */
  get #expectedLoad(): number {
    return Math.max(this.promisedLoad, this.load + this.newPlayerCount * this.loadPerTrack);
  }
}

function loadOf(reports: readonly WorkerMetrics[]): number {
  const tickLoad = meanOf(reports, ({ tickLoad }) => tickLoad);
  // A thread that others keep from running takes long without doing much.
  return Math.min(tickLoad, WAITING_FACTOR_MAX * meanOf(reports, ({ threadLoad }) => threadLoad));
}

/** 0 for none. */
function meanOf<T>(values: readonly T[], read: (value: T) => number): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + read(value), 0) / values.length;
}
