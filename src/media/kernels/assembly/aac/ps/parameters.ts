// Reads the parameters of parametric stereo: level differences, coherences and phases of each envelope. AssemblyScript,
// part of the AAC decoder; ps_data of ISO 14496-3 section 8.4.2.

import { PACKET_BYTE, STEREO_BOOK } from "../../../numbers/aac.ts";
import { bitFrom, read } from "../../bits.ts";
import { bookAt, readIndex } from "../codes.ts";
import {
  BORDER,
  COHERENCE_COUNT,
  COHERENCES,
  clearRows,
  copyRow,
  ENVELOPES,
  fact,
  HAS_COHERENCES,
  HAS_EXTENSION,
  HAS_LEVELS,
  HAS_PHASES,
  IN_PHASES,
  IS_34,
  IS_BY_COMPONENTS,
  IS_FINE,
  IS_STARTED,
  LEVEL_COUNT,
  LEVELS,
  OLD_ENVELOPES,
  OUT_PHASES,
  PHASE_COUNT,
  rowAt,
  setFact,
  WAS_34,
} from "./facts.ts";

const LAST_SLOT: i32 = 31;
const MODE_MAX: i32 = 5;
// Huffman tables: of differences in frequency; the one in time follows.
const FINE_BOOK: i32 = 0;
const COARSE_BOOK: i32 = 2;
const COHERENCE_BOOK: i32 = 4;
const IN_PHASE_BOOK: i32 = 6;
const OUT_PHASE_BOOK: i32 = 8;
const COHERENCE_MAX: i32 = 7;

/** Reads up to bit `endBit`. What is damaged ends stereo until the next header. */
export function readStereo(stereo: usize, endBit: i32): void {
  const hasHeader = read(1) !== 0;
  const isValid = (!hasHeader || readHeader(stereo)) && readRows(stereo, endBit);
  if (isValid && bitFrom(PACKET_BYTE) <= endBit) {
    if (hasHeader) setFact(stereo, IS_STARTED, 1);
    return;
  }
  setFact(stereo, IS_STARTED, 0);
  for (let kind = LEVELS; kind <= OUT_PHASES; kind++) clearRows(stereo, kind);
}

function readHeader(stereo: usize): bool {
  const hasLevels = read(1);
  setFact(stereo, HAS_LEVELS, hasLevels);
  if (hasLevels !== 0) {
    const mode = read(3);
    if (mode > MODE_MAX) return false;
    const size = mode % 3;
    setFact(stereo, LEVEL_COUNT, parameterCount(size));
    setFact(stereo, IS_FINE, mode > 2 ? 1 : 0);
    setFact(stereo, PHASE_COUNT, 5 + 6 * size);
  }
  const hasCoherences = read(1);
  setFact(stereo, HAS_COHERENCES, hasCoherences);
  if (hasCoherences !== 0) {
    const mode = read(3);
    if (mode > MODE_MAX) return false;
    setFact(stereo, COHERENCE_COUNT, parameterCount(mode % 3));
    setFact(stereo, IS_BY_COMPONENTS, mode > 2 ? 1 : 0);
  }
  setFact(stereo, HAS_EXTENSION, read(1));
  return true;
}

function parameterCount(size: i32): i32 {
  return size === 0 ? 10 : size === 1 ? 20 : 34;
}

function readRows(stereo: usize, endBit: i32): bool {
  if (!readBorders(stereo)) return false;
  const envelopes = fact(stereo, ENVELOPES);
  const levelBook = fact(stereo, IS_FINE) !== 0 ? FINE_BOOK : COARSE_BOOK;
  if (fact(stereo, HAS_LEVELS) === 0) clearRows(stereo, LEVELS);
  else if (!readKind(stereo, LEVELS, levelBook, fact(stereo, LEVEL_COUNT))) return false;
  if (fact(stereo, HAS_COHERENCES) === 0) clearRows(stereo, COHERENCES);
  else if (!readKind(stereo, COHERENCES, COHERENCE_BOOK, fact(stereo, COHERENCE_COUNT))) return false;
  if (fact(stereo, HAS_EXTENSION) !== 0) readExtensions(stereo, endBit);
  if (envelopes === 0 || fact(stereo, BORDER + envelopes) < LAST_SLOT) appendEnvelope(stereo, envelopes);
  setFact(stereo, WAS_34, fact(stereo, IS_34));
  const hasLevels = fact(stereo, HAS_LEVELS) !== 0;
  const hasCoherences = fact(stereo, HAS_COHERENCES) !== 0;
  if (hasLevels || hasCoherences) {
    const is34 =
      (hasLevels && fact(stereo, LEVEL_COUNT) === 34) || (hasCoherences && fact(stereo, COHERENCE_COUNT) === 34);
    setFact(stereo, IS_34, i32(is34));
  }
  if (fact(stereo, HAS_PHASES) === 0) {
    clearRows(stereo, IN_PHASES);
    clearRows(stereo, OUT_PHASES);
  }
  return true;
}

function readBorders(stereo: usize): bool {
  const isVariable = read(1) !== 0;
  const code = read(2);
  const envelopes = isVariable ? code + 1 : code === 3 ? 4 : code;
  setFact(stereo, OLD_ENVELOPES, fact(stereo, ENVELOPES));
  setFact(stereo, ENVELOPES, envelopes);
  setFact(stereo, BORDER, -1);
  for (let envelope = 1; envelope <= envelopes; envelope++) {
    const border = isVariable ? read(5) : ((LAST_SLOT + 1) * envelope) / envelopes - 1;
    if (border < fact(stereo, BORDER + envelope - 1)) return false;
    setFact(stereo, BORDER + envelope, border);
  }
  return true;
}

/** Each envelope's parameters, with their direction. False: one is out of range. */
function readKind(stereo: usize, kind: i32, book: i32, count: i32): bool {
  for (let envelope = 0; envelope < fact(stereo, ENVELOPES); envelope++) {
    if (!readRow(stereo, kind, book, envelope, count)) return false;
  }
  return true;
}

function readRow(stereo: usize, kind: i32, book: i32, envelope: i32, count: i32): bool {
  const isInTime = read(1) !== 0;
  const old = envelope > 0 ? envelope - 1 : max(fact(stereo, OLD_ENVELOPES) - 1, 0);
  const before = rowAt(stereo, kind, old);
  const row = rowAt(stereo, kind, envelope);
  const codes = bookAt(STEREO_BOOK + book + (isInTime ? 1 : 0));
  const centre = kind === LEVELS ? (book === FINE_BOOK ? 30 : 14) : kind === COHERENCES ? 7 : 0;
  const lowest = kind === LEVELS ? (book === FINE_BOOK ? -15 : -7) : 0;
  const highest = kind === LEVELS ? -lowest : COHERENCE_MAX;
  let value = 0;
  for (let parameter = 0; parameter < count; parameter++) {
    value = (isInTime ? i32(load<i8>(before + parameter)) : value) + readIndex(codes) - centre;
    if (kind >= IN_PHASES) value &= 7;
    if (value < lowest || value > highest) return false;
    store<i8>(row + parameter, i8(value));
  }
  return true;
}

function readExtensions(stereo: usize, endBit: i32): void {
  let bits = read(4);
  if (bits === 15) bits += read(8);
  const end = min(bitFrom(PACKET_BYTE) + 8 * bits, endBit);
  while (bitFrom(PACKET_BYTE) + 7 < end) {
    if (read(2) !== 0) continue;
    const hasPhases = read(1);
    setFact(stereo, HAS_PHASES, hasPhases);
    if (hasPhases !== 0) {
      const count = fact(stereo, PHASE_COUNT);
      for (let envelope = 0; envelope < fact(stereo, ENVELOPES); envelope++) {
        readRow(stereo, IN_PHASES, IN_PHASE_BOOK, envelope, count);
        readRow(stereo, OUT_PHASES, OUT_PHASE_BOOK, envelope, count);
      }
    }
    read(1);
  }
  while (bitFrom(PACKET_BYTE) < end) read(1);
}

/** Up to the end of the packet, with the parameters of the last one. */
function appendEnvelope(stereo: usize, envelopes: i32): void {
  const source = envelopes > 0 ? envelopes - 1 : fact(stereo, OLD_ENVELOPES) - 1;
  if (source >= 0 && source !== envelopes) {
    for (let kind = LEVELS; kind <= OUT_PHASES; kind++) copyRow(stereo, kind, source, envelopes);
  }
  setFact(stereo, ENVELOPES, envelopes + 1);
  setFact(stereo, BORDER + envelopes + 1, LAST_SLOT);
}
