// Reads the levels of envelopes and noise, each as a difference to the one before in time or in frequency. AssemblyScript,
// part of the AAC decoder; sbr_envelope and sbr_noise of ISO 14496-3 sections 4.4.2.8 and 4.6.18.3.5.

import { REPLICATION_BOOK } from "../../../numbers/aac.ts";
import { read } from "../../bits.ts";
import { bookAt, readIndex } from "../codes.ts";
import {
  ENVELOPES,
  fact,
  HIGH_COUNT,
  IS_IN_TIME,
  IS_NOISE_IN_TIME,
  keepLevels,
  keepNoiseLevels,
  LOW_COUNT,
  level,
  NOISE_COUNT,
  NOISES,
  noiseLevel,
  RESOLUTION,
  STEP,
  setLevel,
  setNoiseLevel,
} from "./facts.ts";

// Huffman tables: of differences in time; the one in frequency follows.
const FINE: i32 = 0;
const FINE_BALANCE: i32 = 2;
const COARSE: i32 = 4;
const COARSE_BALANCE: i32 = 6;
const NOISE: i32 = 8;
const NOISE_BALANCE: i32 = 9;
const LEVEL_MAX: i32 = 127;
const NOISE_LEVEL_MAX: i32 = 30;

/** The index of a difference of 0. */
function centre(book: i32): i32 {
  if (book < FINE_BALANCE) return 60;
  if (book < COARSE) return 24;
  if (book < COARSE_BALANCE || book === NOISE) return 31;
  return 12;
}

function readDifference(book: i32): i32 {
  return readIndex(bookAt(REPLICATION_BOOK + book)) - centre(book);
}

/** False: a level is out of range. `isBalance`: of the second channel of a coupled pair. */
export function readLevels(header: usize, replica: usize, isBalance: bool): bool {
  const isCoarse = fact(replica, STEP) !== 0;
  const book = isBalance ? (isCoarse ? COARSE_BALANCE : FINE_BALANCE) : isCoarse ? COARSE : FINE;
  const firstBits = isBalance ? (isCoarse ? 5 : 6) : isCoarse ? 6 : 7;
  const scale = isBalance ? 2 : 1;
  const high = fact(header, HIGH_COUNT);
  const odd = high & 1;
  const envelopes = fact(replica, ENVELOPES);
  for (let envelope = 1; envelope <= envelopes; envelope++) {
    const resolution = fact(replica, RESOLUTION + envelope);
    const oldResolution = fact(replica, RESOLUTION + envelope - 1);
    const bands = resolution !== 0 ? high : fact(header, LOW_COUNT);
    const isInTime = fact(replica, IS_IN_TIME + envelope - 1) !== 0;
    let value = 0;
    for (let band = 0; band < bands; band++) {
      if (isInTime) {
        let old = band;
        if (resolution > oldResolution) old = (band + odd) >> 1;
        else if (resolution < oldResolution) old = band === 0 ? 0 : 2 * band - odd;
        value = level(replica, envelope - 1, old) + scale * readDifference(book);
      } else if (band === 0) value = scale * read(firstBits);
      else value += scale * readDifference(book + 1);
      if (value < 0 || value > LEVEL_MAX) return false;
      setLevel(replica, envelope, band, value);
    }
  }
  keepLevels(replica, envelopes);
  return true;
}

/** False: a level is out of range. */
export function readNoiseLevels(header: usize, replica: usize, isBalance: bool): bool {
  const scale = isBalance ? 2 : 1;
  const noises = fact(replica, NOISES);
  for (let noise = 1; noise <= noises; noise++) {
    const isInTime = fact(replica, IS_NOISE_IN_TIME + noise - 1) !== 0;
    let value = 0;
    for (let band = 0; band < fact(header, NOISE_COUNT); band++) {
      if (isInTime) {
        value = noiseLevel(replica, noise - 1, band) + scale * readDifference(isBalance ? NOISE_BALANCE : NOISE);
      } else if (band === 0) value = scale * read(5);
      else value += scale * readDifference((isBalance ? COARSE_BALANCE : COARSE) + 1);
      if (value < 0 || value > NOISE_LEVEL_MAX) return false;
      setNoiseLevel(replica, noise, band, value);
    }
  }
  keepNoiseLevels(replica, noises);
  return true;
}
