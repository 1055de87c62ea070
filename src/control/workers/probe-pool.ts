// Probes inputs on a dedicated thread that plays nothing and may be lost at any time. The probe that was running when
// that happened is repeated once, isolated on another thread, and given up when that is lost too; all other probes are
// repeated and only take longer. Main thread.

import { PendingRequests } from "../../bridge/pending-requests.ts";
import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import type { WorkerReplies } from "../../bridge/replies.ts";
import { NodeError } from "../../errors.ts";
import { KeyedSemaphore } from "../../lib/keyed-semaphore.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { Owners, type WorkOptions } from "../../lib/owners.ts";
import { type LaneLoss, type PendingProbe, ProbeLane, type ProbeRequests } from "./probe-lane.ts";
import type { ProbeThreadOptions } from "./probe-thread.ts";
import type { Answerers } from "./thread-answers.ts";

/** Losses without a known suspect that a probe may survive; after one more it is given up. */
const NAMELESS_LOSSES_MAX = 1;
/** Suspects that are probed at once, each on its own thread and of its own account, so that none waits for a stranger. */
const ISOLATED_MAX = 2;

interface ProbePoolOptions extends ProbeThreadOptions, Answerers {}

/** One for the node. It has no thread before the first probe, nor 15 s after the last. */
export class ProbePool {
  readonly #options: ProbePoolOptions;
  readonly #shared: ProbeLane;
  /** For one suspect each: a loss here has only one possible culprit. */
  readonly #isolated: readonly ProbeLane[];
  readonly #isolation = new KeyedSemaphore({ permitsMax: ISOLATED_MAX, waitingMax: Number.POSITIVE_INFINITY });
  /** Lanes in use. */
  readonly #taken = new Set<ProbeLane>();
  readonly #requests: ProbeRequests;
  #isClosed = false;

  constructor(options: ProbePoolOptions) {
    this.#options = options;
    const requests = new PendingRequests<Pick<WorkerReplies, "probe">>({ clock: options.clock });
    const runningMax = Number.POSITIVE_INFINITY;
    this.#shared = new ProbeLane({ ...options, requests, runningMax, onLost: (loss) => this.#onLost(loss) });
    const onLost = (loss: LaneLoss): void => this.#onIsolatedLost(loss);
    this.#isolated = Array.from({ length: ISOLATED_MAX }, () => {
      return new ProbeLane({ ...options, requests, runningMax: 1, onLost });
    });
    this.#requests = requests;
  }

  /**
   * Probes an input. Rejects with the NodeError that says why it cannot be played, with `probe-crashed`, or with the
   * reason of `signal`. The caller bounds how many and how long.
   */
  probe(input: PlayableInput, { owner, signal }: WorkOptions): Promise<ProbeResult> {
    if (this.#isClosed) return Promise.reject(new NodeError("worker-lost", "the node is closing"));
    const settled = new AbortController();
    const onAbandoned = (id: number): void => {
      for (const lane of [this.#shared, ...this.#isolated]) lane.drop(id);
    };
    const answer = this.#requests.request("probe", { signal, onAbandoned }, (id) => {
      this.#shared.ask({ id, owner, input, signal: settled.signal, lossCount: 0 });
    });
    return answer.finally(() => settled.abort());
  }

  /** Ends the threads; pending probes are never answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#shared, ...this.#isolated].map((lane) => lane.close()));
  }

  #onLost({ reason, suspect, others }: LaneLoss): void {
    this.#options.logger.warn("probe thread lost: its probes are repeated", {
      probes: others.length + (suspect === undefined ? 0 : 1),
      suspect: suspect?.id,
      error: reason,
    });
    if (suspect !== undefined) void this.#isolate(suspect);
    for (const probe of others) {
      if (suspect === undefined) probe.lossCount++;
      if (probe.lossCount > NAMELESS_LOSSES_MAX) this.#giveUp(probe, reason);
      else this.#shared.ask(probe);
    }
  }

  /** Never rejects. */
  async #isolate(suspect: PendingProbe): Promise<void> {
    const { owner, signal } = suspect;
    const limits = [{ key: "isolated", max: ISOLATED_MAX, accountMax: 1 }];
    const busy = (): NodeError => new NodeError("load-busy", "too many inputs are probed in isolation");
    const permit = await this.#isolation
      .acquire({ limits, owners: new Owners(owner), signal, busy })
      .catch(() => undefined);
    // Otherwise nobody waits for it any more.
    if (permit === undefined) return;
    const lane = this.#isolated.find((candidate) => !this.#taken.has(candidate));
    if (lane !== undefined) this.#taken.add(lane);
    onAbort(signal, () => {
      if (lane !== undefined) this.#taken.delete(lane);
      permit.release();
    });
    if (!signal.aborted && !this.#isClosed) lane?.ask(suspect);
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
