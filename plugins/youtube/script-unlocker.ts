// Unlocks links with the player script: caches solutions, checks the sandbox's output, and stops using a script that
// has failed, so that clients without one are not delayed. Plugin thread.

import { type Cache, SourceError } from "../../src/plugin-api/plugin.ts";
import type { Host } from "./chosen-clients.ts";
import type { FormatLink } from "./formats.ts";
import type { PlayerScript, PlayerScripts } from "./player-script.ts";
import type { Challenges } from "./sandbox.ts";
import { CHALLENGE, riddlesOf, SIGNATURE, type Unlocker } from "./unlocker.ts";

const SOLUTIONS_TTL_MS = 6 * 60 * 60_000;
const SOLUTIONS_MAX = 500;
/** A script that is of no use is tried again after this: it may have been the machine's fault. */
const USELESS_TTL_MS = 10 * 60_000;

export interface SolverRequest {
  readonly scriptId: string;
  readonly script: string;
  readonly challenges: Challenges;
}

/** Whatever runs the script. */
export interface Solver {
  /**
   * Rejects with an Error; `isScriptUseless` on it means that the next request would fail in the same way. Once `signal`
   * has fired a job is not begun.
   */
  solve(request: SolverRequest, signal: AbortSignal): Promise<Challenges>;
  close(): void;
}

interface ScriptUnlockerParts {
  readonly host: Host;
  readonly scripts: PlayerScripts;
  readonly solver: Solver;
}

export class ScriptUnlocker implements Unlocker {
  readonly #parts: ScriptUnlockerParts;
  readonly #solutions: Cache<Challenges>;
  /** Why, by the script's address. */
  readonly #useless: Cache<string>;

  constructor(parts: ScriptUnlockerParts) {
    this.#parts = parts;
    this.#solutions = parts.host.cache("solutions", { ttlMs: SOLUTIONS_TTL_MS, entriesMax: SOLUTIONS_MAX });
    this.#useless = parts.host.cache("useless scripts", { ttlMs: USELESS_TTL_MS, entriesMax: 8 });
  }

  async signatureTimestamp(signal: AbortSignal): Promise<number> {
    return (await this.#script(signal)).signatureTimestamp;
  }

  async open(link: FormatLink, signal: AbortSignal): Promise<string> {
    const { url, challenge, signature, parameter } = riddlesOf(link);
    if (challenge === undefined && signature === undefined) return url.href;
    const script = await this.#script(signal);
    const solved = await this.#solutions.getOrMake([script.url, challenge, signature].join("\n"), {
      signal,
      make: (joined) => this.#solve(script, { challenge, signature }, joined),
    });
    if (solved.challenge !== undefined) url.searchParams.set("n", solved.challenge);
    if (solved.signature !== undefined) url.searchParams.set(parameter, solved.signature);
    return url.href;
  }

  /** A failure here is not the fault of the client that needs the script: that may still search. */
  async #script(signal: AbortSignal): Promise<PlayerScript> {
    const { host, scripts } = this.#parts;
    try {
      const script = await host.backend("player script").run(() => scripts.current(signal));
      const why = this.#useless.get(script.url);
      if (why === undefined) return script;
      throw new SourceError("unavailable", `the player script is of no use for now: ${why}`);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof SourceError ? new SourceError("unavailable", error.message, { cause: error }) : error;
    }
  }

  async #solve({ url, text }: PlayerScript, challenges: Challenges, signal: AbortSignal): Promise<Challenges> {
    const { host, solver } = this.#parts;
    try {
      return checked(await solver.solve({ scriptId: url, script: text, challenges }, signal), challenges);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SourceError) throw error;
      host.count("unsolved");
      const why = error instanceof Error ? error.message : String(error);
      host.log.warn("YouTube link could not be unlocked", { script: url, why });
      if (error instanceof Error && "isScriptUseless" in error && error.isScriptUseless === true)
        this.#useless.set(url, why);
      throw new SourceError("unavailable", `the link could not be unlocked: ${why}`, { cause: error });
    }
  }
}

/** Validates the script's answer, which may be anything. */
function checked({ challenge: n, signature: s }: Challenges, { challenge, signature }: Challenges): Challenges {
  if (challenge !== undefined) {
    const isFailure =
      n === undefined || n === challenge || n.startsWith("enhanced_except_") || n.endsWith(`_w8_${challenge}`);
    if (isFailure || !CHALLENGE.test(n)) throw new Error("the player script gave no solution for n");
  }
  if (signature !== undefined && (s === undefined || s === signature || !SIGNATURE.test(s))) {
    throw new Error("the player script gave no solution for the signature");
  }
  return { challenge: challenge === undefined ? undefined : n, signature: signature === undefined ? undefined : s };
}
