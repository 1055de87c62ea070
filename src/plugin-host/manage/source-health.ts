// Health of a source, counted per request: results, failures and their messages. Main thread.

import type { SourceCountsJson } from "../../control/protocol/sources-json.ts";
import { NodeError } from "../../errors.ts";
import { redactText } from "../../lib/redact-text.ts";

const ERROR_LENGTH_MAX = 300;
export class SourceHealth {
  #succeeded = 0;
  #refused = 0;
  #failed = 0;
  #lastError: { readonly code: string; readonly message: string; readonly atMs: number } | undefined;

  /**
   * Counts the result of `work`, at an epoch time; undefined is none: it was not for this source. An error about the
   * requested item, and a client that went away, say nothing about the source: they are no failures.
   */
  async count<Value>(work: Promise<Value>, epochMs: () => number): Promise<Value> {
    try {
      const value = await work;
      if (value !== undefined) this.#succeeded += 1;
      return value;
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      if (error.fault === "caller") this.#refused += 1;
      else this.#failed += 1;
      const message = redactText(error.message).slice(0, ERROR_LENGTH_MAX);
      this.#lastError = { code: error.code, message, atMs: Math.round(epochMs()) };
      throw error;
    }
  }

  toJson(): SourceCountsJson {
    const { succeeded, refused, failed } = { succeeded: this.#succeeded, refused: this.#refused, failed: this.#failed };
    return { succeeded, refused, failed, lastError: this.#lastError ?? null };
  }
}
