// Keeps the thread's current task up to date automatically: everything that runs for a probe, however it was scheduled
// (promise, timer, socket), runs under its name. This costs about a tenth of a microsecond per callback, so threads
// that play audio name their work explicitly instead. Probe thread.

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

  /** Id of the task that is running; undefined: none. */
  get current(): number | undefined {
    return this.#owners.getStore();
  }

  /** Runs the work, and everything that it triggers, in the owner's name. */
  run<T>(owner: number, work: () => T): T {
    return this.#owners.run(owner, () => {
      this.#write();
      return work();
    });
  }

  /** Stops tracking: callbacks of the thread have no extra cost any more. */
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
