// Coding of one band's shape (RFC 6716 section 4.3.4): a shape that gets more bits than one vector of pulses can take
// is halved, again and again, and the angle between the halves is coded. All counting is in eighths of bits and the
// same as the decoder's. AssemblyScript.

import { haar, sortBlocks, spreadPeaks } from "./band-turns.ts";
import { BIT, SHORT_BLOCKS_LOG } from "./format.ts";
import { intAt } from "./lists.ts";
import { RESOLUTIONS } from "./memory-map.ts";
import { choiceFor, costOf, costTable, largestCost, pulsesOf } from "./pulse-counts.ts";
import { codeShape } from "./pulse-search.ts";
import { QUARTER } from "./split-angles.ts";
import { codeSplit, splitAngle, splitBits, splitCosine, splitDelta, splitSine } from "./split-coding.ts";

/** Bits that one half left unused beyond this go to the other. */
export const SPARED_MIN: i32 = 3 << BIT;

// State of the frame and of the band that is being coded.
let band: i32 = 0;
let remaining: i32 = 0;
let spread: i32 = 0;
let mayMakeNoise: bool = true;
let alignment: f32 = 0;

/** The frame's spreading of peaks. */
export function setSpread(spreading: i32): void {
  spread = spreading;
}

/** `bitsRemaining` of the packet. Where noise may not be made, halves without pulses get no energy either. */
export function beginBand(index: i32, bitsRemaining: i32, mayHaveNoise: bool): void {
  band = index;
  remaining = bitsRemaining;
  mayMakeNoise = mayHaveNoise;
}

/** The bits left in the packet. */
export function bitsRemaining(): i32 {
  return remaining;
}

export function spendBits(bits: i32): void {
  remaining -= bits;
}

/** How much of the shapes since `clearAlignment` the decoder gets: the product of the intended and the coded shape. */
export function alignmentNow(): f32 {
  return alignment;
}

export function clearAlignment(): void {
  alignment = 0;
}

/** One shape, in the resolution of time that was chosen for its band. */
export function codeBand(shape: usize, length: i32, bits: i32, blocks: i32): void {
  if (bits <= 0) return;
  let change = intAt(RESOLUTIONS, band);
  const isLong = blocks === 1;
  const _blocksBefore = blocks;
  const perBlockBefore = length / blocks;
  let perBlock = perBlockBefore;
  let joined = 0;
  // Blocks are joined to see frequencies better, …
  while (joined < change) {
    haar(shape, length >> joined, 1 << joined);
    joined++;
  }
  blocks >>= joined;
  perBlock <<= joined;
  // … or divided to see time better.
  while ((perBlock & 1) === 0 && change < 0) {
    haar(shape, perBlock, blocks);
    blocks <<= 1;
    perBlock >>= 1;
    change++;
  }
  if (blocks > 1) sortBlocks(shape, perBlock >> joined, blocks << joined, isLong);
  codePart(shape, length, bits, blocks, SHORT_BLOCKS_LOG, 1);
}

/** Codes a shape or a part of one; `halvings` more are possible. `gain` is the product of the angles so far. */
function codePart(shape: usize, length: i32, bits: i32, blocks: i32, halvings: i32, gain: f32): void {
  const table = costTable(halvings + 1, band);
  if (halvings >= 0 && length > 2 && bits > largestCost(table) + 12) {
    codeHalves(shape, length >> 1, bits, blocks, halvings - 1, gain);
    return;
  }
  let choice = choiceFor(table, bits);
  let cost = costOf(table, choice);
  remaining -= cost;
  while (remaining < 0 && choice > 0) {
    remaining += cost;
    choice--;
    cost = costOf(table, choice);
    remaining -= cost;
  }
  if (choice === 0) return;
  const pulses = pulsesOf(choice);
  spreadPeaks(shape, length, blocks, pulses, spread);
  alignment += gain * codeShape(shape, length, pulses);
}

function codeHalves(first: usize, length: i32, bits: i32, blocks: i32, halvings: i32, gain: f32): void {
  const second = first + (usize(length) << 2);
  codeSplit(first, second, length, bits, band, blocks, halvings, mayMakeNoise);
  const angle = splitAngle();
  let delta = splitDelta();
  const firstGain = gain * splitCosine();
  const secondGain = gain * splitSine();
  const rest = bits - splitBits();
  if (blocks > 1 && (angle & (QUARTER - 1)) !== 0) {
    // Audio before loud audio is less audible, audio after it a little.
    if (angle > QUARTER >> 1) delta -= delta >> (4 - halvings);
    else delta = min(0, delta + ((length << BIT) >> (5 - halvings)));
  }
  let firstBits = max(0, min(rest, (rest - delta) / 2));
  let secondBits = rest - firstBits;
  remaining -= splitBits();
  const before = remaining;
  const halfBlocks = (blocks + 1) >> 1;
  if (firstBits >= secondBits) {
    codePart(first, length, firstBits, halfBlocks, halvings, firstGain);
    const spared = firstBits - (before - remaining);
    if (spared > SPARED_MIN && angle !== 0) secondBits += spared - SPARED_MIN;
    codePart(second, length, secondBits, halfBlocks, halvings, secondGain);
  } else {
    codePart(second, length, secondBits, halfBlocks, halvings, secondGain);
    const spared = secondBits - (before - remaining);
    if (spared > SPARED_MIN && angle !== QUARTER) firstBits += spared - SPARED_MIN;
    codePart(first, length, firstBits, halfBlocks, halvings, firstGain);
  }
}
