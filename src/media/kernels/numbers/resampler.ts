// What the resampler's loops require of their tables; read by both compilers (block.ts).

/** A row of taps is as long as a whole number of these: what the loop takes at a time. */
export const TAPS_STEP = 8;
/** The step of taps that are interpolated between two rows. */
export const INTERPOLATED_TAPS_STEP = 4;
