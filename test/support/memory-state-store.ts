// A store of state in memory, for tests of what is above it: it can fail, and hold writes back.

import { NodeError } from "../../src/errors.ts";
import type { StateChange, StateRecord, StateStore } from "../../src/state/state-store.ts";

export class MemoryStateStore implements StateStore {
  readonly records = new Map<string, string>();
  /** Every write that was tried. */
  readonly batches: (readonly StateChange[])[] = [];
  /** The code of the error of each write; undefined: it succeeds. */
  failure: "state-unwritable" | "state-full" | "state-damaged" | "cluster-fenced" | undefined;
  /** More records than this are refused with `state-full`. */
  recordsMax = Number.POSITIVE_INFINITY;
  isClosed = false;
  #held: (() => void)[] | undefined;

  get recordCount(): number {
    return this.records.size;
  }

  async readAll(): Promise<readonly StateRecord[]> {
    const keys = [...this.records.keys()].toSorted();
    return keys.map((key) => ({ key, value: this.records.get(key) ?? "" }));
  }

  async write(changes: readonly StateChange[]): Promise<void> {
    this.batches.push(changes);
    if (this.#held !== undefined) await new Promise<void>((resolve) => this.#held?.push(resolve));
    if (this.failure === "state-damaged") this.records.clear();
    if (this.failure !== undefined) throw new NodeError(this.failure, `no: ${this.failure}`);
    const after = new Set(this.records.keys());
    for (const { key, value } of changes) {
      if (value === undefined) after.delete(key);
      else after.add(key);
    }
    if (after.size > this.recordsMax) throw new NodeError("state-full", "no: state-full");
    for (const { key, value } of changes) {
      if (value === undefined) this.records.delete(key);
      else this.records.set(key, value);
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  /** Writes take as long as until `release`. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const resolve of held) resolve();
  }
}
