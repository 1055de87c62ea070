// The range decoder (RFC 6716 section 4.1): symbols of known probability come from the front of the frame, raw bits from
// behind. One frame at a time; beyond its end everything is 0. AssemblyScript, part of the CELT decoder.

import { bitLength } from "../../../../../opus-encoder/assembly/approximations.ts";
import { eighthsOf, RANGE_TOP } from "../../../../../opus-encoder/assembly/range-size.ts";
import { FRAME_ADDRESS } from "./memory-map.ts";

let range: u32 = 0;
/** The part of the range that one of the total has, between `position` and `take`. */
let unit: u32 = 0;
/** How far the code is below the top of the range. */
let below: u32 = 0;
/** The last bit of the last byte read, which is still to be used. */
let held: u32 = 0;
let front: usize = 0;
let back: usize = 0;
let end: usize = 0;
/** Bits so far, rounded up; the range holds a part of the last. */
let bitsTotal: i32 = 0;
let raw: u32 = 0;
let rawBits: i32 = 0;

export function beginFrame(sizeBytes: i32): void {
  front = FRAME_ADDRESS + 1;
  end = FRAME_ADDRESS + usize(sizeBytes);
  store<u32>(end, 0);
  back = end;
  raw = 0;
  rawBits = 0;
  bitsTotal = 9;
  range = 128;
  const first: u32 = load<u8>(FRAME_ADDRESS);
  held = first & 1;
  below = range - 1 - (first >> 1);
  normalise();
}

/** What the encoder had after the frame too. */
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

/** Counts so many bits as read. */
export function skipTo(bits: i32): void {
  bitsTotal += bits - tell();
}

/** A bit that is 1 once in 2 to the power of `rarity`. */
export function decodeBit(rarity: u32): bool {
  const part = range >> rarity;
  const bit = below < part;
  if (bit) {
    range = part;
  } else {
    below -= part;
    range -= part;
  }
  normalise();
  return bit;
}

/** A symbol with a table that holds, for each, the total behind it, out of 2 to the power of `totalBits`. */
export function decodeOf(table: usize, totalBits: u32): i32 {
  const unit = range >> totalBits;
  let high = range;
  let low = unit * u32(load<u8>(table));
  let symbol = 0;
  while (below < low) {
    symbol++;
    high = low;
    low = unit * u32(load<u8>(table + usize(symbol)));
  }
  below -= low;
  range = high - low;
  normalise();
  return symbol;
}

/** The position of the next symbol among `total`; `take` has to follow. */
export function position(total: u32): u32 {
  unit = range / total;
  return total - min(below / unit + 1, total);
}

/** `position` for a total that is a power of two. */
export function positionOfPower(totalBits: u32): u32 {
  const total = u32(1) << totalBits;
  unit = range >> totalBits;
  return total - min(below / unit + 1, total);
}

/** Takes the symbol that has the part from `from` to `to` of `total`. */
export function take(from: u32, to: u32, total: u32): void {
  const above = unit * (total - to);
  below -= above;
  range = from > 0 ? unit * (to - from) : range - above;
  normalise();
}

/** A whole number below `total` (2 or more), all equally likely: 8 bits at most as a symbol, the lower ones as raw bits. */
export function decodeNumber(total: u32): u32 {
  const last = total - 1;
  const length = bitLength(last);
  if (length <= 8) return decodeEven(total);
  const rawCount = length - 8;
  const high = decodeEven((last >> u32(rawCount)) + 1);
  return min((high << u32(rawCount)) | decodeRaw(rawCount), last);
}

/** Bits (25 at most) as they are, from the end of the frame. */
export function decodeRaw(count: i32): u32 {
  while (rawBits < count) {
    if (back > FRAME_ADDRESS) {
      back--;
      raw |= u32(load<u8>(back)) << u32(rawBits);
    }
    rawBits += 8;
  }
  const bits = raw & ((u32(1) << u32(count)) - 1);
  raw >>= u32(count);
  rawBits -= count;
  bitsTotal += count;
  return bits;
}

function decodeEven(total: u32): u32 {
  const value = position(total);
  take(value, value + 1, total);
  return value;
}

/** Takes in as many bytes as the range has lost: the code is one bit behind them. */
function normalise(): void {
  const bytes = (clz(range - 1) - 1) >> 3;
  if (bytes === 0) return;
  const bits = bytes << 3;
  const next = bswap(load<u32>(min(front, end)));
  const code = ((held << 31) | (next >> 1)) >> (32 - bits);
  below = ((below << bits) | (~code & ((1 << bits) - 1))) & (RANGE_TOP - 1);
  held = (next >> (32 - bits)) & 1;
  front += bytes;
  range <<= bits;
  bitsTotal += i32(bits);
}
