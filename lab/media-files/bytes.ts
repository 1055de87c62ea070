// Small builders of binary files: numbers, text, and pieces put together. For songs, hostile cases and generators.

export function ascii(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, "latin1"));
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return join(parts);
}

/** Concatenates more parts than a call can have arguments. */
export function join(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** The same bytes `count` times. */
export function repeat(part: Uint8Array, count: number): Uint8Array {
  return new Uint8Array(Buffer.alloc(part.length * count, part));
}

/** A number in `count` bytes, most significant first; what does not fit is cut off as two's complement. */
export function be(value: number | bigint, count: number): Uint8Array {
  let rest = BigInt.asUintN(count * 8, BigInt(value));
  const bytes = new Uint8Array(count);
  for (let index = count - 1; index >= 0; index--) {
    bytes[index] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

/** A number as `count` bytes, least significant first. */
export function le(value: number | bigint, count: number): Uint8Array {
  return be(value, count).reverse();
}

/** Text of zeros and ones (blanks are ignored) as bytes; the last is filled up with zeros. */
export function bits(text: string): Uint8Array {
  const digits = text.replaceAll(" ", "");
  return Uint8Array.from({ length: Math.ceil(digits.length / 8) }, (_, index) =>
    Number.parseInt(digits.slice(index * 8, index * 8 + 8).padEnd(8, "0"), 2),
  );
}

/** So many binary digits of a number, for `bits`. */
export function digits(value: number | bigint, count: number): string {
  return BigInt.asUintN(count, BigInt(value)).toString(2).padStart(count, "0");
}

/** A checksum over bits, most significant first, as a function: `width` 8, 16 or 32. */
export function crc(width: number, polynomial: number): (bytes: Uint8Array) => number {
  const top = 2 ** (width - 1);
  const table = Float64Array.from({ length: 256 }, (_, index) => {
    let value = index * 2 ** (width - 8);
    for (let bit = 0; bit < 8; bit++) {
      const isSet = value >= top;
      value = (value * 2) % 2 ** width;
      if (isSet) value = (value ^ polynomial) >>> 0;
    }
    return value;
  });
  const shift = width - 8;
  const mask = width === 32 ? 0xffffffff : 2 ** width - 1;
  return (bytes) => {
    let value = 0;
    for (const byte of bytes) value = (((value << 8) & mask) ^ table[((value >>> shift) ^ byte) & 0xff]!) >>> 0;
    return value;
  };
}
