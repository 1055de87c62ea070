// The values of one plugin's caches that survive its thread: in memory for the next thread, and in a file if the
// operator has named a folder. They may be secrets: only the operator may read the file. Main thread.

import type { PersistedValue } from "../../bridge/plugin-messages.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { greediest } from "../../lib/greediest.ts";
import type { Logger } from "../../log/log.ts";
import type { PersistedFile } from "./persisted-file.ts";

interface SizeLimits {
  readonly valueBytesMax: number;
  /** For all values, keys and names of caches. */
  readonly bytesMax: number;
}

const LIMITS: SizeLimits = { valueBytesMax: 64 * 1024, bytesMax: 1024 * 1024 };
/** Those of caches with `persist: "large"` are counted apart. */
const LARGE_LIMITS: SizeLimits = { valueBytesMax: 2 * 1024 * 1024, bytesMax: 2 * 1024 * 1024 };
/** Bounds the overhead of values beside their texts. */
const VALUES_MAX = 2000;
/** Tokens and ids often come together. */
const WRITE_DELAY_MS = 1000;

interface PersistedValuesOptions {
  /** The plugin's. */
  readonly name: string;
  /** Undefined: values are persisted in memory only. */
  readonly file: Pick<PersistedFile, "read" | "write"> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PersistedValues {
  readonly #options: PersistedValuesOptions;
  /** By cache and key, the oldest first. */
  readonly #values = new Map<string, PersistedValue>();
  readonly #sizeBytes = { usual: 0, large: 0 };
  #isLogged = false;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: PersistedValuesOptions) {
    this.#options = options;
  }

  /** Adds the values in the file. Never rejects. */
  async read(): Promise<void> {
    for (const value of (await this.#options.file?.read()) ?? []) {
      // Values set in the meantime are newer.
      if (!this.#values.has(idOf(value))) this.#put(value);
    }
  }

  /** The values that have not expired. */
  get all(): readonly PersistedValue[] {
    const nowMs = this.#options.clock.epochMs();
    return [...this.#values.values()].filter(({ untilMs }) => untilMs > nowMs);
  }

  persist(value: PersistedValue): void {
    if (this.#put(value)) this.#writeSoon();
  }

  forget(id: Pick<PersistedValue, "cache" | "key">): void {
    if (this.#drop(idOf(id))) this.#writeSoon();
  }

  /** Forgets it if it is that very value. */
  forgetValue(value: Pick<PersistedValue, "cache" | "key" | "json">): void {
    if (this.#values.get(idOf(value))?.json === value.json) this.forget(value);
  }

  /** Writes pending values. Never rejects. */
  async close(): Promise<void> {
    if (this.#timer !== undefined) this.#write();
    await this.#writing;
  }

  /** False if the value is too large. */
  #put(value: PersistedValue): boolean {
    const sizeBytes = sizeOf(value);
    const { valueBytesMax, bytesMax } = value.isLarge ? LARGE_LIMITS : LIMITS;
    if (sizeBytes > valueBytesMax) {
      const { name, logger } = this.#options;
      if (!this.#isLogged) logger.warn("value of a plugin is too large to be persisted", { plugin: name, sizeBytes });
      this.#isLogged = true;
      return false;
    }
    this.#drop(idOf(value));
    this.#values.set(idOf(value), value);
    this.#sizeBytes[kindOf(value)] += sizeBytes;
    while (this.#sizeBytes[kindOf(value)] > bytesMax)
      this.#dropOne((other) => (kindOf(other) === kindOf(value) ? sizeOf(other) : 0));
    while (this.#values.size > VALUES_MAX) this.#dropOne(() => 1);
    return true;
  }

  /** The oldest value of the largest cache: what fills one cache takes nothing from the others. */
  #dropOne(sizeIn: (value: PersistedValue) => number): void {
    const oldest = greediest(
      // Reversed: the last of them is the oldest.
      [...this.#values.values()].reverse(),
      ({ cache }) => [cache],
      sizeIn,
    );
    if (oldest !== undefined) this.#drop(idOf(oldest));
  }

  #drop(id: string): boolean {
    const known = this.#values.get(id);
    if (known === undefined) return false;
    this.#values.delete(id);
    this.#sizeBytes[kindOf(known)] -= sizeOf(known);
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

function kindOf({ isLarge = false }: PersistedValue): "usual" | "large" {
  return isLarge ? "large" : "usual";
}

function idOf({ cache, key }: Pick<PersistedValue, "cache" | "key">): string {
  return JSON.stringify([cache, key]);
}

function sizeOf({ cache, key, json }: PersistedValue): number {
  return Buffer.byteLength(cache) + Buffer.byteLength(key) + Buffer.byteLength(json);
}
