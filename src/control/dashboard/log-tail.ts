// The node's log lines for one viewer: the latest buffered ones, then each new one. Main thread.

import type { LogLevel } from "../../log/log.ts";
import type { LogLine, LogRing } from "../../log/log-ring.ts";
import type { LogRow } from "./live-messages.ts";

/** Between two looks; of more the oldest are lost. */
const WAITING_MAX = 500;
const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export class LogTail {
  readonly #ring: LogRing;
  #level: LogLevel | null = null;
  #waiting: LogRow[] = [];
  #unsubscribe: (() => void) | undefined;

  constructor(ring: LogRing) {
    this.#ring = ring;
  }

  /** Starts again with the latest lines if the level has changed; null stops. */
  watch(level: LogLevel | null): void {
    if (level === this.#level) return;
    this.close();
    this.#level = level;
    if (level === null) return;
    for (const line of this.#ring.latest()) this.#add(line);
    this.#unsubscribe = this.#ring.subscribe((line) => this.#add(line));
  }

  /** The lines since the last call, oldest first. */
  take(): readonly LogRow[] {
    const rows = this.#waiting;
    this.#waiting = [];
    return rows;
  }

  close(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#level = null;
    this.#waiting = [];
  }

  #add({ level, epochMs, text }: LogLine): void {
    if (this.#level === null || LEVELS.indexOf(level) < LEVELS.indexOf(this.#level)) return;
    this.#waiting.push({ atMs: epochMs, level, text });
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
  }
}
