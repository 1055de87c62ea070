// Memory layout and shared constants of the distortion's loops; read by both compilers (block.ts).

import { F64_BYTES, SIDE_BYTES } from "./block.ts";

/** The curve, f64: sine and cosine of the three angles at the first row (of sin, of cos, of tan). */
export const CURVE_ANGLES = 0;

/** Sine and cosine of the angles' steps from row to row. */
export const CURVE_STEPS = CURVE_ANGLES + 6 * F64_BYTES;

/** Offset added to the sine. */
export const CURVE_SIN_OFFSET = CURVE_STEPS + 6 * F64_BYTES;

/** Offset added to the cosine. */
export const CURVE_COS_OFFSET = CURVE_SIN_OFFSET + F64_BYTES;

/** Offset added to the tangent. */
export const CURVE_TAN_OFFSET = CURVE_COS_OFFSET + F64_BYTES;

/** Offset added to the product. */
export const CURVE_OFFSET = CURVE_TAN_OFFSET + F64_BYTES;

/** Factor of the product, applied before that. */
export const CURVE_SCALE = CURVE_OFFSET + F64_BYTES;

/** All of the curve, rounded up to whole vectors. */
export const CURVE_BYTES = 18 * F64_BYTES;

/** Audio, f32, in and out: left. */
export const DISTORTION_LEFT = CURVE_ANGLES + CURVE_BYTES;

/** Audio, right. */
export const DISTORTION_RIGHT = DISTORTION_LEFT + SIDE_BYTES;

/** The curve at -1, -1 + 1 / rowsPerUnit, … 1, and one row more, f32. */
export const DISTORTION_TABLE = DISTORTION_RIGHT + SIDE_BYTES;

/** Limit of row values either way: beyond full scale a row only shows where full scale is crossed. */
export const ROW_VALUE_MAX = 16;
