// Tonearm's flanger filter: adds the audio a moment later, the moment between `delay` and `depth` less than that, and
// feeds it back: a comb that sweeps through the audio. Audio thread.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { SAMPLES_PER_MS } from "../../format/audio-format.ts";
import { defineFilter } from "./filter-definition.ts";
import { ModulatedDelay, type ModulatedDelaySettings } from "./modulated-delay.ts";

function delayOf({ frequency, depth, delay, feedback, mix }: SettingsOf<"flanger">): ModulatedDelaySettings {
  const delaySamplesMax = delay * SAMPLES_PER_MS;
  return { frequencyHz: frequency, delaySamplesMin: delaySamplesMax * (1 - depth), delaySamplesMax, feedback, mix };
}

export const flanger = defineFilter(
  "flanger",
  ModulatedDelay,
  (settings, previous) => new ModulatedDelay(delayOf(settings), { previous }),
);
