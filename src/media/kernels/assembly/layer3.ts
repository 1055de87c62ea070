// Decodes MPEG audio layer III (ISO 11172-3, ISO 13818-3), one frame a call. AssemblyScript; the host writes the tables,
// packets and slots (../layer3-kernel.ts). Whatever a packet holds, only this memory is read and written.

import {
  FRAME_BYTE,
  GRANULE_SAMPLES,
  MAIN_BYTE,
  OUTPUT_BYTE,
  OUTPUT_SAMPLES,
  OVERLAP_BYTES,
  POSITIONS_BYTE,
  RESERVOIR_BYTES_MAX,
  ROWS_BYTES,
  SLOT_OVERLAPS,
  SLOT_RESERVOIR,
  SLOT_ROWS,
  SPECTRA_BYTE,
} from "../numbers/layer3.ts";
import { bitFrom, read, startAt } from "./bits.ts";
import { DATA_BITS, END, fact, granuleAt, readGranule, scalesAt, setFact } from "./layer3/granule.ts";
import { toSubbands } from "./layer3/hybrid.ts";
import { readScales, readScales2 } from "./layer3/scales.ts";
import { readSpectrum, scaleSpectrum } from "./layer3/spectrum.ts";
import { INTENSITY, joinSides, SUM_DIFFERENCE } from "./layer3/stereo.ts";
import { synthesize } from "./layer3/synthesis.ts";

/** A frame reaches back so many bytes at most. */
const BACK_BYTES_MAX: i32 = RESERVOIR_BYTES_MAX - 1;
const SPECTRUM_BYTES: usize = 4 * GRANULE_SAMPLES;

/**
 * Decodes the frame in memory, whose side information begins at byte `sideAt`; `rate` numbers the nine sample rates,
 * `mode` is 1 with intensity, 2 with sum and difference, 3 with both. Returns the samples of each channel; 0 for what is
 * no frame, and less than 0 for a frame that lacks the data of earlier ones: then audio fades out.
 */
export function decode(
  slot: usize,
  sizeBytes: i32,
  sideAt: i32,
  version: i32,
  rate: i32,
  channels: i32,
  mode: i32,
): i32 {
  const isVersion1 = version === 1;
  const granules = isVersion1 ? 2 : 1;
  const sideBytes = isVersion1 ? (channels === 1 ? 17 : 32) : channels === 1 ? 9 : 17;
  const mainBytes = sizeBytes - sideAt - sideBytes;
  if (mainBytes < 0) return 0;
  startAt(FRAME_BYTE, 8 * sideAt);
  const backBytes = read(isVersion1 ? 9 : 8);
  read(isVersion1 ? (channels === 1 ? 5 : 3) : channels);
  const leftShared = isVersion1 ? read(4) : 0;
  const rightShared = isVersion1 && channels === 2 ? read(4) : 0;
  for (let granule = 0; granule < granules; granule++) {
    for (let channel = 0; channel < channels; channel++) {
      if (!readGranule(granuleAt(granule, channel), rate, isVersion1)) return 0;
    }
  }
  const isWhole = gather(slot, backBytes, sideAt + sideBytes, mainBytes);
  const endBit = 8 * (backBytes + mainBytes);
  let bit = 0;
  for (let granule = 0; granule < granules; granule++) {
    for (let channel = 0; channel < channels; channel++) {
      const at = granuleAt(granule, channel);
      const end = bit + fact(at, DATA_BITS);
      const spectrum = SPECTRA_BYTE + SPECTRUM_BYTES * channel;
      if (isWhole && end <= endBit) {
        const scales = scalesAt(granule, channel);
        startAt(MAIN_BYTE, bit);
        if (isVersion1) {
          const shared = granule === 0 ? 0 : channel === 0 ? leftShared : rightShared;
          readScales(at, scales, scalesAt(0, channel), shared);
        } else readScales2(at, scales, channel === 1 && (mode & INTENSITY) !== 0);
        if (bitFrom(MAIN_BYTE) <= end) readSpectrum(at, spectrum, MAIN_BYTE, end);
        else silence(at, spectrum);
        scaleSpectrum(at, scales, spectrum, rate, (mode & SUM_DIFFERENCE) !== 0);
      } else silence(at, spectrum);
      bit = end;
    }
    if (mode !== 0 && channels === 2) {
      const positions = isVersion1 ? scalesAt(granule, 1) : POSITIONS_BYTE;
      joinSides(granuleAt(granule, 0), granuleAt(granule, 1), positions, rate, mode, isVersion1);
    }
    for (let channel = 0; channel < channels; channel++) {
      const spectrum = SPECTRA_BYTE + SPECTRUM_BYTES * channel;
      toSubbands(granuleAt(granule, channel), spectrum, slot + SLOT_OVERLAPS + OVERLAP_BYTES * channel, rate);
      const output = OUTPUT_BYTE + 4 * (OUTPUT_SAMPLES * channel + GRANULE_SAMPLES * granule);
      synthesize(slot + SLOT_ROWS + ROWS_BYTES * channel, output);
    }
  }
  const samples = GRANULE_SAMPLES * granules;
  return isWhole ? samples : -samples;
}

function silence(granule: usize, spectrum: usize): void {
  setFact(granule, END, 0);
  memory.fill(spectrum, 0, SPECTRUM_BYTES);
}

/**
 * Puts the main data of this frame behind what it needs of earlier ones, and keeps the last of it for those to come.
 * False: the earlier data is not there.
 */
function gather(slot: usize, backBytes: i32, mainAt: i32, mainBytes: i32): bool {
  const kept = load<i32>(slot);
  const reservoir = slot + SLOT_RESERVOIR;
  const isWhole = backBytes <= kept;
  if (isWhole) {
    memory.copy(MAIN_BYTE, reservoir + kept - backBytes, backBytes);
    memory.copy(MAIN_BYTE + backBytes, FRAME_BYTE + mainAt, mainBytes);
    // What is read behind the end is 0.
    store<u64>(MAIN_BYTE + backBytes + mainBytes, 0);
  }
  const newBytes = min(mainBytes, BACK_BYTES_MAX);
  const oldBytes = min(kept, BACK_BYTES_MAX - newBytes);
  memory.copy(reservoir, reservoir + kept - oldBytes, oldBytes);
  memory.copy(reservoir + oldBytes, FRAME_BYTE + mainAt + mainBytes - newBytes, newBytes);
  store<i32>(slot, oldBytes + newBytes);
  return isWhole;
}
