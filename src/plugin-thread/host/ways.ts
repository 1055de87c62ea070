// The ways on which a plugin reaches its site, each with a circuit breaker: one that keeps failing is left alone for
// growing pauses, then tried with one request. Plugin thread; how they are doing goes to the main thread, and once into
// the log when it changes.

import type { WayReport } from "../../bridge/plugin-messages.ts";
import { RemoteError } from "../../bridge/wire-error.ts";
import type { Clock } from "../../lib/clock.ts";
import { redactText } from "../../lib/redact-text.ts";
import { type PluginLogger, SourceError, type SourceErrorKind, type Way } from "../../plugin-api/plugin.ts";
import { kindOf } from "./error-kind.ts";

const FAILURES_MAX = 5;
const FIRST_PAUSE_MS = 30_000;
const PAUSE_MS_MAX = 30 * 60_000;
/** An attempt that is not over by then tells nothing: the next one may be made. */
const PROBE_MS_MAX = 60_000;
const WAYS_MAX = 64;
const ERROR_LENGTH_MAX = 300;
/** What a site answers about a thing, not about us. */
const ANSWERS: readonly SourceErrorKind[] = ["not-found", "unavailable", "invalid"];

export interface WaysOptions {
  /** A way has something new to report. */
  readonly onReport: () => void;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
  readonly log: PluginLogger;
}

export class Ways {
  readonly #clock: Clock;
  readonly #options: WaysOptions;
  readonly #ways = new Map<string, BreakerWay>();

  constructor(clock: Clock, options: WaysOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Throws for the 65th name: they are to be known beforehand. */
  get(name: string): Way {
    const known = this.#ways.get(name);
    if (known !== undefined) return known;
    if (this.#ways.size >= WAYS_MAX) throw new Error(`a plugin has more than ${WAYS_MAX} ways`);
    const way = new BreakerWay(name, this.#clock, this.#options);
    this.#ways.set(name, way);
    return way;
  }

  get reports(): readonly WayReport[] {
    return [...this.#ways.values()].map((way) => way.report);
  }
}

class BreakerWay implements Way {
  readonly name: string;
  readonly #clock: Clock;
  readonly #options: WaysOptions;
  #succeeded = 0;
  #failed = 0;
  #failuresInRow = 0;
  #lastError: string | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  /** On the clock; undefined: it is open. */
  #closedUntilMs: number | undefined;
  /** On the clock; undefined: no attempt is under way. */
  #probingSinceMs: number | undefined;

  constructor(name: string, clock: Clock, options: WaysOptions) {
    this.name = name;
    this.#clock = clock;
    this.#options = options;
  }

  get isClosed(): boolean {
    if (this.#closedUntilMs === undefined) return false;
    return this.#isProbing || this.#clock.now() < this.#closedUntilMs;
  }

  get #isProbing(): boolean {
    return this.#probingSinceMs !== undefined && this.#clock.now() - this.#probingSinceMs < PROBE_MS_MAX;
  }

  get report(): WayReport {
    const { name } = this;
    const untilMs = this.#closedUntilMs;
    return {
      ...{ name, succeeded: this.#succeeded, failed: this.#failed, lastError: this.#lastError },
      state: untilMs === undefined ? "open" : this.#isProbing ? "probing" : "closed",
      closedUntilMs:
        untilMs === undefined ? undefined : Math.round(this.#clock.epochMs() + untilMs - this.#clock.now()),
    };
  }

  async take<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.isClosed) {
      throw new SourceError("busy", `${this.name} is left alone for a while; the last time: ${this.#lastError}`);
    }
    const isProbe = this.#closedUntilMs !== undefined;
    const startedMs = this.#clock.now();
    if (isProbe) this.#probingSinceMs = startedMs;
    try {
      const value = await work();
      this.#onSuccess();
      return value;
    } catch (error) {
      if (isAnswer(error)) this.#onSuccess();
      else if (!isAbort(error) && !isUnsent(error)) this.#onFailure(error, isProbe);
      throw error;
    } finally {
      if (isProbe && this.#probingSinceMs === startedMs) this.#probingSinceMs = undefined;
      this.#options.onReport();
    }
  }

  #onSuccess(): void {
    if (this.#closedUntilMs !== undefined) this.#options.log.info("a way to a site works again", { way: this.name });
    this.#succeeded += 1;
    this.#failuresInRow = 0;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#closedUntilMs = undefined;
  }

  #onFailure(error: unknown, isProbe: boolean): void {
    this.#failed += 1;
    this.#failuresInRow += 1;
    const text = error instanceof Error ? error.message : String(error);
    this.#lastError = redactText(this.#options.hide(text)).slice(0, ERROR_LENGTH_MAX);
    const retryAfterMs = Math.min(retryAfterOf(error), PAUSE_MS_MAX);
    if (isProbe) this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    if (!isProbe && this.#failuresInRow < FAILURES_MAX && retryAfterMs === 0) return;
    const pauseMs = Math.max(isProbe || this.#failuresInRow >= FAILURES_MAX ? this.#pauseMs : 0, retryAfterMs);
    this.#tellClosed(pauseMs);
    this.#closedUntilMs = this.#clock.now() + pauseMs;
  }

  /** Once until it works again: each further attempt that fails shows at `GET /v4/tonearm/sources`. */
  #tellClosed(pauseMs: number): void {
    if (this.#closedUntilMs !== undefined) return;
    const { name: way } = this;
    const fields = { way, pauseMs, failuresInRow: this.#failuresInRow, reason: this.#lastError };
    this.#options.log.warn("a way to a site is left alone for a while", fields);
  }
}

function isAnswer(error: unknown): boolean {
  const kind = kindOf(error);
  return kind !== undefined && ANSWERS.includes(kind);
}

function retryAfterOf(error: unknown): number {
  const isTold = kindOf(error) !== undefined && error instanceof Error && "retryAfterMs" in error;
  const waitMs = isTold ? Number(error.retryAfterMs ?? 0) : 0;
  return Number.isNaN(waitMs) ? 0 : Math.max(0, waitMs);
}

/** Every address that it could leave from is barred: that says nothing about the way. */
function isUnsent(error: unknown): boolean {
  return error instanceof SourceError && error.cause instanceof RemoteError && error.cause.code === "routes-exhausted";
}

/** Whoever waited has gone: that says nothing about the site. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
