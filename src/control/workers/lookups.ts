// Looks at inputs where no music plays: on a thread of its own, which may be lost at any time. Whoever was at work when
// that happened is asked once more, alone on a second thread, and given up when that is lost too; everybody else is
// asked again and notices nothing but the time it takes. Main thread.

import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import { NodeError } from "../../errors.ts";
import type { LinkSource } from "./link-source.ts";
import { type LaneLoss, type Lookup, LookupLane } from "./lookup-lane.ts";
import type { LookupThreadOptions } from "./lookup-thread.ts";
import type { RouteSource } from "./route-source.ts";

/** Losses a look-up may live through that named nobody; after one more it is given up. */
const NAMELESS_LOSSES_MAX = 1;
/** Request numbers are written into the thread's mark. */
const ID_MAX = 0x7fff_ffff;

export interface LookupsOptions extends LookupThreadOptions {
  readonly routes?: RouteSource | undefined;
  /** Undefined: no track of a site can be looked at. */
  readonly links?: LinkSource | undefined;
}

/** One for the node. No thread before the first look-up, nor 15 s after the last. */
export class Lookups {
  readonly #options: LookupsOptions;
  readonly #shared: LookupLane;
  /** For suspects, one at a time: what is lost here has only one to blame. */
  readonly #alone: LookupLane;
  #lastId = 0;
  #isClosed = false;

  constructor(options: LookupsOptions) {
    this.#options = options;
    const { routes, links } = options;
    const runningMax = Number.POSITIVE_INFINITY;
    this.#shared = new LookupLane({ ...options, routes, links, runningMax, onLost: (loss) => this.#onLost(loss) });
    const onLost = (loss: LaneLoss): void => this.#onLostAlone(loss);
    this.#alone = new LookupLane({ ...options, routes, links, runningMax: 1, onLost });
  }

  /**
   * Looks at an input. Rejects with the NodeError that says why it cannot be played, with `lookup-crashed`, or with the
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
        this.#alone.drop(id);
        reject(signal.reason);
      };
      this.#shared.ask({ id, input, lossCount: 0, resolve, reject });
    });
    signal.addEventListener("abort", onAbort, { once: true });
    return answer.finally(() => signal.removeEventListener("abort", onAbort));
  }

  /** Ends the threads; what is on its way is not answered any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#shared.close(), this.#alone.close()]);
  }

  #nextId(): number {
    this.#lastId = (this.#lastId % ID_MAX) + 1;
    return this.#lastId;
  }

  #onLost({ reason, suspect, others }: LaneLoss): void {
    this.#options.logger.warn("the look-up thread was lost and is started anew", {
      lookups: others.length + (suspect === undefined ? 0 : 1),
      suspect: suspect?.id,
      error: reason,
    });
    if (suspect !== undefined) this.#alone.ask(suspect);
    for (const lookup of others) {
      if (suspect === undefined) lookup.lossCount++;
      if (lookup.lossCount > NAMELESS_LOSSES_MAX) giveUp(lookup, reason);
      else this.#shared.ask(lookup);
    }
  }

  #onLostAlone({ reason, suspect, others }: LaneLoss): void {
    for (const lookup of suspect === undefined ? others : [suspect, ...others]) {
      this.#options.logger.error("looking a track up stopped its thread twice; it was given up", { error: reason });
      giveUp(lookup, reason);
    }
  }
}

function giveUp(lookup: Lookup, reason: NodeError): void {
  const message = "looking the track up stopped the look-up thread twice, so it was given up";
  lookup.reject(new NodeError("lookup-crashed", message, { cause: reason }));
}
