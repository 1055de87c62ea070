// The number of integer vectors whose absolute values add up to a number of pulses (RFC 6716 section 4.3.4.2), and the
// cost of coding one: tables computed at the start. AssemblyScript.

import { bitLength } from "./approximations.ts";
import { BANDS, bandWidth } from "./format.ts";
import {
  COST_TABLE_BYTES,
  COSTS,
  COUNT_COLUMNS,
  COUNT_PADDING,
  COUNT_ROWS,
  COUNTS,
  FEW_COUNT_COLUMNS,
  FEW_COUNTS,
} from "./memory-map.ts";

/** Entries of a table of costs at most: numbers of pulses that can be chosen, 0 apart. */
const CHOICES_MAX: i32 = 40;
/** Vectors are numbered with 32 bits; a shape with more of them is split before. */
const TOO_MANY: u64 = 0xffffffff;
/** Vectors with fewer may have any length; those with more are short. */
const FEW_PULSES: i32 = 14;

export function prepareCounts(): void {
  for (let row = 0; row < i32(COUNT_ROWS); row++) {
    for (let column = row; column < i32(COUNT_COLUMNS); column++) {
      const count = u32(countFrom(row, column));
      store<u32>(countAddress(row, column), count);
      // The count is symmetric.
      if (column < i32(COUNT_ROWS)) store<u32>(countAddress(column, row), count);
      if (row < i32(FEW_COUNT_COLUMNS)) store<u32>(fewAddress(column, row), count);
      if (column < i32(FEW_COUNT_COLUMNS)) store<u32>(fewAddress(row, column), count);
    }
  }
  for (let split = 0; split <= 4; split++) {
    for (let band = 0; band < BANDS; band++) prepareCosts(split, band);
  }
}

/**
 * The address of how many vectors of `length` and some sum begin with more than 0, plus half of those that begin with
 * 0: a list by the sum, for vectors of `pulses` in all, behind three zeros. The rows of two consecutive lengths are
 * `countRowBytes` apart.
 */
export function countRow(length: i32, pulses: i32): usize {
  return (pulses < FEW_PULSES ? FEW_COUNTS : COUNTS) + 4 * COUNT_PADDING + usize(length) * countRowBytes(pulses);
}

export function countRowBytes(pulses: i32): usize {
  return 4 * (COUNT_PADDING + (pulses < FEW_PULSES ? FEW_COUNT_COLUMNS : COUNT_COLUMNS));
}

/** The number of vectors of `length` with this many pulses. */
export function vectorCount(length: i32, pulses: i32): u32 {
  const address = countRow(length, pulses) + (usize(pulses) << 2);
  return load<u32>(address) + load<u32>(address, 4);
}

/** Costs in a band of `8 << split` times its width, halved: at first how many entries, then an eighth of a bit less. */
export function costTable(split: i32, band: i32): usize {
  return COSTS + COST_TABLE_BYTES * usize(split * BANDS + band);
}

/** The highest cost of a table's vectors, in eighths of bits less one. */
export function largestCost(table: usize): i32 {
  return load<u8>(table + usize(load<u8>(table)));
}

/** The entry closest to this number of eighths of bits. */
export function choiceFor(table: usize, bits: i32): i32 {
  const aim = bits - 1;
  const last: i32 = load<u8>(table);
  const low = aim > 0 ? min(last, entriesBelow(table, min(aim, 256))) : 0;
  const high = min(last, low + 1);
  const below = low === 0 ? -1 : i32(load<u8>(table + usize(low)));
  return aim - below <= i32(load<u8>(table + usize(high))) - aim ? low : high;
}

/** How many bytes behind the first of a table of costs are less than this, of 1 to 256. */
function entriesBelow(table: usize, cost: i32): i32 {
  const most = i8x16.splat(i8(cost - 1));
  const first = i8x16.bitmask(i8x16.le_u(v128.load(table), most)) & ~1;
  const second = i8x16.bitmask(i8x16.le_u(v128.load(table, 16), most));
  const third = i8x16.bitmask(i8x16.le_u(v128.load(table, 32), most));
  return popcnt(first) + popcnt(second | (third << 16));
}

/** Eighths of bits. */
export function costOf(table: usize, choice: i32): i32 {
  return choice === 0 ? 0 : i32(load<u8>(table + usize(choice))) + 1;
}

/** Pulses of an entry: all numbers up to 8, then in ever larger steps. */
export function pulsesOf(choice: i32): i32 {
  return choice < 8 ? choice : (8 + (choice & 7)) << ((choice >> 3) - 1);
}

/** Address by length and pulses, for few pulses in vectors of any length. */
function fewAddress(length: i32, pulses: i32): usize {
  return FEW_COUNTS + 4 * (usize(length) * (COUNT_PADDING + FEW_COUNT_COLUMNS) + COUNT_PADDING + usize(pulses));
}

/** Address by length and pulses, for vectors short enough for any number of pulses; see `known`. */
function countAddress(row: i32, column: i32): usize {
  return COUNTS + 4 * (usize(row) * (COUNT_PADDING + COUNT_COLUMNS) + COUNT_PADDING + usize(column));
}

function countFrom(row: i32, column: i32): u64 {
  if (row === 0) return column === 0 ? 1 : 0;
  if (column === row) return limited(known(row - 1, row) * 2 + known(row - 1, row - 1));
  return limited(known(row - 1, column) + known(row, column - 1) + known(row - 1, column - 1));
}

function known(row: i32, column: i32): u64 {
  return load<u32>(countAddress(row, column));
}

function limited(count: u64): u64 {
  return count > TOO_MANY ? TOO_MANY : count;
}

function prepareCosts(split: i32, band: i32): void {
  const table = costTable(split, band);
  const length = (bandWidth(band) << split) >> 1;
  memory.fill(table, 255, COST_TABLE_BYTES);
  let choice: i32 = 0;
  while (length > 1 && choice < CHOICES_MAX) {
    const pulses = pulsesOf(choice + 1);
    if (min(length, pulses + 1) >= i32(COUNT_ROWS)) break;
    const count = vectorTotal(length, pulses);
    if (count >= TOO_MANY) break;
    choice++;
    store<u8>(table + usize(choice), u8(eighthsFor(u32(count)) - 1));
  }
  store<u8>(table, u8(choice));
}

/** In 64 bits, as it may not fit into 32 even where the table does. */
function vectorTotal(length: i32, pulses: i32): u64 {
  return known(min(length, pulses), max(length, pulses)) + known(min(length, pulses + 1), max(length, pulses + 1));
}

/**
 * Eighths of bits that distinguish `count` values, rounded up: by squaring the leading 16 bits, which are themselves
 * rounded up, so that a count just below an eighth may cost one more. The decoder's tables do the same.
 */
function eighthsFor(count: u32): i32 {
  const length = bitLength(count);
  let eighths = (length - 1) << 3;
  if ((count & (count - 1)) === 0) return eighths;
  let part: u32 = length > 16 ? ((count - 1) >> u32(length - 16)) + 1 : count << u32(16 - length);
  for (let address = 3; address >= 0; address--) {
    const bit = part >> 16;
    eighths += i32(bit) << address;
    part = (part + bit) >> bit;
    part = (part * part + 0x7fff) >> 15;
  }
  return part > 0x8000 ? eighths + 1 : eighths;
}
