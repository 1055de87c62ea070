// Codes the remainder of the coarse coding of levels, in fractions of 6 dB (RFC 6716 sections 4.3.2.2 and 4.3.2.3).
// AssemblyScript.

import { BANDS, FINE_BITS_MAX } from "./format.ts";
import { floatAt, intAt, setFloat } from "./lists.ts";
import { BANDS_BYTES, FINE_BITS, FINE_PRIORITY, LEVEL_ERRORS } from "./memory-map.ts";
import { encodeRaw, tell } from "./range-encoder.ts";
import { oldLevels } from "./slot.ts";

/** Codes the number of bits per band that FINE_BITS gives. */
export function codeFineLevels(channels: i32, bitsMax: i32): void {
  for (let band = 0; band < BANDS; band++) {
    const bits = intAt(FINE_BITS, band);
    if (bits <= 0 || tell() + channels * bits > bitsMax) continue;
    const steps = 1 << bits;
    for (let channel = 0; channel < channels; channel++) {
      const error = floatAt(LEVEL_ERRORS + usize(channel) * BANDS_BYTES, band);
      const step = max(0, min(steps - 1, i32(Mathf.floor((error + 0.5) * f32(steps)))));
      encodeRaw(u32(step), bits);
      correct(channel, band, (f32(step) + 0.5) / f32(steps) - 0.5);
    }
  }
}

/** One more bit per band and channel, while bits are left: first for the bands with priority. */
export function codeLeftOverBits(channels: i32, bitsLeft: i32): void {
  for (let priority = 0; priority < 2; priority++) {
    for (let band = 0; band < BANDS && bitsLeft >= channels; band++) {
      const bits = intAt(FINE_BITS, band);
      if (bits >= FINE_BITS_MAX || intAt(FINE_PRIORITY, band) !== priority) continue;
      for (let channel = 0; channel < channels; channel++) {
        const isAbove = floatAt(LEVEL_ERRORS + usize(channel) * BANDS_BYTES, band) >= 0;
        encodeRaw(u32(isAbove), 1);
        correct(channel, band, (isAbove ? 0.5 : -0.5) / f32(2 << bits));
      }
      bitsLeft -= channels;
    }
  }
}

function correct(channel: i32, band: i32, by: f32): void {
  const errors = LEVEL_ERRORS + usize(channel) * BANDS_BYTES;
  setFloat(errors, band, floatAt(errors, band) - by);
  setFloat(oldLevels(channel), band, floatAt(oldLevels(channel), band) + by);
}
