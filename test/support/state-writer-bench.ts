// A writer of state on a store in memory, with what it has told its owner. Times are those of a fake clock.

import { StateWriter, type StateWriterOptions } from "../../src/control/state/state-writer.ts";
import { silentLogger } from "../../src/log/log.ts";
import { FakeClock } from "./fake-clock.ts";
import { MemoryStateStore } from "./memory-state-store.ts";
import { untilSettled } from "./until-settled.ts";

export class StateWriterBench {
  readonly clock = new FakeClock();
  readonly store = new MemoryStateStore();
  readonly writer: StateWriter;
  emptiedCount = 0;
  refusedCount = 0;

  constructor(options: Partial<Pick<StateWriterOptions, "answerMsMax" | "logger">> = {}) {
    this.writer = new StateWriter({
      store: this.store,
      clock: this.clock,
      logger: silentLogger,
      ...options,
      onRefused: () => this.refusedCount++,
      onEmptied: () => this.emptiedCount++,
    });
  }

  mark(key: string, value: string | undefined): void {
    this.writer.mark(key, () => [{ key, value }]);
  }

  /** Timers that are due fire, and what follows from them. */
  async flow(): Promise<void> {
    // Twice without a write: one that ends schedules the next.
    for (let idleCount = 0; idleCount < 2; ) {
      const { length } = this.store.batches;
      this.clock.advance(0);
      await untilSettled();
      idleCount = this.store.batches.length > length ? 0 : idleCount + 1;
    }
  }
}

export async function hasResolved(promise: Promise<void> | undefined): Promise<boolean> {
  let isResolved = false;
  void promise?.then(() => {
    isResolved = true;
  });
  await untilSettled();
  return isResolved;
}
