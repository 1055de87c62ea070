// The elements of a packet: which channels they are for, and reading past those that are not played. AssemblyScript, part
// of the AAC decoder; ISO 14496-3 section 4.4.2.

import { ANY_TAG, ELEMENTS_BYTE, ELEMENTS_MAX, NO_ELEMENT, PACKET_BYTE, SCALE_BOOK } from "../../numbers/aac.ts";
import { bitFrom, read, startAt } from "../bits.ts";
import { BANDS, bookOf, fact, GROUPS, SILENT_BOOK } from "./channel.ts";
import { readCode } from "./codes.ts";

// Identifiers (table 4.85); 0 is a single channel.
export const PAIR: i32 = 1;
export const COUPLING: i32 = 2;
export const LOW_FREQUENCIES: i32 = 3;
export const DATA: i32 = 4;
export const PROGRAM: i32 = 5;
export const FILL: i32 = 6;
export const END: i32 = 7;

/** Of the elements in memory, those that the packet has had. */
let used: i32 = 0;

export function startElements(): void {
  used = 0;
}

/** Address of the element, 0 where the stream has none or it was there before. */
export function findElement(id: i32, tag: i32): usize {
  for (let index = 0; index < ELEMENTS_MAX; index++) {
    const element: usize = ELEMENTS_BYTE + 4 * index;
    const knownId = i32(load<u8>(element));
    if (knownId === NO_ELEMENT) return 0;
    const knownTag = i32(load<u8>(element + 1));
    if (knownId !== id || (used & (1 << index)) !== 0 || (knownTag !== ANY_TAG && knownTag !== tag)) continue;
    used |= 1 << index;
    return element;
  }
  return 0;
}

export function firstChannel(element: usize): i32 {
  return i32(load<u8>(element + 2));
}

export function secondChannel(element: usize): i32 {
  return i32(load<u8>(element + 3));
}

/** Moves on by `bits`. False: the packet ends before. */
function skipBits(bits: i32, endBit: i32): bool {
  const bit = bitFrom(PACKET_BYTE) + bits;
  if (bit > endBit) return false;
  startAt(PACKET_BYTE, bit);
  return true;
}

function alignToByte(): void {
  startAt(PACKET_BYTE, (bitFrom(PACKET_BYTE) + 7) & ~7);
}

/** Bytes of data that are no audio. */
export function skipData(endBit: i32): bool {
  read(4);
  const isAligned = read(1) !== 0;
  let count = read(8);
  if (count === 255) count += read(8);
  if (isAligned) alignToByte();
  return skipBits(8 * count, endBit);
}

/** Size of fill_element. */
export function readFillBytes(): i32 {
  const count = read(4);
  return count === 15 ? count + read(8) - 1 : count;
}

/** program_config_element: the host knows what it describes. */
export function skipProgram(endBit: i32): bool {
  read(4 + 2 + 4);
  let bits = 0;
  const outputs = read(4) + read(4) + read(4);
  bits += 5 * outputs + 4 * read(2) + 4 * read(3);
  bits += 5 * read(4);
  if (read(1) !== 0) read(4);
  if (read(1) !== 0) read(4);
  if (read(1) !== 0) read(3);
  if (!skipBits(bits, endBit)) return false;
  alignToByte();
  return skipBits(8 * read(8), endBit);
}

/** Reads the first part of coupling_channel_element. Returns how many gains it has; less than 0: gains are one each. */
export function skipCouplingHead(): i32 {
  read(4);
  const isIndependent = read(1) !== 0;
  const targets = read(3) + 1;
  let gains = 0;
  for (let target = 0; target < targets; target++) {
    gains++;
    const isPair = read(1) !== 0;
    read(4);
    if (isPair && read(2) === 3) gains++;
  }
  read(1 + 1 + 2);
  return isIndependent ? -gains : gains;
}

/** False: it is not valid. */
export function skipCouplingGains(channel: usize, head: i32): bool {
  const isIndependent = head < 0;
  const gains = isIndependent ? -head : head;
  const bands = fact(channel, GROUPS) * fact(channel, BANDS);
  for (let gain = 1; gain < gains; gain++) {
    if (isIndependent || read(1) !== 0) readCode(SCALE_BOOK);
    else {
      for (let index = 0; index < bands; index++) {
        if (bookOf(channel, index) !== SILENT_BOOK) readCode(SCALE_BOOK);
      }
    }
  }
  return true;
}
