// Tonearm's chorus filter: a second voice beside the first, `delay` behind it and wavering. Audio thread.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { SAMPLES_PER_MS } from "../../format/audio-format.ts";
import { defineFilter } from "./filter-definition.ts";
import { ModulatedDelay, type ModulatedDelaySettings } from "./modulated-delay.ts";

/** 4 ms: how far the delay swings to either side at depth 1. */
const SWING_SAMPLES = 192;

function delayOf({ frequency, depth, delay, mix }: SettingsOf<"chorus">): ModulatedDelaySettings {
  const [centre, swing] = [delay * SAMPLES_PER_MS, depth * SWING_SAMPLES];
  const [delaySamplesMin, delaySamplesMax] = [centre - swing, centre + swing];
  return { frequencyHz: frequency, delaySamplesMin, delaySamplesMax, feedback: 0, mix };
}

export const chorus = defineFilter(
  "chorus",
  ModulatedDelay,
  (settings, previous) => new ModulatedDelay(delayOf(settings), { previous }),
);
