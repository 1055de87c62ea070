// Threads that do what a test says: they show signs of life, hang and end on order.

import { EventEmitter } from "node:events";
import { MessageChannel, type WorkerOptions } from "node:worker_threads";
import { HEARTBEAT_INTERVAL_MS, Heartbeat } from "../../src/bridge/heartbeat.ts";
import type { Thread, Threads } from "../../src/control/workers/threads.ts";
import type { Clock } from "../../src/lib/clock.ts";

/** `Start` is the thread's workerData. */
export abstract class FakeThread<Start extends { readonly heartbeatMemory: SharedArrayBuffer }>
  extends EventEmitter
  implements Thread
{
  readonly start: Start;
  isEnded = false;
  /** It shows no sign of life any more. */
  isHanging = false;

  constructor(start: Start, clock: Clock) {
    super();
    this.start = start;
    const heartbeat = new Heartbeat(start.heartbeatMemory);
    const beat = (): void => {
      if (this.isEnded) return;
      if (!this.isHanging) heartbeat.beat();
      clock.after(HEARTBEAT_INTERVAL_MS, beat);
    };
    beat();
  }

  abstract postMessage(message: unknown): void;

  unref(): void {}

  async terminate(): Promise<void> {
    this.exit(1);
  }

  /** Ends the thread, requested or not. */
  exit(code = 0): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.emit("exit", code);
  }
}

export class FakeThreads<One extends Thread> implements Threads {
  /** All that were started, in order. */
  readonly started: One[] = [];
  readonly #create: (entry: URL, options: WorkerOptions) => One;

  constructor(create: (entry: URL, options: WorkerOptions) => One) {
    this.#create = create;
  }

  start(entry: URL, options: WorkerOptions): Thread {
    const thread = this.#create(entry, options);
    this.started.push(thread);
    return thread;
  }

  createChannel(): MessageChannel {
    return new MessageChannel();
  }

  get last(): One {
    const thread = this.started.at(-1);
    if (thread === undefined) throw new Error("no thread was started");
    return thread;
  }
}
