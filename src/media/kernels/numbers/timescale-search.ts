// Where the loop that looks for like places finds what in its memory; read by both compilers (block.ts).

import { F32_BYTES } from "./block.ts";

/** Most samples compared. */
export const COMPARED_SAMPLES_MAX = 768;

/** Most places they are compared with at once. */
export const POSITIONS_MAX = 160;

/** Room for what is compared at the last place; many places are compared for short stretches only. */
export const THERE_SAMPLES = 800;

/** What is compared, f32: left. */
export const HERE_LEFT = 0;

/** Right. */
export const HERE_RIGHT = HERE_LEFT + F32_BYTES * COMPARED_SAMPLES_MAX;

/** What it is compared with, f32: left. */
export const THERE_LEFT = HERE_RIGHT + F32_BYTES * COMPARED_SAMPLES_MAX;

/** Right. */
export const THERE_RIGHT = THERE_LEFT + F32_BYTES * THERE_SAMPLES;

/** What comes of it, f32. */
export const PRODUCTS = THERE_RIGHT + F32_BYTES * THERE_SAMPLES;
