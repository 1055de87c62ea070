// The frames of one player that are made but have not left: the one in its slot, and those that its voice connection
// has accepted ahead of their deadlines. A change drops them, or makes them again so that it takes effect early. Held by
// audio-player.ts. Audio thread.

import type { Clock, Timer } from "../../lib/clock.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import type { AudioWatch } from "./audio-watch.ts";
import type { FrameSlot } from "./frame-slot.ts";
import type { PlayerTracks } from "./player-tracks.ts";
import type { PositionReporter } from "./position-reporter.ts";
import type { RenderPlacement } from "./render-placement.ts";
import type { VoiceOutput } from "./voice-output.ts";

/** Changes of the audio that follow more closely than this are made audible together. */
const CHANGE_MS_MIN = 60;

/** The parts of one player that decide about its frames. */
export interface PlayerParts {
  readonly slot: FrameSlot;
  readonly output: VoiceOutput;
  readonly tracks: PlayerTracks;
  readonly positions: PositionReporter;
  readonly placement: RenderPlacement;
  readonly watch: AudioWatch;
}

interface UnsentFramesOptions extends PlayerParts {
  readonly clock: Clock;
  /** The deadlines of this many frames are open again. */
  readonly onRevoked: (frames: number) => void;
}

export class UnsentFrames {
  readonly #options: UnsentFramesOptions;
  #changedAtMs = Number.NEGATIVE_INFINITY;
  #outdatedAtMs = Number.NEGATIVE_INFINITY;
  #change: Timer | undefined;

  constructor(options: UnsentFramesOptions) {
    this.#options = options;
  }

  /** Drops those that voice has accepted; the slot keeps its frame. */
  drop(): void {
    const { output, watch, onRevoked } = this.#options;
    const count = output.revokeAll();
    watch.onRevoked(count);
    onRevoked(count);
  }

  /** The player is closed: drops them, and makes none again. */
  close(): void {
    this.drop();
    this.#change?.cancel();
  }

  /** Makes them again with the current settings, as far as possible. */
  remake(): void {
    const { slot, output, tracks, positions, placement, watch, onRevoked } = this.#options;
    const track = tracks.current;
    const slotFrames = slot.opus === undefined ? 0 : 1;
    const framesMax = Math.min(tracks.rewindFramesMax, output.unsentFramesMax + slotFrames);
    if (track === undefined || framesMax < slotFrames) return;
    const sentFrames = output.revoke(framesMax - slotFrames);
    if (sentFrames + slotFrames === 0) return;
    placement.keep();
    slot.clear();
    tracks.rewind(sentFrames + slotFrames);
    watch.onRevoked(sentFrames);
    // The frame in the slot may be the first behind a jump: then what was sent ends before that.
    if (sentFrames > 0) positions.retreat(track.pipeline.positionMs + track.offsetMs, sentFrames);
    onRevoked(sentFrames);
  }

  /** At most once per frame time: frames that become outdated again at once would never be played. */
  remakeOutdated(): void {
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#outdatedAtMs < FRAME_MS) return;
    this.#outdatedAtMs = nowMs;
    this.remake();
  }

  /**
   * Rate limited, because making frames again costs time: the result of faster changes becomes audible a little later.
   */
  remakeForChange(): void {
    const { clock } = this.#options;
    const waitMs = this.#changedAtMs + CHANGE_MS_MIN - clock.now();
    if (this.#change !== undefined) return;
    if (waitMs <= 0) {
      this.#changedAtMs = clock.now();
      this.remake();
      return;
    }
    this.#change = clock.after(waitMs, () => {
      this.#change = undefined;
      this.remakeForChange();
    });
  }
}
