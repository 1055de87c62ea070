// Two channels of a band as middle and side, with the angle between them (RFC 6716 section 4.3.4.4). AssemblyScript, part
// of the CELT decoder.

import { BIT } from "../../../../../opus-encoder/assembly/format.ts";
import { floatAt, setFloat } from "../../../../../opus-encoder/assembly/lists.ts";
import { QUARTER } from "../../../../../opus-encoder/assembly/split-angles.ts";
import { bitsRemaining, decodeBand, decodeSign, SPARED_MIN, spendBits } from "./band.ts";
import { decodeRaw } from "./range-decoder.ts";
import { product, scaleTo } from "./shapes.ts";
import { isSideInverse, readStereoSplit, splitAngle, splitBits, splitCosine, splitDelta, splitSine } from "./split.ts";

/** Both channels are the same if one of them is softer than this, squared. */
const ENERGY_MIN: f32 = 6e-4;

/** Reads the shapes of both channels of a band; the arguments are those of `decodeBand`. */
export function decodeStereoBand(
  left: usize,
  right: usize,
  length: i32,
  bits: i32,
  blocks: i32,
  source: usize,
  fold: usize,
  fill: u32,
  band: i32,
  sizeLog: i32,
  isIntensity: bool,
): u32 {
  if (length === 1) {
    decodeSign(left);
    decodeSign(right);
    if (fold !== 0) store<f32>(fold, load<f32>(left));
    return 1;
  }
  readStereoSplit(length, bits, band, sizeLog, isIntensity, bitsRemaining());
  const angle = splitAngle();
  const isInverse = isSideInverse();
  const cosine = splitCosine();
  const sine = splitSine();
  const rest = bits - splitBits();
  spendBits(splitBits());
  let mask: u32 = 0;
  if (length === 2) {
    mask = decodeTwoSamples(left, right, rest, blocks, source, fold, fill, angle);
    joinTwoSamples(left, right, cosine, sine);
  } else {
    mask = decodeBoth(left, right, length, rest, blocks, source, fold, angle === QUARTER ? 0 : fill, sine);
    joinSides(left, right, length, cosine);
  }
  if (isInverse) scaleTo(right, right, length, -1);
  return mask;
}

function decodeBoth(
  left: usize,
  right: usize,
  length: i32,
  bits: i32,
  blocks: i32,
  source: usize,
  fold: usize,
  fill: u32,
  sine: f32,
): u32 {
  const angle = splitAngle();
  let middleBits = max(0, min(bits, (bits - splitDelta()) / 2));
  let sideBits = bits - middleBits;
  const before = bitsRemaining();
  if (middleBits >= sideBits) {
    const mask = decodeBand(left, length, middleBits, blocks, source, fold, 1, fill);
    const spared = middleBits - (before - bitsRemaining());
    if (spared > SPARED_MIN && angle !== 0) sideBits += spared - SPARED_MIN;
    return mask | decodeBand(right, length, sideBits, blocks, 0, 0, sine, 0);
  }
  const mask = decodeBand(right, length, sideBits, blocks, 0, 0, sine, 0);
  const spared = sideBits - (before - bitsRemaining());
  if (spared > SPARED_MIN && angle !== QUARTER) middleBits += spared - SPARED_MIN;
  return mask | decodeBand(left, length, middleBits, blocks, source, fold, 1, fill);
}

/** The side is the middle turned by a quarter: only its direction is coded. */
function decodeTwoSamples(
  left: usize,
  right: usize,
  bits: i32,
  blocks: i32,
  source: usize,
  fold: usize,
  fill: u32,
  angle: i32,
): u32 {
  const signBits = angle !== 0 && angle !== QUARTER ? 1 << BIT : 0;
  const isSideLouder = angle > QUARTER >> 1;
  const coded = isSideLouder ? right : left;
  const other = isSideLouder ? left : right;
  spendBits(signBits);
  const sign: f32 = signBits > 0 && decodeRaw(1) !== 0 ? -1 : 1;
  const mask = decodeBand(coded, 2, bits - signBits, blocks, source, fold, 1, fill);
  setFloat(other, 0, -sign * floatAt(coded, 1));
  setFloat(other, 1, sign * floatAt(coded, 0));
  return mask;
}

function joinTwoSamples(left: usize, right: usize, cosine: f32, sine: f32): void {
  for (let index = 0; index < 2; index++) {
    const middle = cosine * floatAt(left, index);
    const side = sine * floatAt(right, index);
    setFloat(left, index, middle - side);
    setFloat(right, index, middle + side);
  }
}

/** From middle (of amplitude 1) and side (scaled) to left and right, of amplitude 1 each. */
function joinSides(left: usize, right: usize, length: i32, cosine: f32): void {
  const shared = cosine * product(left, right, length);
  const sum = cosine * cosine + product(right, right, length);
  const leftEnergy: f32 = sum - 2 * shared;
  const rightEnergy: f32 = sum + 2 * shared;
  if (leftEnergy < ENERGY_MIN || rightEnergy < ENERGY_MIN) {
    memory.copy(right, left, usize(length) << 2);
    return;
  }
  const leftGain: f32 = 1 / Mathf.sqrt(leftEnergy);
  const rightGain: f32 = 1 / Mathf.sqrt(rightEnergy);
  const leftGains = f32x4.splat(leftGain);
  const rightGains = f32x4.splat(rightGain);
  const cosines = f32x4.splat(cosine);
  const end = left + (usize(length & ~3) << 2);
  while (left < end) {
    const middle = f32x4.mul(cosines, v128.load(left));
    const side = v128.load(right);
    v128.store(left, f32x4.mul(leftGains, f32x4.sub(middle, side)));
    v128.store(right, f32x4.mul(rightGains, f32x4.add(middle, side)));
    left += 16;
    right += 16;
  }
  for (let index = 0; index < (length & 3); index++) {
    const middle = cosine * floatAt(left, index);
    const side = floatAt(right, index);
    setFloat(left, index, leftGain * (middle - side));
    setFloat(right, index, rightGain * (middle + side));
  }
}
