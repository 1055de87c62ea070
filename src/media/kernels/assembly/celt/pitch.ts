// The pitch filter (post-filter, RFC 6716 section 4.3.7.1): restores what the encoder has removed of periodic audio.
// AssemblyScript, part of the CELT decoder.

import { WINDOW } from "../../../../../opus-encoder/assembly/memory-map.ts";
import { GAIN_STEP, repeated } from "../../../../../opus-encoder/assembly/pitch-taps.ts";
import {
  retained,
  retainedFloat,
  setRetained,
  setRetainedFloat,
} from "../../../../../opus-encoder/assembly/retained.ts";
import { TAPS_BITS, TAPS_PROBABILITIES } from "../../../../../opus-encoder/assembly/symbols.ts";
import { decodeBit, decodeNumber, decodeOf, decodeRaw, tell } from "./range-decoder.ts";
import { GAIN, OLD_GAIN, OLD_PERIOD, OLD_TAPS, PERIOD, signal, TAPS } from "./slot.ts";

const PERIOD_MIN: i32 = 15;
const VECTOR_BYTES: usize = 16;
/** A short block, and the slope from one filter to the next. */
const BLOCK_BYTES: usize = 4 * 120;

let period: i32 = 0;
let gain: f32 = 0;
let taps: i32 = 0;

/** Reads the filter of a frame of `bitsMax`. */
export function readPitch(bitsMax: i32): void {
  period = PERIOD_MIN;
  gain = 0;
  taps = 0;
  if (tell() + 16 > bitsMax || !decodeBit(1)) return;
  const octave = i32(decodeNumber(6));
  period = max(PERIOD_MIN, (16 << octave) + i32(decodeRaw(4 + octave)) - 1);
  gain = GAIN_STEP * f32(decodeRaw(3) + 1);
  if (tell() + 2 <= bitsMax) taps = decodeOf(TAPS_PROBABILITIES, TAPS_BITS);
}

/** The first short block changes to the filter of the frame before, the second one to that of this frame. */
export function restorePitch(outputs: i32, sizeLog: i32): void {
  const before = max(PERIOD_MIN, retained(PERIOD));
  const beforeThat = max(PERIOD_MIN, retained(OLD_PERIOD));
  const gainBefore = retainedFloat(GAIN);
  const tapsBefore = retained(TAPS);
  for (let output = 0; output < outputs; output++) {
    const audio = signal(output);
    const second = audio + BLOCK_BYTES;
    changeFilter(audio, beforeThat, retainedFloat(OLD_GAIN), retained(OLD_TAPS), before, gainBefore, tapsBefore);
    if (sizeLog === 0) continue;
    changeFilter(second, before, gainBefore, tapsBefore, period, gain, taps);
    if (gain !== 0) runFilter(second + BLOCK_BYTES, audio + (BLOCK_BYTES << usize(sizeLog)), period, gain, taps);
  }
  const isTwo = sizeLog > 0;
  setRetained(OLD_PERIOD, isTwo ? period : before);
  setRetainedFloat(OLD_GAIN, isTwo ? gain : gainBefore);
  setRetained(OLD_TAPS, isTwo ? taps : tapsBefore);
  setRetained(PERIOD, period);
  setRetainedFloat(GAIN, gain);
  setRetained(TAPS, taps);
}

/** One filter fades out and the other in, with the square of the window. */
function changeFilter(
  audio: usize,
  oldPeriod: i32,
  oldGain: f32,
  oldTaps: i32,
  newPeriod: i32,
  newGain: f32,
  newTaps: i32,
): void {
  if (oldGain === 0 && newGain === 0) return;
  if (oldGain === newGain && oldPeriod === newPeriod && oldTaps === newTaps) {
    runFilter(audio, audio + BLOCK_BYTES, newPeriod, newGain, newTaps);
    return;
  }
  const one = f32x4.splat(1);
  for (let at: usize = 0; at < BLOCK_BYTES; at += VECTOR_BYTES) {
    const window = v128.load(WINDOW + at);
    const rising = f32x4.mul(window, window);
    const before = f32x4.mul(f32x4.sub(one, rising), repeated(audio + at, oldPeriod, oldGain, oldTaps));
    const after = f32x4.mul(rising, repeated(audio + at, newPeriod, newGain, newTaps));
    v128.store(audio + at, f32x4.add(v128.load(audio + at), f32x4.add(before, after)));
  }
}

function runFilter(audio: usize, end: usize, lag: i32, amplitude: f32, set: i32): void {
  while (audio < end) {
    v128.store(audio, f32x4.add(v128.load(audio), repeated(audio, lag, amplitude, set)));
    audio += VECTOR_BYTES;
  }
}
