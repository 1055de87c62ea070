// Tonearm's filter of that name: the sound beside itself a moment later, the moment between `delay` and `depth` less than
// that, and fed back: a comb that sweeps through it. Audio thread.

import { SAMPLES_PER_MS } from "../format/audio-format.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { ModulatedDelay, type ModulatedDelaySettings } from "./modulated-delay.ts";
import { isPresent, tonearmSettings } from "./setting.ts";

function settingsOf(settings: unknown): ModulatedDelaySettings {
  const { frequency, depth, delay, feedback, mix } = tonearmSettings("flanger", settings);
  const delaySamplesMax = delay * SAMPLES_PER_MS;
  return { frequencyHz: frequency, delaySamplesMin: delaySamplesMax * (1 - depth), delaySamplesMax, feedback, mix };
}

export const flanger: FilterDefinition = {
  plugin: "tonearm",
  name: "flanger",
  isEnabled: (settings) => isPresent(settings) && settingsOf(settings).mix !== 0,
  create: (settings, previous) =>
    new ModulatedDelay(settingsOf(settings), {
      previous: previous instanceof ModulatedDelay ? previous : undefined,
    }),
};
