// One frame, step by step, in the order of its fields (RFC 6716 section 4.3, table 56). AssemblyScript, part of the CELT
// decoder.

import {
  balanceNow,
  bandToDecide,
  beginAllocation,
  codedBandsNow,
  finishAllocation,
  intensityBandNow,
  isDualNow,
  namesIntensity,
  setIntensity,
  skipBand,
} from "../../../../../opus-encoder/assembly/allocation.ts";
import { boostStep, capOf } from "../../../../../opus-encoder/assembly/band-caps.ts";
import { BANDS, BIT, bandWidth } from "../../../../../opus-encoder/assembly/format.ts";
import { floatAt, intAt, setFloat, setInt } from "../../../../../opus-encoder/assembly/lists.ts";
import { BANDS_BYTES, BOOSTS, RESOLUTIONS } from "../../../../../opus-encoder/assembly/memory-map.ts";
import { changeFor, isPairNeeded } from "../../../../../opus-encoder/assembly/resolution-changes.ts";
import { retained, setRetained } from "../../../../../opus-encoder/assembly/retained.ts";
import {
  SPREAD_BITS,
  SPREAD_PROBABILITIES,
  TILT_BITS,
  TILT_PROBABILITIES,
  USUAL_SPREAD,
  USUAL_TILT,
} from "../../../../../opus-encoder/assembly/symbols.ts";
import { readBands } from "./bands.ts";
import { fillCollapsed } from "./collapse.ts";
import { writeAudio } from "./emphasis.ts";
import { readCoarseLevels, readFineLevels, readLeftOverBits } from "./levels.ts";
import { setSeed } from "./noise.ts";
import { readPitch, restorePitch } from "./pitch.ts";
import {
  beginFrame,
  decodeBit,
  decodeNumber,
  decodeOf,
  decodeRaw,
  finalRange,
  skipTo,
  tell,
  tellEighths,
} from "./range-decoder.ts";
import { CHANNELS, levels, levelsBefore, levelsBeforeThat, passSignal, SEED, SILENT_LEVEL } from "./slot.ts";
import { allowInverse } from "./split.ts";
import { synthesize } from "./synthesis.ts";

let boostsTotal: i32 = 0;

/** False: the frame has read more than it holds, and is damaged. */
export function decodeFrame(sizeBytes: i32, sizeLog: i32, bands: i32, channels: i32, gain: f32): bool {
  const bitsMax = 8 * sizeBytes;
  const outputs = retained(CHANNELS);
  beginFrame(sizeBytes);
  if (channels === 1) joinLevels();
  const isSilent = decodeBit(15);
  if (isSilent) skipTo(bitsMax);
  readPitch(bitsMax);
  const isShort = sizeLog > 0 && tell() + 3 <= bitsMax && decodeBit(3);
  const isIndependent = tell() + 3 <= bitsMax && decodeBit(3);
  readCoarseLevels(channels, sizeLog, bands, bitsMax, isIndependent);
  readResolutions(sizeLog, bands, bitsMax, isShort);
  const spreading = tell() + 4 <= bitsMax ? decodeOf(SPREAD_PROBABILITIES, SPREAD_BITS) : USUAL_SPREAD;
  readBoosts(channels, sizeLog, bands, bitsMax);
  const isTilted = tellEighths() + (6 << BIT) <= (bitsMax << BIT) - boostsTotal;
  const tilt = isTilted ? decodeOf(TILT_PROBABILITIES, TILT_BITS) : USUAL_TILT;
  allowInverse(outputs === 2);
  readShapes(channels, sizeLog, bands, bitsMax, isShort, spreading, tilt);
  if (isSilent) silenceLevels(channels);
  synthesize(channels, outputs, sizeLog, bands, isShort, isSilent);
  restorePitch(outputs, sizeLog);
  keepLevels(channels, bands, isShort);
  setRetained(SEED, i32(finalRange()));
  const samples: usize = 120 << usize(sizeLog);
  writeAudio(outputs, samples, gain);
  for (let output = 0; output < outputs; output++) passSignal(output, samples);
  return tell() <= bitsMax;
}

/** Reads everything that depends on the allocation. */
function readShapes(
  channels: i32,
  sizeLog: i32,
  bands: i32,
  bitsMax: i32,
  isShort: bool,
  spreading: i32,
  tilt: i32,
): void {
  let left = (bitsMax << BIT) - tellEighths() - 1;
  // One bit enables filling up short blocks that collapsed.
  const collapseBits = isShort && sizeLog >= 2 && left >= (sizeLog + 2) << BIT ? 1 << BIT : 0;
  left -= collapseBits;
  readAllocation(channels, sizeLog, bands, left, tilt);
  readFineLevels(channels, bands, bitsMax);
  setSeed(u32(retained(SEED)));
  readBands(
    channels,
    sizeLog,
    bands,
    isShort ? 1 << sizeLog : 1,
    (bitsMax << BIT) - collapseBits,
    balanceNow(),
    codedBandsNow(),
    intensityBandNow(),
    isDualNow(),
    spreading,
  );
  const isCollapseFilled = collapseBits > 0 && decodeRaw(1) !== 0;
  readLeftOverBits(channels, bands, bitsMax - tell());
  if (isCollapseFilled) fillCollapsed(channels, sizeLog, bands);
}

function readAllocation(channels: i32, sizeLog: i32, bands: i32, bits: i32, tilt: i32): void {
  beginAllocation(channels, sizeLog, bands, bits, tilt);
  while (bandToDecide() >= 0 && !decodeBit(1)) skipBand();
  const isSeparable = setIntensity(namesIntensity() ? i32(decodeNumber(u32(codedBandsNow() + 1))) : 0);
  finishAllocation(isSeparable && decodeBit(1));
}

/** Reads the changes of resolution of each band (section 4.3.1). */
function readResolutions(sizeLog: i32, bands: i32, bitsMax: i32, isShort: bool): void {
  let rarity = isShort ? 2 : 4;
  const isPairSignalled = sizeLog > 0 && tell() + rarity + 1 <= bitsMax;
  const bits = isPairSignalled ? bitsMax - 1 : bitsMax;
  let flag = 0;
  let anyFlag = 0;
  for (let band = 0; band < bands; band++) {
    if (tell() + rarity <= bits) {
      flag ^= i32(decodeBit(u32(rarity)));
      anyFlag |= flag;
    }
    setInt(RESOLUTIONS, band, flag);
    rarity = isShort ? 4 : 5;
  }
  const pair = isPairSignalled && isPairNeeded(sizeLog, isShort, anyFlag) ? i32(decodeBit(1)) : 0;
  for (let band = 0; band < bands; band++) {
    setInt(RESOLUTIONS, band, changeFor(sizeLog, isShort, pair, intAt(RESOLUTIONS, band)));
  }
}

/** Reads the boosts of each band (section 4.3.3), in eighths of bits. */
function readBoosts(channels: i32, sizeLog: i32, bands: i32, bitsMax: i32): void {
  const capacity = bitsMax << BIT;
  let rarity = 6;
  boostsTotal = 0;
  for (let band = 0; band < bands; band++) {
    const step = boostStep(channels * (bandWidth(band) << sizeLog));
    const cap = capOf(band, channels, sizeLog);
    let bitRarity = rarity;
    let boost = 0;
    while (tellEighths() + (bitRarity << BIT) < capacity - boostsTotal && boost < cap && decodeBit(u32(bitRarity))) {
      boost += step;
      boostsTotal += step;
      bitRarity = 1;
    }
    if (boost > 0) rarity = max(2, rarity - 1);
    setInt(BOOSTS, band, boost);
  }
}

/** One channel continues the louder one of two. */
function joinLevels(): void {
  for (let band = 0; band < BANDS; band++) {
    setFloat(levels(0), band, max(floatAt(levels(0), band), floatAt(levels(1), band)));
  }
}

function silenceLevels(channels: i32): void {
  for (let channel = 0; channel < channels; channel++) {
    for (let band = 0; band < BANDS; band++) setFloat(levels(channel), band, SILENT_LEVEL);
  }
}

/** Retains the levels for the frames to come. */
function keepLevels(channels: i32, bands: i32, isShort: bool): void {
  if (channels === 1) memory.copy(levels(1), levels(0), BANDS_BYTES);
  for (let channel = 0; channel < 2; channel++) {
    const now = levels(channel);
    const before = levelsBefore(channel);
    if (isShort) {
      for (let band = 0; band < bands; band++) setFloat(before, band, min(floatAt(before, band), floatAt(now, band)));
    } else {
      memory.copy(levelsBeforeThat(channel), before, BANDS_BYTES);
      memory.copy(before, now, BANDS_BYTES);
    }
    for (let band = bands; band < BANDS; band++) {
      setFloat(now, band, 0);
      setFloat(before, band, SILENT_LEVEL);
      setFloat(levelsBeforeThat(channel), band, SILENT_LEVEL);
    }
  }
}
