// The channel mix filter: each side becomes a mixture of both, clipped to full scale as upstream does. Audio thread; no
// allocation.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { clamp } from "../../format/clamp.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { defineFilter } from "./filter-definition.ts";

class ChannelMixFilter implements AudioFilter {
  readonly #mix: SettingsOf<"channelMix">;

  constructor(mix: SettingsOf<"channelMix">) {
    this.#mix = mix;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const { leftToLeft, leftToRight, rightToLeft, rightToRight } = this.#mix;
    for (let sample = 0; sample < lengthSamples; sample++) {
      const l = left[sample]!;
      const r = right[sample]!;
      left[sample] = clamp(leftToLeft * l + rightToLeft * r);
      right[sample] = clamp(leftToRight * l + rightToRight * r);
    }
  }

  reset(): void {
    // There is no state.
  }
}

export const channelMix = defineFilter("channelMix", ChannelMixFilter, (mix) => new ChannelMixFilter(mix));
