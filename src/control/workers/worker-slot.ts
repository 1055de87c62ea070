// One place for an audio worker; the worker in it may change. Knows who lives on it, how often it failed, and what one
// more player would cost there. Main thread; worker-pool.ts decides who goes where.

import type { PlayerId } from "../../bridge/commands.ts";
import type { WorkerCounters } from "../../bridge/events.ts";
import type { Timer } from "../../lib/clock.ts";
import type { PooledPlayer } from "./worker-handle.ts";
import type { WorkerThread } from "./worker-thread.ts";

/** Wait before a lost worker is started again, by how often its place has failed in a row; the last one repeats. */
const RESTART_DELAYS_MS = [0, 250, 1000, 5000, 15_000, 30_000] as const;
/** A worker that ran this long was sound: the next loss counts as the first again. */
const STABLE_AFTER_MS = 60_000;
/** Loads are compared in steps of this size, so that noise does not outweigh the number of players. */
const LOAD_STEP = 0.05;
/** What a player is taken to cost until the worker's next counters, share of a core. */
const LOAD_PER_PLAYER_MIN = 0.001;
/** What a track is taken to cost before any is measured, as MP3 does; and the bounds of what is measured of others. */
const LOAD_PER_TRACK = 0.015;
const LOAD_PER_TRACK_MIN = 0.005;
const LOAD_PER_TRACK_MAX = 0.03;
/** A load is believed up to so many times the processor time used: beyond that it is others who have the processor. */
const WAITING_FACTOR_MAX = 2;
/** Reports, half a second apart, whose mean is a worker's load: one alone may be that of loading a codec. */
const REPORTS = 4;

/** A worker as one of its players is told of it. */
export interface WorkerView {
  readonly index: number;
  readonly isIsolated: boolean;
  /** What it said last, and how long ago that was, milliseconds; undefined before the first time. */
  readonly counters: WorkerCounters | undefined;
  readonly reportedAgoMs: number | undefined;
}

export class WorkerSlot {
  readonly index: number;
  /** Its one player is kept apart from all others. */
  readonly isIsolated: boolean;
  /** Those who have something here: all of it, or only their voice, or only their sound. */
  readonly players = new Map<PlayerId, PooledPlayer>();
  /** Of these: those whose sound is made elsewhere. */
  readonly away = new Set<PlayerId>();
  /** Those whose sound another worker is just being made ready for. */
  readonly leaving = new Set<PlayerId>();
  thread: WorkerThread | undefined;
  restart: Timer | undefined;
  /** Players given to it since its last counters, which do not know of them. */
  newPlayerCount = 0;
  /** What it told of last, newest first. */
  #reports: readonly WorkerCounters[] = [];
  /** Losses in a row without a stable run between. */
  #failureCount = 0;

  constructor(index: number, { isIsolated }: { readonly isIsolated: boolean }) {
    this.index = index;
    this.isIsolated = isIsolated;
  }

  get failureCount(): number {
    return this.#failureCount;
  }

  /** Its worker is gone after `ranMs`. Returns how long to wait with the next. */
  countLoss(ranMs: number): number {
    this.thread = undefined;
    this.#failureCount = ranMs >= STABLE_AFTER_MS ? 1 : this.#failureCount + 1;
    return RESTART_DELAYS_MS[Math.min(this.#failureCount, RESTART_DELAYS_MS.length) - 1] ?? 0;
  }

  /**
   * True when one more player does better here than there: by load, then by number; what has failed only once it is
   * ready.
   */
  isFreerThan(other: WorkerSlot): boolean {
    if (this.#isTrusted !== other.#isTrusted) return this.#isTrusted;
    const step = Math.floor(this.#expectedLoad / LOAD_STEP);
    const otherStep = Math.floor(other.#expectedLoad / LOAD_STEP);
    return step === otherStep ? this.players.size < other.players.size : step < otherStep;
  }

  /** While the node starts, players need not crowd on the worker that was ready first: what they are told waits. */
  get #isTrusted(): boolean {
    return this.#failureCount === 0 || this.thread?.isReady === true;
  }

  get view(): WorkerView {
    const { index, isIsolated, thread } = this;
    return { index, isIsolated, counters: thread?.counters, reportedAgoMs: thread?.reportedAgoMs };
  }

  /** Another worker is in its place. */
  onStart(): void {
    this.newPlayerCount = 0;
    this.#reports = [];
  }

  /** Its worker has said how it is doing. Returns what it said before, if anything. */
  onCounters(counters: WorkerCounters): WorkerCounters | undefined {
    const [before] = this.#reports;
    this.newPlayerCount = 0;
    this.#reports = [counters, ...this.#reports].slice(0, REPORTS);
    return before;
  }

  /** Who takes most of it and could have its sound made elsewhere. */
  get heaviestPooledPlayer(): PooledPlayer | undefined {
    return this.players.get(this.thread?.counters?.heaviestPlayer ?? 0);
  }

  /** The player has nothing here any more. */
  forget(playerId: PlayerId): void {
    this.players.delete(playerId);
    this.away.delete(playerId);
    this.leaving.delete(playerId);
  }

  /** Share of its time that it spent on frames over the last two seconds: what lasts as long as the players do. */
  get load(): number {
    const tickLoad = this.#mean(({ tickLoad }) => tickLoad);
    // A thread that others keep from running takes long without doing much.
    return Math.min(tickLoad, WAITING_FACTOR_MAX * this.#mean(({ threadLoad }) => threadLoad));
  }

  /** Its load, plus what those will cost that play by now and did not all the time, if they are like the others. */
  get promisedLoad(): number {
    const meanCount = this.#mean(({ playingCount }) => playingCount);
    const measured = Math.min(LOAD_PER_TRACK_MAX, Math.max(LOAD_PER_TRACK_MIN, this.load / Math.max(1, meanCount)));
    const perTrack = meanCount === 0 ? LOAD_PER_TRACK : measured;
    let playingNow = 0;
    for (const [playerId, { needsCapacity }] of this.players)
      playingNow += needsCapacity && !this.away.has(playerId) ? 1 : 0;
    return this.load + Math.max(0, playingNow - meanCount) * perTrack;
  }

  #mean(read: (counters: WorkerCounters) => number): number {
    const { length } = this.#reports;
    return length === 0 ? 0 : this.#reports.reduce((sum, counters) => sum + read(counters), 0) / length;
  }

  /** Its load, plus what the players that came lately will cost if they are like the others: some will play. */
  get #expectedLoad(): number {
    const playingCount = this.thread?.counters?.playingCount ?? 0;
    const loadPerPlayer = this.load / Math.max(1, playingCount);
    return Math.max(this.promisedLoad, this.load + this.newPlayerCount * Math.max(LOAD_PER_PLAYER_MIN, loadPerPlayer));
  }
}
