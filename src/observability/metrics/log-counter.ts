// Counts the lines that pass through a logger, by level: many errors in a short time are worth an alarm. Main thread.

import { createLogger, type Logger, type LogLevel } from "../../log/log.ts";

/** One for the node, around the logger that everything is given. */
export class LogCounter {
  /** The given logger, counted. */
  readonly logger: Logger;
  readonly #counts: Record<LogLevel, number> = { debug: 0, info: 0, warn: 0, error: 0 };

  constructor(logger: Logger) {
    this.logger = createLogger((level, message, fields) => {
      this.#counts[level]++;
      logger[level](message, fields);
    });
  }

  /** Lines of each level since the start. Always the same object, with numbers that grow. */
  get counts(): Readonly<Record<LogLevel, number>> {
    return this.#counts;
  }
}
