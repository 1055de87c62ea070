// One running audio worker as the main thread sees it: starts the thread, watches its signs of life and says once, and
// only once, when it is gone. Main thread; the pool decides what follows.

import { Worker } from "node:worker_threads";
import { CommandChannel } from "../../bridge/channel.ts";
import type { WorkerCounters, WorkerEvent } from "../../bridge/events.ts";
import { BEAT_MS, type MarkedWork, WorkMark } from "../../bridge/work-mark.ts";
import type { WorkerSettings, WorkerStart } from "../../bridge/worker-settings.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { readThreadCpuMs } from "../../lib/thread-cpu.ts";
import type { Logger } from "../../log.ts";
import type { CodecLoader } from "./codec-loader.ts";
import { ThreadWatch } from "./thread-watch.ts";

/** A worker that has not said `ready` by then has failed to start. */
const START_TIMEOUT_MS = 15_000;
/**
 * Added as a timer of its own: after a stall of the main thread itself, its timers run out before it has read the messages
 * that waited meanwhile.
 */
const START_GRACE_MS = 250;
/** How long a worker may take to close its players before it is terminated. */
const CLOSE_TIMEOUT_MS = 2000;
/** What is collected often is kept small: each collection is then a short pause, and memory stays low. */
const YOUNG_HEAP_MEGABYTES_MAX = 6;

/** How a worker went, and whose work it was doing then; undefined: nobody's. */
export interface WorkerLoss {
  readonly reason: NodeError;
  /** False: it failed to start. */
  readonly wasReady: boolean;
  readonly work: MarkedWork | undefined;
}

/** Whoever the worker serves: the pool for one of its slots, or nobody yet. */
export interface WorkerListener {
  onReady(): void;
  onEvent(event: WorkerEvent): void;
  /** Called once when the worker is gone without having been asked to close. */
  onLost(loss: WorkerLoss): void;
}

export interface WorkerThreadOptions {
  readonly index: number;
  readonly entry: URL;
  readonly settings: WorkerSettings;
  /** JavaScript heap; sound and decoders live outside of it. Beyond it the worker ends, not the node. */
  readonly heapMegabytesMax: number;
  /** Undefined: it loads its codecs by itself. */
  readonly codecs: CodecLoader | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

type State = { kind: "starting" } | { kind: "ready" } | { kind: "closing" } | { kind: "gone" };

export class WorkerThread {
  readonly index: number;
  readonly startedMs: number;
  readonly channel: CommandChannel;
  readonly #options: WorkerThreadOptions;
  readonly #worker: Worker;
  readonly #mark: WorkMark;
  readonly #watch: ThreadWatch;
  #listener: WorkerListener;
  #state: State = { kind: "starting" };
  #start: Timer;
  #counters: WorkerCounters | undefined;

  constructor(options: WorkerThreadOptions, listener: WorkerListener) {
    this.index = options.index;
    this.startedMs = options.clock.now();
    this.#options = options;
    this.#listener = listener;
    const codecPort = options.codecs?.connect();
    const start: WorkerStart = { settings: options.settings, markMemory: WorkMark.allocate(), codecPort };
    this.#mark = new WorkMark(start.markMemory);
    this.#worker = new Worker(options.entry, {
      name: `audio-${options.index}`,
      workerData: start,
      transferList: codecPort === undefined ? [] : [codecPort],
      resourceLimits: {
        maxOldGenerationSizeMb: options.heapMegabytesMax,
        maxYoungGenerationSizeMb: YOUNG_HEAP_MEGABYTES_MAX,
      },
    });
    const { clock } = options;
    this.channel = new CommandChannel(this.#worker, { clock, onEvent: (event) => this.#onEvent(event) });
    this.#worker.on("error", (error) => this.#lose("stopped by an error", error));
    this.#worker.on("messageerror", (error) => this.#lose("sent a message that cannot be read", error));
    this.#worker.on("exit", (code) => this.#lose(`exited with code ${code}`));
    this.#watch = new ThreadWatch({
      ...{ mark: this.#mark, clock, intervalMs: BEAT_MS },
      readCpuMs: () => readThreadCpuMs(this.#mark.threadNumber),
      onSilent: () => this.#lose("shows no sign of life any more"),
    });
    this.#start = clock.after(START_TIMEOUT_MS, () => {
      this.#start = clock.after(START_GRACE_MS, () => this.#lose(`did not start for ${START_TIMEOUT_MS} ms`));
    });
  }

  /** From now on it serves somebody else. */
  set listener(listener: WorkerListener) {
    this.#listener = listener;
  }

  get isReady(): boolean {
    return this.#state.kind === "ready";
  }

  /** The last counters it sent, or undefined before the first. */
  get counters(): WorkerCounters | undefined {
    return this.#counters;
  }

  /** Lets the worker close its players, for at most 2 s, then ends it. Resolves when the thread is gone. */
  async close(): Promise<void> {
    if (this.#state.kind === "gone" || this.#state.kind === "closing") return;
    this.#state = { kind: "closing" };
    this.#start.cancel();
    this.#watch.stop();
    const exited = new Promise<void>((resolve) => this.#worker.once("exit", () => resolve()));
    const timer = this.#options.clock.after(CLOSE_TIMEOUT_MS, () => this.#terminate());
    this.channel.send({ type: "close" });
    await exited;
    timer.cancel();
    this.channel.close(new NodeError("worker-lost", "the node is closing"));
  }

  #onEvent(event: WorkerEvent): void {
    if (event.type === "ready") this.#onReady();
    else if (event.type === "counters" && this.#state.kind === "ready") this.#counters = event.worker;
    if (event.type === "log" || this.#state.kind === "ready") this.#listener.onEvent(event);
  }

  #onReady(): void {
    if (this.#state.kind !== "starting") return;
    this.#state = { kind: "ready" };
    this.#start.cancel();
    this.#watch.start();
    this.#listener.onReady();
  }

  #lose(what: string, cause?: unknown): void {
    if (this.#state.kind === "gone" || this.#state.kind === "closing") return;
    const wasReady = this.isReady;
    this.#state = { kind: "gone" };
    this.#start.cancel();
    this.#watch.stop();
    this.#terminate();
    const reason = new NodeError("worker-lost", `audio worker ${this.index} ${what}`, { cause });
    this.channel.close(reason);
    this.#listener.onLost({ reason, wasReady, work: this.#mark.work });
  }

  #terminate(): void {
    this.#worker.terminate().catch((error: unknown) => {
      this.#options.logger.warn("an audio worker could not be ended", { worker: this.index, error });
    });
  }
}
