// The backends through which a plugin reaches its site, each with a circuit breaker: a backend that keeps failing gets
// no requests for growing pauses, then one trial request. Plugin thread; the states are reported to the main thread,
// and the log has one line when a breaker opens and one when it closes.

import type { BackendReport } from "../../bridge/plugin-messages.ts";
import { RemoteError } from "../../bridge/wire-error.ts";
import type { Clock } from "../../lib/clock.ts";
import { redactText } from "../../lib/redact-text.ts";
import { type Backend, type PluginLogger, SourceError, type SourceErrorKind } from "../../plugin-api/plugin.ts";
import { kindOf } from "./error-kind.ts";

const FAILURES_MAX = 5;
const FIRST_PAUSE_MS = 30_000;
const PAUSE_MS_MAX = 30 * 60_000;
/** A trial request that has not ended by then is ignored: the next one may be sent. */
const TRIAL_MS_MAX = 60_000;
const BACKENDS_MAX = 64;
const ERROR_LENGTH_MAX = 300;
/** Errors that are the site's answer about one item, and say nothing about the backend. */
const ANSWERS: readonly SourceErrorKind[] = ["not-found", "unavailable", "invalid"];

export interface BackendsOptions {
  /** The plugin's name, for the log. */
  readonly plugin: string;
  /** Called when a backend has something new to report. */
  readonly onReport: () => void;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
  readonly log: PluginLogger;
}

export class Backends {
  readonly #clock: Clock;
  readonly #options: BackendsOptions;
  readonly #backends = new Map<string, CircuitBreaker>();

  constructor(clock: Clock, options: BackendsOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Throws for the 65th name: names must not depend on what clients ask for. */
  get(name: string): Backend {
    const known = this.#backends.get(name);
    if (known !== undefined) return known;
    if (this.#backends.size >= BACKENDS_MAX) throw new Error(`a plugin has more than ${BACKENDS_MAX} backends`);
    const backend = new CircuitBreaker(name, this.#clock, this.#options);
    this.#backends.set(name, backend);
    return backend;
  }

  get reports(): readonly BackendReport[] {
    return [...this.#backends.values()].map((backend) => backend.report);
  }
}

class CircuitBreaker implements Backend {
  readonly name: string;
  readonly #clock: Clock;
  readonly #options: BackendsOptions;
  #succeeded = 0;
  #failed = 0;
  #failuresInRow = 0;
  #lastError: string | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  /** On the clock; undefined while the breaker is closed. */
  #openUntilMs: number | undefined;
  /** On the clock; undefined while no trial request is running. */
  #trialSinceMs: number | undefined;

  constructor(name: string, clock: Clock, options: BackendsOptions) {
    this.name = name;
    this.#clock = clock;
    this.#options = options;
  }

  get isOpen(): boolean {
    if (this.#openUntilMs === undefined) return false;
    return this.#isHalfOpen || this.#clock.now() < this.#openUntilMs;
  }

  get #isHalfOpen(): boolean {
    return this.#trialSinceMs !== undefined && this.#clock.now() - this.#trialSinceMs < TRIAL_MS_MAX;
  }

  get #openUntilEpochMs(): number | undefined {
    const untilMs = this.#openUntilMs;
    return untilMs === undefined ? undefined : Math.round(this.#clock.epochMs() + untilMs - this.#clock.now());
  }

  get report(): BackendReport {
    const { name } = this;
    return {
      ...{ name, succeeded: this.#succeeded, failed: this.#failed, lastError: this.#lastError },
      state: this.#openUntilMs === undefined ? "closed" : this.#isHalfOpen ? "halfOpen" : "open",
      openUntilMs: this.#openUntilEpochMs,
    };
  }

  async run<Value>(fn: () => Promise<Value>): Promise<Value> {
    if (this.isOpen) throw new SourceError("busy", this.#refusal());
    const isTrial = this.#openUntilMs !== undefined;
    const startedMs = this.#clock.now();
    if (isTrial) this.#trialSinceMs = startedMs;
    try {
      const value = await fn();
      this.#onSuccess();
      return value;
    } catch (error) {
      if (isAnswer(error)) this.#onSuccess();
      else if (!isAbort(error) && !isUnsent(error)) this.#onFailure(error, isTrial);
      throw error;
    } finally {
      if (isTrial && this.#trialSinceMs === startedMs) this.#trialSinceMs = undefined;
      this.#options.onReport();
    }
  }

  /** Why a request is refused, and until when. */
  #refusal(): string {
    const until = this.#isHalfOpen
      ? "until its trial request succeeds"
      : `until ${new Date(this.#openUntilEpochMs ?? 0).toISOString()}`;
    const why = `after ${failuresText(this.#failuresInRow)}`;
    return `the circuit breaker for ${this.name} is open ${until}, ${why}; last error: ${this.#lastError}`;
  }

  #onSuccess(): void {
    if (this.#openUntilMs !== undefined) {
      const { name: backend } = this;
      this.#options.log.info(`circuit breaker closed for ${this.#options.plugin}/${backend}`, { backend });
    }
    this.#succeeded += 1;
    this.#failuresInRow = 0;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#openUntilMs = undefined;
  }

  #onFailure(error: unknown, isTrial: boolean): void {
    this.#failed += 1;
    this.#failuresInRow += 1;
    const text = error instanceof Error ? error.message : String(error);
    this.#lastError = redactText(this.#options.hide(text)).slice(0, ERROR_LENGTH_MAX);
    const retryAfterMs = Math.min(retryAfterOf(error), PAUSE_MS_MAX);
    if (isTrial) this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    if (!isTrial && this.#failuresInRow < FAILURES_MAX && retryAfterMs === 0) return;
    const pauseMs = Math.max(isTrial || this.#failuresInRow >= FAILURES_MAX ? this.#pauseMs : 0, retryAfterMs);
    this.#logOpened(pauseMs);
    this.#openUntilMs = this.#clock.now() + pauseMs;
  }

  /** Logs once until the breaker closes: further failed trials show only at `GET /v4/tonearm/sources`. */
  #logOpened(pauseMs: number): void {
    if (this.#openUntilMs !== undefined) return;
    const { name: backend } = this;
    const what = `circuit breaker opened for ${this.#options.plugin}/${backend}`;
    const why = `${failuresText(this.#failuresInRow)}, retry in ${Math.ceil(pauseMs / 1000)} s`;
    const fields = { backend, pauseMs, failuresInRow: this.#failuresInRow, reason: this.#lastError };
    this.#options.log.warn(`${what}: ${why}`, fields);
  }
}

function failuresText(count: number): string {
  return count === 1 ? "1 failure" : `${count} failures in a row`;
}

function isAnswer(error: unknown): boolean {
  const kind = kindOf(error);
  return kind !== undefined && ANSWERS.includes(kind);
}

function retryAfterOf(error: unknown): number {
  const isGiven = kindOf(error) !== undefined && error instanceof Error && "retryAfterMs" in error;
  const waitMs = isGiven ? Number(error.retryAfterMs ?? 0) : 0;
  return Number.isNaN(waitMs) ? 0 : Math.max(0, waitMs);
}

/** True where every address that the request could leave from is barred: that says nothing about the backend. */
function isUnsent(error: unknown): boolean {
  return error instanceof SourceError && error.cause instanceof RemoteError && error.cause.code === "routes-exhausted";
}

/** True where the caller has stopped waiting: that says nothing about the site. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
