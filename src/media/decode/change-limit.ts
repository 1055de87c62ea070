// Limits how often a stream may change its rate, channels or codec. Each change costs a new filter table or a new
// decoder, as much time as a second of audio or more, so changes are rationed by the audio between them. Audio thread.

import { NodeError } from "../../errors.ts";
import { SAMPLE_RATE_HZ } from "../format/audio-format.ts";

/** Changes in a row: streams of several parts begin with one or two. */
const CHANGES_MAX = 8;

/**
 * One per track, shared by everything that changes with its stream: eight changes in a row, then one per second of
 * audio.
 */
export class ChangeLimit {
  #left = CHANGES_MAX;

  /** Counts one change; throws NodeError `media-damaged` when there have been too many for the audio so far. */
  spend(): void {
    if (this.#left < 1) {
      const message = `decode the track: it changes its rate, channels or codec more than once per second of audio`;
      throw new NodeError("media-damaged", `${message}; check that the file plays elsewhere`);
    }
    this.#left -= 1;
  }

  /** Adds decoded audio, in samples at 48 kHz: each second of it allows one more change. */
  earn(lengthSamples: number): void {
    this.#left = Math.min(CHANGES_MAX, this.#left + lengthSamples / SAMPLE_RATE_HZ);
  }
}
