// Where the equalizer's loop finds what in its memory; read by both compilers (block.ts).

import { KERNEL_SAMPLES, SIDE_BYTES, VECTOR_BYTES } from "./block.ts";

/** There is room for so many bands. */
const BANDS_MAX = 15;

/** Bands that are worked on at a time. */
export const GROUP_BANDS = 3;

/** A band, the first from byte 0 on, is five vectors, each left and right: g, then b … */
export const BAND_B = VECTOR_BYTES;

/** … k … */
export const BAND_K = 2 * VECTOR_BYTES;

/** … and the state, w1 … */
export const BAND_W1 = 3 * VECTOR_BYTES;

/** … and w2. */
export const BAND_W2 = 4 * VECTOR_BYTES;

/** From one band to the next. */
export const BAND_BYTES = 5 * VECTOR_BYTES;

/** The last sample heard, left and right as f64, behind all bands … */
export const HISTORY_X1 = BANDS_MAX * BAND_BYTES;

/** … and the one before. */
export const HISTORY_X2 = HISTORY_X1 + VECTOR_BYTES;

/** Sound, f32, in and out: left. */
export const EQUALIZER_LEFT = HISTORY_X2 + VECTOR_BYTES;

/** Right. */
export const EQUALIZER_RIGHT = EQUALIZER_LEFT + SIDE_BYTES;

/** Of each sample, left and right as f64: the input minus that of two samples before. */
export const EQUALIZER_DIFFERENCES = EQUALIZER_RIGHT + SIDE_BYTES;

/** Likewise the sum of all bands. */
export const EQUALIZER_SUMS = EQUALIZER_DIFFERENCES + VECTOR_BYTES * KERNEL_SAMPLES;
