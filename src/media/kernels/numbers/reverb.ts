// Constants that the reverb's loop and the plain one share: the room, and its memory layout; read by both compilers
// (block.ts).

import { F32_BYTES, GROUP_SAMPLES, SIDE_BYTES } from "./block.ts";

/** Lengths of the delay lines in samples: 29 to 58 ms, and primes, so that echoes do not meet. Line 0, the shortest. */
export const LINE_0_SAMPLES = 1399;

/** Length of line 1. */
export const LINE_1_SAMPLES = 1567;

/** Length of line 2. */
export const LINE_2_SAMPLES = 1747;

/** Length of line 3. */
export const LINE_3_SAMPLES = 1931;

/** Length of line 4. */
export const LINE_4_SAMPLES = 2137;

/** Length of line 5. */
export const LINE_5_SAMPLES = 2341;

/** Length of line 6. */
export const LINE_6_SAMPLES = 2551;

/** Length of line 7. */
export const LINE_7_SAMPLES = 2789;

/** Length of the left side's first diffuser; diffusers make the echoes dense. */
export const DIFFUSER_0_SAMPLES = 142;

/** Length of the left side's second diffuser. */
export const DIFFUSER_1_SAMPLES = 379;

/** Length of the right side's first diffuser. */
export const DIFFUSER_2_SAMPLES = 107;

/** Length of the right side's second diffuser. */
export const DIFFUSER_3_SAMPLES = 277;

/** The gain of a diffuser's past in its input, and of its stored value in its output. */
export const DIFFUSION = 0.6;

/** Samples in the ring of a line, a power of two above the longest. */
export const REVERB_LINE_SIZE = 4096;

/** Samples in the ring of a diffuser, a power of two above the longest. */
export const DIFFUSER_SIZE = 512;

/** Distance between two lines, the first from byte 0 on, f32. */
export const LINE_STRIDE_BYTES = F32_BYTES * (REVERB_LINE_SIZE + GROUP_SAMPLES);

/** Distance between two diffusers. */
export const DIFFUSER_STRIDE_BYTES = F32_BYTES * (DIFFUSER_SIZE + GROUP_SAMPLES);

/** The diffusers, behind eight lines. */
export const DIFFUSERS = 8 * LINE_STRIDE_BYTES;

/** Audio, f32, in and out: left. */
export const REVERB_LEFT = DIFFUSERS + 4 * DIFFUSER_STRIDE_BYTES;

/** Audio, right. */
export const REVERB_RIGHT = REVERB_LEFT + SIDE_BYTES;

/** The share of a new sample in each line's low-pass, f32. */
export const REVERB_SHARES = REVERB_RIGHT + SIDE_BYTES;

/** The last output of each line's low-pass, f32. */
export const REVERB_LOW_PASSED = REVERB_SHARES + 8 * F32_BYTES;

/** Size of the whole state. */
export const REVERB_BYTES = REVERB_LOW_PASSED + 8 * F32_BYTES;
