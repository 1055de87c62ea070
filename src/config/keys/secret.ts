// A configured value that must not be shown: it prints as `<redacted>` wherever it ends up by accident (log line, JSON,
// console). Only `reveal` returns it, so a search for that word finds every use of a secret.

import { inspect } from "node:util";
import { REDACTED } from "../../lib/redact-text.ts";

/**
 * Holds a text, or a whole tree of them. JSON, templates and the console print the redacted form. It never crosses the
 * bridge: a structured clone loses its content.
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
