// Estimates the node's current time, so that positions move evenly although messages arrive unevenly. In the browser.

/** More than the two clocks can drift apart: one of them was set, or it is another machine. */
const JUMP_MS = 2000;
/** The share by which a late message corrects the estimate. */
const WEIGHT = 0.05;

/** Estimates the node's clock from the timestamps in its messages and their arrival times. */
export class NodeClock {
  #offsetMs: number | undefined;

  /** A message of `nodeMs` has come at `hereMs`; both epoch milliseconds. */
  update(nodeMs: number, hereMs: number): void {
    const offsetMs = nodeMs - hereMs;
    const known = this.#offsetMs;
    // Messages are never early: the one that took least is nearest to the truth.
    if (known === undefined || offsetMs >= known || known - offsetMs > JUMP_MS) this.#offsetMs = offsetMs;
    else this.#offsetMs = known + (offsetMs - known) * WEIGHT;
  }

  /** Epoch milliseconds of the node when it is `hereMs` here. */
  now(hereMs: number): number {
    return hereMs + (this.#offsetMs ?? 0);
  }
}
