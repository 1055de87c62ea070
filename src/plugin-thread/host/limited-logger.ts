// A plugin's lines in the node's log: so many a minute, so that a plugin in a loop does not fill it, and without the
// secrets among its options. Plugin thread; what else may be secret the log itself takes out (lib/redact-text.ts).

import { Allowance } from "../../lib/allowance.ts";
import type { Clock } from "../../lib/clock.ts";
import type { LogFields, Logger, LogLevel } from "../../log.ts";
import type { PluginLogger } from "../../plugin-api/plugin.ts";

const LINES_PER_MINUTE = 100;

export interface LimitedLoggerOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
}

export function createPluginLogger({ logger, clock, hide }: LimitedLoggerOptions): PluginLogger {
  const allowance = new Allowance({ clock, burst: LINES_PER_MINUTE, perSecond: LINES_PER_MINUTE / 60 });
  let leftOutCount = 0;
  const line = (level: LogLevel) => (message: string, fields: LogFields = {}) => {
    if (!allowance.take(1)) {
      leftOutCount += 1;
      return;
    }
    const hidden = Object.entries(fields).map(([name, value]) => [name, typeof value === "string" ? hide(value) : value]);
    const leftOut = leftOutCount === 0 ? {} : { linesLeftOut: leftOutCount };
    leftOutCount = 0;
    logger[level](hide(String(message)), { ...Object.fromEntries(hidden), ...leftOut });
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}
