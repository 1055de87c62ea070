// One place for an audio worker; the worker in it may change. Knows who lives on it, how often it failed, and what one more
// player would cost there. Main thread; worker-pool.ts decides who goes where.

import type { PlayerId } from "../../bridge/commands.ts";
import type { Timer } from "../../lib/clock.ts";
import type { WorkerTenant } from "./worker-handle.ts";
import type { WorkerThread } from "./worker-thread.ts";

/** Wait before a lost worker is started again, by how often its place has failed in a row; the last one repeats. */
const RESTART_DELAYS_MS = [0, 250, 1000, 5000, 15_000, 30_000] as const;
/** A worker that ran this long was sound: the next loss counts as the first again. */
const STABLE_AFTER_MS = 60_000;
/** Loads are compared in steps of this size, so that noise does not outweigh the number of players. */
const LOAD_STEP = 0.05;
/** What a player is taken to cost until the worker's next counters, share of a core. */
const LOAD_PER_PLAYER_MIN = 0.001;
/** What a track is taken to cost before any is measured, as MP3 does; and at least when others are. */
const LOAD_PER_TRACK = 0.015;
const LOAD_PER_TRACK_MIN = 0.005;

export class WorkerSlot {
  readonly index: number;
  /** Its one player is kept apart from all others. */
  readonly isAlone: boolean;
  readonly tenants = new Map<PlayerId, WorkerTenant>();
  thread: WorkerThread | undefined;
  restart: Timer | undefined;
  /** Players given to it since its last counters, which do not know of them. */
  newTenantCount = 0;
  /** Tracks started on it since its last counters, and since those before: a load shows fully only in the second. */
  #newTrackCounts: readonly [number, number] = [0, 0];
  /** Losses in a row without a stable run between. */
  #failureCount = 0;

  constructor(index: number, { isAlone }: { readonly isAlone: boolean }) {
    this.index = index;
    this.isAlone = isAlone;
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

  /** True when one more player does better here than there: by load, then by number; what has failed only once it is ready. */
  isFreerThan(other: WorkerSlot): boolean {
    if (this.#isTrusted !== other.#isTrusted) return this.#isTrusted;
    const step = Math.floor(this.expectedLoad / LOAD_STEP);
    const otherStep = Math.floor(other.expectedLoad / LOAD_STEP);
    return step === otherStep ? this.tenants.size < other.tenants.size : step < otherStep;
  }

  /** While the node starts, players need not crowd on the worker that was ready first: what they are told waits. */
  get #isTrusted(): boolean {
    return this.#failureCount === 0 || this.thread?.isReady === true;
  }

  /** A track begins there. */
  addTrack(): void {
    this.#newTrackCounts = [this.#newTrackCounts[0] + 1, this.#newTrackCounts[1]];
  }

  /** Its worker has said how it is doing. */
  onCounters(): void {
    this.newTenantCount = 0;
    this.#newTrackCounts = [0, this.#newTrackCounts[0]];
  }

  /** Measured load, plus what the tracks and players that came since will cost if they are like the others. */
  get expectedLoad(): number {
    const { threadLoad, playingCount } = this.thread?.counters ?? { threadLoad: 0, playingCount: 0 };
    const loadPerPlayer = threadLoad / Math.max(1, playingCount);
    const newTracks = this.#newTrackCounts[0] + this.#newTrackCounts[1] / 2;
    const perTrack = playingCount === 0 ? LOAD_PER_TRACK : Math.max(LOAD_PER_TRACK_MIN, loadPerPlayer);
    const ofPlayers = this.newTenantCount * Math.max(LOAD_PER_PLAYER_MIN, loadPerPlayer);
    return threadLoad + Math.max(newTracks * perTrack, ofPlayers);
  }
}
