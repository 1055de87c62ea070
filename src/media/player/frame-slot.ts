// The frame for a player's next deadline: filled by its tracks (player-tracks.ts), sent and emptied by the player
// (audio-player.ts). One for the whole life of a player, so that no frame costs an object. Audio thread.

import type { PlayingTrack } from "./playing-track.ts";

export class FrameSlot {
  #opus: Uint8Array | undefined;
  #track: PlayingTrack | undefined;
  #endMs = 0;
  #runNumber = 0;

  /** One Opus packet of 20 ms, undefined while none is ready. Valid until the pipeline that made it produces again. */
  get opus(): Uint8Array | undefined {
    return this.#opus;
  }

  /**
   * The playing track, if the frame contains audio of it; undefined without a frame, or when its audio is of previous
   * tracks.
   */
  get track(): PlayingTrack | undefined {
    return this.#track;
  }

  /** Track time, milliseconds, at the end of the last frame with audio of a track, also once that frame is sent. */
  get endMs(): number {
    return this.#endMs;
  }

  /** The pipeline's run (see `Pipeline.runNumber`) that made that frame. */
  get runNumber(): number {
    return this.#runNumber;
  }

  /** Only while empty. */
  fill(opus: Uint8Array | undefined, track: PlayingTrack | undefined): void {
    this.#opus = opus;
    if (opus === undefined || track === undefined) return;
    this.#track = track;
    this.#endMs = track.pipeline.positionMs + track.offsetMs;
    this.#runNumber = track.pipeline.runNumber;
  }

  clear(): void {
    this.#opus = undefined;
    this.#track = undefined;
  }
}
