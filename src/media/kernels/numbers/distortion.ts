// Where the distortion's loops find what in their memory, and what they share; read by both compilers (block.ts).

import { F64_BYTES, SIDE_BYTES } from "./block.ts";

/** The curve, f64: sine and cosine of the three angles at the first row (of sin, of cos, of tan) … */
export const CURVE_ANGLES = 0;

/** … then of their steps from row to row … */
export const CURVE_STEPS = CURVE_ANGLES + 6 * F64_BYTES;

/** … then what is added to the sine … */
export const CURVE_SIN_OFFSET = CURVE_STEPS + 6 * F64_BYTES;

/** … to the cosine … */
export const CURVE_COS_OFFSET = CURVE_SIN_OFFSET + F64_BYTES;

/** … and to the tangent … */
export const CURVE_TAN_OFFSET = CURVE_COS_OFFSET + F64_BYTES;

/** … then what is added to their product … */
export const CURVE_OFFSET = CURVE_TAN_OFFSET + F64_BYTES;

/** … and what that is multiplied with before. */
export const CURVE_SCALE = CURVE_OFFSET + F64_BYTES;

/** All of the curve, rounded up to whole vectors. */
export const CURVE_BYTES = 18 * F64_BYTES;

/** Sound, f32, in and out: left. */
export const DISTORTION_LEFT = CURVE_ANGLES + CURVE_BYTES;

/** Right. */
export const DISTORTION_RIGHT = DISTORTION_LEFT + SIDE_BYTES;

/** The curve at -1, -1 + 1 / rowsPerUnit, … 1, and one row more, f32. */
export const DISTORTION_TABLE = DISTORTION_RIGHT + SIDE_BYTES;

/** Rows end at this value either way: beyond full scale it only says where full scale is crossed. */
export const ROW_VALUE_MAX = 16;
