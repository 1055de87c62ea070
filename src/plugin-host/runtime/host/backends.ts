// The backends through which a plugin reaches its site, each with a circuit breaker: a backend that keeps failing gets
// no requests for growing pauses, then one trial request. A failure may be the fault of what one client asked for:
// the breaker opens for that client, for its account once the requests of two of its clients fail, and for everybody
// once those of two accounts do. As clients choose their names, these two hold for nobody whose last request succeeded.
// Plugin thread; the states are reported to the main thread, and the log has one line
// when a breaker opens and one when it closes.

import type { BackendReport } from "../../../bridge/plugin-messages.ts";
import { RemoteError } from "../../../bridge/wire-error.ts";
import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/message-of.ts";
import { accountOf, type Owner } from "../../../lib/owners.ts";
import { redactText } from "../../../lib/redact-text.ts";
import { SharedMap } from "../../../lib/shared-map.ts";
import { type Backend, type PluginLogger, SourceError, type SourceErrorKind } from "../../../plugin-api/plugin.ts";
import { currentWork } from "../current-work.ts";
import { Circuit, PAUSE_MS_MAX } from "./circuit.ts";
import { kindOf } from "./error-kind.ts";
import { OwnLimitError } from "./own-limit-error.ts";

const BACKENDS_MAX = 64;
/** Hosts of one backend that have a breaker. */
const HOSTS_MAX = 256;
/** Accounts and clients of one breaker whose requests failed last, and clients whose requests succeeded. */
const OWNERS_MAX = 256;
/** … where strangers choose how many hosts there are. */
const OWNERS_OF_HOST_MAX = 16;
const ERROR_LENGTH_MAX = 300;
/** Errors that are the site's answer about one item, and say nothing about the backend. */
const ANSWERS: readonly SourceErrorKind[] = ["not-found", "unavailable", "invalid"];
/** Whose work the plugin does by itself. */
const NOBODYS: Owner = [];

interface BackendsOptions {
  /** The plugin's name, for the log. */
  readonly plugin: string;
  /** Called when a backend has something new to report. */
  readonly onReport: () => void;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
  readonly log: PluginLogger;
}

/** What is counted under one name. */
interface Named {
  readonly totals: { succeeded: number; failed: number; lastError: string | undefined };
  breaker: CircuitBreaker | undefined;
  /** The one asked for last is at the end. */
  readonly ofHosts: Map<string, CircuitBreaker>;
}

export class Backends {
  readonly #clock: Clock;
  readonly #options: BackendsOptions;
  readonly #named = new Map<string, Named>();

  constructor(clock: Clock, options: BackendsOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Throws for the 65th name: names must not depend on what clients ask for, but `host` may. */
  get(name: string, { host }: { readonly host?: string | undefined } = {}): Backend {
    const named = this.#find(name);
    if (host === undefined) {
      named.breaker ??= this.#create(name, named, undefined);
      return named.breaker;
    }
    const { ofHosts } = named;
    const breaker = ofHosts.get(host) ?? this.#create(name, named, host);
    ofHosts.delete(host);
    if (ofHosts.size >= HOSTS_MAX) ofHosts.delete(leastOf(ofHosts, ({ state }) => state === "closed"));
    ofHosts.set(host, breaker);
    return breaker;
  }

  get reports(): readonly BackendReport[] {
    return [...this.#named].map(([name, { totals, breaker }]) => {
      const { state = "closed", openUntilEpochMs: openUntilMs } = breaker ?? {};
      return { name, ...totals, state, openUntilMs };
    });
  }

  #find(name: string): Named {
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    if (this.#named.size >= BACKENDS_MAX) throw new Error(`a plugin has more than ${BACKENDS_MAX} backends`);
    const totals = { succeeded: 0, failed: 0, lastError: undefined };
    const named: Named = { totals, breaker: undefined, ofHosts: new Map() };
    this.#named.set(name, named);
    return named;
  }

  #create(name: string, { totals }: Named, host: string | undefined): CircuitBreaker {
    return new CircuitBreaker({ name, host, totals, clock: this.#clock, ...this.#options });
  }
}

interface BreakerOptions extends BackendsOptions {
  readonly name: string;
  readonly host: string | undefined;
  readonly totals: Named["totals"];
  readonly clock: Clock;
}

class CircuitBreaker implements Backend {
  readonly name: string;
  readonly #options: BreakerOptions;
  /** Of everybody. */
  readonly #circuit: Circuit;
  /** By account, and by client: only of those whose last request failed. */
  readonly #ofOwners = new Map<string, Circuit>();
  readonly #ownersMax: number;
  /** Clients whose last request succeeded. */
  readonly #working: SharedMap<string, true>;
  /** The circuit that opened first since the last success: nothing has worked since then. */
  #opened: Circuit | undefined;
  #lastError: { readonly text: string; readonly error: unknown } | undefined;

  constructor(options: BreakerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#circuit = new Circuit(options.clock);
    this.#ownersMax = options.host === undefined ? OWNERS_MAX : OWNERS_OF_HOST_MAX;
    this.#working = new SharedMap(this.#ownersMax);
  }

  get isOpen(): boolean {
    return this.#refusingOf(this.#owner()) !== undefined;
  }

  get state(): BackendReport["state"] {
    return this.#shown?.state ?? "closed";
  }

  get openUntilEpochMs(): number | undefined {
    return this.#shown?.openUntilEpochMs;
  }

  async run<Value>(fn: () => Promise<Value>): Promise<Value> {
    const owner = this.#owner();
    const refusing = this.#refusingOf(owner);
    if (refusing !== undefined) {
      throw new SourceError("busy", this.#refusal(refusing), { cause: this.#lastError?.error });
    }
    const trials = this.#circuitsOf(owner)
      .filter(({ isOpen }) => !isOpen)
      .map((circuit) => ({ circuit, trial: circuit.begin() }));
    try {
      const value = await fn();
      this.#onSuccess(owner);
      return value;
    } catch (error) {
      if (isAnswer(error)) this.#onSuccess(owner);
      else if (!isAbort(error) && !isUnsent(error) && !(error instanceof OwnLimitError)) {
        this.#onFailure(error, owner, (circuit) => trials.find((one) => one.circuit === circuit)?.trial);
      }
      throw error;
    } finally {
      for (const { circuit, trial } of trials) circuit.end(trial);
      this.#options.onReport();
    }
  }

  /** Whose request it is: of those who share the work, one who is not refused. */
  #owner(): Owner {
    const all = currentWork()?.owners.all ?? [];
    return all.find((owner) => this.#refusingOf(owner) === undefined) ?? all[0] ?? NOBODYS;
  }

  get #shown(): Circuit | undefined {
    return this.#circuit.state === "closed" ? this.#opened : this.#circuit;
  }

  /** Those that there are, of everybody first. */
  #circuitsOf(owner: Owner): Circuit[] {
    return [this.#circuit, ...owner.flatMap((name) => this.#ofOwners.get(name) ?? [])];
  }

  #refusingOf(owner: Owner): Circuit | undefined {
    if (this.#working.get(owner.at(-1) ?? "") === true) return undefined;
    return this.#circuitsOf(owner).find(({ isOpen }) => isOpen);
  }

  /** Why a request is refused, and until when. */
  #refusal(circuit: Circuit): string {
    const { host } = this.#options;
    const until = circuit.isHalfOpen
      ? "until its trial request succeeds"
      : `until ${new Date(circuit.openUntilEpochMs ?? 0).toISOString()}`;
    const why = `after ${failuresText(circuit.failuresInRow)}`;
    const what = host === undefined ? this.name : `${this.name} (${host})`;
    return `the circuit breaker for ${what} is open ${until}, ${why}; last error: ${this.#lastError?.text}`;
  }

  #onSuccess(owner: Owner): void {
    const { plugin, log, totals, host } = this.#options;
    const { name: backend } = this;
    if (this.#shown !== undefined && host === undefined) {
      log.info(`circuit breaker closed for ${plugin}/${backend}`, { backend });
    }
    totals.succeeded += 1;
    this.#opened = undefined;
    this.#circuit.succeed();
    for (const name of owner) this.#ofOwners.delete(name);
    const client = owner.at(-1);
    if (client !== undefined) this.#working.set(client, true, accountOf(owner));
  }

  #onFailure(error: unknown, owner: Owner, trialOf: (circuit: Circuit) => ReturnType<Circuit["begin"]>): void {
    const { totals, hide } = this.#options;
    this.#working.delete(owner.at(-1) ?? "");
    totals.failed += 1;
    const message = messageOf(error);
    const text = redactText(hide(message)).slice(0, ERROR_LENGTH_MAX);
    this.#lastError = { text, error };
    totals.lastError = text;
    const retryAfterMs = Math.min(retryAfterOf(error), PAUSE_MS_MAX);
    // From the client up to everybody.
    for (let level = owner.length; level >= 0; level--) {
      const circuit = this.#circuitAt(owner[level - 1]);
      const pauseMs = circuit.fail({ retryAfterMs, child: owner[level], trial: trialOf(circuit) });
      if (pauseMs !== undefined) this.#onOpened(circuit, { pauseMs, openFor: WHOM[level] });
    }
  }

  #circuitAt(name: string | undefined): Circuit {
    if (name === undefined) return this.#circuit;
    const ofOwners = this.#ofOwners;
    const circuit = ofOwners.get(name) ?? new Circuit(this.#options.clock);
    ofOwners.delete(name);
    if (ofOwners.size >= this.#ownersMax) ofOwners.delete(leastOf(ofOwners, ({ state }) => state === "closed"));
    ofOwners.set(name, circuit);
    return circuit;
  }

  /** Logs once until a request succeeds: further failed trials show only at `GET /v4/tonearm/sources`. */
  #onOpened(circuit: Circuit, { pauseMs, openFor }: Opening): void {
    const isLogged = this.#opened !== undefined;
    this.#opened ??= circuit;
    const { plugin, log, totals, host } = this.#options;
    // There are as many hosts as strangers like.
    if (isLogged || host !== undefined) return;
    const { name: backend } = this;
    const { failuresInRow } = circuit;
    const what = `circuit breaker opened for ${plugin}/${backend}`;
    const why = `${failuresText(failuresInRow)}, retry in ${Math.ceil(pauseMs / 1000)} s`;
    const whom = openFor === undefined ? {} : { openFor };
    log.warn(`${what}: ${why}`, { backend, pauseMs, failuresInRow, reason: totals.lastError, ...whom });
  }
}

interface Opening {
  readonly pauseMs: number;
  /** Undefined: for everybody. */
  readonly openFor: string | undefined;
}

/** By the level of an owner. */
const WHOM = [undefined, "one account", "one client"] as const;

/** The name of the oldest one that can be forgotten; of the oldest at all where none can. */
function leastOf<Value>(values: ReadonlyMap<string, Value>, isForgettable: (value: Value) => boolean): string {
  for (const [name, value] of values) if (isForgettable(value)) return name;
  const [[first = ""] = []] = values;
  return first;
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
