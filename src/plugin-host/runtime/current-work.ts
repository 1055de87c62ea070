// The work that the plugin's running code belongs to: whose it is, and from where its requests leave. It follows each
// call chain, so that plugins need not pass it on. Plugin thread.

import { AsyncLocalStorage } from "node:async_hooks";
import { Owners } from "../../lib/owners.ts";
import type { WorkRoute } from "../../network/work-route.ts";

/** One piece of work of a plugin: a load, a resolve or a call. */
export interface Work {
  /** How many loads of plugins led here. */
  readonly depth: number;
  /** Who waits for it. */
  readonly owners: Owners;
  /** Undefined: its requests leave from the machine's own address. */
  readonly route: WorkRoute | undefined;
}

/** One for the thread: each instance in use makes every promise slower. */
const storage = new AsyncLocalStorage<Work>();

/** Nobody asks for what a plugin does by itself: it is one more owner. */
const PLUGINS_OWN = new Owners(["plugin"]);

/** Undefined outside of a load, resolve or call. */
export function currentWork(): Work | undefined {
  return storage.getStore();
}

/** Runs a task so that what it asks for is known to be part of this work. */
export function runWork<Value>(work: Work, task: () => Promise<Value>): Promise<Value> {
  return storage.run(work, task);
}

export function currentOwners(): Owners {
  return storage.getStore()?.owners ?? PLUGINS_OWN;
}

/** Runs a part of the current work that others may join, as theirs too. */
export function runFor<Value>(owners: Owners, task: () => Promise<Value>): Promise<Value> {
  const work = storage.getStore();
  return work === undefined ? task() : storage.run({ ...work, owners }, task);
}
