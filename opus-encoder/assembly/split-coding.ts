// The angle between two halves of a shape, or between middle and side of two channels (RFC 6716 section 4.3.4.4): its
// resolution, its coding, and what it means for the bits of both. AssemblyScript.

import { exactCosine, quarterTurns } from "./approximations.ts";
import { BIT, SHORT_BLOCKS_LOG, widthLog } from "./format.ts";
import { dot, floatAt, sumOfLanes } from "./lists.ts";
import { AMPLITUDES, BANDS_BYTES } from "./memory-map.ts";
import { encodeBit, encodeNumber, encodeRange, tellEighths } from "./range-encoder.ts";
import { ANGLE_OFFSET, angleSteps, deltaOf, QUARTER } from "./split-angles.ts";

const HALF_ROOT: f32 = 0.70710677;
/** A band softer than this has no shape. */
const AMPLITUDE_MIN: f32 = 1e-10;

let angle: i32 = 0;
let bitsUsed: i32 = 0;
let delta: i32 = 0;
/** For two channels: the steps of their angle, and the angle in quarter turns. */
let stereoSteps: i32 = 1;
let stereoTurns: f32 = 0;

/** In 16384ths of a quarter turn. */
export function splitAngle(): i32 {
  return angle;
}

/** The bits spent on coding the angle. */
export function splitBits(): i32 {
  return bitsUsed;
}

/** The decoder's factor for the first half. */
export function splitCosine(): f32 {
  return angle === 0 ? 1 : angle === QUARTER ? 0 : f32(exactCosine(angle)) / 32768;
}

/** The decoder's factor for the second half. */
export function splitSine(): f32 {
  return angle === 0 ? 0 : angle === QUARTER ? 1 : f32(exactCosine(QUARTER - angle)) / 32768;
}

/** How many more bits the first gets than the second. */
export function splitDelta(): i32 {
  return delta;
}

/** Codes the angle of two halves of `length` each. */
export function codeSplit(
  first: usize,
  second: usize,
  length: i32,
  bits: i32,
  band: i32,
  blocks: i32,
  halvings: i32,
  mayMakeNoise: bool,
): void {
  const usedEighths = tellEighths();
  const pulseCap = widthLog(band) + (halvings << BIT);
  const steps = angleSteps(2 * length - 1, bits, (pulseCap >> 1) - ANGLE_OFFSET, pulseCap);
  angle = 0;
  if (steps > 1) {
    const sizes = angleBetween(energyOf(second, length), energyOf(first, length));
    let step = (sizes * steps + 8192) >> 14;
    if (!mayMakeNoise) step = withoutNoise(step, steps, length, bits);
    if (blocks > 1) encodeNumber(u32(step), u32(steps + 1));
    else encodeTriangular(step, steps);
    angle = (step * QUARTER) / steps;
  }
  bitsUsed = tellEighths() - usedEighths;
  delta = deltaOf(angle, length);
}

/** Measures two channels; returns the number of steps of their angle (1: no angle, and one shape is for both). */
export function measureStereo(left: usize, right: usize, length: i32, bits: i32, band: i32, isIntensity: bool): i32 {
  fillSilentSide(left, right, length, band);
  const pulseCap = widthLog(band) + (SHORT_BLOCKS_LOG << BIT);
  stereoSteps = isIntensity ? 1 : angleSteps(2 * length - 1, bits, (pulseCap >> 1) - ANGLE_OFFSET, pulseCap);
  stereoTurns = stereoAngle(left, right, length);
  return stereoSteps;
}

/** The position of the angle between the steps. */
export function stereoPosition(): f32 {
  return stereoTurns * f32(stereoSteps);
}

/** Codes a step of the measured angle. The channels become middle and side, or both the same. */
export function codeStereoAngle(
  left: usize,
  right: usize,
  length: i32,
  bits: i32,
  band: i32,
  step: i32,
  remaining: i32,
): void {
  const usedEighths = tellEighths();
  angle = 0;
  if (stereoSteps > 1) {
    encodeStepped(step, stereoSteps);
    angle = (step * QUARTER) / stereoSteps;
    if (step === 0) mergeSides(left, right, length, band, false);
    else splitSides(left, right, length);
  } else {
    const isInverse = stereoTurns > 0.5;
    const isSignalled = bits > 2 << BIT && remaining > 2 << BIT;
    if (isSignalled) encodeBit(isInverse, 2);
    mergeSides(left, right, length, band, isInverse && isSignalled);
  }
  bitsUsed = tellEighths() - usedEighths;
  delta = deltaOf(angle, length);
}

/** The sum of both sides' shares of a band's amplitude (their squares add up to 1), divided by the root of two. */
export function sideParts(band: i32): f32 {
  const left = floatAt(AMPLITUDES, band);
  const right = floatAt(AMPLITUDES + BANDS_BYTES, band);
  return (HALF_ROOT * (left + right)) / (1e-15 + Mathf.sqrt(left * left + right * right));
}

/** An angle that leaves one half without pulses would fill it with noise: then it gets none of the energy either. */
function withoutNoise(step: i32, steps: i32, length: i32, bits: i32): i32 {
  if (step === 0 || step === steps) return step;
  const more = deltaOf((step * QUARTER) / steps, length);
  if (more > bits) return steps;
  return more < -bits ? 0 : step;
}

/** The nearer to the middle, the likelier. */
function encodeTriangular(step: i32, steps: i32): void {
  const half = steps >> 1;
  const total = (half + 1) * (half + 1);
  const isLower = step <= half;
  const chance = isLower ? step + 1 : steps + 1 - step;
  const from = isLower ? (step * (step + 1)) >> 1 : total - (((steps + 1 - step) * (steps + 2 - step)) >> 1);
  encodeRange(u32(from), u32(from + chance), u32(total));
}

/** Angles up to an eighth of a turn are three times as likely as larger ones. */
function encodeStepped(step: i32, steps: i32): void {
  const half = steps / 2;
  const total = 3 * (half + 1) + half;
  const from = step <= half ? 3 * step : step - 1 - half + (half + 1) * 3;
  const chance = step <= half ? 3 : 1;
  encodeRange(u32(from), u32(from + chance), u32(total));
}

function angleBetween(side: f32, middle: f32): i32 {
  return i32(Mathf.floor(0.5 + f32(QUARTER) * quarterTurns(side, middle)));
}

function energyOf(shape: usize, length: i32): f32 {
  const whole = length & ~3;
  let sum = dot(shape, shape, whole);
  for (let index = whole; index < length; index++) sum += floatAt(shape, index) * floatAt(shape, index);
  return sum;
}

function stereoAngle(left: usize, right: usize, length: i32): f32 {
  let middle = f32x4.splat(0);
  let side = f32x4.splat(0);
  const end = left + (usize(length) << 2);
  do {
    const l = v128.load(left);
    const r = v128.load(right);
    const m = f32x4.add(l, r);
    const s = f32x4.sub(l, r);
    middle = f32x4.add(middle, f32x4.mul(m, m));
    side = f32x4.add(side, f32x4.mul(s, s));
    left += 16;
    right += 16;
  } while (left < end);
  return quarterTurns(sumOfLanes(side), sumOfLanes(middle));
}

function splitSides(left: usize, right: usize, length: i32): void {
  const factor = f32x4.splat(HALF_ROOT);
  const end = left + (usize(length) << 2);
  do {
    const l = f32x4.mul(factor, v128.load(left));
    const r = f32x4.mul(factor, v128.load(right));
    v128.store(left, f32x4.add(l, r));
    v128.store(right, f32x4.sub(r, l));
    left += 16;
    right += 16;
  } while (left < end);
}

/** Merges both sides to `left`, weighted by loudness; the right one inverted when it is the opposite. */
function mergeSides(left: usize, right: usize, length: i32, band: i32, isInverse: bool): void {
  const leftSize = floatAt(AMPLITUDES, band);
  const rightSize = floatAt(AMPLITUDES + BANDS_BYTES, band);
  const size: f32 = 1e-15 + Mathf.sqrt(1e-15 + leftSize * leftSize + rightSize * rightSize);
  const leftPart = f32x4.splat(leftSize / size);
  const rightPart = f32x4.splat((isInverse ? -rightSize : rightSize) / size);
  const end = left + (usize(length) << 2);
  do {
    v128.store(left, f32x4.add(f32x4.mul(leftPart, v128.load(left)), f32x4.mul(rightPart, v128.load(right))));
    left += 16;
    right += 16;
  } while (left < end);
}

/** A silent side takes the shape of the other. */
function fillSilentSide(left: usize, right: usize, length: i32, band: i32): void {
  const leftSize = floatAt(AMPLITUDES, band);
  const rightSize = floatAt(AMPLITUDES + BANDS_BYTES, band);
  if (leftSize >= AMPLITUDE_MIN && rightSize >= AMPLITUDE_MIN) return;
  if (leftSize > rightSize) memory.copy(right, left, usize(length) << 2);
  else memory.copy(left, right, usize(length) << 2);
}
