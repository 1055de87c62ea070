// Where the phaser's loop finds what in its memory; read by both compilers (block.ts).

import { SIDE_BYTES } from "./block.ts";

/** Sound, f32, in and out: left. */
export const PHASER_LEFT = 0;

/** Right. */
export const PHASER_RIGHT = PHASER_LEFT + SIDE_BYTES;

/**
 * What is kept between calls, pairs of f64, left and right of each: four stages, what the last gave, and before that.
 */
export const PHASER_STATE = PHASER_RIGHT + SIDE_BYTES;

/** So many numbers. */
export const PHASER_STATE_NUMBERS = 12;
