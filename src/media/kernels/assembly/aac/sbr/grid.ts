// Reads at which slots of time envelopes and noise begin. AssemblyScript, part of the AAC decoder; sbr_grid of ISO 14496-3
// sections 4.4.2.8 and 4.6.18.3.3.

import { read } from "../../bits.ts";
import {
  AMPLITUDE_STEP,
  BORDER,
  ENVELOPES,
  FRAME_CLASS,
  fact,
  NOISE_BORDER,
  NOISES,
  OLD_END,
  OLD_TRANSIENT,
  RESOLUTION,
  STEP,
  setFact,
  TRANSIENT,
} from "./facts.ts";

const FIXED: i32 = 0;
const FIXED_TO_VARIABLE: i32 = 1;
const VARIABLE_TO_FIXED: i32 = 2;
/** Borders are counted in pairs of slots. */
const LENGTH: i32 = 16;

/** False: it is not valid. */
export function readGrid(header: usize, replica: usize): bool {
  const oldCount = fact(replica, ENVELOPES);
  keepOld(replica, oldCount);
  setFact(replica, STEP, fact(header, AMPLITUDE_STEP));
  const kind = read(2);
  setFact(replica, FRAME_CLASS, kind);
  const pointer = kind === FIXED ? readFixed(replica) : readVariable(replica, kind);
  const count = fact(replica, ENVELOPES);
  if (pointer < 0 || pointer > count + 1) return false;
  for (let index = 1; index <= count; index++) {
    if (fact(replica, BORDER + index - 1) > fact(replica, BORDER + index)) return false;
  }
  setNoiseBorders(replica, kind, count, pointer);
  setFact(replica, OLD_TRANSIENT, fact(replica, TRANSIENT) === oldCount ? 0 : -1);
  let transient = -1;
  if ((kind & 1) !== 0 && pointer > 0) transient = count + 1 - pointer;
  else if (kind === VARIABLE_TO_FIXED && pointer > 1) transient = pointer - 1;
  setFact(replica, TRANSIENT, transient);
  return true;
}

function keepOld(replica: usize, count: i32): void {
  setFact(replica, RESOLUTION, fact(replica, RESOLUTION + count));
  setFact(replica, OLD_END, fact(replica, BORDER + count));
}

/** Envelopes of the same length. Returns less than 0 where it is not valid. */
function readFixed(replica: usize): i32 {
  const count = 1 << read(2);
  if (count > 4) return -1;
  setFact(replica, ENVELOPES, count);
  if (count === 1) setFact(replica, STEP, 0);
  for (let index = 0; index <= count; index++) setFact(replica, BORDER + index, (LENGTH / count) * index);
  const resolution = read(1);
  for (let index = 1; index <= count; index++) setFact(replica, RESOLUTION + index, resolution);
  return 0;
}

/** Returns the envelope that has the transient, as it is coded; less than 0 where it is not valid. */
function readVariable(replica: usize, kind: i32): i32 {
  let start = 0;
  let end = LENGTH;
  if (kind !== FIXED_TO_VARIABLE) start = read(2);
  if (kind !== VARIABLE_TO_FIXED) end += read(2);
  const leading = kind !== FIXED_TO_VARIABLE ? read(2) : 0;
  const trailing = kind !== VARIABLE_TO_FIXED ? read(2) : 0;
  const count = leading + trailing + 1;
  // Before anything is stored behind the last one.
  if (count > 5) return -1;
  setFact(replica, ENVELOPES, count);
  setFact(replica, BORDER, start);
  setFact(replica, BORDER + count, end);
  for (let index = 1; index <= leading; index++) {
    setFact(replica, BORDER + index, fact(replica, BORDER + index - 1) + 2 * read(2) + 2);
  }
  for (let index = count - 1; index >= count - trailing; index--) {
    setFact(replica, BORDER + index, fact(replica, BORDER + index + 1) - 2 * read(2) - 2);
  }
  const pointer = read(count === 1 ? 1 : count < 4 ? 2 : 3);
  for (let index = 1; index <= count; index++) {
    const envelope = kind === FIXED_TO_VARIABLE ? count + 1 - index : index;
    setFact(replica, RESOLUTION + envelope, read(1));
  }
  return pointer;
}

function setNoiseBorders(replica: usize, kind: i32, count: i32, pointer: i32): void {
  const noises = count > 1 ? 2 : 1;
  setFact(replica, NOISES, noises);
  setFact(replica, NOISE_BORDER, fact(replica, BORDER));
  setFact(replica, NOISE_BORDER + noises, fact(replica, BORDER + count));
  if (noises === 1) return;
  let middle: i32;
  if (kind === FIXED) middle = count >> 1;
  else if ((kind & 1) !== 0) middle = count - max(pointer - 1, 1);
  else middle = pointer === 0 ? 1 : pointer === 1 ? count - 1 : pointer - 1;
  setFact(replica, NOISE_BORDER + 1, fact(replica, BORDER + middle));
}

/** The second channel of a coupled pair has the grid of the first. */
export function copyGrid(left: usize, right: usize): void {
  const oldCount = fact(right, ENVELOPES);
  keepOld(right, oldCount);
  setFact(right, OLD_TRANSIENT, fact(right, TRANSIENT) === oldCount ? 0 : -1);
  for (let index = 1; index < 6; index++) setFact(right, RESOLUTION + index, fact(left, RESOLUTION + index));
  for (let index = 0; index < 8; index++) setFact(right, BORDER + index, fact(left, BORDER + index));
  for (let index = 0; index < 3; index++) setFact(right, NOISE_BORDER + index, fact(left, NOISE_BORDER + index));
  setFact(right, ENVELOPES, fact(left, ENVELOPES));
  setFact(right, STEP, fact(left, STEP));
  setFact(right, NOISES, fact(left, NOISES));
  setFact(right, FRAME_CLASS, fact(left, FRAME_CLASS));
  setFact(right, TRANSIENT, fact(left, TRANSIENT));
}
