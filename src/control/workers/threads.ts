// Creates threads: passed in, so that a simulation can run the same code in one thread, on its own clock
// (lab/simulate). Main thread.

import { MessageChannel, type MessagePort, Worker, type WorkerOptions } from "node:worker_threads";
import type { Endpoint } from "../../bridge/channel.ts";

/** A thread that has been started; a `Worker` is one. */
export interface Thread extends Endpoint<unknown, unknown> {
  on(event: "message", listener: (message: unknown) => void): unknown;
  on(event: "error" | "messageerror", listener: (error: Error) => void): unknown;
  /** Emitted once, when the thread has ended for any reason. */
  on(event: "exit", listener: (code: number) => void): unknown;
  /** Ends it with all that it does; resolves when it has ended. */
  terminate(): Promise<unknown>;
  /** It does not keep the process alive. */
  unref(): void;
}

/** All that the node knows of starting threads; `systemThreads` in the node, a simulation has its own. */
export interface Threads {
  /** Starts a thread with the module at `entry`. It may fail later, as an "error" event. */
  start(entry: URL, options: WorkerOptions): Thread;
  /** Two ends between threads. */
  createChannel(): { readonly port1: MessagePort; readonly port2: MessagePort };
}

/** Threads of this process. */
export const systemThreads: Threads = {
  start: (entry, options) => new Worker(entry, options),
  createChannel: () => new MessageChannel(),
};
