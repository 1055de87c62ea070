// Probes inputs on a dedicated thread that plays nothing and may be lost at any time. The probe that was running when
// that happened is repeated once, isolated on a second thread, and given up when that is lost too; all other probes are
// repeated and only take longer. Main thread.

import { PendingRequests } from "../../bridge/pending-requests.ts";
import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import type { WorkerReplies } from "../../bridge/replies.ts";
import { NodeError } from "../../errors.ts";
import type { WorkOptions } from "../../lib/owners.ts";
import { type LaneLoss, type PendingProbe, ProbeLane, type ProbeRequests } from "./probe-lane.ts";
import type { ProbeThreadOptions } from "./probe-thread.ts";
import type { Answerers } from "./thread-answers.ts";

/** Losses without a known suspect that a probe may survive; after one more it is given up. */
const NAMELESS_LOSSES_MAX = 1;

interface ProbePoolOptions extends ProbeThreadOptions, Answerers {}

/** One for the node. It has no thread before the first probe, nor 15 s after the last. */
export class ProbePool {
  readonly #options: ProbePoolOptions;
  readonly #shared: ProbeLane;
  /** For suspects, one at a time: a loss here has only one possible culprit. */
  readonly #isolated: ProbeLane;
  readonly #requests: ProbeRequests;
  #isClosed = false;

  constructor(options: ProbePoolOptions) {
    this.#options = options;
    const requests = new PendingRequests<Pick<WorkerReplies, "probe">>({ clock: options.clock });
    const runningMax = Number.POSITIVE_INFINITY;
    this.#shared = new ProbeLane({ ...options, requests, runningMax, onLost: (loss) => this.#onLost(loss) });
    const onLost = (loss: LaneLoss): void => this.#onIsolatedLost(loss);
    this.#isolated = new ProbeLane({ ...options, requests, runningMax: 1, onLost });
    this.#requests = requests;
  }

  /**
   * Probes an input. Rejects with the NodeError that says why it cannot be played, with `probe-crashed`, or with the
   * reason of `signal`. The caller bounds how many and how long.
   */
  probe(input: PlayableInput, { owner, signal }: WorkOptions): Promise<ProbeResult> {
    if (this.#isClosed) return Promise.reject(new NodeError("worker-lost", "the node is closing"));
    const onAbandoned = (id: number): void => {
      this.#shared.drop(id);
      this.#isolated.drop(id);
    };
    return this.#requests.request("probe", { signal, onAbandoned }, (id) => {
      this.#shared.ask({ id, owner, input, lossCount: 0 });
    });
  }

  /** Ends the threads; pending probes are never answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#shared.close(), this.#isolated.close()]);
  }

  #onLost({ reason, suspect, others }: LaneLoss): void {
    this.#options.logger.warn("probe thread lost: its probes are repeated", {
      probes: others.length + (suspect === undefined ? 0 : 1),
      suspect: suspect?.id,
      error: reason,
    });
    if (suspect !== undefined) this.#isolated.ask(suspect);
    for (const probe of others) {
      if (suspect === undefined) probe.lossCount++;
      if (probe.lossCount > NAMELESS_LOSSES_MAX) this.#giveUp(probe, reason);
      else this.#shared.ask(probe);
    }
  }

  #onIsolatedLost({ reason, suspect, others }: LaneLoss): void {
    for (const probe of suspect === undefined ? others : [suspect, ...others]) {
      this.#options.logger.error("probe crashed its thread twice: the load failed", { error: reason });
      this.#giveUp(probe, reason);
    }
  }

  #giveUp({ id }: PendingProbe, reason: NodeError): void {
    const message = "probing the track crashed the probe thread twice";
    this.#requests.reject(id, new NodeError("probe-crashed", message, { cause: reason }));
  }
}
