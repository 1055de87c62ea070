// One band's shape (RFC 6716 section 4.3.4): one that gets more bits than a vector of pulses can take is halved, again and
// again, and one that gets none is filled up. All counting is in eighths of bits. AssemblyScript, part of the CELT decoder.

import { haar, mergeBlocks, sortBlocks } from "../../../../../opus-encoder/assembly/band-turns.ts";
import { BIT } from "../../../../../opus-encoder/assembly/format.ts";
import { intAt } from "../../../../../opus-encoder/assembly/lists.ts";
import { RESOLUTIONS } from "../../../../../opus-encoder/assembly/memory-map.ts";
import {
  choiceFor,
  costOf,
  costTable,
  largestCost,
  pulsesOf,
} from "../../../../../opus-encoder/assembly/pulse-counts.ts";
import { QUARTER } from "../../../../../opus-encoder/assembly/split-angles.ts";
import { FOLD_SOURCE } from "./memory-map.ts";
import { fillFrom, fillWithNoise } from "./noise.ts";
import { decodeRaw } from "./range-decoder.ts";
import { scaleTo } from "./shapes.ts";
import { readSplit, splitAngle, splitBits, splitCosine, splitDelta, splitSine } from "./split.ts";
import { decodeVector } from "./vectors.ts";

/** Bits that one half left unused beyond this go to the other. */
export const SPARED_MIN: i32 = 3 << BIT;
const ONE_BIT: i32 = 1 << BIT;
/** Four blocks' bits, when they are joined in pairs; and two pairs' bits, when they are divided again. */
const JOINED = memory.data<u8>([0, 1, 1, 1, 2, 3, 3, 3, 2, 3, 3, 3, 2, 3, 3, 3]);
const DIVIDED = memory.data<u8>([
  0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f, 0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff,
]);

// State of the frame and of the band that is being decoded.
let band: i32 = 0;
let sizeLog: i32 = 0;
let remaining: i32 = 0;
let spread: i32 = 0;
/** What the band may be filled from, until it has been sorted; 0: it is used as it is. */
let unsorted: usize = 0;
let unsortedLength: i32 = 0;
let unsortedBlocks: i32 = 0;

export function beginBands(sizeLogOfFrame: i32, spreading: i32): void {
  sizeLog = sizeLogOfFrame;
  spread = spreading;
}

/** `bitsRemaining` of the frame. */
export function beginBand(index: i32, bitsRemaining: i32): void {
  band = index;
  remaining = bitsRemaining;
}

/** The bits left in the frame. */
export function bitsRemaining(): i32 {
  return remaining;
}

export function spendBits(bits: i32): void {
  remaining -= bits;
}

/** A shape of one sample is a sign. */
export function decodeSign(shape: usize): void {
  let isNegative = false;
  if (remaining >= ONE_BIT) {
    isNegative = decodeRaw(1) !== 0;
    remaining -= ONE_BIT;
  }
  store<f32>(shape, isNegative ? -1 : 1);
}

/**
 * Reads one shape of amplitude `gain`. `source`: what it may be filled from, or 0; `fill` has a bit for each of its
 * blocks that has energy. The shape is also written to `fold` (unless 0), to be filled from. Returns a bit for each block
 * that has energy.
 */
export function decodeBand(
  shape: usize,
  length: i32,
  bits: i32,
  blocksOfBand: i32,
  source: usize,
  fold: usize,
  gain: f32,
  fill: u32,
): u32 {
  if (length === 1) {
    decodeSign(shape);
    if (fold !== 0) store<f32>(fold, load<f32>(shape));
    return 1;
  }
  const change = intAt(RESOLUTIONS, band);
  const joins = max(change, 0);
  const isLong = blocksOfBand === 1;
  let blocks = blocksOfBand;
  let perBlock = length / blocks;
  unsorted = 0;
  if (source !== 0 && (joins > 0 || (change < 0 && (perBlock & 1) === 0) || blocks > 1)) {
    unsorted = source;
    unsortedLength = length;
    unsortedBlocks = blocks;
    source = FOLD_SOURCE;
  }
  // Blocks are joined to see frequencies better, …
  for (let join = 0; join < joins; join++) {
    fill = u32(load<u8>(JOINED + usize(fill & 15))) | (u32(load<u8>(JOINED + usize((fill >> 4) & 15))) << 2);
  }
  blocks >>= joins;
  perBlock <<= joins;
  // … or divided to see time better.
  let divisions = 0;
  while ((perBlock & 1) === 0 && divisions < -change) {
    fill |= fill << u32(blocks);
    blocks <<= 1;
    perBlock >>= 1;
    divisions++;
  }
  let mask = decodePart(shape, length, bits, blocks, source, sizeLog, gain, fill);
  if (blocks > 1) mergeBlocks(shape, perBlock >> joins, blocks << joins, isLong);
  for (; divisions > 0; divisions--) {
    blocks >>= 1;
    perBlock <<= 1;
    mask |= mask >> u32(blocks);
    haar(shape, perBlock, blocks);
  }
  for (let join = 0; join < joins; join++) {
    mask = load<u8>(DIVIDED + usize(mask & 15));
    haar(shape, length >> join, 1 << join);
  }
  if (fold !== 0) scaleTo(fold, shape, length, Mathf.sqrt(f32(length)));
  return mask & ((1 << u32(blocksOfBand)) - 1);
}

/** Puts what the band may be filled from in the order of its samples, once something is filled. */
function sortSource(): void {
  const change = intAt(RESOLUTIONS, band);
  const joins = max(change, 0);
  memory.copy(FOLD_SOURCE, unsorted, usize(unsortedLength) << 2);
  unsorted = 0;
  for (let join = 0; join < joins; join++) haar(FOLD_SOURCE, unsortedLength >> join, 1 << join);
  let blocks = unsortedBlocks >> joins;
  let perBlock = (unsortedLength / unsortedBlocks) << joins;
  for (let division = 0; (perBlock & 1) === 0 && division < -change; division++) {
    haar(FOLD_SOURCE, perBlock, blocks);
    blocks <<= 1;
    perBlock >>= 1;
  }
  if (blocks > 1) sortBlocks(FOLD_SOURCE, perBlock >> joins, blocks << joins, unsortedBlocks === 1);
}

/** Reads a shape or a part of one; `halvings` more are possible. */
function decodePart(
  shape: usize,
  length: i32,
  bits: i32,
  blocks: i32,
  source: usize,
  halvings: i32,
  gain: f32,
  fill: u32,
): u32 {
  const table = costTable(halvings + 1, band);
  if (halvings >= 0 && length > 2 && bits > largestCost(table) + 12) {
    return decodeHalves(shape, length >> 1, bits, blocks, source, halvings - 1, gain, fill);
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
  if (choice > 0) return decodeVector(shape, length, pulsesOf(choice), blocks, spread, gain);
  const all: u32 = (1 << u32(blocks)) - 1;
  const filled = fill & all;
  if (filled === 0) {
    memory.fill(shape, 0, usize(length) << 2);
    return 0;
  }
  if (source === 0) {
    fillWithNoise(shape, length, gain);
    return all;
  }
  if (unsorted !== 0) sortSource();
  fillFrom(source, shape, length, gain);
  return filled;
}

function decodeHalves(
  first: usize,
  length: i32,
  bits: i32,
  blocks: i32,
  source: usize,
  halvings: i32,
  gain: f32,
  fill: u32,
): u32 {
  const bytes = usize(length) << 2;
  const second = first + bytes;
  const secondSource = source === 0 ? 0 : source + bytes;
  const halfBlocks = (blocks + 1) >> 1;
  readSplit(length, bits, band, blocks, halvings);
  const angle = splitAngle();
  let delta = splitDelta();
  const firstGain = gain * splitCosine();
  const secondGain = gain * splitSine();
  let firstFill = blocks === 1 ? (fill & 1) | (fill << 1) : fill;
  let secondFill = firstFill >> u32(halfBlocks);
  const all: u32 = (1 << u32(halfBlocks)) - 1;
  if (angle === 0) {
    firstFill &= all;
    secondFill = 0;
  } else if (angle === QUARTER) {
    firstFill = 0;
    secondFill &= all;
  }
  if (blocks > 1 && (angle & (QUARTER - 1)) !== 0) {
    // Audio before loud audio is less audible, audio after it a little.
    if (angle > QUARTER >> 1) delta -= delta >> (4 - halvings);
    else delta = min(0, delta + ((length << BIT) >> (5 - halvings)));
  }
  const rest = bits - splitBits();
  let firstBits = max(0, min(rest, (rest - delta) / 2));
  let secondBits = rest - firstBits;
  remaining -= splitBits();
  const before = remaining;
  const shift = u32(blocks >> 1);
  if (firstBits >= secondBits) {
    const mask = decodePart(first, length, firstBits, halfBlocks, source, halvings, firstGain, firstFill);
    const spared = firstBits - (before - remaining);
    if (spared > SPARED_MIN && angle !== 0) secondBits += spared - SPARED_MIN;
    const high = decodePart(second, length, secondBits, halfBlocks, secondSource, halvings, secondGain, secondFill);
    return mask | (high << shift);
  }
  const high = decodePart(second, length, secondBits, halfBlocks, secondSource, halvings, secondGain, secondFill);
  const spared = secondBits - (before - remaining);
  if (spared > SPARED_MIN && angle !== QUARTER) firstBits += spared - SPARED_MIN;
  return decodePart(first, length, firstBits, halfBlocks, source, halvings, firstGain, firstFill) | (high << shift);
}
