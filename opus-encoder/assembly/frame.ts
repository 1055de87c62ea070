// One frame, step by step, in the order of the packet's fields (RFC 6716 section 4.3, table 56). AssemblyScript.

import { codeBands } from "./all-bands.ts";
import { balanceNow, codedBandsNow, intensityBandNow, isDualNow } from "./allocation.ts";
import { measureBands, shapeBands } from "./band-levels.ts";
import { allocate } from "./band-skipping.ts";
import { boostsTotal, chooseBoosts, codeBoosts, depthOfFrame } from "./boosts.ts";
import { chooseIntensity, chooseSpread, chooseTilt, isDualBetter } from "./choices.ts";
import { codeCoarseLevels } from "./coarse-levels.ts";
import { codeFineLevels, codeLeftOverBits } from "./fine-levels.ts";
import { BANDS, BIT } from "./format.ts";
import { takeInput } from "./input.ts";
import { toSpectra } from "./lapped-transform.ts";
import { measureLeaks } from "./leaks.ts";
import { floatAt, setFloat, setInt } from "./lists.ts";
import { BANDS_BYTES, LEVELS, LONG_LEVELS, PACKET_ADDRESS, RESOLUTIONS, SPECTRUM } from "./memory-map.ts";
import {
  codePitch,
  filterPitch,
  isPitchFiltered,
  isSpectrumKnown,
  rememberPitch,
  setNextPitchFilter,
} from "./pitch-filter.ts";
import { beginPacket, encodeBit, encodeOf, encodeRaw, finishPacket, tell, tellEighths } from "./range-encoder.ts";
import { bytesAllowed, chooseBytes, passSilence } from "./rate-control.ts";
import { chooseResolutions } from "./resolution-choice.ts";
import { codeResolutions } from "./resolutions.ts";
import { retained, retainedFloat, setRetained, setRetainedFloat } from "./retained.ts";
import { CHANNELS, CODED_BANDS, LEVEL_AVERAGE, oldLevels, SILENT_LEVEL, SPREAD, TRANSIENTS_IN_A_ROW } from "./slot.ts";
import {
  SPREAD_BITS,
  SPREAD_PROBABILITIES,
  TILT_BITS,
  TILT_PROBABILITIES,
  USUAL_SPREAD,
  USUAL_TILT,
} from "./symbols.ts";
import { findTransient, hasIncreased, transientChannel, transientStrength } from "./transients.ts";

/** CELT, full band, 20 ms, one frame; the bit of stereo is to be added. RFC 6716 section 3.1. */
const HEADER: i32 = 0xf8;
/** Size of a silent frame when the size may vary. */
const SILENT_BYTES: i32 = 2;
/** A frame whose levels all rise counts as this much of a transient. */
const INCREASED_STRENGTH: f32 = 0.2;

let isShort: bool = false;
let strength: f32 = 0;
/** True when the block size of the next frame is given; and whether it is short. */
let isGiven: bool = false;
let isGivenShort: bool = false;

/** Sets the header of the next frame; a period below 0 lets the frame choose; see opus-encoder.ts. */
export function setNextHead(period: i32, gainStep: i32, taps: i32, isTransient: bool): void {
  setNextPitchFilter(period, gainStep, taps);
  isGiven = period >= 0;
  isGivenShort = isTransient;
}

/** Returns the packet's size, or 0. */
export function encodeFrame(bitsPerSecond: i32, isVariable: bool, isIndependent: bool): i32 {
  const channels = retained(CHANNELS);
  store<u8>(PACKET_ADDRESS, u8(HEADER | ((channels - 1) << 2)));
  const allowed = bytesAllowed(bitsPerSecond, isVariable);
  beginPacket();
  const isSilent = takeInput(channels);
  encodeBit(isSilent, 15);
  if (isSilent) return finishSilence(channels, bitsPerSecond, isVariable ? SILENT_BYTES : allowed);
  const bits = allowed * 8;
  const isSudden = findTransient(channels);
  isShort = (isGiven ? isGivenShort : isSudden) && tell() + 20 <= bits;
  strength = transientStrength();
  filterPitch(channels, allowed > 12 * channels && !isIndependent, strength, allowed);
  if (tell() + 16 <= bits) codePitch();
  transform(channels, tell() + 3 <= bits);
  if (tell() + 3 <= bits) encodeBit(isShort, 3);
  const increase = levelAboveAverage(channels);
  const bytes = allowed;
  chooseBoosts(channels, averageBytes(bitsPerSecond, isVariable, allowed), isShort, isVariable);
  const pair = preferResolutions(channels, bitsPerSecond);
  codeCoarseLevels(channels, bits, isIndependent);
  codeResolutions(bits, isShort, pair);
  const spread = codeSpread(channels, bits, bytes);
  const boosts = codeBoosts(channels, bits);
  const intensity = channels === 2 ? chooseIntensity(bitsPerSecond) : 0;
  const isDual = channels === 2 && isDualBetter();
  const tilt = codeTilt(channels, bits, boosts, bitsPerSecond);
  const usedEighths = tellEighths();
  const size = isVariable
    ? chooseBytes(
        bitsPerSecond,
        channels,
        allowed,
        usedEighths,
        boostsTotal(),
        boosts,
        intensity,
        strength,
        depthOfFrame(),
        increase,
      )
    : allowed;
  codeRest(channels, size, tilt, intensity, isDual, spread);
  setRetained(TRANSIENTS_IN_A_ROW, isShort ? retained(TRANSIENTS_IN_A_ROW) + 1 : 0);
  return finishPacket(size) ? size + 1 : 0;
}

/** The frame size that decisions assume before the actual size is known. */
function averageBytes(bitsPerSecond: i32, isVariable: bool, allowed: i32): i32 {
  return isVariable ? (bitsPerSecond - 400) / 400 : allowed;
}

/** Encoder and decoder both treat the packet as full. */
function finishSilence(channels: i32, bitsPerSecond: i32, bytes: i32): i32 {
  filterPitch(channels, false, 0, bytes);
  rememberPitch();
  for (let channel = 0; channel < channels; channel++) {
    for (let band = 0; band < BANDS; band++) {
      setFloat(oldLevels(channel), band, SILENT_LEVEL);
    }
  }
  setRetained(TRANSIENTS_IN_A_ROW, 0);
  passSilence(bitsPerSecond);
  return finishPacket(bytes) ? bytes + 1 : 0;
}

/** One long block or eight short ones, to SPECTRUM, LEVELS and SHAPES. */
function transform(channels: i32, mayBeShort: bool): void {
  if (!isSpectrumKnown()) {
    toSpectra(channels, SPECTRUM, false);
    measureBands(channels, SPECTRUM, LONG_LEVELS);
  }
  if (!isShort && mayBeShort && !isGiven) {
    memory.copy(LEVELS, LONG_LEVELS, 2 * BANDS_BYTES);
    isShort = hasIncreased(channels);
    if (isShort) strength = INCREASED_STRENGTH;
  }
  measureLeaks(channels);
  if (isShort) {
    toSpectra(channels, SPECTRUM, true);
    measureBands(channels, SPECTRUM, LEVELS);
    // Eight short blocks of steady audio are louder than a long one by this much.
    for (let band = 0; band < 2 * i32(BANDS_BYTES >> 2); band++) {
      setFloat(LONG_LEVELS, band, floatAt(LONG_LEVELS, band) + 1.5);
    }
  } else {
    memory.copy(LEVELS, LONG_LEVELS, 2 * BANDS_BYTES);
  }
  shapeBands(channels);
}

/** By how much the frame is louder than usual, binary logarithms. */
function levelAboveAverage(channels: i32): f32 {
  const offset: f32 = isShort ? 1.5 : 0;
  let follow: f32 = -10;
  let sum: f32 = 0;
  for (let band = 0; band < BANDS; band++) {
    follow = max(follow - 1, floatAt(LEVELS, band) - offset);
    if (channels === 2) follow = max(follow, floatAt(LEVELS + BANDS_BYTES, band) - offset);
    sum += follow;
  }
  const above: f32 = max<f32>(-1.5, min<f32>(3, sum / f32(BANDS) - retainedFloat(LEVEL_AVERAGE)));
  setRetainedFloat(LEVEL_AVERAGE, retainedFloat(LEVEL_AVERAGE) + 0.02 * above);
  return above;
}

function preferResolutions(channels: i32, bitsPerSecond: i32): i32 {
  const bytes = bitsPerSecond / 400;
  if (bytes >= 15 * channels) {
    return chooseResolutions(isShort, max(80, 20_480 / bytes + 2), strength, transientChannel());
  }
  for (let band = 0; band < BANDS; band++) setInt(RESOLUTIONS, band, isShort ? 1 : 0);
  return 0;
}

function codeSpread(channels: i32, bits: i32, bytes: i32): i32 {
  if (tell() + 4 > bits) return USUAL_SPREAD;
  const spread = isShort || bytes < 10 * channels ? USUAL_SPREAD : chooseSpread(channels, isPitchFiltered());
  setRetained(SPREAD, spread);
  encodeOf(spread, SPREAD_PROBABILITIES, SPREAD_BITS);
  return spread;
}

function codeTilt(channels: i32, bits: i32, boosts: i32, bitsPerSecond: i32): i32 {
  if (tellEighths() + (6 << BIT) > (bits << BIT) - boosts) return USUAL_TILT;
  const tilt = chooseTilt(channels, bitsPerSecond, strength);
  encodeOf(tilt, TILT_PROBABILITIES, TILT_BITS);
  return tilt;
}

/** Codes everything that follows once the packet's size is known. */
function codeRest(channels: i32, bytes: i32, tilt: i32, intensity: i32, isDual: bool, spread: i32): void {
  const bits = bytes * 8;
  let left = (bits << BIT) - tellEighths() - 1;
  // One bit enables filling up short blocks that collapsed.
  const collapseBits = isShort && left >= 5 << BIT ? 1 << BIT : 0;
  left -= collapseBits;
  const codedBefore = retained(CODED_BANDS);
  allocate(channels, left, tilt, intensity, isDual, codedBefore);
  const coded = codedBandsNow();
  setRetained(CODED_BANDS, codedBefore > 0 ? min(codedBefore + 1, max(codedBefore - 1, coded)) : coded);
  codeFineLevels(channels, bits);
  const pulseBits = (bits << BIT) - collapseBits;
  codeBands(channels, isShort ? 8 : 1, pulseBits, balanceNow(), coded, intensityBandNow(), isDualNow(), spread);
  if (collapseBits > 0) encodeRaw(u32(retained(TRANSIENTS_IN_A_ROW) < 2), 1);
  codeLeftOverBits(channels, bits - tell());
}
