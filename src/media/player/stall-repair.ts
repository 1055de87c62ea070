// Finds what keeps one player that should send audio from being audible, and repairs it once the player has been silent
// for too long (silence-watch.ts): opens the track again, or starts a new voice session. Held by audio-player.ts. Audio
// thread.

import type { AudioWatch } from "./audio-watch.ts";
import type { FrameSlot } from "./frame-slot.ts";
import type { PlayerTracks } from "./player-tracks.ts";
import { stallCauseOf } from "./playing-track.ts";
import type { PositionReporter } from "./position-reporter.ts";
import type { RenderPlacement } from "./render-placement.ts";
import type { Stall } from "./silence-watch.ts";
import type { VoiceOutput } from "./voice-output.ts";

interface StallRepairOptions {
  readonly slot: FrameSlot;
  readonly output: VoiceOutput;
  readonly tracks: PlayerTracks;
  readonly positions: PositionReporter;
  readonly placement: RenderPlacement;
  readonly watch: AudioWatch;
}

export class StallRepair {
  readonly #options: StallRepairOptions;

  constructor(options: StallRepairOptions) {
    this.#options = options;
  }

  /** Called twice a second. */
  check({ isPaused }: { readonly isPaused: boolean }): void {
    const { watch, output } = this.#options;
    const stall = isPaused ? undefined : this.#stall;
    if (!watch.check(stall) || stall === undefined) return;
    const isBegun = stall.kind === "rejoin" ? output.rejoin() : this.#reopen();
    if (isBegun) watch.onRepaired(stall);
  }

  /** Undefined when nothing keeps the player from being audible, or when it should be silent. */
  get #stall(): Stall | undefined {
    const { slot, output, tracks, placement } = this.#options;
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
    const { tracks, positions, placement } = this.#options;
    const { position } = positions;
    if (position === undefined || !tracks.canReopen) return false;
    placement.keep();
    tracks.reopen(position.positionMs);
    return true;
  }
}
