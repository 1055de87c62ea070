// One running thread of a plugin as seen by the main thread: its requests, and their fate when the thread is lost. Main
// thread; plugin-runner.ts decides when a thread exists.

import { PendingRequests } from "../../bridge/pending-requests.ts";
import type { ExtensionCommand, ExtensionReplies } from "../../bridge/plugin-extensions.ts";
import type {
  GivenOptions,
  PluginAnswer,
  PluginCommand,
  PluginEvent,
  PluginLink,
  PluginManifest,
  PluginReturn,
  PluginSettings,
} from "../../bridge/plugin-messages.ts";
import type { EventsReply } from "../../bridge/plugin-players.ts";
import { RemoteError } from "../../bridge/wire-error.ts";
import { type RouteSource, serveRoutes } from "../../control/workers/route-source.ts";
import type { Threads } from "../../control/workers/threads.ts";
import { WatchedThread } from "../../control/workers/watched-thread.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { killProgram } from "../../lib/kill-program.ts";
import type { Owner } from "../../lib/owners.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";

/** JavaScript heap of the thread; a plugin that needs more leaks. */
const HEAP_MEGABYTES_MAX = 128;
/** One more, and the last request of the owner with most of them is refused. */
const RUNNING_MAX = 512;
/** Nobody asks for calls but the node. */
const NODE: Owner = ["node"];
const DISPOSE_TIMEOUT_MS = 1500;

export type PluginRequest =
  Extract<
    PluginCommand,
    { readonly type: "load" | "resolve" | "call" | "events" | "drain" | ExtensionCommand["type"] }
  > extends infer Command
    ? Command extends { readonly requestId: number }
      ? Omit<Command, "requestId">
      : never
    : never;

export interface PluginThreadListener {
  /** The plugin has reported its name: returns its options. Never rejects. */
  onNamed(name: string): Promise<GivenOptions>;
  /** It is set up. */
  onReady(manifest: PluginManifest): void;
  /** It never will be; the thread has been ended. */
  onUnusable(trouble: Pick<Extract<PluginEvent, { readonly type: "unusable" }>, "problem" | "areOptionsWrong">): void;
  /** The thread ended unexpectedly, or was ended because it hung. Its requests have been answered. */
  onLost(reason: NodeError): void;
  onReport(report: Extract<PluginEvent, { readonly type: "report" }>): void;
  /** A value that is to outlast it, or one that is not any more. */
  onPersisted(event: Extract<PluginEvent, { readonly type: "persist" | "forget" }>): void;
  /** The answer goes to the same thread: numbers of another one mean something else. */
  onLoadRequested(loadEvent: Extract<PluginEvent, { readonly type: "loadRequested" }>, thread: PluginThread): void;
  onLoadAborted(askId: number, thread: PluginThread): void;
  /** It asks something of a player, or sends an event to a client. */
  onPlayerEvent(event: PlayerThreadEvent, thread: PluginThread): void;
}

export type PlayerThreadEvent = Extract<PluginEvent, { readonly type: "playerWish" | "sendEvent" }>;

export interface PluginThreadOptions {
  /** For the log and errors. */
  readonly name: string;
  readonly entry: URL;
  readonly settings: PluginSettings;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
  /** As for audio workers. */
  readonly routes?: RouteSource | undefined;
}

/** What each request is answered with. */
export interface PluginReplies extends ExtensionReplies {
  readonly load: PluginAnswer;
  readonly resolve: PluginLink;
  readonly call: PluginReturn;
  readonly events: EventsReply;
  readonly drain: EventsReply;
}

export class PluginThread {
  readonly #options: PluginThreadOptions;
  readonly #listener: PluginThreadListener;
  readonly #thread: WatchedThread;
  readonly #requests: PendingRequests<PluginReplies>;
  /** Ids of programs that it runs. */
  readonly #programs = new Set<number>();
  #onDisposed = (): void => undefined;
  #onQuiet = (): void => undefined;
  #isListening = false;

  constructor(options: PluginThreadOptions, listener: PluginThreadListener) {
    const { name, entry, settings, threads, clock, logger } = options;
    this.#options = options;
    this.#listener = listener;
    const text = `the plugin ${name} is busy with ${RUNNING_MAX} requests; try again later`;
    const bound = { pendingMax: RUNNING_MAX, error: () => new NodeError("load-busy", text) };
    this.#requests = new PendingRequests({ clock, bound, onIdle: () => this.#onIdle() });
    this.#thread = new WatchedThread({
      name: `plugin-${name}`,
      title: `the thread of the plugin ${name}`,
      entry,
      start: { settings },
      threads,
      clock,
      logger,
      limits: { maxOldGenerationSizeMb: HEAP_MEGABYTES_MAX },
      onLost: ({ reason }) => this.#onLost(reason),
    });
    this.#thread.isWorthWatching = false;
    void this.#thread.exited.then(() => this.#killPrograms());
    // The thread's code is compiled with the same contract.
    this.#thread.thread.on("message", (event) => this.#onEvent(event as PluginEvent));
    this.#thread.thread.unref();
  }

  /** Number of requests without an answer. */
  get runningCount(): number {
    return this.#requests.count;
  }

  /**
   * Asks it, also while it is being set up. Rejects with its own error (RemoteError), `load-busy`, `load-timeout`,
   * `plugin-lost`, or the reason of `signal`.
   */
  request<Request extends PluginRequest>(
    request: Request,
    { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<PluginReplies[Request["type"]]> {
    const owner = request.type === "call" ? NODE : request.owner;
    const text = `the plugin ${this.#options.name} did not answer within ${timeoutMs / 1000} s`;
    const timeLimit = { ms: timeoutMs, error: () => new NodeError("load-timeout", text) };
    const onAbandoned = (requestId: number): void => this.send({ type: "abort", requestId });
    const send = (requestId: number): void => {
      this.#thread.isWorthWatching = true;
      this.send({ ...request, requestId });
    };
    return this.#requests.request<Request["type"]>(request.type, { timeLimit, owner, signal, onAbandoned }, send);
  }

  send(command: PluginCommand): void {
    if (!this.#thread.isGone) this.#thread.thread.postMessage(command);
  }

  /**
   * Resolves when nothing that was asked is unanswered and what its listeners have started has ended; then, or after
   * `timeoutMs`, it can be closed.
   */
  async drain(timeoutMs: number): Promise<void> {
    await Promise.race([this.#quiet(timeoutMs), pause(this.#options.clock, timeoutMs)]);
  }

  async #quiet(timeoutMs: number): Promise<void> {
    if (this.#requests.count > 0) {
      await new Promise<void>((resolve) => {
        this.#onQuiet = resolve;
      });
    }
    if (!this.#isListening) return;
    const { signal } = new AbortController();
    // It may be lost, or closed, before it has answered.
    await this.request({ type: "drain", owner: NODE }, { signal, timeoutMs }).catch(() => undefined);
  }

  /** Lets the plugin dispose of its resources, then ends it. Pending requests are rejected with `reason`. */
  async close(reason: NodeError): Promise<void> {
    if (this.#thread.isGone) return;
    const wasReady = this.#thread.isReady;
    this.#thread.release();
    this.#requests.rejectAll(reason);
    if (wasReady) {
      const disposed = new Promise<void>((resolve) => {
        this.#onDisposed = resolve;
      });
      this.#thread.thread.postMessage({ type: "dispose" } satisfies PluginCommand);
      await Promise.race([disposed, this.#thread.exited, pause(this.#options.clock, DISPOSE_TIMEOUT_MS)]);
    }
    await this.#thread.terminate();
  }

  #onEvent(event: PluginEvent): void {
    if (event.type === "disposed") this.#onDisposed();
    if (event.type === "program") this.#onProgram(event);
    if (this.#thread.isGone) return;
    switch (event.type) {
      case "named":
        void this.#listener.onNamed(event.name).then((given) => this.send({ type: "options", given }));
        return;
      case "ready":
        this.#isListening = event.manifest.isListening === true;
        if (this.#thread.onReady()) this.#listener.onReady(event.manifest);
        return;
      case "unusable":
        this.#onUnusable(event);
        return;
      case "persist":
      case "forget":
        this.#listener.onPersisted(event);
        return;
      case "reply":
        this.#requests.resolve(event.requestId, event.value);
        return;
      case "replyError":
        this.#requests.reject(event.requestId, new RemoteError(event.error));
        return;
      case "log":
        this.#options.logger[event.level](event.message, { ...event.fields, plugin: this.#options.name });
        return;
      case "report":
        this.#listener.onReport(event);
        return;
      case "routeRequested":
      case "routeFailed":
        serveRoutes(event, this.#options.routes, (answer) => this.send(answer));
        return;
      case "loadRequested":
        this.#listener.onLoadRequested(event, this);
        return;
      case "loadAborted":
        this.#listener.onLoadAborted(event.askId, this);
        return;
      case "playerWish":
      case "sendEvent":
        this.#listener.onPlayerEvent(event, this);
    }
  }

  #onProgram({ pid, isRunning }: Extract<PluginEvent, { readonly type: "program" }>): void {
    if (isRunning) this.#programs.add(pid);
    else this.#programs.delete(pid);
  }

  /**
   * However the thread has ended, its last messages have been received by now. Until a program's exit is collected,
   * which only the thread could do, its id is not reused; on Windows only until the thread's end, which was just now.
   */
  #killPrograms(): void {
    for (const pid of this.#programs) killProgram(pid);
    this.#programs.clear();
  }

  #onUnusable(event: Extract<PluginEvent, { readonly type: "unusable" }>): void {
    this.#thread.release();
    void this.#thread.terminate();
    this.#requests.rejectAll(new NodeError("plugin-off", `the plugin ${this.#options.name} is off: ${event.problem}`));
    this.#listener.onUnusable(event);
  }

  #onLost(reason: NodeError): void {
    const { name } = this.#options;
    const text = `the plugin ${name} stopped during the request, and restarts; try again in a moment`;
    this.#requests.rejectAll(new NodeError("plugin-lost", text, { cause: reason }));
    this.#listener.onLost(reason);
  }

  #onIdle(): void {
    this.#thread.isWorthWatching = false;
    this.#onQuiet();
  }
}
