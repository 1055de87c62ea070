// One running audio worker as the main thread sees it: the channel to it, its last report, and how it is closed. Main
// thread; the pool decides what follows when it is lost.

import { PLAYER_COUNTERS, type WorkerMetrics } from "../../bridge/audio-metrics.ts";
import { CommandChannel } from "../../bridge/channel.ts";
import type { AnswerCommand } from "../../bridge/commands.ts";
import type { WorkerEvent } from "../../bridge/events.ts";
import { type PackedWorkerReport, unpackWorkerReport, type WorkerReport } from "../../bridge/worker-report.ts";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { CodecLoader } from "./codec-loader.ts";
import type { Threads } from "./threads.ts";
import { type ThreadLoss, WatchedThread } from "./watched-thread.ts";

/** How long a worker may take to close its players before it is terminated. */
const CLOSE_TIMEOUT_MS = 2000;
/** The young generation is kept small: each collection is then a short pause, and memory stays low. */
const YOUNG_HEAP_MEGABYTES_MAX = 6;

/** The owner of the worker: the pool for one of its slots, or none yet. */
export interface WorkerListener {
  onReady(): void;
  onReport(report: WorkerReport): void;
  onEvent(event: Exclude<WorkerEvent, PackedWorkerReport>): void;
  /** Called once when the worker is gone without having been asked to close. */
  onLost(loss: ThreadLoss): void;
}

export interface WorkerThreadOptions {
  readonly index: number;
  readonly entry: URL;
  readonly settings: WorkerSettings;
  /** JavaScript heap; audio and decoders are outside of it. Beyond it the worker ends, not the node. */
  readonly heapMegabytesMax: number;
  /** Undefined: it loads its codecs by itself. */
  readonly codecs: CodecLoader | undefined;
  /** It waits to replace another one, with everything loaded. */
  readonly isSpare?: boolean;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class WorkerThread {
  readonly index: number;
  readonly startedMs: number;
  readonly channel: CommandChannel;
  readonly #clock: Clock;
  readonly #thread: WatchedThread;
  #listener: WorkerListener;
  /** Counts of its players since it started. */
  readonly counts = PLAYER_COUNTERS.zero();
  #metrics: WorkerMetrics | undefined;
  #reportedAtMs: number | undefined;

  constructor(options: WorkerThreadOptions, listener: WorkerListener) {
    const { index, entry, settings, heapMegabytesMax, codecs, isSpare, threads, clock, logger } = options;
    this.index = index;
    this.startedMs = clock.now();
    this.#clock = clock;
    this.#listener = listener;
    const start = { settings, codecPort: codecs?.connect(), isSpare };
    this.#thread = new WatchedThread({
      name: `audio-${index}`,
      title: `audio worker ${index}`,
      entry,
      start,
      threads,
      clock,
      logger,
      limits: { maxOldGenerationSizeMb: heapMegabytesMax, maxYoungGenerationSizeMb: YOUNG_HEAP_MEGABYTES_MAX },
      onLost: (loss) => this.#onLost(loss),
    });
    this.channel = new CommandChannel(this.#thread.endpoint, { clock, onEvent: (event) => this.#onEvent(event) });
  }

  /** Hands the worker to another owner. */
  set listener(listener: WorkerListener) {
    this.#listener = listener;
  }

  get isReady(): boolean {
    return this.#thread.isReady;
  }

  /** Fires when it is lost or closing. */
  get gone(): AbortSignal {
    return this.#thread.gone;
  }

  /** Answers what the worker has asked. */
  send(answer: AnswerCommand): void {
    this.channel.send(answer);
  }

  /** From its last report; undefined before the first. */
  get metrics(): WorkerMetrics | undefined {
    return this.#metrics;
  }

  /** Milliseconds since its last report; undefined before the first. */
  get reportedAgoMs(): number | undefined {
    return this.#reportedAtMs === undefined ? undefined : this.#clock.now() - this.#reportedAtMs;
  }

  /** Gives the worker at most 2 s to close its players, then ends it. Resolves when the thread is gone. */
  async close(): Promise<void> {
    if (!this.#thread.release()) return;
    const timer = this.#clock.after(CLOSE_TIMEOUT_MS, () => void this.#thread.terminate());
    this.channel.send({ type: "close" });
    await this.#thread.exited;
    timer.cancel();
    this.channel.close(new NodeError("worker-lost", "the node is closing"));
  }

  #onEvent(event: WorkerEvent): void {
    if (event.type === "ready" && this.#thread.onReady()) this.#listener.onReady();
    if (event.type === "workerReport") this.#onReport(event);
    else if (event.type === "log" || this.isReady) this.#listener.onEvent(event);
  }

  #onReport(packed: PackedWorkerReport): void {
    if (!this.isReady) return;
    const report = unpackWorkerReport(packed);
    for (const { increases } of report.players)
      if (increases !== undefined) PLAYER_COUNTERS.add(this.counts, increases);
    this.#metrics = report.worker;
    this.#reportedAtMs = this.#clock.now();
    this.#listener.onReport(report);
  }

  #onLost(loss: ThreadLoss): void {
    this.channel.close(loss.reason);
    this.#listener.onLost(loss);
  }
}
