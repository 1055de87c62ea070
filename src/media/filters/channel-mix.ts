// The filter of that name: each side becomes a mixture of both, cut to full scale as upstream does. Audio thread; no
// allocation.

import type { AudioFilter } from "./audio-filter.ts";
import { clamp } from "./clamp.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { isPresent, numberSetting } from "./setting.ts";

interface Mix {
  readonly leftToLeft: number;
  readonly leftToRight: number;
  readonly rightToLeft: number;
  readonly rightToRight: number;
}

class ChannelMixFilter implements AudioFilter {
  readonly #mix: Mix;

  constructor(mix: Mix) {
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
    // Nothing is remembered.
  }
}

/** The published range is 0 to 1; ten times that, either way, is as far as numbers are followed here. */
const SHARE_MAX = 10;

function mixOf(settings: unknown): Mix {
  const share = (member: string, fallback: number) =>
    numberSetting(settings, member, { fallback, min: -SHARE_MAX, max: SHARE_MAX });
  return {
    leftToLeft: share("leftToLeft", 1),
    leftToRight: share("leftToRight", 0),
    rightToLeft: share("rightToLeft", 0),
    rightToRight: share("rightToRight", 1),
  };
}

export const channelMix: FilterDefinition = {
  name: "channelMix",
  isEnabled(settings) {
    const { leftToLeft, leftToRight, rightToLeft, rightToRight } = mixOf(settings);
    const isIdentity = leftToLeft === 1 && leftToRight === 0 && rightToLeft === 0 && rightToRight === 1;
    return isPresent(settings) && !isIdentity;
  },
  create: (settings) => new ChannelMixFilter(mixOf(settings)),
};
