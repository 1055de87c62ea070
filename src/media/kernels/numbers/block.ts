// Sizes that all loops share. Files in this folder are read by both compilers, TypeScript for the plain loops and
// AssemblyScript for the WebAssembly: constants only, whole numbers without a point (AssemblyScript divides those
// without remainder), others with one. Positions are bytes from the start of a loop's memory. Audio thread.

import { FRAME_SAMPLES } from "../../format/audio-format.ts";

/** A float of 32 bits, the type of audio samples. */
export const F32_BYTES = 4;

/** A float of 64 bits. */
export const F64_BYTES = 8;

/** Four floats of 32 bits, or two of 64. */
export const VECTOR_BYTES = 16;

/** Number of samples read at a time; a ring's first samples are repeated behind its end. */
export const GROUP_SAMPLES = 4;

/** Samples of one side that a loop works on at most. */
export const KERNEL_SAMPLES = FRAME_SAMPLES;

/** Bytes of those samples. */
export const SIDE_BYTES = F32_BYTES * KERNEL_SAMPLES;

/** -360 dB, added in feedback loops: silence then ends here and not in subnormal numbers, which would be slow. */
export const SILENCE_BIAS = 1e-18;
