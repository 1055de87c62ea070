// Starts the pacer thread when the first audio worker needs it, connects every worker to it, and replaces it when it is
// lost: workers then start new voice sessions. Main thread.

import { type ThreadMessage, WAKE_UP_FLAG_BYTES } from "../../bridge/pacer-start.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { onAbort } from "../../lib/on-abort.ts";
import type { Logger } from "../../log/log.ts";
import type { Threads } from "./threads.ts";
import { type ThreadLoss, WatchedThread } from "./watched-thread.ts";
import type { WorkerThread } from "./worker-thread.ts";

/** It holds sockets and little else. */
const HEAP_MEGABYTES_MAX = 64;
/** One that has run so long is replaced at once, one that fails again and again after a pause. */
const PROVEN_MS = 10_000;
const RESTART_MS = 1000;

/** A worker that sends through the pacer. */
export interface PacedWorker {
  readonly channel: Pick<WorkerThread["channel"], "send">;
  /** Fires when it is lost or released. */
  readonly gone: AbortSignal;
}

interface PacerKeeperOptions {
  /** The module that runs in the thread. */
  readonly entry: URL;
  /** Of the LeaseEnd that it obeys. Undefined: the node is in no cluster. */
  readonly leaseEndMemory: SharedArrayBuffer | undefined;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface RunningPacer {
  readonly thread: WatchedThread;
  readonly wakeUpMemory: SharedArrayBuffer;
}

/** One for the node. */
export class PacerKeeper {
  readonly #options: PacerKeeperOptions;
  /** Each with its turn. */
  readonly #workers = new Map<PacedWorker, number>();
  #running: RunningPacer | undefined;
  #startedMs = 0;
  #restart: Timer | undefined;
  #isClosed = false;

  constructor(options: PacerKeeperOptions) {
    this.#options = options;
  }

  /**
   * Connects a worker, now and whenever the pacer is replaced, until the worker is gone. `index` is that of its slot:
   * workers of different slots make their frames in turns.
   */
  serve(worker: PacedWorker, index: number): void {
    if (this.#isClosed || worker.gone.aborted) return;
    if (!this.#workers.has(worker)) onAbort(worker.gone, () => this.#workers.delete(worker));
    const turn = turnOf(index);
    this.#workers.set(worker, turn);
    if (this.#restart === undefined) this.#connect(worker, turn);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#restart?.cancel();
    await this.#running?.thread.terminate();
  }

  #connect({ channel }: PacedWorker, turn: number): void {
    const { thread, wakeUpMemory } = this.#thread;
    const { port1, port2 } = this.#options.threads.createChannel();
    thread.thread.postMessage(port1, [port1]);
    channel.send({ type: "setPacer", port: port2, wakeUpMemory, turn });
  }

  get #thread(): RunningPacer {
    if (this.#running !== undefined) return this.#running;
    const { entry, leaseEndMemory, threads, clock, logger } = this.#options;
    const wakeUpMemory = new SharedArrayBuffer(WAKE_UP_FLAG_BYTES);
    const thread = new WatchedThread({
      name: "pacer",
      title: "the pacer",
      entry,
      start: { wakeUpMemory, leaseEndMemory },
      threads,
      clock,
      logger,
      limits: { maxOldGenerationSizeMb: HEAP_MEGABYTES_MAX },
      onLost: (loss) => this.#onLost(loss),
    });
    // What runs in it is compiled against the same contract.
    thread.thread.on("message", (message) => this.#onMessage(thread, message as ThreadMessage));
    this.#startedMs = clock.now();
    this.#running = { thread, wakeUpMemory };
    return this.#running;
  }

  #onMessage(thread: WatchedThread, message: ThreadMessage): void {
    if (message.type === "ready") thread.onReady();
    else this.#options.logger[message.level](message.message, { ...message.fields, thread: "pacer" });
  }

  #onLost({ reason }: ThreadLoss): void {
    this.#running = undefined;
    if (this.#isClosed) return;
    const { clock, logger } = this.#options;
    const ranMs = clock.now() - this.#startedMs;
    const restartInMs = ranMs < PROVEN_MS ? RESTART_MS : 0;
    logger.error("pacer lost: a new one starts and voice connections reconnect", {
      ranMs: Math.round(ranMs),
      restartInMs,
      error: reason,
    });
    this.#restart = clock.after(restartInMs, () => {
      this.#restart = undefined;
      for (const [worker, turn] of this.#workers) this.#connect(worker, turn);
    });
  }
}

/** 0, 1/2, 1/4, 3/4, 1/8, ... (van der Corput): however many there are, they are far from each other. */
function turnOf(index: number): number {
  let turn = 0;
  for (let [rest, share] = [index, 0.5]; rest > 0; rest >>= 1, share /= 2) turn += (rest & 1) * share;
  return turn;
}
