// Memory layout of the loop of chorus and flanger, and constants shared with the plain one; read by both compilers
// (block.ts).

import { F32_BYTES, GROUP_SAMPLES, SIDE_BYTES } from "./block.ts";

/** Samples in a side's ring, a power of two: 85 ms. */
export const DELAY_LINE_SIZE = 4096;

/** Shortest delay: the interpolation reads two samples beyond it, and two are processed at a time. */
export const DELAY_SAMPLES_MIN = 4;

/** The ring of the left side, f32. */
export const DELAY_LEFT_LINE = 0;

/** End of the left ring, where its first samples are repeated. */
export const DELAY_LEFT_LINE_END = DELAY_LEFT_LINE + F32_BYTES * DELAY_LINE_SIZE;

/** The ring of the right side. */
export const DELAY_RIGHT_LINE = DELAY_LEFT_LINE_END + F32_BYTES * GROUP_SAMPLES;

/** End of the right ring. */
export const DELAY_RIGHT_LINE_END = DELAY_RIGHT_LINE + F32_BYTES * DELAY_LINE_SIZE;

/** Audio, f32, in and out: left. */
export const DELAY_LEFT = DELAY_RIGHT_LINE_END + F32_BYTES * GROUP_SAMPLES;

/** Audio, right. */
export const DELAY_RIGHT = DELAY_LEFT + SIDE_BYTES;

/** Sine and cosine for the next sample, f64. */
export const DELAY_POINTER = DELAY_RIGHT + SIDE_BYTES;
