// The first step of a frame: makes audio valid, removes any offset, and applies pre-emphasis. AssemblyScript.

import { ENCODER_DELAY_SAMPLES, F32_BYTES, FRAME_SAMPLES, VECTOR_BYTES } from "../src/numbers.ts";
import { sumOfLanes } from "./lists.ts";
import { CHANNEL_BYTES, INPUT, UNFILTERED, UNFILTERED_BYTES } from "./memory-map.ts";
import { retainedFloat, setRetainedFloat } from "./retained.ts";
import { EMPHASIS, LATE_PEAK, OFFSET, RETAINED_BYTES, retainedHistory } from "./slot.ts";

/** The value of 1.0 in the codec's arithmetic. */
const SCALE: f32 = 32768;
/** Louder samples are clipped here, 6 dB above full scale. */
const PEAK_MAX: f32 = 2;
/** -200 dB: softer samples become 0, and so does NaN. */
const INAUDIBLE: f32 = 1e-10;
/**
 * -120 dB: a frame that is softer throughout is silence, as after the end of music when only a converter's offset is
 * left.
 */
const SILENCE: f32 = 1.0 / 1048576.0;
/** RFC 6716 section 4.3.7.2: the inverse of the decoder's filter. */
const EMPHASIS_FACTOR: f32 = 0.8500061;

/**
 * Coefficient of a high-pass at 3 Hz: some music has inaudible swings that are louder than all of its audible parts.
 */
const OFFSET_SPEED: f32 = f32((2 * Math.PI * 3) / 48000);

/**
 * Writes the input of `channels` behind their histories in UNFILTERED. True when everything that this frame codes is
 * silent: the input, and the part of the previous one that was not coded yet.
 */
export function takeInput(channels: i32): bool {
  let peak: f32 = 0;
  let latePeak: f32 = 0;
  for (let channel = 0; channel < channels; channel++) {
    const input = INPUT + usize(channel) * CHANNEL_BYTES;
    const unfiltered = UNFILTERED + usize(channel) * UNFILTERED_BYTES;
    const bulk = FRAME_SAMPLES - ENCODER_DELAY_SAMPLES;
    peak = max(peak, makeSane(input, bulk));
    latePeak = max(latePeak, makeSane(input + F32_BYTES * usize(bulk), ENCODER_DELAY_SAMPLES));
    memory.copy(unfiltered, retainedHistory(channel), RETAINED_BYTES);
    emphasise(input, unfiltered + RETAINED_BYTES, channel);
    memory.copy(retainedHistory(channel), unfiltered + F32_BYTES * FRAME_SAMPLES, RETAINED_BYTES);
  }
  const isSilent = max(peak, max(latePeak, retainedFloat(LATE_PEAK))) <= SILENCE;
  setRetainedFloat(LATE_PEAK, latePeak);
  return isSilent;
}

/** Works in place; returns the highest absolute value. */
function makeSane(samples: usize, count: i32): f32 {
  const highest = f32x4.splat(PEAK_MAX);
  const lowest = f32x4.splat(-PEAK_MAX);
  const least = f32x4.splat(INAUDIBLE);
  let peaks = f32x4.splat(0);
  const end = samples + F32_BYTES * usize(count);
  do {
    const x = v128.load(samples);
    // A comparison with NaN gives false.
    const audible = v128.and(x, f32x4.gt(f32x4.abs(x), least));
    const sane = f32x4.min(f32x4.max(audible, lowest), highest);
    peaks = f32x4.max(peaks, f32x4.abs(sane));
    v128.store(samples, sane);
    samples += VECTOR_BYTES;
  } while (samples < end);
  const halves = f32x4.max(peaks, f32x4.shuffle(peaks, peaks, 2, 3, 0, 1));
  return max(f32x4.extract_lane(halves, 0), f32x4.extract_lane(halves, 1));
}

/** Applies pre-emphasis and removes inaudibly low frequencies. */
function emphasise(input: usize, to: usize, channel: i32): void {
  const scale = f32x4.splat(SCALE);
  const factor = f32x4.splat(SCALE * EMPHASIS_FACTOR);
  let before = f32x4.splat(retainedFloat(EMPHASIS + channel));
  let offset = retainedFloat(OFFSET + channel);
  const end = input + CHANNEL_BYTES;
  do {
    const a = v128.load(input);
    const b = v128.load(input, VECTOR_BYTES);
    // The offset moves to its new value in a straight line, so that it makes no steps.
    const increase = OFFSET_SPEED * (sumOfLanes(f32x4.add(a, b)) - 8 * offset);
    const start = f32x4.splat(offset);
    const slope = f32x4.splat(increase);
    const x = f32x4.sub(a, f32x4.add(start, f32x4.mul(slope, f32x4(0.125, 0.25, 0.375, 0.5))));
    const y = f32x4.sub(b, f32x4.add(start, f32x4.mul(slope, f32x4(0.625, 0.75, 0.875, 1))));
    offset += increase;
    v128.store(to, f32x4.sub(f32x4.mul(x, scale), f32x4.mul(f32x4.shuffle(before, x, 3, 4, 5, 6), factor)));
    v128.store(to, f32x4.sub(f32x4.mul(y, scale), f32x4.mul(f32x4.shuffle(x, y, 3, 4, 5, 6), factor)), VECTOR_BYTES);
    before = y;
    input += 2 * VECTOR_BYTES;
    to += 2 * VECTOR_BYTES;
  } while (input < end);
  setRetainedFloat(EMPHASIS + channel, f32x4.extract_lane(before, 3));
  setRetainedFloat(OFFSET + channel, abs(offset) > INAUDIBLE ? offset : 0);
}
