// Rate-limited log lines about errors of unknown clients, so that they cannot fill the log. Main thread.

import type { Clock } from "../../lib/clock.ts";
import type { LogFields, Logger } from "../../log/log.ts";

const REPORT_INTERVAL_MS = 60_000;

interface TallyOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Logs an event at most once a minute, with its count. */
export class Tally {
  readonly #options: TallyOptions;
  readonly #message: string;
  #count = 0;
  #reportedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: TallyOptions, message: string) {
    this.#options = options;
    this.#message = message;
  }

  count(fields: LogFields): void {
    this.#count++;
    const now = this.#options.clock.now();
    if (now - this.#reportedAtMs < REPORT_INTERVAL_MS) return;
    this.#options.logger.warn(this.#message, { ...fields, count: this.#count });
    this.#reportedAtMs = now;
    this.#count = 0;
  }
}
