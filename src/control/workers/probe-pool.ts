// Probes inputs on a dedicated thread that plays nothing and may be lost at any time. The probe that was running when
// that happened is repeated once, isolated on a second thread, and given up when that is lost too; all other probes are
// repeated and only take longer. Main thread.

import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import { NodeError } from "../../errors.ts";
import { type LaneLoss, type PendingProbe, ProbeLane } from "./probe-lane.ts";
import type { ProbeThreadOptions } from "./probe-thread.ts";
import type { Answerers } from "./thread-answers.ts";

/** Losses without a known suspect that a probe may survive; after one more it is given up. */
const NAMELESS_LOSSES_MAX = 1;
/** Request numbers are written into the thread's heartbeat. */
const ID_MAX = 0x7fff_ffff;

interface ProbePoolOptions extends ProbeThreadOptions, Answerers {}

/** One for the node. It has no thread before the first probe, nor 15 s after the last. */
export class ProbePool {
  readonly #options: ProbePoolOptions;
  readonly #shared: ProbeLane;
  /** For suspects, one at a time: a loss here has only one possible culprit. */
  readonly #isolated: ProbeLane;
  #lastId = 0;
  #isClosed = false;

  constructor(options: ProbePoolOptions) {
    this.#options = options;
    const runningMax = Number.POSITIVE_INFINITY;
    this.#shared = new ProbeLane({ ...options, runningMax, onLost: (loss) => this.#onLost(loss) });
    const onLost = (loss: LaneLoss): void => this.#onIsolatedLost(loss);
    this.#isolated = new ProbeLane({ ...options, runningMax: 1, onLost });
  }

  /**
   * Probes an input. Rejects with the NodeError that says why it cannot be played, with `probe-crashed`, or with the
   * reason of `signal`. The caller bounds how many and how long.
   */
  probe(input: PlayableInput, { signal }: { readonly signal: AbortSignal }): Promise<ProbeResult> {
    if (this.#isClosed) return Promise.reject(new NodeError("worker-lost", "the node is closing"));
    if (signal.aborted) return Promise.reject(signal.reason);
    const id = this.#nextId();
    let onAbort = () => {};
    const answer = new Promise<ProbeResult>((resolve, reject) => {
      onAbort = () => {
        this.#shared.drop(id);
        this.#isolated.drop(id);
        reject(signal.reason);
      };
      this.#shared.ask({ id, input, lossCount: 0, resolve, reject });
    });
    signal.addEventListener("abort", onAbort, { once: true });
    return answer.finally(() => signal.removeEventListener("abort", onAbort));
  }

  /** Ends the threads; pending probes are never answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#shared.close(), this.#isolated.close()]);
  }

  #nextId(): number {
    this.#lastId = (this.#lastId % ID_MAX) + 1;
    return this.#lastId;
  }

  #onLost({ reason, suspect, others }: LaneLoss): void {
    this.#options.logger.warn("the probe thread was lost and is restarted", {
      probes: others.length + (suspect === undefined ? 0 : 1),
      suspect: suspect?.id,
      error: reason,
    });
    if (suspect !== undefined) this.#isolated.ask(suspect);
    for (const probe of others) {
      if (suspect === undefined) probe.lossCount++;
      if (probe.lossCount > NAMELESS_LOSSES_MAX) giveUp(probe, reason);
      else this.#shared.ask(probe);
    }
  }

  #onIsolatedLost({ reason, suspect, others }: LaneLoss): void {
    for (const probe of suspect === undefined ? others : [suspect, ...others]) {
      this.#options.logger.error("looking a track up stopped its thread twice; it was given up", { error: reason });
      giveUp(probe, reason);
    }
  }
}

function giveUp(probe: PendingProbe, reason: NodeError): void {
  const message = "looking the track up stopped the probe thread twice, so it was given up";
  probe.reject(new NodeError("probe-crashed", message, { cause: reason }));
}
