// Tonearm's filter of that name: a second voice beside the first, `delay` behind it and wavering. Audio thread.

import { SAMPLES_PER_MS } from "../format/audio-format.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { ModulatedDelay, type ModulatedDelaySettings } from "./modulated-delay.ts";
import { isPresent, tonearmSettings } from "./setting.ts";

/** 4 ms: how far the delay swings to either side at depth 1. */
const SWING_SAMPLES = 192;

function settingsOf(settings: unknown): ModulatedDelaySettings {
  const { frequency, depth, delay, mix } = tonearmSettings("chorus", settings);
  const [centre, swing] = [delay * SAMPLES_PER_MS, depth * SWING_SAMPLES];
  const [delaySamplesMin, delaySamplesMax] = [centre - swing, centre + swing];
  return { frequencyHz: frequency, delaySamplesMin, delaySamplesMax, feedback: 0, mix };
}

export const chorus: FilterDefinition = {
  plugin: "tonearm",
  name: "chorus",
  isEnabled: (settings) => isPresent(settings) && settingsOf(settings).mix !== 0,
  create: (settings, previous) =>
    new ModulatedDelay(settingsOf(settings), {
      previous: previous instanceof ModulatedDelay ? previous : undefined,
    }),
};
