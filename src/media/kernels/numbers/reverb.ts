// What the reverb's loop and the plain one share: the room, and where it stands in memory; read by both compilers
// (block.ts).

import { F32_BYTES, GROUP_SAMPLES, SIDE_BYTES } from "./block.ts";

/** Lengths of the delay lines in samples: 29 to 58 ms, and primes, so that echoes do not meet. The shortest. */
export const LINE_0_SAMPLES = 1399;

/** Of line 1. */
export const LINE_1_SAMPLES = 1567;

/** Of line 2. */
export const LINE_2_SAMPLES = 1747;

/** Of line 3. */
export const LINE_3_SAMPLES = 1931;

/** Of line 4. */
export const LINE_4_SAMPLES = 2137;

/** Of line 5. */
export const LINE_5_SAMPLES = 2341;

/** Of line 6. */
export const LINE_6_SAMPLES = 2551;

/** Of line 7. */
export const LINE_7_SAMPLES = 2789;

/** Lengths of the diffusers: the first two make the left side dense … */
export const DIFFUSER_0_SAMPLES = 142;

/** … the second behind the first … */
export const DIFFUSER_1_SAMPLES = 379;

/** … the others the right one. */
export const DIFFUSER_2_SAMPLES = 107;

/** The last. */
export const DIFFUSER_3_SAMPLES = 277;

/** What a diffuser takes of its past, and of what it keeps. */
export const DIFFUSION = 0.6;

/** Samples in the ring of a line, a power of two above the longest. */
export const REVERB_LINE_SIZE = 4096;

/** Samples in the ring of a diffuser, likewise. */
export const DIFFUSER_SIZE = 512;

/** From one line to the next, the first from byte 0 on, f32. */
export const LINE_STRIDE_BYTES = F32_BYTES * (REVERB_LINE_SIZE + GROUP_SAMPLES);

/** From one diffuser to the next. */
export const DIFFUSER_STRIDE_BYTES = F32_BYTES * (DIFFUSER_SIZE + GROUP_SAMPLES);

/** The diffusers, behind eight lines. */
export const DIFFUSERS = 8 * LINE_STRIDE_BYTES;

/** Sound, f32, in and out: left. */
export const REVERB_LEFT = DIFFUSERS + 4 * DIFFUSER_STRIDE_BYTES;

/** Right. */
export const REVERB_RIGHT = REVERB_LEFT + SIDE_BYTES;

/** What each line's low-pass takes of a new sample, f32. */
export const REVERB_SHARES = REVERB_RIGHT + SIDE_BYTES;

/** What each line's low-pass gave last, f32. */
export const REVERB_LOW_PASSED = REVERB_SHARES + 8 * F32_BYTES;

/** All of it. */
export const REVERB_BYTES = REVERB_LOW_PASSED + 8 * F32_BYTES;
