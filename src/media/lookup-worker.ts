// Carries out look-ups: each with a budget of its own, under its own name in the thread's mark, and ended as soon as nobody
// waits for it any more. lookup-main.ts connects it to the real world. Look-up thread.

import type { LookupCommand } from "../bridge/commands.ts";
import type { ProbeResult } from "../bridge/playable-input.ts";
import type { TrackBudget } from "./budget/track-budget.ts";
import type { TrackOpener } from "./track-opener.ts";

type ProbeCommand = Extract<LookupCommand, { readonly type: "probe" }>;

export interface LookupWorkerOptions {
  readonly opener: Pick<TrackOpener, "probe">;
  /** For one look-up; its memory is given back when the look-up is over. */
  readonly createBudget: (requestId: number) => TrackBudget;
  /** Answers a request with what the work comes to. */
  readonly answer: (request: ProbeCommand, work: Promise<ProbeResult>) => void;
}

export class LookupWorker {
  readonly #options: LookupWorkerOptions;
  readonly #running = new Map<number, AbortController>();

  constructor(options: LookupWorkerOptions) {
    this.#options = options;
  }

  execute(command: LookupCommand): void {
    if (command.type === "probe") this.#options.answer(command, this.#probe(command));
    else this.#running.get(command.requestId)?.abort();
  }

  async #probe({ requestId, input }: ProbeCommand): Promise<ProbeResult> {
    const abort = new AbortController();
    const budget = this.#options.createBudget(requestId);
    this.#running.set(requestId, abort);
    try {
      return await this.#options.opener.probe(input, { signal: abort.signal, budget });
    } finally {
      this.#running.delete(requestId);
      budget.pause();
      budget.memory.releaseAll();
    }
  }
}
