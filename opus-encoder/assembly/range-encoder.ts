// The range encoder (RFC 6716 section 5.1): symbols of known probability go to the packet from the front, raw bits from
// behind. One packet at a time. AssemblyScript.

import { PACKET_BYTES_MAX } from "../src/numbers.ts";
import { bitLength } from "./approximations.ts";
import { ATTEMPT_BYTES, ATTEMPT_RAW, PACKET_ADDRESS, RAW_BYTES, RAW_CAPACITY } from "./memory-map.ts";
import { eighthsOf, RANGE_BOTTOM, RANGE_TOP } from "./range-size.ts";

/** Behind the packet's header. */
const START: usize = PACKET_ADDRESS + 1;
const FRONT_BYTES_MAX: i32 = PACKET_BYTES_MAX - 1;

let range: u32 = RANGE_TOP;
let low: u32 = 0;
/** The last byte, which a carry may still change; -1 before the first. And the number of 255 bytes after it. */
let heldByte: i32 = -1;
let heldOnes: i32 = 0;
let frontBytes: i32 = 0;
/** Bits so far, rounded up; the range holds a part of the last. */
let bitsTotal: i32 = 33;
let rawWindow: u32 = 0;
let rawWindowBits: i32 = 0;
let rawBytes: i32 = 0;
/** More was written than fits into any packet. */
let isOverfull: bool = false;

// State saved by `save`.
let savedRange: u32 = 0;
let savedLow: u32 = 0;
let savedHeldByte: i32 = 0;
let savedHeldOnes: i32 = 0;
let savedFrontBytes: i32 = 0;
let savedBitsTotal: i32 = 0;

let savedRawWindow: u32 = 0;
let savedRawWindowBits: i32 = 0;
let savedRawBytes: i32 = 0;

// State set aside by `keepAttempt`.
let backupRange: u32 = 0;
let backupLow: u32 = 0;
let backupHeldByte: i32 = 0;
let backupHeldOnes: i32 = 0;
let backupFrontBytes: i32 = 0;
let backupBitsTotal: i32 = 0;
let backupRawWindow: u32 = 0;
let backupRawWindowBits: i32 = 0;
let backupRawBytes: i32 = 0;

export function beginPacket(): void {
  range = RANGE_TOP;
  low = 0;
  heldByte = -1;
  heldOnes = 0;
  frontBytes = 0;
  bitsTotal = 33;
  rawWindow = 0;
  rawWindowBits = 0;
  rawBytes = 0;
  isOverfull = false;
}

/** Remembers where the coding is; no raw bits may be written until `restore`. Once at a time. */
export function save(): void {
  savedRange = range;
  savedLow = low;
  savedHeldByte = heldByte;
  savedHeldOnes = heldOnes;
  savedFrontBytes = frontBytes;
  savedBitsTotal = bitsTotal;
}

/** Discards everything coded since `save`. */
export function restore(): void {
  range = savedRange;
  low = savedLow;
  heldByte = savedHeldByte;
  heldOnes = savedHeldOnes;
  frontBytes = savedFrontBytes;
  bitsTotal = savedBitsTotal;
}

/** Like `save`, but raw bits may be written. One at a time. */
export function saveAll(): void {
  save();
  savedRawWindow = rawWindow;
  savedRawWindowBits = rawWindowBits;
  savedRawBytes = rawBytes;
}

/** Discards everything coded since `saveAll`. */
export function restoreFrom(): void {
  restore();
  rawWindow = savedRawWindow;
  rawWindowBits = savedRawWindowBits;
  rawBytes = savedRawBytes;
}

/** Sets aside everything coded since `saveAll`. */
export function keepAttempt(): void {
  backupRange = range;
  backupLow = low;
  backupHeldByte = heldByte;
  backupHeldOnes = heldOnes;
  backupFrontBytes = frontBytes;
  backupBitsTotal = bitsTotal;
  backupRawWindow = rawWindow;
  backupRawWindowBits = rawWindowBits;
  backupRawBytes = rawBytes;
  memory.copy(ATTEMPT_BYTES, START + usize(savedFrontBytes), usize(frontBytes - savedFrontBytes));
  memory.copy(ATTEMPT_RAW, RAW_BYTES + usize(savedRawBytes), usize(rawBytes - savedRawBytes));
}

/** Restores the attempt that was set aside, instead of what was coded since. */
export function restoreAttempt(): void {
  range = backupRange;
  low = backupLow;
  heldByte = backupHeldByte;
  heldOnes = backupHeldOnes;
  frontBytes = backupFrontBytes;
  bitsTotal = backupBitsTotal;
  rawWindow = backupRawWindow;
  rawWindowBits = backupRawWindowBits;
  rawBytes = backupRawBytes;
  memory.copy(START + usize(savedFrontBytes), ATTEMPT_BYTES, usize(frontBytes - savedFrontBytes));
  memory.copy(RAW_BYTES + usize(savedRawBytes), ATTEMPT_RAW, usize(rawBytes - savedRawBytes));
}

/** The range that the decoder must have after the packet. */
export function finalRange(): u32 {
  return range;
}

/** Whole bits so far, rounded up. */
export function tell(): i32 {
  return bitsTotal - bitLength(range);
}

/** Eighths of bits so far, rounded up. */
export function tellEighths(): i32 {
  return (bitsTotal << 3) - eighthsOf(range);
}

/** A symbol that has the part from `from` to `to` of `total`. */
export function encodeRange(from: u32, to: u32, total: u32): void {
  encodePart(from, to, total, range / total);
}

/** Encodes a symbol whose total is a power of two. */
export function encodeOfPower(from: u32, to: u32, totalBits: u32): void {
  encodePart(from, to, u32(1) << totalBits, range >> totalBits);
}

function encodePart(from: u32, to: u32, total: u32, unit: u32): void {
  if (from > 0) {
    low += range - unit * (total - from);
    range = unit * (to - from);
  } else {
    range -= unit * (total - to);
  }
  normalise();
}

/** A bit that is 1 once in 2 to the power of `rarity`. */
export function encodeBit(bit: bool, rarity: u32): void {
  const part = range >> rarity;
  if (bit) {
    low += range - part;
    range = part;
  } else {
    range -= part;
  }
  normalise();
}

/** Encodes a symbol with a table that holds, for each, the total behind it, out of 2 to the power of `totalBits`. */
export function encodeOf(symbol: i32, table: usize, totalBits: u32): void {
  const total = u32(1) << totalBits;
  const behind: u32 = load<u8>(table + usize(symbol));
  const before: u32 = symbol > 0 ? load<u8>(table + usize(symbol - 1)) : total;
  encodeOfPower(total - before, total - behind, totalBits);
}

/**
 * A whole number below `total` (2 or more), all equally likely: 8 bits at most as a symbol, the lower ones as raw bits.
 */
export function encodeNumber(value: u32, total: u32): void {
  const last = total - 1;
  const length = bitLength(last);
  if (length <= 8) {
    encodeRange(value, value + 1, total);
    return;
  }
  const rawCount = u32(length - 8);
  const high = value >> rawCount;
  encodeRange(high, high + 1, (last >> rawCount) + 1);
  encodeRaw(value & ((u32(1) << rawCount) - 1), i32(rawCount));
}

/** Bits (25 at most) as they are, from the packet's end. */
export function encodeRaw(bits: u32, count: i32): void {
  while (rawWindowBits + count > 32) flushRawByte();
  rawWindow |= bits << u32(rawWindowBits);
  rawWindowBits += count;
  bitsTotal += count;
}

/** Writes the packet's last bytes, so that it has `sizeBytes` behind its header. False when it does not fit. */
export function finishPacket(sizeBytes: i32): bool {
  const end = finishRange();
  while (rawWindowBits >= 8) flushRawByte();
  const isRawLeft = rawWindowBits > 0;
  const capacity = sizeBytes - frontBytes - rawBytes;
  // The last raw bits may share a byte with the range coder if it needs no more of it.
  const isShared = capacity === 0 && isRawLeft;
  if (isOverfull || capacity < 0 || (isShared && (rawWindowBits > end || frontBytes === 0))) return false;
  memory.fill(START + usize(frontBytes), 0, usize(capacity));
  for (let index = 0; index < rawBytes; index++) {
    store<u8>(START + usize(sizeBytes - 1 - index), load<u8>(RAW_BYTES + usize(index)));
  }
  if (isRawLeft) {
    const address = START + usize(sizeBytes - 1 - rawBytes);
    store<u8>(address, load<u8>(address) | u8(rawWindow));
  }
  return true;
}

/** Writes the fewest bits that are unambiguous. Returns how many of the last byte are free. */
function finishRange(): i32 {
  let bits = 32 - bitLength(range);
  let mask = (RANGE_TOP - 1) >> u32(bits);
  let value = (low + mask) & ~mask;
  if ((value | mask) >= low + range) {
    bits++;
    mask >>= 1;
    value = (low + mask) & ~mask;
  }
  while (bits > 0) {
    carryOut(value >> 23);
    value = (value << 8) & (RANGE_TOP - 1);
    bits -= 8;
  }
  if (heldByte >= 0 || heldOnes > 0) carryOut(0);
  return -bits;
}

function normalise(): void {
  while (range <= RANGE_BOTTOM) {
    carryOut(low >> 23);
    low = (low << 8) & (RANGE_TOP - 1);
    range <<= 8;
    bitsTotal += 8;
  }
}

/** Takes 9 bits, of which the highest is a carry. Bytes of 255 wait, as a carry would run through them. */
function carryOut(bits: u32): void {
  if (bits === 255) {
    heldOnes++;
    return;
  }
  const carry = i32(bits >> 8);
  if (heldByte >= 0) writeFront(heldByte + carry);
  while (heldOnes > 0) {
    writeFront(255 + carry);
    heldOnes--;
  }
  heldByte = i32(bits & 255);
}

function writeFront(byte: i32): void {
  if (frontBytes >= FRONT_BYTES_MAX) {
    isOverfull = true;
    return;
  }
  store<u8>(START + usize(frontBytes), u8(byte));
  frontBytes++;
}

function flushRawByte(): void {
  if (rawBytes >= i32(RAW_CAPACITY)) isOverfull = true;
  else {
    store<u8>(RAW_BYTES + usize(rawBytes), u8(rawWindow));
    rawBytes++;
  }
  rawWindow >>= 8;
  rawWindowBits -= 8;
}
