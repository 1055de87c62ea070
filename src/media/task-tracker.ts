// Keeps the thread's mark true by itself: whatever runs for a look-up, however it got there (promise, timer, socket),
// runs under its name. It costs a tenth of a microsecond or so per callback, which is why threads that play name their
// work by hand instead. Probe thread.

import { AsyncLocalStorage, createHook } from "node:async_hooks";
import type { Heartbeat } from "../bridge/heartbeat.ts";

export class TaskTracker {
  readonly #owners = new AsyncLocalStorage<number>();
  readonly #heartbeat: Heartbeat;
  readonly #hook = createHook({ before: () => this.#write() });

  /** One per thread, usually for as long as the thread lives. */
  constructor(heartbeat: Heartbeat) {
    this.#heartbeat = heartbeat;
    this.#hook.enable();
  }

  /** Whose work is being done; undefined: nobody's. */
  get current(): number | undefined {
    return this.#owners.getStore();
  }

  /** Does this, and all that follows from it, in the owner's name. */
  run<T>(owner: number, work: () => T): T {
    return this.#owners.run(owner, () => {
      this.#write();
      return work();
    });
  }

  /** Ends it: the callbacks of the thread cost what they did before. */
  close(): void {
    this.#hook.disable();
    this.#owners.disable();
  }

  #write(): void {
    const owner = this.current;
    if (owner === undefined) this.#heartbeat.pause();
    else this.#heartbeat.resume(owner, "probe");
  }
}
