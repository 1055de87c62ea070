// Questions across the bridge that wait for their answer: numbered, each with a time limit. Each end of the pipe
// (channel.ts) keeps those that it has asked. Both threads.

import { NodeError } from "../errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";

interface Pending<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (error: NodeError) => void;
  readonly timer: Timer;
}

/** Of one question. */
interface AskOptions {
  /** Above 0; when it is over, the answer is `worker-timeout`. */
  readonly timeoutMs: number;
  /** What the error says when no answer comes in time. */
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
   * Has `send` ask under a new number. Rejects with `worker-timeout`, or what `reject` is given. Never refused: whoever
   * asks bounds how many wait.
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

  /** The same, with an error as the answer. */
  reject(id: number, error: NodeError): void {
    this.#take(id)?.reject(error);
  }

  /** For the moment when the other end is gone: nothing waits any more. */
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
