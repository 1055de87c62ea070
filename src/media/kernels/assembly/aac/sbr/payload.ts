// Reads the data of spectral band replication of a packet's element: header, borders in time, levels. AssemblyScript, part
// of the AAC decoder; sbr_extension_data of ISO 14496-3 section 4.4.2.8.

import { PACKET_BYTE } from "../../../numbers/aac.ts";
import { bitFrom, read } from "../../bits.ts";
import { readStereo } from "../ps/parameters.ts";
import { makeLimits, makeTables } from "./bands.ts";
import {
  ALTER_SCALE,
  AMPLITUDE_STEP,
  COUNT,
  CROSSOVER,
  ENVELOPES,
  FILTERING,
  FIRST,
  FREQUENCY_SCALE,
  fact,
  HAS_DATA,
  HAS_SINES,
  HIGH_COUNT,
  IS_COUPLED,
  IS_IN_TIME,
  IS_INTERPOLATED,
  IS_NOISE_IN_TIME,
  IS_PUSHED,
  IS_RESET,
  IS_SHARP,
  IS_STARTED,
  LIMITER_BANDS,
  LIMITER_GAIN,
  NOISE_BANDS,
  NOISE_COUNT,
  NOISES,
  OLD_COUNT,
  OLD_FILTERING,
  OLD_FIRST,
  RANDOM_INDEX,
  START_FREQUENCY,
  STOP_FREQUENCY,
  setFact,
  setSine,
  turnOff,
} from "./facts.ts";
import { copyGrid, readGrid } from "./grid.ts";
import { readLevels, readNoiseLevels } from "./levels.ts";

const CHECKSUM_BITS: i32 = 10;
const STEREO_EXTENSION: i32 = 2;

/**
 * Reads what follows the type of a fill element, up to bit `endBit` of the packet. `right`: of the second channel, 0 for
 * a single one; `stereo`: of a stream that may have parametric stereo, else 0; `rate`: the index of the core's sample rate.
 * What is damaged turns the replication off. Returns whether there was parametric stereo.
 */
export function readPayload(left: usize, right: usize, stereo: usize, hasChecksum: bool, endBit: i32, rate: i32): bool {
  setFact(left, IS_RESET, 0);
  if (hasChecksum) read(CHECKSUM_BITS);
  setFact(left, OLD_FIRST, fact(left, FIRST));
  setFact(left, OLD_COUNT, fact(left, COUNT));
  setFact(left, IS_PUSHED, 1);
  if (read(1) !== 0) readHeader(left);
  if (fact(left, IS_RESET) !== 0) {
    if (!makeTables(left, rate)) turnOff(left);
    if (right !== 0) setFact(right, RANDOM_INDEX, 0);
  }
  if (fact(left, IS_STARTED) === 0) return false;
  const isValid = right === 0 ? readSingle(left) : readPair(left, right);
  if (!isValid) {
    turnOff(left);
    return false;
  }
  setFact(left, HAS_DATA, 1);
  const hasStereo = readExtensions(stereo, endBit);
  if (bitFrom(PACKET_BYTE) > endBit) turnOff(left);
  return hasStereo;
}

function readHeader(replica: usize): void {
  setFact(replica, IS_STARTED, 1);
  setFact(replica, AMPLITUDE_STEP, read(1));
  change(replica, START_FREQUENCY, read(4));
  change(replica, STOP_FREQUENCY, read(4));
  change(replica, CROSSOVER, read(3));
  read(2);
  const hasFirst = read(1) !== 0;
  const hasSecond = read(1) !== 0;
  change(replica, FREQUENCY_SCALE, hasFirst ? read(2) : 2);
  change(replica, ALTER_SCALE, hasFirst ? read(1) : 1);
  change(replica, NOISE_BANDS, hasFirst ? read(2) : 2);
  const limiterBands = fact(replica, LIMITER_BANDS);
  setFact(replica, LIMITER_BANDS, hasSecond ? read(2) : 2);
  setFact(replica, LIMITER_GAIN, hasSecond ? read(2) : 2);
  setFact(replica, IS_INTERPOLATED, hasSecond ? read(1) : 1);
  setFact(replica, IS_SHARP, hasSecond ? read(1) : 1);
  if (fact(replica, LIMITER_BANDS) !== limiterBands && fact(replica, IS_RESET) === 0) makeLimits(replica);
}

/** A number that the tables depend on. */
function change(replica: usize, index: i32, value: i32): void {
  if (fact(replica, index) !== value) setFact(replica, IS_RESET, 1);
  setFact(replica, index, value);
}

function readSingle(replica: usize): bool {
  if (read(1) !== 0) read(4);
  if (!readGrid(replica, replica)) return false;
  readDirections(replica);
  readFiltering(replica, replica);
  if (!readLevels(replica, replica, false) || !readNoiseLevels(replica, replica, false)) return false;
  readSines(replica, replica);
  return true;
}

function readPair(left: usize, right: usize): bool {
  if (read(1) !== 0) read(8);
  const isCoupled = read(1) !== 0;
  setFact(left, IS_COUPLED, i32(isCoupled));
  if (!readGrid(left, left)) return false;
  if (isCoupled) copyGrid(left, right);
  else if (!readGrid(left, right)) return false;
  readDirections(left);
  readDirections(right);
  readFiltering(left, left);
  if (isCoupled) {
    keepFiltering(right);
    for (let band = 0; band < 5; band++) setFact(right, FILTERING + band, fact(left, FILTERING + band));
    if (!readLevels(left, left, false) || !readNoiseLevels(left, left, false)) return false;
    if (!readLevels(left, right, true) || !readNoiseLevels(left, right, true)) return false;
  } else {
    readFiltering(left, right);
    if (!readLevels(left, left, false) || !readLevels(left, right, false)) return false;
    if (!readNoiseLevels(left, left, false) || !readNoiseLevels(left, right, false)) return false;
  }
  readSines(left, left);
  readSines(left, right);
  return true;
}

function readDirections(replica: usize): void {
  for (let index = 0; index < fact(replica, ENVELOPES); index++) setFact(replica, IS_IN_TIME + index, read(1));
  for (let index = 0; index < fact(replica, NOISES); index++) setFact(replica, IS_NOISE_IN_TIME + index, read(1));
}

function keepFiltering(replica: usize): void {
  for (let band = 0; band < 5; band++) setFact(replica, OLD_FILTERING + band, fact(replica, FILTERING + band));
}

function readFiltering(header: usize, replica: usize): void {
  keepFiltering(replica);
  for (let band = 0; band < fact(header, NOISE_COUNT); band++) setFact(replica, FILTERING + band, read(2));
}

function readSines(header: usize, replica: usize): void {
  const has = read(1);
  setFact(replica, HAS_SINES, has);
  if (has === 0) return;
  for (let band = 0; band < fact(header, HIGH_COUNT); band++) setSine(replica, band, read(1));
}

/** Returns whether there was parametric stereo. */
function readExtensions(stereo: usize, endBit: i32): bool {
  if (read(1) === 0) return false;
  let bytes = read(4);
  if (bytes === 15) bytes += read(8);
  const end = min(bitFrom(PACKET_BYTE) + 8 * bytes, endBit);
  let hasStereo = false;
  while (bitFrom(PACKET_BYTE) + 7 < end) {
    if (read(2) === STEREO_EXTENSION && stereo !== 0) {
      readStereo(stereo, end);
      hasStereo = true;
    } else while (bitFrom(PACKET_BYTE) < end) read(1);
  }
  return hasStereo;
}
