// The only entrance to a simulated thread: timers, messages and sockets all pass its gate. A thread that is held gets
// everything that arrived in between when it is released, in order, as a real one does that had no processor; one that
// has ended gets nothing more.

import type { Clock, Timer } from "../../src/lib/clock.ts";

export class ThreadGate {
  #state: "open" | "held" | "ended" = "open";
  readonly #held: (() => void)[] = [];
  readonly #onEnd: (() => void)[] = [];

  get isEnded(): boolean {
    return this.#state === "ended";
  }

  /** Runs `work` now, or when the thread is released, or never. */
  enter(work: () => void): void {
    if (this.#state === "open") work();
    else if (this.#state === "held") this.#held.push(work);
  }

  hold(): void {
    if (this.#state === "open") this.#state = "held";
  }

  release(): void {
    if (this.#state !== "held") return;
    this.#state = "open";
    while (this.#held.length > 0 && this.#state === "open") this.#held.shift()?.();
  }

  /** Calls `callback` when the thread ends, to release what it held open. */
  onEnd(callback: () => void): void {
    this.#onEnd.push(callback);
  }

  end(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#held.length = 0;
    for (const callback of this.#onEnd.splice(0)) callback();
  }

  /** The clock as the thread has it. */
  clockOf(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      epochMs: () => clock.epochMs(),
      after: (delayMs, callback): Timer => {
        let isCancelled = false;
        const timer = clock.after(delayMs, () =>
          this.enter(() => {
            if (!isCancelled) callback();
          }),
        );
        return {
          cancel: () => {
            isCancelled = true;
            timer.cancel();
          },
        };
      },
    };
  }
}
