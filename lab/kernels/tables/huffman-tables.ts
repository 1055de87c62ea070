// Writes Huffman tables as the AAC decoder looks them up (src/media/kernels/assembly/aac/codes.ts). Part of the build.

/** Bits of the first look into a table, and of those that continue longer codes. */
const LOOK_BITS = 8;
const NEXT_LOOK_BITS = 6;
/** As long as any code. */
const CODE_BITS_MAX = 20;

interface Code {
  /** Followed by zeros, up to `CODE_BITS_MAX` bits. */
  readonly code: number;
  readonly bits: number;
  readonly index: number;
}

/**
 * Writes entries of 32 bits: how many bits the rest of the code has (5), and its index; or, negative, how many bits the next
 * look takes (5), and where it begins. `text`: of a complete table, from the lowest code (all bits 0) to the highest, its
 * length in base 36 and its index in two digits of base 36. Returns the address behind the table.
 */
export function writeHuffmanTable(view: DataView, address: number, text: string): number {
  let end = 0;
  /** Writes what comes behind the first `known` bits. Returns where. */
  const write = (codes: readonly Code[], known: number, lookBits: number): number => {
    const offset = end;
    end += 1 << lookBits;
    const groups = new Map<number, Code[]>();
    for (const code of codes) {
      const place = (code.code >> (CODE_BITS_MAX - known - lookBits)) & ((1 << lookBits) - 1);
      const restBits = code.bits - known;
      if (restBits > lookBits) groups.set(place, [...(groups.get(place) ?? []), code]);
      for (let copy = 0; copy < 1 << (lookBits - restBits) && restBits <= lookBits; copy++)
        view.setInt32(address + 4 * (offset + place + copy), restBits | (code.index << 5), true);
    }
    for (const [place, group] of groups) {
      const longest = Math.max(...group.map(({ bits }) => bits)) - known - lookBits;
      const nextBits = Math.min(longest, NEXT_LOOK_BITS);
      const next = write(group, known + lookBits, nextBits);
      view.setInt32(address + 4 * (offset + place), (1 << 31) | (next << 5) | nextBits, true);
    }
    return offset;
  };
  write(codesOf(text), 0, LOOK_BITS);
  return address + 4 * end;
}

function codesOf(text: string): readonly Code[] {
  const codes: Code[] = [];
  let next = 0;
  for (let at = 0; at < text.length; at += 3) {
    const bits = Number.parseInt(text.charAt(at), 36);
    codes.push({ code: next, bits, index: Number.parseInt(text.slice(at + 1, at + 3), 36) });
    next += 1 << (CODE_BITS_MAX - bits);
  }
  return codes;
}
