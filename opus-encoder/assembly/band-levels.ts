// The spectrum in two parts: how loud each band is, and its shape, which has length one. AssemblyScript.

import { VECTOR_BYTES } from "../src/numbers.ts";
import { log2 } from "./approximations.ts";
import { BANDS, bandByte, meanLevel } from "./format.ts";
import { floatAt, setFloat, sumOfLanes } from "./lists.ts";
import { AMPLITUDES, BANDS_BYTES, CHANNEL_BYTES, SHAPES, SPECTRUM } from "./memory-map.ts";

const NOTHING: f32 = 1e-27;

/** Writes AMPLITUDES of the data at `spectra`, and to `levels` their logarithms less the bands' means. */
export function measureBands(channels: i32, spectra: usize, levels: usize): void {
  for (let channel = 0; channel < channels; channel++) {
    const spectrum = spectra + usize(channel) * CHANNEL_BYTES;
    for (let band = 0; band < BANDS; band++) {
      const energy = NOTHING + energyOf(spectrum + bandByte(band), spectrum + bandByte(band + 1));
      setFloat(AMPLITUDES + usize(channel) * BANDS_BYTES, band, Mathf.sqrt(energy));
      setFloat(levels + usize(channel) * BANDS_BYTES, band, 0.5 * log2(energy) - meanLevel(band));
    }
  }
}

/** Writes SHAPES. */
export function shapeBands(channels: i32): void {
  for (let channel = 0; channel < channels; channel++) {
    const address = usize(channel) * CHANNEL_BYTES;
    for (let band = 0; band < BANDS; band++) {
      const factor = f32x4.splat(1 / floatAt(AMPLITUDES + usize(channel) * BANDS_BYTES, band));
      const end = address + bandByte(band + 1);
      for (let at = address + bandByte(band); at < end; at += VECTOR_BYTES) {
        v128.store(SHAPES + at, f32x4.mul(v128.load(SPECTRUM + at), factor));
      }
    }
  }
}

function energyOf(from: usize, end: usize): f32 {
  let even = f32x4.splat(0);
  let odd = f32x4.splat(0);
  do {
    const a = v128.load(from);
    const b = v128.load(from, VECTOR_BYTES);
    even = f32x4.add(even, f32x4.mul(a, a));
    odd = f32x4.add(odd, f32x4.mul(b, b));
    from += 2 * VECTOR_BYTES;
  } while (from < end);
  return sumOfLanes(f32x4.add(even, odd));
}
