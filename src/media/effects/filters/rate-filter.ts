// The interface of a filter that changes the length of audio (timescale), 48 kHz stereo. It cannot work in place: track
// samples are pushed in, and as many as are ready are read out. It counts the track samples it holds, so that the
// position stays exact through every change of speed. Audio thread; no allocation once it runs.
//
// How EffectChain uses it: while less than a frame is available, it pulls track samples (already through the filters
// before), pushes them, and reads the frame for the filters after. Position of the last sample read = track samples
// pushed so far minus `heldSamples`.

import type { SettingsOf } from "../../../filters/filter-settings.ts";

/**
 * Used on the audio thread, within a tick; nothing throws or allocates, except that buffers may grow to the size the
 * settings need.
 */
export interface RateFilter {
  /** Takes the first `lengthSamples` (1 to 960) of both channels; they are copied. */
  push(left: Float32Array, right: Float32Array, lengthSamples: number): void;

  /** Samples that `readInto` can return now. */
  readonly availableSamples: number;

  /** Moves up to `lengthSamples` to the start of both arrays; returns how many there were. */
  readInto(left: Float32Array, right: Float32Array, lengthSamples: number): number;

  /**
   * Track samples pushed whose output has not been read, possibly a fraction: samples that wait for more input and
   * finished ones. The first output sample belongs to the first input sample: there is no delay to subtract, only this.
   * 0 when everything has been read after a flush.
   */
  readonly heldSamples: number;

  /** Track samples per sample read, for the next samples read: speed times rate. */
  readonly rate: number;

  /** Ends the track: makes all held samples available, tail included. `push` may start again later. */
  flush(): void;

  /**
   * New settings without a seam; undefined means off: the filter glides to its identity. Takes effect with the audio
   * that is not finished yet, so at most a few tens of milliseconds late.
   */
  change(settings: SettingsOf<"timescale"> | undefined): void;

  /**
   * True when switched off and all audio made with other settings has been read: from here on the output equals the
   * input, bit for bit, and all held samples can be read (availableSamples === heldSamples). EffectChain then reads it
   * empty without pushing, and drops the filter: so packets can be passed through again.
   */
  readonly isIdentity: boolean;

  /** Drops held samples (a seek, another track). Settings stay. */
  reset(): void;
}
