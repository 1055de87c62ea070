// What the resampler's loops require of their tables; read by both compilers (block.ts).

/** Taps that the loop processes at a time; a row has a multiple of them. */
export const TAPS_STEP = 8;
/** The step of taps that are interpolated between two rows. */
export const INTERPOLATED_TAPS_STEP = 4;
