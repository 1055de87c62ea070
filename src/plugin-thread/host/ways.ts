// The ways on which a plugin reaches its site, each with a circuit breaker: one that keeps failing is left alone for
// growing pauses, then tried with one request. Plugin thread; how they are doing goes to the main thread.

import type { WayReport } from "../../bridge/plugin-messages.ts";
import type { Clock } from "../../lib/clock.ts";
import { redactText } from "../../lib/redact-text.ts";
import { SourceError, type SourceErrorKind, type Way } from "../../plugin-api/plugin.ts";

const FAILURES_MAX = 5;
const FIRST_PAUSE_MS = 30_000;
const PAUSE_MS_MAX = 30 * 60_000;
const WAYS_MAX = 64;
const ERROR_LENGTH_MAX = 300;
/** What a site answers about a thing, not about us. */
const ANSWERS: readonly SourceErrorKind[] = ["not-found", "unavailable", "invalid"];

export class Ways {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #ways = new Map<string, BreakerWay>();

  /** `onChange`: a way has something new to report. */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Throws for the 65th name: they are to be known beforehand. */
  get(name: string): Way {
    const known = this.#ways.get(name);
    if (known !== undefined) return known;
    if (this.#ways.size >= WAYS_MAX) throw new Error(`a plugin has more than ${WAYS_MAX} ways`);
    const way = new BreakerWay(name, this.#clock, this.#onChange);
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
  readonly #onChange: () => void;
  #succeeded = 0;
  #failed = 0;
  #failuresInRow = 0;
  #lastError: string | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  /** On the clock; undefined: it is open. */
  #closedUntilMs: number | undefined;
  #isProbing = false;

  constructor(name: string, clock: Clock, onChange: () => void) {
    this.name = name;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get isClosed(): boolean {
    if (this.#closedUntilMs === undefined) return false;
    return this.#isProbing || this.#clock.now() < this.#closedUntilMs;
  }

  get report(): WayReport {
    const { name } = this;
    const untilMs = this.#closedUntilMs;
    return {
      ...{ name, succeeded: this.#succeeded, failed: this.#failed, lastError: this.#lastError },
      state: untilMs === undefined ? "open" : this.#isProbing ? "probing" : "closed",
      closedUntilMs: untilMs === undefined ? undefined : Math.round(this.#clock.epochMs() + untilMs - this.#clock.now()),
    };
  }

  async take<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.isClosed) {
      const last = this.#lastError === undefined ? "" : `; the last time: ${this.#lastError}`;
      throw new SourceError("busy", `${this.name} is left alone for a while because it keeps failing${last}`);
    }
    const isProbe = this.#closedUntilMs !== undefined;
    this.#isProbing = isProbe;
    try {
      const value = await work();
      this.#onSuccess();
      return value;
    } catch (error) {
      if (isAnswer(error)) this.#onSuccess();
      else if (!isAbort(error)) this.#onFailure(error, isProbe);
      throw error;
    } finally {
      if (isProbe) this.#isProbing = false;
      this.#onChange();
    }
  }

  #onSuccess(): void {
    this.#succeeded += 1;
    this.#failuresInRow = 0;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#closedUntilMs = undefined;
  }

  #onFailure(error: unknown, isProbe: boolean): void {
    this.#failed += 1;
    this.#failuresInRow += 1;
    const text = error instanceof Error ? error.message : String(error);
    this.#lastError = redactText(text).slice(0, ERROR_LENGTH_MAX);
    const retryAfterMs = error instanceof SourceError ? Math.min(error.retryAfterMs ?? 0, PAUSE_MS_MAX) : 0;
    if (isProbe) this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    if (!isProbe && this.#failuresInRow < FAILURES_MAX && retryAfterMs === 0) return;
    const pauseMs = isProbe || this.#failuresInRow >= FAILURES_MAX ? this.#pauseMs : 0;
    this.#closedUntilMs = this.#clock.now() + Math.max(pauseMs, retryAfterMs);
  }
}

function isAnswer(error: unknown): boolean {
  return error instanceof SourceError && ANSWERS.includes(error.kind);
}

/** Whoever waited has gone: that says nothing about the site. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
