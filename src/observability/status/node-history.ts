// The node's last hour, one sample a minute: what the dashboard's charts begin with. Main thread; bounded, and besides
// its one timer nothing is done until it is read.

import type { LoadJson } from "../../control/protocol/node-load-json.ts";
import type { StatsJson } from "../../control/protocol/stats-json.ts";
import type { Clock, Timer } from "../../lib/clock.ts";

const INTERVAL_MS = 60_000;
const SAMPLES_MAX = 60;

/** Figures of the node at one moment. */
export interface NodeSample {
  /** Epoch milliseconds. */
  readonly atMs: number;
  readonly memoryBytes: number;
  /** Share of all cores that the node used over the last half minute or more. */
  readonly cpu: number;
  readonly players: number;
  readonly playing: number;
  /** Frames of 20 ms that listeners missed since the node started. */
  readonly framesLost: number;
  /** The lateness of the worker that was latest, over the last half second. */
  readonly latenessMs: number;
  /** Shares of a core over the last half second, in the order of the workers. */
  readonly workerLoads: readonly number[];
}

interface NodeHistoryOptions {
  readonly clock: Clock;
  readonly readStats: () => StatsJson;
  readonly readLoad: () => LoadJson;
}

/** One for a node with a dashboard. */
export class NodeHistory {
  readonly #options: NodeHistoryOptions;
  #samples: readonly NodeSample[] = [];
  #timer: Timer;

  constructor(options: NodeHistoryOptions) {
    this.#options = options;
    this.#timer = this.#schedule();
  }

  /** Oldest first, at most 60. */
  get samples(): readonly NodeSample[] {
    return this.#samples;
  }

  close(): void {
    this.#timer.cancel();
  }

  #schedule(): Timer {
    return this.#options.clock.after(INTERVAL_MS, () => {
      this.#timer = this.#schedule();
      this.#samples = [...this.#samples, this.#take()].slice(-SAMPLES_MAX);
    });
  }

  #take(): NodeSample {
    const { clock, readStats, readLoad } = this.#options;
    const { memory, cpu, players, playingPlayers } = readStats();
    const { workers, framesLost } = readLoad();
    return {
      atMs: clock.epochMs(),
      memoryBytes: memory.used,
      cpu: cpu.lavalinkLoad,
      players,
      playing: playingPlayers,
      framesLost,
      latenessMs: Math.max(0, ...workers.map(({ latenessMax }) => latenessMax)),
      workerLoads: workers.map(({ load }) => load),
    };
  }
}
