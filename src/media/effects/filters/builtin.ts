// The filters of the protocol, in the order in which audio passes them (protocol-v4.md section 3.3), with Tonearm's own
// filters and those of Lavalink's plugins before and after them. Audio thread.

import { channelMix } from "./channel-mix.ts";
import { chorus } from "./chorus.ts";
import { combReverb } from "./comb-reverb.ts";
import { compressor } from "./compressor.ts";
import { distortion } from "./distortion.ts";
import { echo, filterPluginEcho, lavadspxEcho } from "./echo.ts";
import { equalizer } from "./equalizer.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { flanger } from "./flanger.ts";
import { karaoke } from "./karaoke.ts";
import { lowPass } from "./low-pass.ts";
import { normalization } from "./normalization.ts";
import { highPass, lavadspxHighPass, lavadspxLowPass } from "./pass-filters.ts";
import { phaser } from "./phaser.ts";
import { reverb } from "./reverb.ts";
import { rotation } from "./rotation.ts";
import { tremolo } from "./tremolo.ts";
import { vibrato } from "./vibrato.ts";
import { volume } from "./volume.ts";

/** Filters that work on track samples, before timescale changes their speed. */
export const FILTERS_BEFORE_TIMESCALE: readonly FilterDefinition[] = [
  highPass,
  lavadspxHighPass,
  lavadspxLowPass,
  lowPass,
  channelMix,
  rotation,
  distortion,
  vibrato,
  tremolo,
];

/** Filters that work on output samples, after timescale. */
export const FILTERS_AFTER_TIMESCALE: readonly FilterDefinition[] = [
  karaoke,
  equalizer,
  volume,
  compressor,
  normalization,
  chorus,
  flanger,
  phaser,
  echo,
  lavadspxEcho,
  filterPluginEcho,
  reverb,
  combReverb,
];
