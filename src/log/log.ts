// The logging interface for all other modules. The main thread implements it with pino (log-pino.ts), audio workers
// send their lines over the bridge. Never pass a password, voice token or media key in `fields`.

/** From the least important to the most. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Values that survive a structured clone and read well on one line. Put an Error under the key `error`. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * A call returns at once and never throws, even when the line cannot be written. Messages are for people; data for
 * programs is in the fields.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Logger;
}

type WriteLine = (level: LogLevel, message: string, fields: LogFields) => void;

/** A logger that hands each line, with the fields of its parents merged in, to `write`. */
export function createLogger(write: WriteLine, base: LogFields = {}): Logger {
  const line = (level: LogLevel) => (message: string, fields?: LogFields) =>
    write(level, message, fields === undefined ? base : { ...base, ...fields });
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: (fields) => createLogger(write, { ...base, ...fields }),
  };
}

/** A logger that forgets everything: for tests and tools. */
export const silentLogger: Logger = createLogger(() => undefined);
