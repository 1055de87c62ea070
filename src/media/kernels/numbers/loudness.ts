// Constants that the loops of the loudness stage share with the plain ones: filters, limits, and the memory layout;
// read by both compilers (block.ts).

import { F32_BYTES, VECTOR_BYTES } from "./block.ts";

/** 24 dB over full scale: no decoder outputs more for valid audio. */
export const SAMPLE_MAX = 16;

/** BS.1770-4 table 1, at 48 kHz: a shelf for the head. */
export const SHELF_B0 = 1.53512485958697;

/** b1 of the shelf. */
export const SHELF_B1 = -2.69169618940638;

/** b2 of the shelf. */
export const SHELF_B2 = 1.19839281085285;

/** a1 of the shelf. */
export const SHELF_A1 = -1.69065929318241;

/** a2 of the shelf. */
export const SHELF_A2 = 0.73248077421585;

/** BS.1770-4 table 2: a1 of the high-pass, whose b are 1, -2, 1. */
export const HIGH_PASS_A1 = -1.99004745483398;

/** a2 of the high-pass. */
export const HIGH_PASS_A2 = 0.99007225036621;

/** Samples per channel that fit. */
export const LOUDNESS_SAMPLES = 1280;

/** Samples per peak value. */
export const CHUNK_SAMPLES = 16;

/** Samples read before a chunk: the interpolation takes 5, but the loop takes pairs of samples. */
export const REACH_BEFORE_SAMPLES = 6;

/** Samples read behind a chunk. */
export const REACH_BEHIND_SAMPLES = 6;

/** Taps on either side of a position between two samples. */
export const TAP_PAIRS = 6;

/** For each pair: one for half way, then an even and an odd one for each of three early positions. */
export const TAPS_PER_PAIR = 7;

/** More than a frame: the loop writes up to three samples too many. */
export const LOUDNESS_OUT_SAMPLES = 1024;

/** State of the weighting, pairs of f64, left and right of each: w1, w2 of the shelf, v1, v2 of the high-pass. */
export const WEIGHTING_STATE = 0;

/** Each a vector of four equal f32. */
export const PEAK_TAPS = WEIGHTING_STATE + 4 * VECTOR_BYTES;

/** Distance between two pairs' taps. */
export const TAP_PAIR_BYTES = TAPS_PER_PAIR * VECTOR_BYTES;

/** The peaks found in each chunk, f32. */
export const CHUNK_PEAKS = PEAK_TAPS + TAP_PAIRS * TAP_PAIR_BYTES;

/** Audio, f32, in and out: left. */
export const LOUDNESS_LEFT = CHUNK_PEAKS + (F32_BYTES * LOUDNESS_SAMPLES) / CHUNK_SAMPLES;

/** Audio, right. */
export const LOUDNESS_RIGHT = LOUDNESS_LEFT + F32_BYTES * LOUDNESS_SAMPLES;

/** Output after the gain, f32: left. */
export const LOUDNESS_LEFT_OUT = LOUDNESS_RIGHT + F32_BYTES * LOUDNESS_SAMPLES;

/** Output, right. */
export const LOUDNESS_RIGHT_OUT = LOUDNESS_LEFT_OUT + F32_BYTES * LOUDNESS_OUT_SAMPLES;

/** Per chunk the factor at its start and its increase from sample to sample, f32. */
export const CHUNK_GAINS = LOUDNESS_RIGHT_OUT + F32_BYTES * LOUDNESS_OUT_SAMPLES;

/** Chunks of a frame, which may begin and end within one. */
export const CHUNK_GAINS_MAX = 64;
