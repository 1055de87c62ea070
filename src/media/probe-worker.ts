// Carries out probes: each with its own budget, under its own name in the thread's heartbeat, and ended when nobody
// waits for it any more. probe-main.ts connects it to the real environment. Probe thread.

import type { ProbeThreadCommand } from "../bridge/commands.ts";
import type { ProbeResult } from "../bridge/playable-input.ts";
import { NodeError } from "../errors.ts";
import { accountOf, type Owner } from "../lib/owners.ts";
import { unlessAborted } from "../lib/unless-aborted.ts";
import type { TrackOpener } from "./probe/track-opener.ts";
import type { TrackBudget } from "./quota/track-budget.ts";
import type { TaskTracker } from "./task-tracker.ts";

type ProbeCommand = Extract<ProbeThreadCommand, { readonly type: "probe" }>;

export interface ProbeWorkerOptions {
  readonly opener: Pick<TrackOpener, "probe">;
  readonly tasks: Pick<TaskTracker, "run">;
  /** Budget of one probe; its memory is released when the probe is over. */
  readonly createBudget: (requestId: number, owner: Owner) => TrackBudget;
  /** Answers a request with the result of `work`. */
  readonly answer: (request: ProbeCommand, work: Promise<ProbeResult>) => void;
}

interface Running {
  readonly abort: AbortController;
  readonly budget: TrackBudget;
}

export class ProbeWorker {
  readonly #options: ProbeWorkerOptions;
  readonly #running = new Map<number, Running>();

  constructor(options: ProbeWorkerOptions) {
    this.#options = options;
  }

  execute(command: ProbeThreadCommand): void {
    if (command.type === "abortProbe") this.end(command.requestId, undefined);
    else this.#options.answer(command, this.#probe(command));
  }

  /** Ends a probe that nobody waits for, or that has thrown an uncaught error. */
  end(requestId: number, reason: unknown): void {
    this.#running.get(requestId)?.abort.abort(reason);
  }

  /**
   * If all together hold more than this, ends the largest probe of the account that holds most: the others, which need
   * little, find space long before the limit. Its memory is released soon after.
   */
  makeSpace(memoryBytesMax: number): void {
    const ofAccount = new Map<string, number>();
    let usedBytes = 0;
    for (const { budget } of this.#running.values()) {
      const account = accountOf(budget.owner);
      ofAccount.set(account, (ofAccount.get(account) ?? 0) + budget.memory.usedBytes);
      usedBytes += budget.memory.usedBytes;
    }
    if (usedBytes <= memoryBytesMax) return;
    const accountBytesMax = Math.max(...ofAccount.values());
    let largest: Running | undefined;
    for (const running of this.#running.values()) {
      const { memory, owner } = running.budget;
      if (ofAccount.get(accountOf(owner)) !== accountBytesMax) continue;
      if (memory.usedBytes > (largest?.budget.memory.usedBytes ?? 0)) largest = running;
    }
    const text =
      "probing this track needs more memory than is available beside the current probes; try again in a moment";
    largest?.abort.abort(new NodeError("memory-exhausted", text));
  }

  async #probe({ requestId, owner, input }: ProbeCommand): Promise<ProbeResult> {
    const { opener, tasks, createBudget } = this.#options;
    const abort = new AbortController();
    const { signal } = abort;
    const budget = createBudget(requestId, owner);
    const close = () => {
      budget.pause();
      budget.memory.releaseAll();
    };
    this.#running.set(requestId, { abort, budget });
    try {
      const probing = tasks.run(requestId, () => opener.probe(input, { signal, budget }));
      // Not earlier: an ended probe keeps working until it notices.
      probing.then(close, close);
      return await unlessAborted(probing, signal);
    } finally {
      this.#running.delete(requestId);
    }
  }
}
