// The shapes of fades: how loud a sound is on its way from silence to full. Audio thread.

import type { SettingsOf } from "../../filters/filter-settings.ts";
import { SAMPLES_PER_MS } from "../format/audio-format.ts";

/** "exponential" grows by the same factor in each moment, through 60 dB; silence itself lies below. */
const EXPONENTIAL_RANGE = 1000;

export type FadeCurve = SettingsOf<"fadeIn">["curve"];

/** How a fade was asked for. Never of length 0: that is no fade. */
export interface Fade {
  /** Of what is heard, 1 or more; whatever the rate of timescale. */
  readonly lengthSamples: number;
  readonly curve: FadeCurve;
}

/** Undefined for what is not there. */
export function fadeOf(settings: SettingsOf<"fadeIn"> | undefined): Fade | undefined {
  if (settings === undefined) return undefined;
  return { lengthSamples: Math.max(1, Math.round(settings.duration * SAMPLES_PER_MS)), curve: settings.curve };
}

/**
 * What a rising sound is multiplied by at `share` (0 to 1) of its way; a falling one at `1 - share`. "sine": a falling
 * and a rising track together are as loud as one alone.
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
