// A configured value that must not be seen: it prints as `<redacted>` wherever it ends up by accident (log line, JSON,
// console). Only `reveal` gives it away, so a search for that word finds every place that uses one.

import { inspect } from "node:util";
import { REDACTED } from "../../lib/redact-text.ts";

/**
 * A text, or a whole tree of them. Survives JSON, templates and the console without telling. It never crosses the
 * bridge: a structured clone loses what is in it.
 */
export class Secret<Value = string> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  /** The value itself. Do not log it, do not put it into an error. */
  reveal(): Value {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
