// What a stream retains for parametric stereo, by its place in memory. AssemblyScript, part of the AAC decoder; ISO 14496-3
// section 8.6.4.

import { STEREO_BYTES, STEREO_PHASES, STEREO_ROWS } from "../../../numbers/aac.ts";

// Whole numbers, by their index.
export const IS_STARTED: i32 = 0;
export const HAS_LEVELS: i32 = 1;
export const HAS_COHERENCES: i32 = 2;
export const HAS_EXTENSION: i32 = 3;
export const HAS_PHASES: i32 = 4;
/** How many there are: levels, coherences, phases. */
export const LEVEL_COUNT: i32 = 5;
export const COHERENCE_COUNT: i32 = 6;
export const PHASE_COUNT: i32 = 7;
export const IS_FINE: i32 = 8;
/** Coherences are mixed by components, in place of a rotation. */
export const IS_BY_COMPONENTS: i32 = 9;
export const ENVELOPES: i32 = 10;
export const OLD_ENVELOPES: i32 = 11;
/** There are 34 parameters, in place of 20; in the packet before. */
export const IS_34: i32 = 12;
export const WAS_34: i32 = 13;
/** The last slot of each envelope, behind one for the first's start. */
export const BORDER: i32 = 16;

// Kinds of parameters.
export const LEVELS: i32 = 0;
export const COHERENCES: i32 = 1;
export const IN_PHASES: i32 = 2;
export const OUT_PHASES: i32 = 3;

const ROW_BYTES: usize = 36;
const ROWS: i32 = 5;

export function fact(stereo: usize, index: i32): i32 {
  return load<i32>(stereo + 4 * index);
}

export function setFact(stereo: usize, index: i32, value: i32): void {
  store<i32>(stereo + 4 * index, value);
}

/** Parameters of an envelope, as bytes with sign. */
export function rowAt(stereo: usize, kind: i32, envelope: i32): usize {
  return stereo + STEREO_ROWS + ROW_BYTES * (ROWS * kind + envelope);
}

export function clearRows(stereo: usize, kind: i32): void {
  memory.fill(rowAt(stereo, kind, 0), 0, ROW_BYTES * ROWS);
}

export function copyRow(stereo: usize, kind: i32, from: i32, to: i32): void {
  memory.copy(rowAt(stereo, kind, to), rowAt(stereo, kind, from), ROW_BYTES);
}

/** The last two phases of each parameter, as bytes. */
export function phasesAt(stereo: usize, kind: i32): usize {
  return stereo + STEREO_PHASES + ROW_BYTES * (kind - IN_PHASES);
}

/** Before the first data. */
export function clearStereo(stereo: usize): void {
  memory.fill(stereo, 0, STEREO_BYTES);
}
