// Looks up Huffman codes. AssemblyScript, part of the AAC decoder.

import { BOOKS_BYTE } from "../../numbers/aac.ts";
import { fill, peek, skip } from "../bits.ts";

/** Bits of the first look into a table. */
const LOOK_BITS: i32 = 8;

/** Where the entries of a table are. */
export function bookAt(book: i32): usize {
  return load<u32>(BOOKS_BYTE + 4 * book);
}

/** The index of the next code; 12 bits and more stay available. */
export function readIndex(codes: usize): i32 {
  fill();
  let entry = load<i32>(codes + 4 * peek(LOOK_BITS));
  let bits = LOOK_BITS;
  while (entry < 0) {
    skip(bits);
    bits = entry & 31;
    entry = load<i32>(codes + 4 * (((entry >> 5) & 0xffff) + peek(bits)));
  }
  skip(entry & 31);
  return entry >> 5;
}

export function readCode(book: i32): i32 {
  return readIndex(bookAt(book));
}
