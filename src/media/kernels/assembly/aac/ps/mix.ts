// Mixes both signals to left and right, by gains that move from one envelope to the next. AssemblyScript, part of the AAC
// decoder; ISO 14496-3 section 8.6.4.6.

import {
  GAIN_ROW_BYTES,
  MIX_BYTES,
  MIXES_BYTE,
  NEXT_GAINS_BYTE,
  PART_BYTES,
  PHASES_BYTE,
  STEREO_GAINS,
  WORK_BYTE,
} from "../../../numbers/aac.ts";
import { bandAt, bandCount } from "./bands.ts";
import { parameterOf } from "./decorrelate.ts";
import {
  BORDER,
  COHERENCE_COUNT,
  COHERENCES,
  ENVELOPES,
  fact,
  HAS_PHASES,
  IN_PHASES,
  IS_34,
  IS_BY_COMPONENTS,
  IS_FINE,
  LEVEL_COUNT,
  LEVELS,
  OUT_PHASES,
  PHASE_COUNT,
  phasesAt,
  rowAt,
  WAS_34,
} from "./facts.ts";

const GAINS: i32 = 8;
/** Of a kind's parameters, in whichever number the bands need. */
const MAPPED: usize = WORK_BYTE;
const MAPPED_BYTES: usize = 64;
const MAPPED_PHASES: usize = MAPPED + 2 * MAPPED_BYTES;
/** A parameter, as 34 and as 20 of them. */
const VALUES: usize = MAPPED + 4 * MAPPED_BYTES;

export function mixSides(stereo: usize, is34: bool): void {
  const was34 = fact(stereo, WAS_34) !== 0;
  const parameters = is34 ? 34 : 20;
  if (is34 !== was34) {
    for (let gain: usize = 0; gain < usize(GAINS); gain++)
      mapGains(stereo + STEREO_GAINS + GAIN_ROW_BYTES * gain, is34);
    memory.fill(phasesAt(stereo, IN_PHASES), 0, 36);
    memory.fill(phasesAt(stereo, OUT_PHASES), 0, 36);
  }
  for (let envelope = 0; envelope < fact(stereo, ENVELOPES); envelope++) {
    mapRow(rowAt(stereo, LEVELS, envelope), MAPPED, fact(stereo, LEVEL_COUNT), is34, true);
    mapRow(rowAt(stereo, COHERENCES, envelope), MAPPED + MAPPED_BYTES, fact(stereo, COHERENCE_COUNT), is34, true);
    if (fact(stereo, HAS_PHASES) !== 0) {
      mapRow(rowAt(stereo, IN_PHASES, envelope), MAPPED_PHASES, fact(stereo, PHASE_COUNT), is34, false);
      mapRow(rowAt(stereo, OUT_PHASES, envelope), MAPPED_PHASES + MAPPED_BYTES, fact(stereo, PHASE_COUNT), is34, false);
    }
    for (let index = 0; index < parameters; index++) findGains(stereo, index);
    const start = fact(stereo, BORDER + envelope);
    const stop = fact(stereo, BORDER + envelope + 1);
    for (let band = 0; band < bandCount(is34); band++) mixBand(stereo, band, start, stop, is34);
    memory.copy(stereo + STEREO_GAINS, NEXT_GAINS_BYTE, GAINS * GAIN_ROW_BYTES);
  }
}

function parameter(row: usize, index: i32): i32 {
  return i32(load<i8>(row + index));
}

function put(row: usize, index: i32, value: i32): void {
  store<i8>(row + index, i8(value));
}

/** Tables 8.45 to 8.47. `isFull`: otherwise only the lower half has values. */
function mapRow(from: usize, to: usize, count: i32, is34: bool, isFull: bool): void {
  memory.fill(to, 0, MAPPED_BYTES);
  const is10 = count === 10 || count === 5;
  const has34 = count === 34 || count === 17;
  if (is34 === has34 && !is10) memory.copy(to, from, 36);
  else if (is10) {
    const pairs = isFull ? 20 : 10;
    if (is34) spread10(from, to, isFull);
    else for (let index = 0; index < pairs; index++) put(to, index, parameter(from, index >> 1));
  } else if (is34) spread20(from, to, isFull);
  else join34(from, to, isFull);
}

function spread10(from: usize, to: usize, isFull: bool): void {
  const count = isFull ? 34 : 16;
  for (let index = 0; index < count; index++) {
    let source = 9;
    if (index < 3) source = 0;
    else if (index < 6) source = 1;
    else if (index < 10) source = 2;
    else if (index < 12) source = 3;
    else if (index < 16) source = 4;
    else if (index < 18) source = 5;
    else if (index < 20) source = 6;
    else if (index < 24) source = 7;
    else if (index < 28) source = 8;
    put(to, index, parameter(from, source));
  }
}

/** Which of 20 parameters each of 34 is, but for two that lie between two. */
function sourceOf20(index: i32): i32 {
  if (index < 2) return 0;
  if (index < 4) return index - 1;
  if (index < 6) return index - 2;
  if (index < 8) return 4;
  if (index < 10) return 5;
  if (index < 12) return index - 4;
  if (index < 14) return 8;
  if (index < 16) return 9;
  if (index < 20) return index - 6;
  if (index < 22) return 14;
  if (index < 24) return 15;
  if (index < 26) return 16;
  if (index < 28) return 17;
  return index < 32 ? 18 : 19;
}

function spread20(from: usize, to: usize, isFull: bool): void {
  const count = isFull ? 34 : 17;
  for (let index = 0; index < count; index++) put(to, index, parameter(from, sourceOf20(index)));
  put(to, 1, (parameter(from, 0) + parameter(from, 1)) / 2);
  put(to, 4, (parameter(from, 2) + parameter(from, 3)) / 2);
}

function join34(from: usize, to: usize, isFull: bool): void {
  put(to, 0, (2 * parameter(from, 0) + parameter(from, 1)) / 3);
  put(to, 1, (parameter(from, 1) + 2 * parameter(from, 2)) / 3);
  put(to, 2, (2 * parameter(from, 3) + parameter(from, 4)) / 3);
  put(to, 3, (parameter(from, 4) + 2 * parameter(from, 5)) / 3);
  put(to, 4, (parameter(from, 6) + parameter(from, 7)) / 2);
  put(to, 5, (parameter(from, 8) + parameter(from, 9)) / 2);
  put(to, 6, parameter(from, 10));
  put(to, 7, parameter(from, 11));
  put(to, 8, (parameter(from, 12) + parameter(from, 13)) / 2);
  put(to, 9, (parameter(from, 14) + parameter(from, 15)) / 2);
  put(to, 10, parameter(from, 16));
  if (!isFull) return;
  for (let index = 11; index < 14; index++) put(to, index, parameter(from, index + 6));
  for (let index = 14; index < 18; index++) {
    put(to, index, (parameter(from, 2 * index - 8) + parameter(from, 2 * index - 7)) / 2);
  }
  put(to, 18, (parameter(from, 28) + parameter(from, 29) + parameter(from, 30) + parameter(from, 31)) / 4);
  put(to, 19, (parameter(from, 32) + parameter(from, 33)) / 2);
}

/** One gain of all parameters, from 34 of them to 20 or back. */
function mapGains(row: usize, is34: bool): void {
  memory.copy(VALUES, row, GAIN_ROW_BYTES);
  if (is34) {
    for (let index = 0; index < 34; index++) setGain(row, index, value(sourceOf20(index)));
    setGain(row, 1, (value(0) + value(1)) * 0.5);
    setGain(row, 4, (value(2) + value(3)) * 0.5);
    return;
  }
  const third: f32 = 0.33333333;
  setGain(row, 0, (2 * value(0) + value(1)) * third);
  setGain(row, 1, (value(1) + 2 * value(2)) * third);
  setGain(row, 2, (2 * value(3) + value(4)) * third);
  setGain(row, 3, (value(4) + 2 * value(5)) * third);
  setGain(row, 4, (value(6) + value(7)) * 0.5);
  setGain(row, 5, (value(8) + value(9)) * 0.5);
  setGain(row, 6, value(10));
  setGain(row, 7, value(11));
  setGain(row, 8, (value(12) + value(13)) * 0.5);
  setGain(row, 9, (value(14) + value(15)) * 0.5);
  for (let index = 10; index < 14; index++) setGain(row, index, value(index + 6));
  for (let index = 14; index < 18; index++) setGain(row, index, (value(2 * index - 8) + value(2 * index - 7)) * 0.5);
  setGain(row, 18, (value(28) + value(29) + value(30) + value(31)) * 0.25);
  setGain(row, 19, (value(32) + value(33)) * 0.5);
}

function value(index: i32): f32 {
  return load<f32>(VALUES + 4 * index);
}

function setGain(row: usize, index: i32, gain: f32): void {
  store<f32>(row + 4 * index, gain);
}

/** To `NEXT_GAINS_BYTE`: real parts of the four gains at the end of the envelope, then imaginary ones. */
function findGains(stereo: usize, index: i32): void {
  // Those of a packet before may have had finer steps.
  const level = max(parameter(MAPPED, index) + (fact(stereo, IS_FINE) !== 0 ? 30 : 7), 0);
  const coherence = parameter(MAPPED + MAPPED_BYTES, index);
  const mixes: usize =
    MIXES_BYTE + (fact(stereo, IS_BY_COMPONENTS) !== 0 ? MIX_BYTES : 0) + 16 * (8 * level + coherence);
  const to: usize = NEXT_GAINS_BYTE + 4 * index;
  const phases = fact(stereo, IS_34) !== 0 ? 17 : 11;
  const hasPhase = fact(stereo, HAS_PHASES) !== 0 && index < phases;
  let outRe: f32 = 1;
  let outIm: f32 = 0;
  let adjustedRe: f32 = 1;
  let adjustedIm: f32 = 0;
  if (hasPhase) {
    const outPhases = smoothed(phasesAt(stereo, OUT_PHASES) + index, parameter(MAPPED_PHASES + MAPPED_BYTES, index));
    const inPhases = smoothed(phasesAt(stereo, IN_PHASES) + index, parameter(MAPPED_PHASES, index));
    outRe = load<f32>(outPhases);
    outIm = load<f32>(outPhases + 4);
    const inRe = load<f32>(inPhases);
    const inIm = load<f32>(inPhases + 4);
    adjustedRe = outRe * inRe + outIm * inIm;
    adjustedIm = outIm * inRe - outRe * inIm;
  }
  for (let gain: usize = 0; gain < 4; gain++) {
    const size = load<f32>(mixes + 4 * gain);
    // The second and the fourth are for the right side.
    const isRight = (gain & 1) !== 0;
    store<f32>(to + GAIN_ROW_BYTES * gain, size * (isRight ? adjustedRe : outRe));
    store<f32>(to + GAIN_ROW_BYTES * (gain + 4), size * (isRight ? adjustedIm : outIm));
  }
}

/** Where the mean of the phase and the two before it is. `history`: in and out. */
function smoothed(history: usize, phase: i32): usize {
  const index = i32(load<u8>(history)) * 8 + phase;
  store<u8>(history, u8(index & 63));
  return PHASES_BYTE + 8 * index;
}

/** Of one band: slots behind `start` up to `stop`. */
function mixBand(stereo: usize, band: i32, start: i32, stop: i32, is34: bool): void {
  const count = stop - start;
  if (count <= 0) return;
  const index: usize = 4 * parameterOf(band, is34);
  const old = stereo + STEREO_GAINS + index;
  const next: usize = NEXT_GAINS_BYTE + index;
  const left = bandAt(0, band, is34) + 4 * (start + 1);
  const right = bandAt(1, band, is34) + 4 * (start + 1);
  // Bands of negative frequencies turn the other way.
  const isNegative = is34 ? band >= 9 && band <= 13 : band <= 1;
  const hasPhases = fact(stereo, HAS_PHASES) !== 0;
  const width: f32 = 1 / f32(count);
  let a = load<f32>(old);
  let b = load<f32>(old + GAIN_ROW_BYTES);
  let c = load<f32>(old + 2 * GAIN_ROW_BYTES);
  let d = load<f32>(old + 3 * GAIN_ROW_BYTES);
  const stepA = (load<f32>(next) - a) * width;
  const stepB = (load<f32>(next + GAIN_ROW_BYTES) - b) * width;
  const stepC = (load<f32>(next + 2 * GAIN_ROW_BYTES) - c) * width;
  const stepD = (load<f32>(next + 3 * GAIN_ROW_BYTES) - d) * width;
  const sign: f32 = !hasPhases ? 0 : isNegative ? -1 : 1;
  let aIm = sign * load<f32>(old + 4 * GAIN_ROW_BYTES);
  let bIm = sign * load<f32>(old + 5 * GAIN_ROW_BYTES);
  let cIm = sign * load<f32>(old + 6 * GAIN_ROW_BYTES);
  let dIm = sign * load<f32>(old + 7 * GAIN_ROW_BYTES);
  const stepAIm = hasPhases ? (load<f32>(next + 4 * GAIN_ROW_BYTES) - aIm) * width : 0;
  const stepBIm = hasPhases ? (load<f32>(next + 5 * GAIN_ROW_BYTES) - bIm) * width : 0;
  const stepCIm = hasPhases ? (load<f32>(next + 6 * GAIN_ROW_BYTES) - cIm) * width : 0;
  const stepDIm = hasPhases ? (load<f32>(next + 7 * GAIN_ROW_BYTES) - dIm) * width : 0;
  for (let at: usize = 0; at < usize(4 * count); at += 4) {
    a += stepA;
    b += stepB;
    c += stepC;
    d += stepD;
    aIm += stepAIm;
    bIm += stepBIm;
    cIm += stepCIm;
    dIm += stepDIm;
    const firstRe = load<f32>(left + at);
    const firstIm = load<f32>(left + at + PART_BYTES);
    const secondRe = load<f32>(right + at);
    const secondIm = load<f32>(right + at + PART_BYTES);
    store<f32>(left + at, a * firstRe + c * secondRe - aIm * firstIm - cIm * secondIm);
    store<f32>(left + at + PART_BYTES, a * firstIm + c * secondIm + aIm * firstRe + cIm * secondRe);
    store<f32>(right + at, b * firstRe + d * secondRe - bIm * firstIm - dIm * secondIm);
    store<f32>(right + at + PART_BYTES, b * firstIm + d * secondIm + bIm * firstRe + dIm * secondRe);
  }
}
