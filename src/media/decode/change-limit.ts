// How often a stream may change what it is: another rate, other channels, another codec. Each change costs a new filter
// table or a new decoder, as much as a second of sound or more, so they are rationed by the sound that lies between.
// Audio thread.

import { NodeError } from "../../errors.ts";
import { SAMPLE_RATE_HZ } from "../format/audio-format.ts";

/** In a row: streams of several parts begin with one or two. */
const CHANGES_MAX = 8;

/**
 * One per track, shared by all that changes with its stream: eight changes in a row, then one for each second of sound.
 */
export class ChangeLimit {
  #left = CHANGES_MAX;

  /** Counts one change; throws NodeError `media-damaged` when there have been too many for the sound so far. */
  spend(): void {
    if (this.#left < 1) {
      const message = `decode the track: it changes its rate, channels or codec more than once per second of sound`;
      throw new NodeError("media-damaged", `${message}; check that the file plays elsewhere`);
    }
    this.#left -= 1;
  }

  /** So much sound at 48 kHz has come: a second of it allows one change more. */
  earn(lengthSamples: number): void {
    this.#left = Math.min(CHANGES_MAX, this.#left + lengthSamples / SAMPLE_RATE_HZ);
  }
}
