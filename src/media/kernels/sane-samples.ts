// Damaged or hostile media: what is no number is silence, what is absurdly loud is less so. Filters would never
// recover. Runs on track samples before anything else does. Audio thread; no allocation.

import { SAMPLE_MAX } from "./numbers/loudness.ts";

/**
 * Changes the first `lengthSamples` of both sides in place: what is no number becomes 0, the rest ends at SAMPLE_MAX.
 */
export function sanitize(left: Float32Array, right: Float32Array, lengthSamples: number): void {
  for (let sample = 0; sample < lengthSamples; sample++) {
    if (!(Math.abs(left[sample]!) <= SAMPLE_MAX)) left[sample] = sane(left[sample]!);
    if (!(Math.abs(right[sample]!) <= SAMPLE_MAX)) right[sample] = sane(right[sample]!);
  }
}

function sane(value: number): number {
  return Number.isNaN(value) ? 0 : Math.sign(value) * SAMPLE_MAX;
}
