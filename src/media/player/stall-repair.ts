// Finds what keeps one player that should send audio from being audible, and repairs it once the player has been silent
// for too long (silence-watch.ts): opens the track again, or starts a new voice session. Held by audio-player.ts. Audio
// thread.

import { stallCauseOf } from "./playing-track.ts";
import type { Stall } from "./silence-watch.ts";
import type { PlayerParts } from "./unsent-frames.ts";

export class StallRepair {
  readonly #parts: PlayerParts;

  constructor(parts: PlayerParts) {
    this.#parts = parts;
  }

  /** Called twice a second. */
  check({ isPaused }: { readonly isPaused: boolean }): void {
    const { watch, output } = this.#parts;
    const stall = isPaused ? undefined : this.#stall;
    if (!watch.check(stall) || stall === undefined) return;
    const isBegun = stall.kind === "rejoin" ? output.rejoin() : this.#reopen();
    if (isBegun) watch.onRepaired(stall);
  }

  /** Undefined when nothing keeps the player from being audible, or when it should be silent. */
  get #stall(): Stall | undefined {
    const { slot, output, tracks, placement } = this.#parts;
    const { gate } = output;
    const track = tracks.current;
    if (gate === "down" || (track === undefined && !placement.isAway)) return undefined;
    if (gate === "send" && slot.opus === undefined) {
      // Audio that is rendered elsewhere is watched there.
      return track && { kind: "reopen", cause: stallCauseOf(track), isHeld: false };
    }
    const cause = output.sendBlockReason;
    return cause === "nobodyThere" ? undefined : { kind: "rejoin", cause, isHeld: gate === "hold" };
  }

  #reopen(): boolean {
    const { tracks, positions, placement } = this.#parts;
    const { position } = positions;
    if (position === undefined || !tracks.canReopen) return false;
    placement.keep();
    tracks.reopen(position.positionMs);
    return true;
  }
}
