// The solver within its thread: prepares a player script, keeps one sandbox with it, and solves challenges there. The
// same in a separate thread (solver-main.ts) and in tests. Solver thread.

import { prepareScript } from "./prepare-script.ts";
import { type Challenges, Sandbox, type SandboxLimits, TimeLimitError } from "./sandbox.ts";

/** The plugin thread limits whole jobs besides. */
const LIMITS: SandboxLimits = { openMs: 45_000, solveMs: 2000 };

/** Plain data, as between threads. */
export interface SolverJob {
  readonly jobId: number;
  /** A script never changes under its id. */
  readonly scriptId: string;
  /** Needed when the thread does not have it yet: as YouTube sent it, or as it was prepared before. */
  readonly script?: { readonly text: string; readonly isPrepared: boolean } | undefined;
  readonly challenges: Challenges;
}

export type SolverReply =
  /** `prepared`: to be given instead of the script from now on. */
  | { readonly jobId: number; readonly kind: "solved"; readonly solutions: Challenges; readonly prepared?: string }
  /** The script is needed with the job. */
  | { readonly jobId: number; readonly kind: "script-requested" }
  /** `isScriptUseless`: it would be the same again, unlike after a time limit. */
  | { readonly jobId: number; readonly kind: "failed"; readonly message: string; readonly isScriptUseless: boolean };

export class SolverSession {
  readonly #limits: SandboxLimits;
  #open: { readonly scriptId: string; readonly sandbox: Sandbox } | undefined;

  constructor(limits: SandboxLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Never rejects. One job at a time. */
  async handle({ jobId, scriptId, script, challenges }: SolverJob): Promise<SolverReply> {
    let prepared: string | undefined;
    if (this.#open?.scriptId !== scriptId) {
      if (script === undefined) return { jobId, kind: "script-requested" };
      this.#open = undefined;
      try {
        const code = script.isPrepared ? script.text : prepareScript(script.text);
        this.#open = { scriptId, sandbox: await Sandbox.open(code, this.#limits) };
        if (!script.isPrepared) prepared = code;
      } catch (error) {
        return failed(jobId, error);
      }
    }
    try {
      const solutions = this.#open.sandbox.solve(challenges);
      return { jobId, kind: "solved", solutions, ...(prepared !== undefined && { prepared }) };
    } catch (error) {
      this.#open = undefined;
      return failed(jobId, error);
    }
  }
}

function failed(jobId: number, error: unknown): SolverReply {
  const message = error instanceof Error ? error.message.slice(0, 300) : "it does not say why";
  return { jobId, kind: "failed", message, isScriptUseless: !(error instanceof TimeLimitError) };
}
