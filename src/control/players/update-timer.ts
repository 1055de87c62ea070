// Says when the regular playerUpdate of each player is due: every interval from the start of its track. One timer
// serves all players; as the interval is the same for all, they are due in the order they were entered. Main thread.

import type { Clock, Timer } from "../../lib/clock.ts";

/** Players that are due this much later are served with the one that is due now. */
const TOGETHER_MS = 10;
/** Players that are served in one event loop iteration; when more are due, other work runs in between. */
const SERVED_MAX = 100;

export interface UpdateTarget {
  sendPlayerUpdate(): void;
}

/** One for the node. Updates come up to 10 ms early, where others are due then, or late, where many are. */
export class UpdateTimer {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #dueMs = new Map<UpdateTarget, number>();
  #timer: Timer | undefined;

  constructor(options: { clock: Clock; intervalMs: number }) {
    this.#clock = options.clock;
    this.#intervalMs = options.intervalMs;
  }

  /** The first update is due one interval from now. Starting again counts from now again. */
  start(target: UpdateTarget): void {
    this.#dueMs.delete(target);
    this.#dueMs.set(target, this.#clock.now() + this.#intervalMs);
    if (this.#timer === undefined) this.#arm();
  }

  /** Without effect where it is not entered. */
  stop(target: UpdateTarget): void {
    this.#dueMs.delete(target);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#dueMs.clear();
  }

  #arm(): void {
    const [first] = this.#dueMs.values();
    this.#timer = undefined;
    if (first === undefined) return;
    this.#timer = this.#clock.after(Math.max(0, first - this.#clock.now()), () => this.#serve());
  }

  #serve(): void {
    const nowMs = this.#clock.now();
    const untilMs = nowMs + TOGETHER_MS;
    let servedCount = 0;
    // Players that are entered again come after all others, with a time that ends the loop.
    for (const [target, dueMs] of this.#dueMs) {
      if (dueMs > untilMs || servedCount++ >= SERVED_MAX) break;
      this.#dueMs.delete(target);
      // From the moment it was due, not from now, so that the interval does not drift; what a stall skipped is skipped.
      const nextMs = dueMs + this.#intervalMs;
      this.#dueMs.set(target, nextMs > untilMs ? nextMs : nowMs + this.#intervalMs);
      target.sendPlayerUpdate();
    }
    this.#arm();
  }
}
