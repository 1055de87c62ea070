// Live announcements for screen readers: that players begin to stutter, and that the node is back. Seldom, and never
// the figures that change every second. In the browser.

import { Component } from "preact";
import { counted } from "../state/format.ts";
import type { PageState } from "../state/page-state.ts";

/** Between two announcements of trouble. */
const PAUSE_MS = 10_000;

/** Unseen. */
export class Announcer extends Component<{ readonly state: PageState }> {
  #text = "";
  #stuttering = 0;
  #wasLost = false;
  #saidMs = Number.NEGATIVE_INFINITY;

  override render() {
    this.#announce(this.props.state);
    return (
      <div class="unseen" role="status">
        {this.#text}
      </div>
    );
  }

  #announce({ connection, lines }: PageState): void {
    if (connection.kind === "lost") this.#wasLost = true;
    if (connection.kind !== "live") return;
    const stuttering = lines.filter(({ troubleNow }) => troubleNow).length;
    const nowMs = performance.now();
    if (this.#wasLost) {
      this.#wasLost = false;
      this.#text = "The node is back.";
    } else if (stuttering > this.#stuttering) {
      // An announcement that is held back is made after the pause if it is still true.
      if (nowMs - this.#saidMs < PAUSE_MS) return;
      this.#saidMs = nowMs;
      this.#text = `${counted(stuttering, "player stutters", "players stutter")} now.`;
    }
    this.#stuttering = stuttering;
  }
}
