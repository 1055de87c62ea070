// Memory layout of the phaser's loop; read by both compilers (block.ts).

import { SIDE_BYTES } from "./block.ts";

/** Audio, f32, in and out: left. */
export const PHASER_LEFT = 0;

/** Audio, right. */
export const PHASER_RIGHT = PHASER_LEFT + SIDE_BYTES;

/** State between calls, pairs of f64, left and right of each: four stages, the last output, and the one before. */
export const PHASER_STATE = PHASER_RIGHT + SIDE_BYTES;

/** Length of the state. */
export const PHASER_STATE_NUMBERS = 12;
