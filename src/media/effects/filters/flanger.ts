// Tonearm's filter of that name: the sound beside itself a moment later, the moment between `delay` and `depth` less
// than that, and fed back: a comb that sweeps through it. Audio thread.

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
