// The filters of the protocol, in the order in which sound passes them (protocol-v4.md section 3.3). Audio thread.

import { channelMix } from "./channel-mix.ts";
import { distortion } from "./distortion.ts";
import { equalizer } from "./equalizer.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { karaoke } from "./karaoke.ts";
import { lowPass } from "./low-pass.ts";
import { rotation } from "./rotation.ts";
import { tremolo } from "./tremolo.ts";
import { vibrato } from "./vibrato.ts";
import { volume } from "./volume.ts";

export const FILTERS_BEFORE_TIMESCALE: readonly FilterDefinition[] = [
  lowPass,
  channelMix,
  rotation,
  distortion,
  vibrato,
  tremolo,
];

export const FILTERS_AFTER_TIMESCALE: readonly FilterDefinition[] = [karaoke, equalizer, volume];
