// Two channels of a band as middle and side, with the angle between them (RFC 6716 section 4.3.4.4). Both angles it may
// be rounded to are tried: the one with which the decoder gets more of the shapes, as coded with these bits, is chosen.
// AssemblyScript.

import { alignmentNow, bitsRemaining, clearAlignment, codeBand, SPARED_MIN, spendBits } from "./band-coding.ts";
import { bandByte, bandWidth, SHORT_BLOCKS_LOG } from "./format.ts";
import { CHANNEL_BYTES, SHAPES, SPARE } from "./memory-map.ts";
import { keepAttempt, restoreAttempt, restoreFrom, saveAll } from "./range-encoder.ts";
import { QUARTER } from "./split-angles.ts";
import {
  codeStereoAngle,
  measureStereo,
  sideParts,
  splitAngle,
  splitBits,
  splitCosine,
  splitDelta,
  splitSine,
  stereoPosition,
} from "./split-coding.ts";

/** An angle this near to a step, in parts of one, is rounded to it at once. */
const NEAR: f32 = 0.4;
/** With more steps than this it hardly matters. */
const FINE_STEPS: i32 = 32;

/** Codes SHAPES of a band. */
export function codeStereoBand(band: i32, bits: i32, blocks: i32, isIntensity: bool): void {
  const left = SHAPES + bandByte(band);
  const length = bandWidth(band) << SHORT_BLOCKS_LOG;
  const steps = measureStereo(left, left + CHANNEL_BYTES, length, bits, band, isIntensity);
  const position = stereoPosition();
  const lower = i32(position);
  const above = position - f32(lower);
  if (steps === 1 || steps > FINE_STEPS || lower === steps || above < NEAR || above > 1 - NEAR) {
    attempt(left, length, bits, blocks, band, i32(position + 0.5));
    return;
  }
  const bytes = usize(length) << 2;
  const remaining = bitsRemaining();
  memory.copy(SPARE, left, bytes);
  memory.copy(SPARE + bytes, left + CHANNEL_BYTES, bytes);
  saveAll();
  const lowerWorth = attempt(left, length, bits, blocks, band, lower);
  const lowerRemaining = bitsRemaining();
  keepAttempt();
  restoreFrom();
  spendBits(bitsRemaining() - remaining);
  memory.copy(left, SPARE, bytes);
  memory.copy(left + CHANNEL_BYTES, SPARE + bytes, bytes);
  const upperWorth = attempt(left, length, bits, blocks, band, lower + 1);
  if (upperWorth > lowerWorth) return;
  restoreAttempt();
  spendBits(bitsRemaining() - lowerRemaining);
}

/** Returns how much of the shapes the decoder gets. */
function attempt(left: usize, length: i32, bits: i32, blocks: i32, band: i32, step: i32): f32 {
  const right = left + CHANNEL_BYTES;
  codeStereoAngle(left, right, length, bits, band, step, bitsRemaining());
  const angle = splitAngle();
  const cosine = splitCosine();
  const sine = splitSine();
  const rest = bits - splitBits();
  let middleBits = max(0, min(rest, (rest - splitDelta()) / 2));
  let sideBits = rest - middleBits;
  spendBits(splitBits());
  const before = bitsRemaining();
  let middle: f32 = 0;
  let side: f32 = 0;
  if (middleBits >= sideBits) {
    middle = codeAligned(left, length, middleBits, blocks);
    const spared = middleBits - (before - bitsRemaining());
    if (spared > SPARED_MIN && angle !== 0) sideBits += spared - SPARED_MIN;
    side = codeAligned(right, length, sideBits, blocks);
  } else {
    side = codeAligned(right, length, sideBits, blocks);
    const spared = sideBits - (before - bitsRemaining());
    if (spared > SPARED_MIN && angle !== QUARTER) middleBits += spared - SPARED_MIN;
    middle = codeAligned(left, length, middleBits, blocks);
  }
  return angle === 0 ? middle : sideParts(band) * (cosine * middle + sine * side);
}

function codeAligned(shape: usize, length: i32, bits: i32, blocks: i32): f32 {
  clearAlignment();
  codeBand(shape, length, bits, blocks);
  return alignmentNow();
}
