// One running audio worker as the main thread sees it: starts the thread, watches its signs of life and says once, and
// only once, when it is gone. Main thread; the pool decides what follows.

import { Worker } from "node:worker_threads";
import { CommandChannel } from "../../bridge/channel.ts";
import type { WorkerCounters, WorkerEvent } from "../../bridge/events.ts";
import { WorkMark } from "../../bridge/work-mark.ts";
import type { WorkerSettings, WorkerStart } from "../../bridge/worker-settings.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";

/** A worker that has not said `ready` by then has failed to start. */
const START_TIMEOUT_MS = 15_000;
/** Counters come every 500 ms; ten missing in a row mean that the worker hangs. */
const SILENCE_MS_MAX = 5000;
/**
 * Added to both limits as a timer of its own: after a stall of the main thread itself, its timers run out before it has
 * read the messages that waited meanwhile.
 */
const GRACE_MS = 250;
/** How long a worker may take to close its players before it is terminated. */
const CLOSE_TIMEOUT_MS = 2000;
/** What is collected often is kept small: each collection is then a short pause, and memory stays low. */
const YOUNG_HEAP_MEGABYTES_MAX = 6;

interface WorkerThreadOptions {
  readonly index: number;
  readonly entry: URL;
  readonly settings: WorkerSettings;
  /** JavaScript heap; sound and decoders live outside of it. Beyond it the worker ends, not the node. */
  readonly heapMegabytesMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onReady: () => void;
  readonly onEvent: (event: WorkerEvent) => void;
  /** Called once when the worker is gone without having been asked to close. */
  readonly onLost: (reason: NodeError) => void;
}

type State = { kind: "starting" } | { kind: "ready" } | { kind: "closing" } | { kind: "gone" };

export class WorkerThread {
  readonly index: number;
  readonly startedMs: number;
  readonly channel: CommandChannel;
  readonly #options: WorkerThreadOptions;
  readonly #worker: Worker;
  #state: State = { kind: "starting" };
  #silence: Timer;
  #counters: WorkerCounters | undefined;

  constructor(options: WorkerThreadOptions) {
    this.index = options.index;
    this.startedMs = options.clock.now();
    this.#options = options;
    const start: WorkerStart = { settings: options.settings, markMemory: WorkMark.allocate() };
    this.#worker = new Worker(options.entry, {
      name: `audio-${options.index}`,
      workerData: start,
      resourceLimits: {
        maxOldGenerationSizeMb: options.heapMegabytesMax,
        maxYoungGenerationSizeMb: YOUNG_HEAP_MEGABYTES_MAX,
      },
    });
    this.channel = new CommandChannel(this.#worker, { clock: options.clock, onEvent: (event) => this.#onEvent(event) });
    this.#worker.on("error", (error) => this.#lose("stopped by an error", error));
    this.#worker.on("messageerror", (error) => this.#lose("sent a message that cannot be read", error));
    this.#worker.on("exit", (code) => this.#lose(`exited with code ${code}`));
    this.#silence = this.#watch(START_TIMEOUT_MS, "did not start");
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
    this.#silence.cancel();
    const exited = new Promise<void>((resolve) => this.#worker.once("exit", () => resolve()));
    const timer = this.#options.clock.after(CLOSE_TIMEOUT_MS, () => this.#terminate());
    this.channel.send({ type: "close" });
    await exited;
    timer.cancel();
    this.channel.close(new NodeError("worker-lost", "the node is closing"));
  }

  #onEvent(event: WorkerEvent): void {
    if (event.type === "ready") this.#onReady();
    else if (event.type === "counters") this.#onCounters(event.worker);
    if (event.type === "log" || this.#state.kind === "ready") this.#options.onEvent(event);
  }

  #onReady(): void {
    if (this.#state.kind !== "starting") return;
    this.#state = { kind: "ready" };
    this.#expectLife();
    this.#options.onReady();
  }

  #onCounters(counters: WorkerCounters): void {
    if (this.#state.kind !== "ready") return;
    this.#counters = counters;
    this.#expectLife();
  }

  #expectLife(): void {
    this.#silence.cancel();
    this.#silence = this.#watch(SILENCE_MS_MAX, "showed no sign of life");
  }

  #watch(limitMs: number, what: string): Timer {
    const { clock } = this.#options;
    let timer = clock.after(limitMs, () => {
      timer = clock.after(GRACE_MS, () => this.#lose(`${what} for ${limitMs} ms`));
    });
    return { cancel: () => timer.cancel() };
  }

  #lose(what: string, cause?: unknown): void {
    if (this.#state.kind === "gone" || this.#state.kind === "closing") return;
    this.#state = { kind: "gone" };
    this.#silence.cancel();
    this.#terminate();
    const reason = new NodeError("worker-lost", `audio worker ${this.index} ${what}`, { cause });
    this.channel.close(reason);
    this.#options.onLost(reason);
  }

  #terminate(): void {
    this.#worker.terminate().catch((error: unknown) => {
      this.#options.logger.warn("an audio worker could not be ended", { worker: this.index, error });
    });
  }
}
