// The state that one encoder retains from frame to frame, and its layout in the slot. One slot is active at a time, the
// one that `chooseSlot` named. AssemblyScript.

import { F32_BYTES, SLOT_BYTES } from "../src/numbers.ts";
import { AHEAD_SAMPLES, OVERLAP_SAMPLES, PITCH_PAST_SAMPLES } from "./format.ts";
import { BANDS_BYTES } from "./memory-map.ts";
import { chosenSlot, setRetained } from "./retained.ts";

/** The level of silence, in binary logarithms from the mean. */
export const SILENT_LEVEL: f32 = -28;

// Whole numbers, by their index.
export const CHANNELS: i32 = 0;
export const PITCH_PERIOD: i32 = 1;
export const PITCH_TAPS: i32 = 2;
export const SPREAD: i32 = 3;
export const SPREAD_AVERAGE: i32 = 4;
export const TAPS_AVERAGE: i32 = 5;
export const TAPS_CHOICE: i32 = 6;
export const INTENSITY: i32 = 7;
export const CODED_BANDS: i32 = 8;
export const TRANSIENTS_IN_A_ROW: i32 = 9;
export const RESERVOIR: i32 = 10;
export const DRIFT: i32 = 11;
export const RATE_OFFSET: i32 = 12;
export const RATED_FRAMES: i32 = 13;
export const IS_UNLIKE: i32 = 14;

// Floats, by their index.
export const EMPHASIS: i32 = 16;
export const PITCH_GAIN: i32 = 18;
export const STEREO_SAVING: i32 = 20;
export const LEVEL_AVERAGE: i32 = 21;
export const LATE_PEAK: i32 = 22;
/** Offset of each channel. */
export const OFFSET: i32 = 24;

const NUMBERS_BYTES: usize = 128;
const OLD_LEVELS: usize = NUMBERS_BYTES;
const OVERLAPS: usize = OLD_LEVELS + 2 * BANDS_BYTES;
/** Size for one channel. */
export const RETAINED_BYTES: usize = F32_BYTES * (PITCH_PAST_SAMPLES + AHEAD_SAMPLES);
const HISTORIES: usize = OVERLAPS + 2 * F32_BYTES * OVERLAP_SAMPLES;

/** Resets everything to the state before the first frame. */
export function clearSlot(channels: i32): void {
  memory.fill(chosenSlot(), 0, SLOT_BYTES);
  setRetained(CHANNELS, channels);
  setRetained(SPREAD, 2);
  setRetained(SPREAD_AVERAGE, 256);
}

/** The levels of bands as the decoder has them, of one channel. */
export function oldLevels(channel: i32): usize {
  return chosenSlot() + OLD_LEVELS + usize(channel) * BANDS_BYTES;
}

/** The last 120 samples that were transformed. */
export function retainedOverlap(channel: i32): usize {
  return chosenSlot() + OVERLAPS + usize(channel) * (F32_BYTES * OVERLAP_SAMPLES);
}

/** The last 1216 samples with pre-emphasis, before the pitch filter: 1024 that were coded, and the next ones. */
export function retainedHistory(channel: i32): usize {
  return chosenSlot() + HISTORIES + usize(channel) * RETAINED_BYTES;
}
