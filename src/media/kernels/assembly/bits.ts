// Reads bits from memory, first the highest of a byte. One reader at a time, as its state is global. AssemblyScript,
// compiled into each decoder that uses it.

/** The next bits, from the highest on; those behind `count` are 0. */
let cache: u64 = 0;
let count: i32 = 0;
/** Where the cache is filled from. */
let next: usize = 0;

/** Starts at a bit of the memory at `address`. */
export function startAt(address: usize, bit: i32): void {
  next = address + (bit >> 3);
  cache = 0;
  count = 0;
  fill();
  skip(bit & 7);
}

/** The bit that comes next, counted from `address`. */
export function bitFrom(address: usize): i32 {
  return 8 * i32(next - address) - count;
}

/** Makes 32 bits and more available. */
export function fill(): void {
  if (count >= 32) return;
  cache |= u64(bswap<u32>(load<u32>(next))) << u64(32 - count);
  next += 4;
  count += 32;
}

/** The next bits, 1 to 32 of those that are available. */
export function peek(bits: i32): i32 {
  return i32(cache >> u64(64 - bits));
}

export function skip(bits: i32): void {
  cache <<= u64(bits);
  count -= bits;
}

/** A number of up to 31 bits, 0 for none. */
export function read(bits: i32): i32 {
  if (bits === 0) return 0;
  fill();
  const value = peek(bits);
  skip(bits);
  return value;
}
