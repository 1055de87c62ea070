// Requests across the bridge that wait for their reply: numbered, each with a time limit. Each end of a channel
// (channel.ts) holds the requests that it has sent. Both threads.

import { NodeError } from "../errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";

interface Pending<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (error: NodeError) => void;
  readonly timer: Timer;
}

/** Options of one request. */
interface AskOptions {
  /** Above 0; when it is over, the answer is `worker-timeout`. */
  readonly timeoutMs: number;
  /** The error message when no reply comes in time. */
  readonly lateText: string;
}

/** One for each end of the pipe. Numbers grow from 1 and are never used twice. */
export class PendingReplies<Value> {
  readonly #clock: Clock;
  readonly #pending = new Map<number, Pending<Value>>();
  #askedCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Questions that wait for their answer. */
  get count(): number {
    return this.#pending.size;
  }

  /**
   * Calls `send` with a new request number. Rejects with `worker-timeout`, or the error given to `reject`. Never
   * refused: the caller bounds how many are pending.
   */
  ask(options: AskOptions, send: (id: number) => void): Promise<Value> {
    const id = ++this.#askedCount;
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(options.timeoutMs, () => {
        this.reject(id, new NodeError("worker-timeout", options.lateText));
      });
      this.#pending.set(id, { resolve, reject, timer });
      send(id);
    });
  }

  /** Without effect for a question that does not wait any more. */
  resolve(id: number, value: Value): void {
    this.#take(id)?.resolve(value);
  }

  /** Settles a request with an error. */
  reject(id: number, error: NodeError): void {
    this.#take(id)?.reject(error);
  }

  /** Rejects all pending requests, for when the other end is gone. */
  rejectAll(error: NodeError): void {
    for (const id of [...this.#pending.keys()]) this.reject(id, error);
  }

  #take(id: number): Pending<Value> | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.timer.cancel();
    return pending;
  }
}
