// The shapes of fades: the gain of audio on its way from silence to full. Audio thread.

import type { SettingsOf } from "../../filters/filter-settings.ts";
import { SAMPLES_PER_MS } from "../format/audio-format.ts";

/** "exponential" grows by the same factor in each moment, through 60 dB; silence itself lies below. */
const EXPONENTIAL_RANGE = 1000;

export type FadeCurve = SettingsOf<"fadeIn">["curve"];

/** A requested fade. Never of length 0: that is not a fade. */
export interface Fade {
  /** Length in output samples, 1 or more; whatever the rate of timescale. */
  readonly lengthSamples: number;
  readonly curve: FadeCurve;
}

/** Undefined when the setting is missing. */
export function fadeOf(settings: SettingsOf<"fadeIn"> | undefined): Fade | undefined {
  if (settings === undefined) return undefined;
  return { lengthSamples: Math.max(1, Math.round(settings.duration * SAMPLES_PER_MS)), curve: settings.curve };
}

/**
 * Gain of audio that fades in at `share` (0 to 1) of the fade; audio that fades out uses `1 - share`. "sine": a track
 * that fades out and one that fades in together are as loud as one alone.
 */
export function fadeGain(curve: FadeCurve, share: number): number {
  if (share <= 0) return 0;
  if (share >= 1) return 1;
  switch (curve) {
    case "linear":
      return share;
    case "sine":
      return Math.sin((share * Math.PI) / 2);
    case "exponential":
      return (EXPONENTIAL_RANGE ** share - 1) / (EXPONENTIAL_RANGE - 1);
  }
}
