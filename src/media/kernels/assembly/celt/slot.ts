// The state that one stream retains from frame to frame, and its layout in the slot. One slot is active at a time, the one
// that `chooseSlot` named. AssemblyScript, part of the CELT decoder.

import { BANDS } from "../../../../../opus-encoder/assembly/format.ts";
import { setFloat } from "../../../../../opus-encoder/assembly/lists.ts";
import { BANDS_BYTES } from "../../../../../opus-encoder/assembly/memory-map.ts";
import { chosenSlot, setRetained } from "../../../../../opus-encoder/assembly/retained.ts";
import { SLOT_BYTES } from "../../numbers/celt.ts";

/** The level of silence, in binary logarithms from the mean. */
export const SILENT_LEVEL: f32 = -28;
/** Audio of the past that the pitch filter uses, in samples. */
const PAST_SAMPLES: i32 = 1024;

// Whole numbers, by their index.
export const CHANNELS: i32 = 0;
/** State of the generator of noise: the range after the frame before. */
export const SEED: i32 = 1;
/** The pitch filter of the frame before, and the one that it began with. */
export const PERIOD: i32 = 2;
export const TAPS: i32 = 3;
export const OLD_PERIOD: i32 = 4;
export const OLD_TAPS: i32 = 5;

// Floats, by their index.
export const GAIN: i32 = 6;
export const OLD_GAIN: i32 = 7;
/** The last sample of each channel. */
export const EMPHASIS: i32 = 8;

const NUMBERS_BYTES: usize = 64;
const LEVELS: usize = NUMBERS_BYTES;
const LEVELS_BEFORE: usize = LEVELS + 2 * BANDS_BYTES;
const LEVELS_BEFORE_THAT: usize = LEVELS_BEFORE + 2 * BANDS_BYTES;
const SIGNALS: usize = LEVELS_BEFORE_THAT + 2 * BANDS_BYTES;
/** Past, frame, and the half of the overlap that the next frame completes. */
const SIGNAL_BYTES: usize = 4 * (1024 + 960 + 64);

/** Resets everything to the state before the first frame. */
export function clearSlot(channels: i32): void {
  memory.fill(chosenSlot(), 0, SLOT_BYTES);
  setRetained(CHANNELS, channels);
  for (let channel = 0; channel < 2; channel++) {
    for (let band = 0; band < BANDS; band++) {
      setFloat(levelsBefore(channel), band, SILENT_LEVEL);
      setFloat(levelsBeforeThat(channel), band, SILENT_LEVEL);
    }
  }
}

/** The levels of bands of one channel, in binary logarithms from the mean. */
export function levels(channel: i32): usize {
  return chosenSlot() + LEVELS + usize(channel) * BANDS_BYTES;
}

/** The levels of the last frame with a long block, and lower ones since. */
export function levelsBefore(channel: i32): usize {
  return chosenSlot() + LEVELS_BEFORE + usize(channel) * BANDS_BYTES;
}

/** The same of the frame with a long block before that. */
export function levelsBeforeThat(channel: i32): usize {
  return chosenSlot() + LEVELS_BEFORE_THAT + usize(channel) * BANDS_BYTES;
}

/** Where the frame begins, behind the past. */
export function signal(channel: i32): usize {
  return chosenSlot() + SIGNALS + usize(channel) * SIGNAL_BYTES + 4 * PAST_SAMPLES;
}

/** After a frame of so many samples: it becomes the past. */
export function passSignal(channel: i32, samples: usize): void {
  const past = signal(channel) - 4 * PAST_SAMPLES;
  memory.copy(past, past + 4 * samples, 4 * (PAST_SAMPLES + 60));
}
