// Looks at inputs where no music plays: on a thread of its own, which may be lost at any time. Whoever was at work when
// that happened is asked once more, alone on a second thread, and given up when that is lost too; everybody else is
// asked again and notices nothing but the time it takes. Main thread.

import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import { NodeError } from "../../errors.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { type LaneLoss, type PendingProbe, ProbeLane } from "./probe-lane.ts";
import type { ProbeThreadOptions } from "./probe-thread.ts";
import type { Answerers } from "./thread-answers.ts";

/** Losses a look-up may live through that named nobody; after one more it is given up. */
const NAMELESS_LOSSES_MAX = 1;
/** Request numbers are written into the thread's mark. */
const ID_MAX = 0x7fff_ffff;

interface ProbePoolOptions extends ProbeThreadOptions, Answerers {}

/** One for the node. No thread before the first look-up, nor 15 s after the last. */
export class ProbePool {
  readonly #options: ProbePoolOptions;
  readonly #shared: ProbeLane;
  /** For suspects, one at a time: what is lost here has only one to blame. */
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
   * Looks at an input. Rejects with the NodeError that says why it cannot be played, with `probe-crashed`, or with the
   * reason of `signal`. The caller bounds how many and how long.
   */
  probe(input: PlayableInput, { signal }: { readonly signal: AbortSignal }): Promise<ProbeResult> {
    if (this.#isClosed) return Promise.reject(new NodeError("worker-lost", "the node is closing"));
    if (signal.aborted) return Promise.reject(signal.reason);
    const id = this.#nextId();
    let stopListening = () => {};
    const answer = new Promise<ProbeResult>((resolve, reject) => {
      stopListening = onAbort(signal, () => {
        this.#shared.drop(id);
        this.#isolated.drop(id);
        reject(signal.reason);
      });
      this.#shared.ask({ id, input, lossCount: 0, resolve, reject });
    });
    return answer.finally(stopListening);
  }

  /** Ends the threads; what is on its way is not answered any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#shared.close(), this.#isolated.close()]);
  }

  #nextId(): number {
    this.#lastId = (this.#lastId % ID_MAX) + 1;
    return this.#lastId;
  }

  #onLost({ reason, suspect, others }: LaneLoss): void {
    this.#options.logger.warn("the probe thread was lost and is started anew", {
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
