// Questions across the bridge that wait for their answer: numbered, each with a time limit, and bounded in number. Each end
// of the pipe (channel.ts) keeps those that it has asked.

import { NodeError } from "../errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";

/** Questions that may be refused and wait at once, per worker and direction; one more is refused with `worker-busy`. */
const PENDING_MAX = 4096;

interface Pending<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (error: NodeError) => void;
  readonly timer: Timer;
  readonly isRefusable: boolean;
}

export interface AskOptions {
  readonly timeoutMs: number;
  /** False for what must be asked in any case and is bounded by whoever asks it; it takes no place from the others. */
  readonly isRefusable: boolean;
  /** What the errors say: when so many wait already, and when no answer comes in time. */
  readonly busyText: (count: number) => string;
  readonly lateText: string;
}

export class PendingReplies<Value> {
  readonly #clock: Clock;
  readonly #pending = new Map<number, Pending<Value>>();
  #count = 0;
  #refusableCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Has `send` ask under a new number. Rejects with `worker-busy`, `worker-timeout`, or what `reject` is given. */
  ask(options: AskOptions, send: (id: number) => void): Promise<Value> {
    const { isRefusable } = options;
    if (isRefusable && this.#refusableCount >= PENDING_MAX) {
      return Promise.reject(new NodeError("worker-busy", options.busyText(PENDING_MAX)));
    }
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(options.timeoutMs, () => {
        this.reject(id, new NodeError("worker-timeout", options.lateText));
      });
      this.#pending.set(id, { resolve, reject, timer, isRefusable });
      if (isRefusable) this.#refusableCount++;
      send(id);
    });
  }

  /** Without effect for a question that does not wait any more. */
  resolve(id: number, value: Value): void {
    this.#take(id)?.resolve(value);
  }

  reject(id: number, error: NodeError): void {
    this.#take(id)?.reject(error);
  }

  rejectAll(error: NodeError): void {
    for (const id of [...this.#pending.keys()]) this.reject(id, error);
  }

  #take(id: number): Pending<Value> | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    this.#pending.delete(id);
    if (pending.isRefusable) this.#refusableCount--;
    pending.timer.cancel();
    return pending;
  }
}
