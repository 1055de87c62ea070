// One running look-up thread as the main thread sees it: starts it, watches its signs of life and says once, and only once,
// that it is gone and whose work it was doing then. Main thread; lookup-lane.ts decides what follows.

import { Worker } from "node:worker_threads";
import type { LookupCommand, RouteCommand } from "../../bridge/commands.ts";
import type { WorkerEvent } from "../../bridge/events.ts";
import { BEAT_MS, type MarkedWork, WorkMark } from "../../bridge/work-mark.ts";
import type { WorkerSettings, WorkerStart } from "../../bridge/worker-settings.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { readThreadCpuMs } from "../../lib/thread-cpu.ts";
import type { Logger } from "../../log.ts";
import { ThreadWatch } from "./thread-watch.ts";

/** A thread that has not said `ready` by then has failed to start. */
const START_TIMEOUT_MS = 15_000;

export interface LookupThreadOptions {
  /** The module that runs in it. */
  readonly entry: URL;
  readonly settings: WorkerSettings;
  /** JavaScript heap; beyond it the thread ends, not the node. */
  readonly heapMegabytesMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface LookupThreadListener {
  readonly onEvent: (event: WorkerEvent) => void;
  /** Called once when the thread is gone without having been closed. `work`: what it was doing, undefined for nothing. */
  readonly onLost: (reason: NodeError, work: MarkedWork | undefined) => void;
}

export class LookupThread {
  readonly #options: LookupThreadOptions;
  readonly #listener: LookupThreadListener;
  readonly #mark: WorkMark;
  readonly #worker: Worker;
  readonly #startTimer: Timer;
  readonly #watch: ThreadWatch;
  #isReady = false;
  #isBusy = false;
  #isGone = false;

  constructor(options: LookupThreadOptions, listener: LookupThreadListener) {
    this.#options = options;
    this.#listener = listener;
    const start: WorkerStart = { settings: options.settings, markMemory: WorkMark.allocate() };
    this.#mark = new WorkMark(start.markMemory);
    this.#worker = new Worker(options.entry, {
      name: "look-ups",
      workerData: start,
      resourceLimits: { maxOldGenerationSizeMb: options.heapMegabytesMax },
    });
    // The other end is our own thread, compiled with the same contract.
    this.#worker.on("message", (message) => this.#onEvent(message as WorkerEvent));
    this.#worker.on("error", (error) => this.#lose("stopped by an error", error));
    this.#worker.on("messageerror", (error) => this.#lose("sent a message that cannot be read", error));
    this.#worker.on("exit", (code) => this.#lose(`exited with code ${code}`));
    const { clock } = options;
    this.#watch = new ThreadWatch({
      ...{ mark: this.#mark, clock, intervalMs: BEAT_MS },
      readCpuMs: () => readThreadCpuMs(this.#mark.threadNumber),
      onSilent: () => this.#lose("shows no sign of life any more"),
    });
    this.#startTimer = clock.after(START_TIMEOUT_MS, () => this.#lose(`did not start in ${START_TIMEOUT_MS} ms`));
  }

  /** Whether it has something to do: only then it is watched. */
  set isBusy(isBusy: boolean) {
    if (isBusy === this.#isBusy) return;
    this.#isBusy = isBusy;
    this.#watchIfNeeded();
  }

  /** What is sent before the thread is ready waits for it. */
  send(command: LookupCommand | RouteCommand): void {
    if (!this.#isGone) this.#worker.postMessage(command);
  }

  /** Ends the thread with all that it does. Resolves when it is gone. */
  async close(): Promise<void> {
    this.#stop();
    await this.#worker.terminate();
  }

  #onEvent(event: WorkerEvent): void {
    if (this.#isGone) return;
    if (event.type === "ready") this.#onReady();
    this.#listener.onEvent(event);
  }

  #onReady(): void {
    this.#startTimer.cancel();
    this.#isReady = true;
    this.#watchIfNeeded();
  }

  #watchIfNeeded(): void {
    if (this.#isBusy && this.#isReady && !this.#isGone) this.#watch.start();
    else this.#watch.stop();
  }

  #lose(what: string, cause?: unknown): void {
    if (this.#isGone) return;
    this.#stop();
    this.#worker.terminate().catch((error: unknown) => {
      this.#options.logger.warn("the look-up thread could not be ended", { error });
    });
    this.#listener.onLost(new NodeError("worker-lost", `the look-up thread ${what}`, { cause }), this.#mark.work);
  }

  #stop(): void {
    this.#isGone = true;
    this.#startTimer.cancel();
    this.#watch.stop();
  }
}
