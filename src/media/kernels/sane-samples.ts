// Makes samples from damaged or hostile media valid: NaN becomes silence, absurdly loud values are limited. Filters
// would never recover. Runs on track samples before everything else. Audio thread; no allocation.

import { SAMPLE_MAX } from "./numbers/loudness.ts";

/** Changes the first `lengthSamples` of both sides in place: NaN becomes 0, other values are limited to SAMPLE_MAX. */
export function sanitize(left: Float32Array, right: Float32Array, lengthSamples: number): void {
  for (let sample = 0; sample < lengthSamples; sample++) {
    if (!(Math.abs(left[sample]!) <= SAMPLE_MAX)) left[sample] = sane(left[sample]!);
    if (!(Math.abs(right[sample]!) <= SAMPLE_MAX)) right[sample] = sane(right[sample]!);
  }
}

function sane(value: number): number {
  return Number.isNaN(value) ? 0 : Math.sign(value) * SAMPLE_MAX;
}
