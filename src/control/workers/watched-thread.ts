// The life cycle of one of our threads: starts it, watches its signs of life and reports its loss exactly once, unless
// it was released before. Main thread; worker-thread.ts and probe-thread.ts decide what is sent to it.

import { setMaxListeners } from "node:events";
import type { ResourceLimits } from "node:worker_threads";
import type { MainEnd } from "../../bridge/channel.ts";
import type { ProbeThreadCommand, WorkerCommand } from "../../bridge/commands.ts";
import { type CurrentTask, HEARTBEAT_INTERVAL_MS, Heartbeat } from "../../bridge/heartbeat.ts";
import type { PacerStart } from "../../bridge/pacer-start.ts";
import type { PluginStart } from "../../bridge/plugin-messages.ts";
import type { WorkerStart } from "../../bridge/worker-settings.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { readThreadTimes } from "../../lib/thread-cpu.ts";
import type { Logger } from "../../log/log.ts";
import { ThreadWatch } from "./thread-watch.ts";
import type { Thread, Threads } from "./threads.ts";

/** A thread that has not said `ready` by then has failed to start. */
const START_TIMEOUT_MS = 15_000;
/**
 * Added as a separate timer: after a stall of the main thread itself, its timers fire before it has read the messages
 * that arrived during the stall.
 */
const START_GRACE_MS = 250;

/** How a thread was lost, and the work it was doing; undefined: it worked for no owner. */
export interface ThreadLoss {
  readonly reason: NodeError;
  /** False: it failed to start. */
  readonly wasReady: boolean;
  readonly currentTask: CurrentTask | undefined;
}

interface WatchedThreadOptions {
  /** Name in a debugger and in the log. */
  readonly name: string;
  /** How the reason of its loss begins: "the probe thread". */
  readonly title: string;
  /** The module that runs in it. */
  readonly entry: URL;
  /** Start data besides its heartbeat memory. */
  readonly start:
    | Omit<WorkerStart, "heartbeatMemory">
    | Omit<PluginStart, "heartbeatMemory">
    | Omit<PacerStart, "heartbeatMemory">;
  readonly limits: ResourceLimits;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once when it is gone without having been released. */
  readonly onLost: (loss: ThreadLoss) => void;
}

/** Ends once, for whatever reason. */
export class WatchedThread {
  /** Resolves when the thread has ended. */
  readonly exited: Promise<void>;
  readonly #options: WatchedThreadOptions;
  readonly #heartbeat: Heartbeat;
  readonly #thread: Thread;
  readonly #watch: ThreadWatch;
  readonly #gone = new AbortController();
  #state: "starting" | "ready" | "gone" = "starting";
  #startTimer: Timer;
  #isWorthWatching = true;

  constructor(options: WatchedThreadOptions) {
    this.#options = options;
    // Each link that is looked for listens.
    setMaxListeners(0, this.#gone.signal);
    const { name, entry, limits, threads, clock } = options;
    const start = { ...options.start, heartbeatMemory: Heartbeat.allocate() };
    this.#heartbeat = new Heartbeat(start.heartbeatMemory);
    const transferList = "codecPort" in start && start.codecPort !== undefined ? [start.codecPort] : [];
    this.#thread = threads.start(entry, { name, workerData: start, transferList, resourceLimits: limits });
    this.#thread.on("error", (error) => this.#lose("stopped by an error", error));
    this.#thread.on("messageerror", (error) => this.#lose("sent a message that cannot be read", error));
    this.#thread.on("exit", (code) => this.#lose(`exited with code ${code}`));
    this.exited = new Promise((resolve) => {
      this.#thread.on("exit", () => resolve());
    });
    this.#watch = new ThreadWatch({
      heartbeat: this.#heartbeat,
      clock,
      intervalMs: HEARTBEAT_INTERVAL_MS,
      readTimes: () => readThreadTimes(this.#heartbeat.threadNumber),
      onSilent: () => this.#lose("shows no sign of life any more"),
    });
    this.#startTimer = clock.after(START_TIMEOUT_MS, () => {
      this.#startTimer = clock.after(START_GRACE_MS, () => this.#lose(`did not start for ${START_TIMEOUT_MS} ms`));
    });
  }

  /** Messages sent before the thread is ready wait for it. */
  get endpoint(): MainEnd<WorkerCommand | ProbeThreadCommand> {
    return this.#thread as MainEnd<WorkerCommand | ProbeThreadCommand>; // what runs in it is compiled with the same contract
  }

  /** The thread itself, for one that takes other commands: a plugin's, or the pacer. */
  get thread(): Thread {
    return this.#thread;
  }

  get isReady(): boolean {
    return this.#state === "ready";
  }

  /** Lost or released. */
  get isGone(): boolean {
    return this.#state === "gone";
  }

  /** Fires when it is lost or released. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** It has said `ready`: its signs of life are watched from now on. False: it was not starting any more. */
  onReady(): boolean {
    if (this.#state !== "starting") return false;
    this.#state = "ready";
    this.#startTimer.cancel();
    this.#watchIfNeeded();
    return true;
  }

  /** Whether it matters that it shows signs of life: true by default. */
  set isWorthWatching(isWorthWatching: boolean) {
    if (isWorthWatching === this.#isWorthWatching) return;
    this.#isWorthWatching = isWorthWatching;
    this.#watchIfNeeded();
  }

  /** It may end from now on, however long it takes: that is no loss. False: it is gone already. */
  release(): boolean {
    if (this.#state === "gone") return false;
    this.#state = "gone";
    this.#startTimer.cancel();
    this.#watch.stop();
    this.#gone.abort(new NodeError("worker-lost", `${this.#options.title} is gone`));
    return true;
  }

  /** Ends the thread with all that it does, and resolves when it has ended. */
  async terminate(): Promise<void> {
    this.release();
    const { logger, name } = this.#options;
    try {
      await this.#thread.terminate();
    } catch (error) {
      logger.warn("thread could not be terminated", { thread: name, error });
    }
  }

  #watchIfNeeded(): void {
    if (this.isReady && this.#isWorthWatching) this.#watch.start();
    else this.#watch.stop();
  }

  #lose(what: string, cause?: unknown): void {
    const wasReady = this.isReady;
    if (!this.release()) return;
    void this.terminate();
    const reason = new NodeError("worker-lost", `${this.#options.title} ${what}`, { cause });
    this.#options.onLost({ reason, wasReady, currentTask: this.#heartbeat.currentTask });
  }
}
