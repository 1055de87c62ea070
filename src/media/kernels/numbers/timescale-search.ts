// Memory layout of the loop that searches for similar positions; read by both compilers (block.ts).

import { F32_BYTES } from "./block.ts";

/** Most samples compared. */
export const COMPARED_SAMPLES_MAX = 768;

/** Most positions compared at once. */
export const POSITIONS_MAX = 160;

/** Space for the audio compared at the last position; many positions are compared for short stretches only. */
export const THERE_SAMPLES = 800;

/** The audio that is compared, f32: left. */
export const HERE_LEFT = 0;

/** Audio, right. */
export const HERE_RIGHT = HERE_LEFT + F32_BYTES * COMPARED_SAMPLES_MAX;

/** The audio it is compared with, f32: left. */
export const THERE_LEFT = HERE_RIGHT + F32_BYTES * COMPARED_SAMPLES_MAX;

/** Audio, right. */
export const THERE_RIGHT = THERE_LEFT + F32_BYTES * THERE_SAMPLES;

/** The results, f32. */
export const PRODUCTS = THERE_RIGHT + F32_BYTES * THERE_SAMPLES;
