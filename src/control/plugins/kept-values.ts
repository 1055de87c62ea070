// What the caches of one plugin keep beyond the life of its thread: in memory for the next thread, and in a file where
// the operator has named a folder. Secrets may be among it: only the operator may read the file. Main thread.

import type { KeptValue } from "../../bridge/plugin-messages.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";
import type { KeptFile } from "./kept-file.ts";

const VALUE_BYTES_MAX = 64 * 1024;
/** Of all values, keys and names of caches. */
const BYTES_MAX = 1024 * 1024;
/** What several values take besides their texts is small then, too. */
const VALUES_MAX = 2000;
/** Tokens and ids often come together. */
const WRITE_DELAY_MS = 1000;

export interface KeptValuesOptions {
  /** The plugin's. */
  readonly name: string;
  /** Undefined: memory is all there is. */
  readonly file: Pick<KeptFile, "read" | "write"> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class KeptValues {
  readonly #options: KeptValuesOptions;
  /** By cache and key, the oldest first. */
  readonly #values = new Map<string, KeptValue>();
  #sizeBytes = 0;
  #isTold = false;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: KeptValuesOptions) {
    this.#options = options;
  }

  /** Takes in what the file holds. Never rejects. */
  async read(): Promise<void> {
    for (const value of (await this.#options.file?.read()) ?? []) {
      // What came meanwhile is newer.
      if (!this.#values.has(idOf(value))) this.#put(value);
    }
  }

  /** Those that are still good. */
  get all(): readonly KeptValue[] {
    const nowMs = this.#options.clock.epochMs();
    return [...this.#values.values()].filter(({ untilMs }) => untilMs > nowMs);
  }

  keep(value: KeptValue): void {
    if (this.#put(value)) this.#writeSoon();
  }

  forget(place: Pick<KeptValue, "cache" | "key">): void {
    if (this.#drop(idOf(place))) this.#writeSoon();
  }

  /** Writes what is not written yet. Never rejects. */
  async close(): Promise<void> {
    if (this.#timer !== undefined) this.#write();
    await this.#writing;
  }

  /** False: it is too large. */
  #put(value: KeptValue): boolean {
    const sizeBytes = sizeOf(value);
    if (sizeBytes > VALUE_BYTES_MAX) {
      const { name, logger } = this.#options;
      if (!this.#isTold) logger.warn("a value of a plugin is too large to be kept", { plugin: name, sizeBytes });
      this.#isTold = true;
      return false;
    }
    this.#drop(idOf(value));
    this.#values.set(idOf(value), value);
    this.#sizeBytes += sizeBytes;
    for (const oldest of this.#values.keys()) {
      if (this.#sizeBytes <= BYTES_MAX && this.#values.size <= VALUES_MAX) break;
      this.#drop(oldest);
    }
    return true;
  }

  #drop(id: string): boolean {
    const known = this.#values.get(id);
    if (known === undefined) return false;
    this.#values.delete(id);
    this.#sizeBytes -= sizeOf(known);
    return true;
  }

  #writeSoon(): void {
    if (this.#options.file === undefined) return;
    this.#timer ??= this.#options.clock.after(WRITE_DELAY_MS, () => this.#write());
  }

  /** One after the other. */
  #write(): void {
    const { file } = this.#options;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => file?.write(this.all));
  }
}

function idOf({ cache, key }: Pick<KeptValue, "cache" | "key">): string {
  return JSON.stringify([cache, key]);
}

function sizeOf({ cache, key, json }: KeptValue): number {
  return Buffer.byteLength(cache) + Buffer.byteLength(key) + Buffer.byteLength(json);
}
