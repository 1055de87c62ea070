// Memory layout of the equalizer's loop; read by both compilers (block.ts).

import { KERNEL_SAMPLES, SIDE_BYTES, VECTOR_BYTES } from "./block.ts";

/** Capacity in bands. */
const BANDS_MAX = 15;

/** Bands that are worked on at a time. */
export const GROUP_BANDS = 3;

/** A band, the first from byte 0 on, is five vectors, each left and right: g, b, k, w1, w2. Offset of b. */
export const BAND_B = VECTOR_BYTES;

/** Offset of k. */
export const BAND_K = 2 * VECTOR_BYTES;

/** Offset of w1, the first value of the state. */
export const BAND_W1 = 3 * VECTOR_BYTES;

/** Offset of w2, the second value of the state. */
export const BAND_W2 = 4 * VECTOR_BYTES;

/** Distance between two bands. */
export const BAND_BYTES = 5 * VECTOR_BYTES;

/** x1, the last input sample, left and right as f64, behind all bands. */
export const HISTORY_X1 = BANDS_MAX * BAND_BYTES;

/** x2, the input sample before x1. */
export const HISTORY_X2 = HISTORY_X1 + VECTOR_BYTES;

/** Audio, f32, in and out: left. */
export const EQUALIZER_LEFT = HISTORY_X2 + VECTOR_BYTES;

/** Audio, right. */
export const EQUALIZER_RIGHT = EQUALIZER_LEFT + SIDE_BYTES;

/** Per sample, left and right as f64: the input minus the input two samples before. */
export const EQUALIZER_DIFFERENCES = EQUALIZER_RIGHT + SIDE_BYTES;

/** Per sample, left and right as f64: the sum of all bands. */
export const EQUALIZER_SUMS = EQUALIZER_DIFFERENCES + VECTOR_BYTES * KERNEL_SAMPLES;
