// Memory layout of the vibrato's loop; read by both compilers (block.ts).

import { F32_BYTES, KERNEL_SAMPLES, SIDE_BYTES } from "./block.ts";

/** Samples of the past that are retained: the longest delay and the two behind it that the interpolation reads. */
export const PAST_SAMPLES = 104;

/** Samples of the past and of the current block. */
export const VIBRATO_LINE_SAMPLES = PAST_SAMPLES + KERNEL_SAMPLES;

/** Past and current block, f32: left. */
export const VIBRATO_LEFT = 0;

/** Audio, right. */
export const VIBRATO_RIGHT = VIBRATO_LEFT + F32_BYTES * VIBRATO_LINE_SAMPLES;

/** Output, f32: left. */
export const VIBRATO_LEFT_OUT = VIBRATO_RIGHT + F32_BYTES * VIBRATO_LINE_SAMPLES;

/** Output, right. */
export const VIBRATO_RIGHT_OUT = VIBRATO_LEFT_OUT + SIDE_BYTES;
