// Life cycle of one plugin: its thread starts on demand, ends after a long idle time, restarts after a loss with
// growing pauses, and can be replaced while it works. Main thread; one for each plugin.

import type { BackendReport, Learnt, PluginManifest, PluginSettings } from "../../bridge/plugin-messages.ts";
import type { Threads } from "../../control/workers/threads.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { Logger } from "../../log/log.ts";
import {
  type PluginReplies,
  type PluginRequest,
  PluginThread,
  type PluginThreadListener,
  type PluginThreadOptions,
} from "./plugin-thread.ts";

/** The thread's caches and tokens are lost with it, so it stays for a while. */
const IDLE_MS = 10 * 60_000;
/** A thread that lived this long before it was lost is restarted at once. */
const STEADY_MS = 60_000;
const FIRST_PAUSE_MS = 1000;
const PAUSE_MS_MAX = 60_000;
/** Time for a replaced thread to finish its work. */
const DRAIN_MS = 20_000;

/** How a plugin is doing. `idle`: its thread starts when it is needed. */
type RunnerState = "idle" | "starting" | "running" | "resting" | "off";

export interface PluginRunnerOptions {
  readonly name: string;
  readonly entry: URL;
  readonly settings: PluginSettings;
  /** Why it cannot even be tried. */
  readonly problem: string | undefined;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
  /** See PluginThreadOptions. */
  readonly routes?: PluginThreadOptions["routes"];
  /** Gives its options once it has reported its name. */
  readonly onNamed: PluginThreadListener["onNamed"];
  readonly onPersisted: PluginThreadListener["onPersisted"];
  /** Each time it is set up. */
  readonly onManifest: (manifest: PluginManifest) => void;
  /** Also of a thread that was replaced and finishes its work. */
  readonly onLoadRequested: PluginThreadListener["onLoadRequested"];
  readonly onLoadAborted: PluginThreadListener["onLoadAborted"];
  readonly onPlayerEvent: PluginThreadListener["onPlayerEvent"];
}

interface Starting {
  readonly thread: PluginThread;
  /** Resolves when it is set up; rejects with `plugin-off`, the reason of its loss, or that it is being ended. */
  readonly whenReady: Promise<void>;
}

export class PluginRunner {
  readonly #options: PluginRunnerOptions;
  #thread: PluginThread | undefined;
  #isReady = false;
  #startedMs = 0;
  #problem: string | undefined;
  #lossCount = 0;
  #lastLoss: string | undefined;
  #pauseMs = 0;
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  #idleTimer: Timer | undefined;
  /** Its manifest is not known yet, and has been requested. */
  #isToLearn = false;
  #learnTimer: Timer | undefined;
  #reloading: Promise<void> | undefined;
  /**
   * All threads that have not ended, also those starting or finishing their work; with the function that rejects the
   * wait for readiness.
   */
  readonly #alive = new Map<PluginThread, (reason: NodeError) => void>();
  #isClosed = false;
  backends: readonly BackendReport[] = [];
  counts: Readonly<Record<string, number>> = {};

  constructor(options: PluginRunnerOptions) {
    this.#options = options;
    if (options.problem !== undefined) this.#turnOff(options.problem);
  }

  get state(): RunnerState {
    if (this.#problem !== undefined) return "off";
    if (this.#thread !== undefined) return this.#isReady ? "running" : "starting";
    return this.#restMs > 0 ? "resting" : "idle";
  }

  /** Why it is off, or why its thread was lost last. */
  get trouble(): string | undefined {
    return this.#problem ?? this.#lastLoss;
  }

  /** Threads that were lost so far. */
  get lossCount(): number {
    return this.#lossCount;
  }

  /**
   * Sends a request to the plugin, whose thread is started if needed. Rejects as `PluginThread.request`, or
   * `plugin-off`.
   */
  async request<Request extends PluginRequest>(
    request: Request,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<PluginReplies[Request["type"]]> {
    const thread = this.#needThread();
    this.#idleTimer?.cancel();
    try {
      return await thread.request(request, options);
    } finally {
      if (thread === this.#thread && thread.runningCount === 0) this.#endWhenIdle(thread);
    }
  }

  /** Tells all of its threads what another machine has found out; one that starts later gets it with its options. */
  learn(learnt: Learnt): void {
    for (const thread of this.#alive.keys()) thread.send({ type: "learn", learnt });
  }

  /**
   * Starts its thread, to learn its manifest; rejects with the reason why it cannot be set up. A thread lost before
   * that is restarted after its pause, since without a manifest no request would start it.
   */
  async start(): Promise<void> {
    this.#refuseOff();
    this.#isToLearn = true;
    const { thread, whenReady } = this.#startThread();
    this.#thread = thread;
    await whenReady;
    this.#endWhenIdle(thread);
  }

  /**
   * Reloads its module; the old thread finishes its pending work. If the new one cannot be set up, the old one stays;
   * rejects with `plugin-off`.
   */
  async reload(): Promise<void> {
    // Calls in the meantime wait for the same reload.
    await (this.#reloading ?? this.#beginReload(this.#options.onNamed));
  }

  /**
   * Like `reload`, and the new thread gets the options of `onNamed`; later ones do not. Not concurrently with another.
   * If those options are wrong, the root cause is `plugin-options-wrong`.
   */
  async reloadWith(onNamed: PluginThreadListener["onNamed"]): Promise<void> {
    while (this.#reloading !== undefined) await this.#reloading.catch(() => undefined);
    await this.#beginReload(onNamed);
  }

  #beginReload(onNamed: PluginThreadListener["onNamed"]): Promise<void> {
    const reloading = this.#reload(onNamed).finally(() => {
      this.#reloading = undefined;
    });
    this.#reloading = reloading;
    return reloading;
  }

  async #reload(onNamed: PluginThreadListener["onNamed"]): Promise<void> {
    if (this.#isClosed) throw this.#closing();
    const { thread, whenReady } = this.#startThread(onNamed);
    try {
      await whenReady;
    } catch (error) {
      if (this.#isClosed) throw error;
      throw this.#asOff(error);
    }
    if (this.#isClosed) throw this.#closing();
    const before = this.#thread;
    this.#problem = undefined;
    this.#restsUntilMs = Number.NEGATIVE_INFINITY;
    this.#pauseMs = 0;
    this.#startedMs = this.#options.clock.now();
    this.#thread = thread;
    this.#isReady = true;
    this.#endWhenIdle(thread);
    if (before !== undefined) void this.#drain(before);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#idleTimer?.cancel();
    this.#learnTimer?.cancel();
    this.#thread = undefined;
    const closing = [...this.#alive].map(([thread, fail]) => {
      fail(this.#closing());
      return thread.close(this.#closing());
    });
    await Promise.all(closing);
  }

  get #restMs(): number {
    return this.#restsUntilMs - this.#options.clock.now();
  }

  #needThread(): PluginThread {
    this.#refuseOff();
    if (this.#thread !== undefined) return this.#thread;
    const { name } = this.#options;
    if (this.#restMs > 0) {
      const seconds = Math.ceil(this.#restMs / 1000);
      const text = `the plugin ${name} stopped ${this.#lossCount} times; it restarts in ${seconds} s`;
      throw new NodeError("plugin-lost", `${text}: ${this.#lastLoss ?? "the log has more"}`);
    }
    const { thread, whenReady } = this.#startThread();
    // Callers get the error from the thread.
    whenReady.catch(() => undefined);
    this.#thread = thread;
    return thread;
  }

  #refuseOff(): void {
    if (this.#isClosed) throw this.#closing();
    if (this.#problem === undefined) return;
    throw new NodeError("plugin-off", `the plugin ${this.#options.name} is off: ${this.#problem}`);
  }

  #startThread(onNamed = this.#options.onNamed): Starting {
    const { onManifest, onPersisted, onLoadRequested, onLoadAborted, onPlayerEvent } = this.#options;
    let settle = { resolve: (): void => undefined, reject: (_error: unknown): void => undefined };
    const whenReady = new Promise<void>((resolve, reject) => {
      settle = { resolve, reject };
    });
    const isCurrent = (): boolean => this.#thread === thread;
    if (this.#thread === undefined) {
      this.#isReady = false;
      this.#startedMs = this.#options.clock.now();
    }
    const thread: PluginThread = new PluginThread(this.#options, {
      onNamed,
      onReady: (manifest) => {
        if (isCurrent()) this.#isReady = true;
        this.#isToLearn = false;
        onManifest(manifest);
        settle.resolve();
      },
      onUnusable: ({ problem, areOptionsWrong }) => {
        this.#alive.delete(thread);
        if (isCurrent()) this.#turnOff(problem);
        const cause = areOptionsWrong ? new NodeError("plugin-options-wrong", problem) : undefined;
        settle.reject(new NodeError("plugin-off", problem, { cause }));
      },
      onLost: (reason) => {
        this.#alive.delete(thread);
        if (isCurrent()) this.#onLost(reason);
        settle.reject(reason);
      },
      onReport: ({ backends, counts }) => {
        if (!isCurrent()) return;
        this.backends = backends;
        this.counts = counts;
      },
      onPersisted,
      onLoadRequested,
      onLoadAborted,
      onPlayerEvent,
    });
    this.#alive.set(thread, settle.reject);
    return { thread, whenReady };
  }

  #turnOff(problem: string): void {
    this.#thread = undefined;
    this.#problem = problem;
    this.#options.logger.warn("plugin off: its set-up failed", { plugin: this.#options.name, problem });
  }

  #onLost(reason: NodeError): void {
    const { clock, logger, name } = this.#options;
    this.#thread = undefined;
    this.#idleTimer?.cancel();
    this.#lossCount += 1;
    this.#lastLoss = reason.message;
    const wasSteady = clock.now() - this.#startedMs >= STEADY_MS;
    this.#pauseMs = wasSteady ? 0 : Math.min(Math.max(FIRST_PAUSE_MS, this.#pauseMs * 2), PAUSE_MS_MAX);
    this.#restsUntilMs = clock.now() + this.#pauseMs;
    logger.warn("plugin thread lost: it restarts when needed", { plugin: name, pauseMs: this.#pauseMs, error: reason });
    if (this.#isToLearn) this.#learnTimer = clock.after(this.#pauseMs, () => this.#learn());
  }

  #learn(): void {
    const isKnown = !this.#isToLearn || this.#thread !== undefined || this.#problem !== undefined;
    if (this.#isClosed || isKnown) return;
    // Failures are logged where the plugin is lost or off.
    this.start().catch(() => undefined);
  }

  async #drain(thread: PluginThread): Promise<void> {
    await thread.drain(DRAIN_MS);
    await this.#end(thread, `the plugin ${this.#options.name} was replaced by a newer one`);
  }

  async #end(thread: PluginThread, reason: string): Promise<void> {
    await thread.close(new NodeError("plugin-lost", reason));
    this.#alive.delete(thread);
  }

  #endWhenIdle(thread: PluginThread): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#options.clock.after(IDLE_MS, () => {
      if (this.#thread !== thread || thread.runningCount > 0) return;
      this.#thread = undefined;
      void this.#end(thread, `the plugin ${this.#options.name} was not needed any more`);
    });
  }

  #closing(): NodeError {
    return new NodeError("plugin-lost", `the plugin ${this.#options.name} is being stopped`);
  }

  #asOff(error: unknown): NodeError {
    const text = messageOf(error);
    const rest = this.#problem === undefined ? "; the old one stays in use" : "";
    return new NodeError("plugin-off", `reloading the plugin ${this.#options.name} failed: ${text}${rest}`, {
      cause: error,
    });
  }
}
