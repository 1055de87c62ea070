// The angle between two halves of a shape, or between middle and side of two channels (RFC 6716 section 4.3.4.4).
// AssemblyScript, part of the CELT decoder.

import { exactCosine } from "../../../../../opus-encoder/assembly/approximations.ts";
import { BIT, widthLog } from "../../../../../opus-encoder/assembly/format.ts";
import { ANGLE_OFFSET, angleSteps, deltaBetween, QUARTER } from "../../../../../opus-encoder/assembly/split-angles.ts";
import { decodeBit, decodeNumber, position, take, tellEighths } from "./range-decoder.ts";

/** Two channels of two samples have but one other degree of freedom. */
const TWO_SAMPLES_OFFSET: i32 = 16;
const UNIT: f32 = 1.0 / 32768.0;
const NEARLY_ONE: i32 = 32767;

let angle: i32 = 0;
let bitsUsed: i32 = 0;
let delta: i32 = 0;
/** In 32768ths. */
let cosine: i32 = 0;
let sine: i32 = 0;
let isInverse: bool = false;
let mayInvert: bool = true;

/** False for one output channel: two of opposite signs would cancel each other out. */
export function allowInverse(isAllowed: bool): void {
  mayInvert = isAllowed;
}

/** In 16384ths of a quarter turn. */
export function splitAngle(): i32 {
  return angle;
}

/** The bits that the angle took. */
export function splitBits(): i32 {
  return bitsUsed;
}

/** How many more bits the first gets than the second. */
export function splitDelta(): i32 {
  return delta;
}

/** True: the right channel is the left one with the other sign. */
export function isSideInverse(): bool {
  return isInverse;
}

/** The factor for the first half. */
export function splitCosine(): f32 {
  return f32(cosine) * UNIT;
}

/** The factor for the second half. */
export function splitSine(): f32 {
  return f32(sine) * UNIT;
}

/** Reads the angle of two halves of `length` each, which may be halved `halvings` times more. */
export function readSplit(length: i32, bits: i32, band: i32, blocks: i32, halvings: i32): void {
  const usedBefore = tellEighths();
  const pulseCap = widthLog(band) + (halvings << BIT);
  const steps = angleSteps(2 * length - 1, bits, (pulseCap >> 1) - ANGLE_OFFSET, pulseCap);
  angle = 0;
  if (steps > 1) {
    const step = blocks > 1 ? i32(decodeNumber(u32(steps + 1))) : readTriangular(steps);
    angle = (step * QUARTER) / steps;
  }
  finish(usedBefore, length);
}

/** Reads the angle of two channels, or for intensity stereo their signs; `remaining` bits are left in the frame. */
export function readStereoSplit(
  length: i32,
  bits: i32,
  band: i32,
  sizeLog: i32,
  isIntensity: bool,
  remaining: i32,
): void {
  const usedBefore = tellEighths();
  const pulseCap = widthLog(band) + (sizeLog << BIT);
  const offset = (pulseCap >> 1) - (length === 2 ? TWO_SAMPLES_OFFSET : ANGLE_OFFSET);
  const steps = isIntensity ? 1 : angleSteps(2 * length - (length === 2 ? 2 : 1), bits, offset, pulseCap);
  angle = 0;
  isInverse = false;
  if (steps > 1) {
    const step = length > 2 ? readStepped(steps) : i32(decodeNumber(u32(steps + 1)));
    angle = (step * QUARTER) / steps;
  } else if (bits > 2 << BIT && remaining > 2 << BIT) {
    isInverse = decodeBit(2) && mayInvert;
  }
  finish(usedBefore, length);
}

function finish(usedBefore: i32, length: i32): void {
  bitsUsed = tellEighths() - usedBefore;
  if (angle === 0) {
    cosine = NEARLY_ONE;
    sine = 0;
    delta = -QUARTER;
  } else if (angle === QUARTER) {
    cosine = 0;
    sine = NEARLY_ONE;
    delta = QUARTER;
  } else {
    cosine = exactCosine(angle);
    sine = exactCosine(QUARTER - angle);
    delta = deltaBetween(cosine, sine, length);
  }
}

/** The nearer to the middle, the likelier. */
function readTriangular(steps: i32): i32 {
  const half = steps >> 1;
  const total = (half + 1) * (half + 1);
  const at = i32(position(u32(total)));
  const isLower = at < (half * (half + 1)) >> 1;
  const step = isLower ? (root(8 * at + 1) - 1) >> 1 : (2 * (steps + 1) - root(8 * (total - at - 1) + 1)) >> 1;
  const chance = isLower ? step + 1 : steps + 1 - step;
  const from = isLower ? (step * (step + 1)) >> 1 : total - (((steps + 1 - step) * (steps + 2 - step)) >> 1);
  take(u32(from), u32(from + chance), u32(total));
  return step;
}

/** The whole part of the square root. */
function root(value: i32): i32 {
  return i32(Math.sqrt(f64(value)));
}

/** Angles up to an eighth of a turn are three times as likely as larger ones. */
function readStepped(steps: i32): i32 {
  const half = steps / 2;
  const likely = 3 * (half + 1);
  const total = likely + half;
  const at = i32(position(u32(total)));
  const step = at < likely ? at / 3 : half + 1 + at - likely;
  const from = step <= half ? 3 * step : step - 1 - half + likely;
  take(u32(from), u32(from + (step <= half ? 3 : 1)), u32(total));
  return step;
}
