// Chooses for each band between better resolution in time and in frequency: the one that makes its samples sparser,
// measured by the sum of their absolute values. Changes between neighbours cost bits, so a path through the bands is
// searched. AssemblyScript.

import { F32_BYTES, VECTOR_BYTES } from "../src/numbers.ts";
import { haar } from "./band-turns.ts";
import { BANDS, bandByte, bandWidth, SHORT_BLOCKS_LOG } from "./format.ts";
import { intAt, setInt, sumOfLanes } from "./lists.ts";
import { BAND_SPARE, BANDS_BYTES, CHANNEL_BYTES, IMPORTANCE, RESOLUTIONS, SHAPES, SPARE } from "./memory-map.ts";
import { changeFor } from "./resolution-changes.ts";

// Per band: twice the best change, and where the two paths came from.
const PREFERENCES: usize = BAND_SPARE;
const FROM_OFF: usize = PREFERENCES + BANDS_BYTES;
const FROM_ON: usize = FROM_OFF + BANDS_BYTES;
const TRIAL: usize = SPARE + F32_BYTES * 192;

/** Writes flags to RESOLUTIONS; returns which of the two pairs they refer to. `switchCost` is the cost of a change. */
export function chooseResolutions(isShort: bool, switchCost: i32, strength: f32, channel: i32): i32 {
  const bias: f32 = 0.04 * max<f32>(-0.25, 0.5 - strength);
  for (let band = 0; band < BANDS; band++) {
    setInt(PREFERENCES, band, preferenceOf(SHAPES + usize(channel) * CHANNEL_BYTES, band, isShort, bias));
  }
  const pair = isShort && costOfPath(isShort, 1, switchCost) < costOfPath(isShort, 0, switchCost) ? 1 : 0;
  let flag = costOfPath(isShort, pair, switchCost) & 1;
  for (let band = BANDS - 1; band >= 0; band--) {
    setInt(RESOLUTIONS, band, flag);
    flag = intAt(flag === 0 ? FROM_OFF : FROM_ON, band);
  }
  return pair;
}

/** Cost of the cheaper path; its lowest bit is the flag that the path ends with. */
function costOfPath(isShort: bool, pair: i32, switchCost: i32): i32 {
  let off = 0;
  let on = isShort ? 0 : switchCost;
  for (let band = 0; band < BANDS; band++) {
    if (band > 0) {
      const offFromOn = on + switchCost < off;
      const onFromOff = off + switchCost < on;
      setInt(FROM_OFF, band, offFromOn ? 1 : 0);
      setInt(FROM_ON, band, onFromOff ? 0 : 1);
      const offBefore = off;
      if (offFromOn) off = on + switchCost;
      if (onFromOff) on = offBefore + switchCost;
    }
    const weight = intAt(IMPORTANCE, band);
    const preference = intAt(PREFERENCES, band);
    off += weight * abs(preference - 2 * changeFor(SHORT_BLOCKS_LOG, isShort, pair, 0));
    on += weight * abs(preference - 2 * changeFor(SHORT_BLOCKS_LOG, isShort, pair, 1));
  }
  return on < off ? 2 * on + 1 : 2 * off;
}

/** Twice the change of resolution at which the band is sparsest. */
function preferenceOf(shapes: usize, band: i32, isShort: bool, bias: f32): i32 {
  const length = bandWidth(band) << SHORT_BLOCKS_LOG;
  const bytes = usize(length) << 2;
  const isNarrow = bandWidth(band) === 1;
  memory.copy(SPARE, shapes + bandByte(band), bytes);
  let least = sparsity(SPARE, bytes, isShort ? SHORT_BLOCKS_LOG : 0, bias);
  let level = 0;
  if (isShort && !isNarrow) {
    memory.copy(TRIAL, SPARE, bytes);
    haar(TRIAL, length >> SHORT_BLOCKS_LOG, 1 << SHORT_BLOCKS_LOG);
    const found = sparsity(TRIAL, bytes, SHORT_BLOCKS_LOG + 1, bias);
    if (found < least) {
      least = found;
      level = -1;
    }
  }
  const levels = SHORT_BLOCKS_LOG + (isShort || isNarrow ? 0 : 1);
  for (let step = 0; step < levels; step++) {
    haar(SPARE, length >> step, 1 << step);
    const found = sparsity(SPARE, bytes, isShort ? SHORT_BLOCKS_LOG - step - 1 : step + 1, bias);
    if (found < least) {
      least = found;
      level = step + 1;
    }
  }
  const preference = isShort ? 2 * level : -2 * level;
  // A narrow band cannot be divided further: the preference is halfway to the next division.
  return isNarrow && (preference === 0 || preference === -2 * SHORT_BLOCKS_LOG) ? preference - 1 : preference;
}

/** When in doubt, frequency resolution is preferred. */
function sparsity(shape: usize, bytes: usize, divisions: i32, bias: f32): f32 {
  let sum = f32x4.splat(0);
  const end = shape + bytes;
  do {
    sum = f32x4.add(sum, f32x4.abs(v128.load(shape)));
    shape += VECTOR_BYTES;
  } while (shape < end);
  return sumOfLanes(sum) * (1 + f32(divisions) * bias);
}
