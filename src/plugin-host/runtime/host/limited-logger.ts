// A plugin's lines in the node's log: so many a minute, so that a plugin in a loop does not fill it, and without the
// secrets among its options. Plugin thread; what else may be secret the log itself takes out (lib/redact-text.ts).

import type { Clock } from "../../../lib/clock.ts";
import { TokenBucket } from "../../../lib/token-bucket.ts";
import type { LogFields, Logger, LogLevel } from "../../../log/log.ts";
import type { PluginLogger } from "../../../plugin-api/plugin.ts";

const LINES_PER_MINUTE = 100;
const FIELDS_MAX = 50;
/** For a message, for each field, for a stack. */
const TEXT_LENGTH_MAX = 4096;

interface LimitedLoggerOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
}

/** Lines beyond 100 a minute are counted, not written. */
export function createPluginLogger({ logger, clock, hide }: LimitedLoggerOptions): PluginLogger {
  const bucket = new TokenBucket({ clock, burst: LINES_PER_MINUTE, perSecond: LINES_PER_MINUTE / 60 });
  let leftOutCount = 0;
  const line =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (!bucket.take(1)) {
        leftOutCount += 1;
        return;
      }
      const named = Object.entries(fields).slice(0, FIELDS_MAX);
      const shown = named.map(([name, value]) => [name, shownValue(value, hide)]);
      const leftOut = leftOutCount === 0 ? {} : { linesLeftOut: leftOutCount };
      leftOutCount = 0;
      logger[level](shownText(message, hide), { ...Object.fromEntries(shown), ...leftOut });
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

type Hide = LimitedLoggerOptions["hide"];

/** Converts any value for the main thread: an unusual value in a log line must not cause a failure. */
function shownValue(value: unknown, hide: Hide): unknown {
  if (value === null || value === undefined || typeof value === "number" || typeof value === "boolean") return value;
  if (value instanceof Error) return shownError(value, hide);
  return shownText(typeof value === "object" ? jsonOf(value) : value, hide);
}

function shownError(error: Error, hide: Hide): Error {
  const shown = new Error(shownText(error.message, hide));
  shown.stack = shownText(error.stack ?? error.message, hide);
  return shown;
}

/** Hidden before it is cut: half of a secret would not be known as one. */
function shownText(value: unknown, hide: Hide): string {
  const text = hide(String(value));
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX)}…`;
}

function jsonOf(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "something that is no JSON";
  }
}
