// Unlocks links with the player script: prepares it in the background, caches solutions, checks the sandbox's output, and
// stops using a script that has failed, so that clients without one are not delayed. Plugin thread.

import { type Cache, SourceError } from "../../src/plugin-api/plugin.ts";
import type { Host } from "./chosen-clients.ts";
import type { FormatLink } from "./formats.ts";
import type { PlayerScript, PlayerScripts } from "./player-script.ts";
import type { Challenges } from "./sandbox.ts";
import { asUnavailable, CHALLENGE, riddlesOf, SIGNATURE, type Unlocker } from "./unlocker.ts";

const SOLUTIONS_TTL_MS = 6 * 60 * 60_000;
const SOLUTIONS_MAX = 500;
/** How long a script is used while the site names a newer one that cannot be used yet. */
const READY_TTL_MS = 24 * 60 * 60_000;
/** A script that is of no use is tried again after this. */
const USELESS_TTL_MS = 10 * 60_000;
/** How long one `resolve` waits for the script altogether, of the 15 s that it has; other clients are asked before. */
const WAIT_MS = { withOtherClients: 7000, alone: 11_000 };
const PAUSE_MS = { first: 60_000, max: 10 * 60_000 };
/** Made up, of the usual forms; a script that solves these solves others. */
const TRIAL: Challenges = {
  challenge: "Tr1al-0f_tH3scr1Pt",
  signature: "AOq0QJ8wRQIhAKmadeUpXw2v5cL7tZ9bN4sDf1GhJ6kQyEr3TuIoPa8VAiBx0CzYlWq_H5nMj2RgK7eSdF4-UvBtO9iLpXc1ZaQw6g==",
};

export interface SolverRequest {
  readonly scriptId: string;
  readonly script: Pick<PlayerScript, "text" | "isPrepared">;
  readonly challenges: Challenges;
}

export interface Solved {
  readonly solutions: Challenges;
  /** The prepared script, if it was not prepared and had to be. */
  readonly prepared?: string | undefined;
}

/** Whatever runs the script. */
export interface Solver {
  /** Rejects with an Error, mostly an UnsolvedError. Once `signal` has fired a job is not begun. */
  solve(request: SolverRequest, signal: AbortSignal): Promise<Solved>;
  close(): void;
}

/** Why a link could not be unlocked. */
export class UnsolvedError extends Error {
  override readonly name = "UnsolvedError";
  /** The same script would fail again. */
  readonly isScriptUseless: boolean;

  constructor(message: string, isScriptUseless: boolean) {
    super(message);
    this.isScriptUseless = isScriptUseless;
  }
}

interface ScriptUnlockerParts {
  readonly host: Host;
  readonly scripts: PlayerScripts;
  /** One unlocks links while the other prepares the next script. */
  readonly solvers: readonly [Solver, Solver];
  /** Some client plays without the script: less time is spent waiting for it. */
  readonly hasOtherClients: boolean;
}

export class ScriptUnlocker implements Unlocker {
  readonly #parts: ScriptUnlockerParts;
  readonly #solutions: Cache<Challenges>;
  /** Scripts that have solved the trial, by address. */
  readonly #ready: Cache<PlayerScript>;
  /** Why, by the script's address. */
  readonly #useless: Cache<string>;
  #lastReadyUrl = "";
  /** Has the script that is ready. */
  #unlocking: Solver;
  #preparing: Solver;
  /** After a script that was too slow: when it is prepared again unless a link waits for it, and the next pause. */
  #pause = { untilMs: 0, nextMs: PAUSE_MS.first };
  /** When the wait of a `resolve` is over, by its signal: it may need the script several times. */
  readonly #waitsUntilMs = new WeakMap<AbortSignal, number>();
  /** The script of a `resolve`, by its signal: its links fit the timestamp that it has sent. */
  readonly #used = new WeakMap<AbortSignal, PlayerScript>();
  /** Why a `resolve` got no script, by its signal. */
  readonly #failures = new WeakMap<AbortSignal, SourceError>();

  constructor(parts: ScriptUnlockerParts) {
    this.#parts = parts;
    [this.#unlocking, this.#preparing] = parts.solvers;
    this.#solutions = parts.host.cache("solutions", { ttlMs: SOLUTIONS_TTL_MS, entriesMax: SOLUTIONS_MAX });
    this.#ready = parts.host.cache("player script", { ttlMs: READY_TTL_MS, entriesMax: 2 });
    this.#useless = parts.host.cache("useless scripts", { ttlMs: USELESS_TTL_MS, entriesMax: 8 });
  }

  get isReady(): boolean {
    return this.#ready.get(this.#lastReadyUrl) !== undefined;
  }

  async prepare(): Promise<void> {
    const { signal, log, clock } = this.#parts.host;
    if (clock.now() < this.#pause.untilMs) return;
    await this.#readyScript(signal).catch((error: unknown) => {
      if (!signal.aborted) log.debug("the YouTube player script could not be prepared", { error });
    });
  }

  async signatureTimestamp(signal: AbortSignal): Promise<number> {
    return (await this.#script(signal)).signatureTimestamp;
  }

  async open(link: FormatLink, signal: AbortSignal): Promise<string> {
    const { url, challenge, signature, parameter } = riddlesOf(link);
    if (challenge === undefined && signature === undefined) return url.href;
    const script = await this.#script(signal);
    const solving = this.#solutions.getOrMake([script.url, challenge, signature].join("\n"), {
      signal,
      make: async (joined) => {
        const solving = { challenges: { challenge, signature }, solver: this.#unlocking, signal: joined };
        return (await this.#solve(script, solving)).solutions;
      },
    });
    const solved = await this.#inTime(solving, signal);
    if (solved.challenge !== undefined) url.searchParams.set("n", solved.challenge);
    if (solved.signature !== undefined) url.searchParams.set(parameter, solved.signature);
    return url.href;
  }

  /**
   * A failure here is not the fault of the client that needs the script: that may still search. Nor does one `resolve`
   * try again with its next client.
   */
  async #script(signal: AbortSignal): Promise<PlayerScript> {
    const failure = this.#failures.get(signal);
    if (failure !== undefined) throw failure;
    const used = this.#used.get(signal);
    if (used !== undefined && this.#useless.get(used.url) === undefined) return used;
    try {
      const ready = this.#inTime(this.#readyScript(this.#parts.host.signal), signal);
      const script = await asUnavailable(ready, signal);
      this.#used.set(signal, script);
      return script;
    } catch (error) {
      if (error instanceof SourceError) this.#failures.set(signal, error);
      throw error;
    }
  }

  /** Waits no longer than a `resolve` may; the work goes on in the background. */
  async #inTime<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
    const { host, hasOtherClients } = this.#parts;
    const nowMs = host.clock.now();
    const untilMs =
      this.#waitsUntilMs.get(signal) ?? nowMs + (hasOtherClients ? WAIT_MS.withOtherClients : WAIT_MS.alone);
    this.#waitsUntilMs.set(signal, untilMs);
    const over = new AbortController();
    const late = host.clock.sleep(Math.max(0, untilMs - nowMs), AbortSignal.any([over.signal, signal])).then(() => {
      throw new SourceError(
        "unavailable",
        "YouTube's player script is still being prepared; try again in some seconds",
      );
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      over.abort();
    }
  }

  /** The site's script; the one before while a new one is being prepared or fails. `signal` is that of the plugin. */
  async #readyScript(signal: AbortSignal): Promise<PlayerScript> {
    const { host, scripts } = this.#parts;
    const before = this.#ready.get(this.#lastReadyUrl);
    try {
      const url = await host.backend("player script").run(() => scripts.address(signal));
      const why = this.#useless.get(url);
      if (why !== undefined) throw new SourceError("unavailable", `the player script is of no use for now: ${why}`);
      if (before !== undefined && before.url !== url && host.clock.now() < this.#pause.untilMs) return before;
      const ready = this.#ready.getOrMake(url, { signal, make: (shared) => this.#prepare(url, shared) });
      if (before === undefined || before.url === url) return await ready;
      ready.catch(() => undefined); // it is logged, and tried again with the next link
    } catch (error) {
      if (before === undefined) throw error;
    }
    return before;
  }

  async #prepare(url: string, signal: AbortSignal): Promise<PlayerScript> {
    const { host, scripts } = this.#parts;
    const loaded = await host.backend("player script").run(() => scripts.load(url, signal));
    const solver = this.#preparing;
    try {
      const { prepared } = await this.#solve(loaded, { challenges: TRIAL, solver, signal });
      const script = prepared === undefined ? loaded : { ...loaded, text: prepared, isPrepared: true };
      if (prepared !== undefined) scripts.store(script);
      this.#lastReadyUrl = url;
      if (solver === this.#preparing) [this.#unlocking, this.#preparing] = [solver, this.#unlocking];
      this.#pause = { untilMs: 0, nextMs: PAUSE_MS.first };
      return script;
    } catch (error) {
      if (this.#useless.get(url) === undefined) {
        const { nextMs } = this.#pause;
        this.#pause = { untilMs: host.clock.now() + nextMs, nextMs: Math.min(2 * nextMs, PAUSE_MS.max) };
      }
      // Perhaps only what was stored is of no use: next time it is fetched.
      if (loaded.isPrepared && this.#useless.get(url) !== undefined) {
        scripts.forget(url);
        this.#useless.delete(url);
      }
      throw error;
    }
  }

  async #solve(
    script: PlayerScript,
    { challenges, solver, signal }: { challenges: Challenges; solver: Solver; signal: AbortSignal },
  ): Promise<Solved> {
    const { host } = this.#parts;
    const { url, text, isPrepared } = script;
    try {
      const solved = await solver.solve({ scriptId: url, script: { text, isPrepared }, challenges }, signal);
      return { ...solved, solutions: checked(solved.solutions, challenges) };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SourceError) throw error;
      host.count("unsolved");
      const why = error instanceof Error ? error.message : String(error);
      host.log.warn("YouTube player script failed: links that need it stay locked", { script: url, why });
      if (error instanceof UnsolvedError && error.isScriptUseless) {
        this.#useless.set(url, why);
        this.#ready.delete(url);
      }
      throw new SourceError("unavailable", `the link could not be unlocked: ${why}`, { cause: error });
    }
  }
}

/** Validates the script's answer, which may be anything. */
function checked({ challenge: n, signature: s }: Challenges, { challenge, signature }: Challenges): Challenges {
  if (challenge !== undefined) {
    const isFailure =
      n === undefined || n === challenge || n.startsWith("enhanced_except_") || n.endsWith(`_w8_${challenge}`);
    if (isFailure || !CHALLENGE.test(n)) throw new UnsolvedError("the player script gave no solution for n", true);
  }
  if (signature !== undefined && (s === undefined || s === signature || !SIGNATURE.test(s))) {
    throw new UnsolvedError("the player script gave no solution for the signature", true);
  }
  return { challenge: challenge === undefined ? undefined : n, signature: signature === undefined ? undefined : s };
}
