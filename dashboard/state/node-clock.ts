// What time it is on the node, for positions that move evenly although messages come unevenly. In the browser.

/** More than the two clocks can drift apart: one of them was set, or it is another machine. */
const JUMP_MS = 2000;
/** How much of what a late message says is believed. */
const WEIGHT = 0.05;

/** Guesses the node's clock from the moments that its messages name, and the moments at which they came. */
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
