// Leaks: the window of a long block cuts off so sharply that a loud band reaches into soft ones beside it. The leak
// itself cancels out in the decoder, but noise in proportion to it does not. AssemblyScript.

import { VECTOR_BYTES } from "../src/numbers.ts";
import { log2 } from "./approximations.ts";
import { bandByte, bandWidth } from "./format.ts";
import { floatAt, setFloat, sumOfLanes } from "./lists.ts";
import { BAND_SPARE, BANDS_BYTES, CHANNEL_BYTES, LEAKS, SPECTRUM } from "./memory-map.ts";

const NOTHING: f32 = 1e-9;
/** Bands above these are so wide that no neighbour reaches far into them. */
const LEAK_BANDS: i32 = 12;
/** A band is audible in another 15 dB softer at most, and less by 12 dB with each 200 Hz between; binary logarithms. */
const REACH: f32 = 2.5;
const SLOPE: f32 = 2;

// Per band: its level, the leak of its neighbours in it, and how loud it may be before its noise is audible in them.
const CLEAR: usize = BAND_SPARE;
const INTO: usize = CLEAR + BANDS_BYTES;
const LEAST: usize = INTO + BANDS_BYTES;

/** Writes LEAKS, for both channels together, from a long block in SPECTRUM. */
export function measureLeaks(channels: i32): void {
  for (let band = 0; band < LEAK_BANDS; band++) {
    let energy = NOTHING + clearEnergy(SPECTRUM, band);
    if (channels === 2) energy += clearEnergy(SPECTRUM + CHANNEL_BYTES, band);
    const level: f32 = 0.5 * log2(energy);
    setFloat(CLEAR, band, level);
    setFloat(INTO, band, level);
    setFloat(LEAST, band, level);
  }
  for (let band = 1; band < LEAK_BANDS; band++) reachOver(band, band - 1, SLOPE * f32(bandWidth(band - 1)));
  for (let band = LEAK_BANDS - 2; band >= 0; band--) reachOver(band, band + 1, SLOPE * f32(bandWidth(band)));
  for (let band = 0; band < LEAK_BANDS; band++) {
    const level = floatAt(CLEAR, band);
    const softer: f32 = max<f32>(0, floatAt(INTO, band) - level - REACH);
    const louder: f32 = max<f32>(0, level - floatAt(LEAST, band) - REACH);
    setFloat(LEAKS, band, min<f32>(4, softer + louder));
  }
}

function reachOver(band: i32, from: i32, slope: f32): void {
  setFloat(INTO, band, max(floatAt(INTO, band), floatAt(INTO, from) - slope));
  setFloat(LEAST, band, min(floatAt(LEAST, band), floatAt(LEAST, from) + slope));
}

/**
 * The energy of a band as if the frame were faded in and out by a raised cosine, whose spectrum falls fast: each
 * coefficient less half of those two below and two above.
 */
function clearEnergy(spectrum: usize, band: i32): f32 {
  const half = f32x4.splat(0.5);
  let sum = f32x4.splat(0);
  let at = spectrum + bandByte(band);
  const end = spectrum + bandByte(band + 1);
  do {
    const x = v128.load(at);
    // The spectrum continues below 0 as its mirror image.
    const below = at === spectrum ? f32x4.shuffle(x, x, 1, 0, 0, 1) : v128.load(at - 8);
    const y = f32x4.sub(x, f32x4.mul(half, f32x4.add(below, v128.load(at, 8))));
    sum = f32x4.add(sum, f32x4.mul(y, y));
    at += VECTOR_BYTES;
  } while (at < end);
  return sumOfLanes(sum);
}
