// Writes Huffman tables as the decoders look them up (assembly/aac/codes.ts). Audio thread.

/** Bits of the first look into a table; longer codes are continued in a second one. */
const LOOK_BITS = 8;
/** Longer than any code. */
const CODE_BITS_MAX = 20;

interface Code {
  readonly code: number;
  readonly bits: number;
  /** The bits of the first look. */
  readonly first: number;
  readonly index: number;
}

/**
 * Writes entries of 32 bits: how many bits the rest of the code has (5), and its index; or, negative, where a second look
 * goes on, and how many bits that takes. `codes`: of a complete table, from the lowest code (all bits 0) to the highest,
 * its length in base 36 and its index in two digits of base 36. Returns the address behind the table.
 */
export function writeHuffmanTable(view: DataView, address: number, codes: string): number {
  let end = 1 << LOOK_BITS;
  const seconds = new Map<number, { readonly offset: number; readonly bits: number }>();
  const entries = codesOf(codes);
  for (const { first, bits } of entries) {
    if (bits <= LOOK_BITS || seconds.has(first)) continue;
    const lengths = entries.filter((entry) => entry.first === first).map((entry) => entry.bits);
    const secondBits = Math.max(...lengths) - LOOK_BITS;
    seconds.set(first, { offset: end, bits: secondBits });
    view.setInt32(address + 4 * first, (1 << 31) | (end << 5) | secondBits, true);
    end += 1 << secondBits;
  }
  for (const { code, first, bits, index } of entries) {
    const second = bits > LOOK_BITS ? seconds.get(first) : undefined;
    const [lookBits, offset] = second === undefined ? [LOOK_BITS, 0] : [second.bits, second.offset];
    const restBits = second === undefined ? bits : bits - LOOK_BITS;
    const at = offset + ((code & ((1 << restBits) - 1)) << (lookBits - restBits));
    for (let copy = 0; copy < 1 << (lookBits - restBits); copy++)
      view.setInt32(address + 4 * (at + copy), restBits | (index << 5), true);
  }
  return address + 4 * end;
}

function codesOf(text: string): readonly Code[] {
  const codes: Code[] = [];
  let next = 0;
  for (let at = 0; at < text.length; at += 3) {
    const bits = Number.parseInt(text.charAt(at), 36);
    const index = Number.parseInt(text.slice(at + 1, at + 3), 36);
    codes.push({ code: next >> (CODE_BITS_MAX - bits), bits, first: next >> (CODE_BITS_MAX - LOOK_BITS), index });
    next += 1 << (CODE_BITS_MAX - bits);
  }
  return codes;
}
