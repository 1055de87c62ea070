// What all loops hold of each side. Files in this folder are read by both compilers, TypeScript for the plain loops and
// AssemblyScript for the WebAssembly: constants only, whole numbers without a point (AssemblyScript divides those
// without remainder), others with one. Positions are bytes from the start of a loop's memory. Audio thread.

import { FRAME_SAMPLES } from "../../format/audio-format.ts";

/** A float of 32 bits, which sound consists of. */
export const F32_BYTES = 4;

/** A float of 64 bits. */
export const F64_BYTES = 8;

/** Four floats of 32 bits, or two of 64. */
export const VECTOR_BYTES = 16;

/** The first samples of a ring stand once more behind its end, where so many are read at a time. */
export const GROUP_SAMPLES = 4;

/** Samples of one side that a loop works on at most. */
export const KERNEL_SAMPLES = FRAME_SAMPLES;

/** What those take. */
export const SIDE_BYTES = F32_BYTES * KERNEL_SAMPLES;

/** -360 dB, added to what goes round: silence then ends here and not in subnormal numbers, which would be slow. */
export const SILENCE_BIAS = 1e-18;
