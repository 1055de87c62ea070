// The interface of a filter that changes how long sound lasts (timescale), 48 kHz stereo. It cannot work in place:
// track samples are pushed in, and as many as are ready are read out. Keeps count of the track samples it holds, so
// that the position stays exact through every change of speed. Audio thread; no allocation once it runs.
//
// How EffectChain uses it: as long as fewer than a frame are available, it pulls track samples (already through the
// filters before), pushes them, and reads the frame for the filters behind. Position of what is read last = track
// samples pushed so far minus `heldSamples`.

import type { SettingsOf } from "../../../filters/filter-settings.ts";

/**
 * All on the audio thread, within a tick; none of it throws or allocates, but that buffers may grow to what the
 * settings need.
 */
export interface RateFilter {
  /** Takes the first `lengthSamples` (1 to 960) of both channels; they are copied. */
  push(left: Float32Array, right: Float32Array, lengthSamples: number): void;

  /** Samples that `readInto` can give now. */
  readonly availableSamples: number;

  /** Moves up to `lengthSamples` to the start of both arrays; returns how many there were. */
  readInto(left: Float32Array, right: Float32Array, lengthSamples: number): number;

  /**
   * Track samples pushed whose sound has not been read, as a fraction where need be: those waiting for more input and
   * those that lie finished. The first sample out belongs to the first in: there is no delay to subtract, only this. 0
   * when everything has been read after a flush.
   */
  readonly heldSamples: number;

  /** Track samples per sample read, for what is read next: speed times rate. */
  readonly rate: number;

  /**
   * The track is over, no more of it is coming: makes all that is held available, tail included. `push` may start anew
   * later.
   */
  flush(): void;

  /**
   * New settings without a seam; undefined means off: the filter goes to its identity. Takes effect with the sound that
   * is not yet finished, so at most a few tens of milliseconds late.
   */
  change(settings: SettingsOf<"timescale"> | undefined): void;

  /**
   * True when switched off and all sound made with other settings has been read: what comes out from here on is, bit
   * for bit, what went in, and all that is held can be read (availableSamples === heldSamples). EffectChain then reads
   * it empty without pushing, and drops the filter: so the way back to passing packets through is open.
   */
  readonly isIdentity: boolean;

  /** Drops what is held (a seek, another track). Settings stay. */
  reset(): void;
}
