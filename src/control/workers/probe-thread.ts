// One running probe thread as the main thread sees it: its commands and its events. Main thread; probe-lane.ts decides
// what follows when it is lost.

import type { AnswerCommand, ProbeThreadCommand } from "../../bridge/commands.ts";
import type { WorkerEvent } from "../../bridge/events.ts";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { Threads } from "./threads.ts";
import { type ThreadLoss, WatchedThread } from "./watched-thread.ts";

export interface ProbeThreadOptions {
  /** The module that runs in it. */
  readonly entry: URL;
  readonly settings: WorkerSettings;
  /** JavaScript heap; beyond it the thread ends, not the node. */
  readonly heapMegabytesMax: number;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface ProbeThreadListener {
  readonly onEvent: (event: WorkerEvent) => void;
  /** Called once when the thread is gone without having been closed. */
  readonly onLost: (loss: ThreadLoss) => void;
}

export class ProbeThread {
  readonly #listener: ProbeThreadListener;
  readonly #thread: WatchedThread;

  constructor(
    { entry, settings, heapMegabytesMax, threads, clock, logger }: ProbeThreadOptions,
    listener: ProbeThreadListener,
  ) {
    this.#listener = listener;
    this.#thread = new WatchedThread({
      name: "probe",
      title: "the probe thread",
      entry,
      start: { settings },
      threads,
      clock,
      logger,
      limits: { maxOldGenerationSizeMb: heapMegabytesMax },
      onLost: (loss) => listener.onLost(loss),
    });
    this.#thread.isWorthWatching = false;
    this.#thread.endpoint.on("message", (event) => this.#onEvent(event));
  }

  /** Whether it has something to do: only then it is watched. */
  set isBusy(isBusy: boolean) {
    this.#thread.isWorthWatching = isBusy;
  }

  /** Fires when it is lost or ended. */
  get gone(): AbortSignal {
    return this.#thread.gone;
  }

  /** Messages sent before the thread is ready wait for it. */
  send(command: ProbeThreadCommand | AnswerCommand): void {
    if (!this.#thread.isGone) this.#thread.endpoint.postMessage(command);
  }

  /** Ends the thread and all its work. Resolves when it is gone. */
  close(): Promise<void> {
    return this.#thread.terminate();
  }

  #onEvent(event: WorkerEvent): void {
    if (this.#thread.isGone) return;
    if (event.type === "ready") this.#thread.onReady();
    this.#listener.onEvent(event);
  }
}
