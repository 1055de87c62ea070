// Chooses the size of a packet. With a constant rate all are the same; otherwise frames that need more get more, as
// long as the total beyond the rate stays within the size of one frame. Eighths of bits. AssemblyScript.

import { BANDS, BIT, edge, SHORT_BLOCKS_LOG } from "./format.ts";
import { retained, retainedFloat, setRetained } from "./retained.ts";
import { CODED_BANDS, DRIFT, RATE_OFFSET, RATED_FRAMES, RESERVOIR, STEREO_SAVING } from "./slot.ts";

/** RFC 6716 section 3.4, R2. */
const FRAME_BYTES_MAX: i32 = 1275;
/** Frames until the average is as slow as it gets. */
const SETTLED_FRAMES: i32 = 970;
/** Share of a frame's need beyond the rate that it gets. */
const FREEDOM: f32 = 0.2;

/** Eighths of bits that a frame is worth. */
function frameWorth(bitsPerSecond: i32): i32 {
  return (bitsPerSecond / 50) << BIT;
}

/** The most bytes that the next frame may have. */
export function bytesAllowed(bitsPerSecond: i32, isVariable: bool): i32 {
  // One byte is the packet's header.
  if (!isVariable) return max(2, min(FRAME_BYTES_MAX, (bitsPerSecond + 200) / 400 - 1));
  const worth = frameWorth(bitsPerSecond - 400);
  return max(2, min(FRAME_BYTES_MAX, (2 * worth - retained(RESERVOIR)) >> (BIT + 3)));
}

/**
 * The size of this frame, of the `allowed` bytes; `usedEighths` has been coded, `codedBoosts` is reserved for bands.
 */
export function chooseBytes(
  bitsPerSecond: i32,
  channels: i32,
  allowed: i32,
  usedEighths: i32,
  boosts: i32,
  codedBoosts: i32,
  intensity: i32,
  strength: f32,
  depth: f32,
  levelAboveAverage: f32,
): i32 {
  const worth = frameWorth(bitsPerSecond - 400);
  const base = worth - ((40 * channels + 20) << BIT) + retained(RATE_OFFSET);
  let target = needOf(base, channels, boosts, intensity, strength, depth);
  target = base + i32(FREEDOM * f32(target - base));
  if (strength < 0.2) {
    const softness: f32 = 0.0000031 * f32(max(0, min(32_000, 96_000 - bitsPerSecond)));
    target += i32(levelAboveAverage * softness * f32(target));
  }
  target = min(2 * base, target) + usedEighths;
  // Large enough for everything that has been coded.
  const least = ((usedEighths + codedBoosts + (1 << (BIT + 3)) - 1) >> (BIT + 3)) + 2;
  let bytes = min(allowed, max(least, (target + (1 << (BIT + 2))) >> (BIT + 3)));
  settle(target - worth);
  const reservoir = retained(RESERVOIR) + (bytes << (BIT + 3)) - worth;
  if (reservoir < 0) {
    // Spends the bits that cannot be saved up.
    bytes = min(allowed, bytes + -reservoir / (8 << BIT));
    setRetained(RESERVOIR, 0);
  } else {
    setRetained(RESERVOIR, reservoir);
  }
  return bytes;
}

/** Adds a silent frame's bits to the reservoir. */
export function passSilence(bitsPerSecond: i32): void {
  const worth = frameWorth(bitsPerSecond - 400);
  setRetained(RESERVOIR, max(0, retained(RESERVOIR) + (2 << (BIT + 3)) - worth));
}

function needOf(base: i32, channels: i32, boosts: i32, intensity: i32, strength: f32, depth: f32): i32 {
  const codedBands = retained(CODED_BANDS) > 0 ? retained(CODED_BANDS) : BANDS;
  let need = base;
  if (channels === 2) {
    const stereoBands = min(intensity, codedBands);
    const coded = (edge(codedBands) + edge(stereoBands)) << SHORT_BLOCKS_LOG;
    const degrees = (edge(stereoBands) << SHORT_BLOCKS_LOG) - stereoBands;
    const share: f32 = (0.8 * f32(degrees)) / f32(coded);
    const saving: f32 = min<f32>(retainedFloat(STEREO_SAVING), 1);
    need -= i32(min<f32>(share * f32(need), (saving - 0.1) * f32(degrees << BIT)));
  }
  // Minus the usual amount.
  need += boosts - (19 << SHORT_BLOCKS_LOG);
  need += i32((strength - 0.044) * f32(need) * 2);
  // Audio softer than the input's own noise is inaudible.
  const floor = i32(f32((channels * (edge(BANDS - 2) << SHORT_BLOCKS_LOG)) << BIT) * depth);
  return min(need, max(floor, need >> 2));
}

/** Subtracts the average by which frames miss the rate from the following ones. */
function settle(missed: i32): void {
  const frames = min(SETTLED_FRAMES, retained(RATED_FRAMES) + 1);
  setRetained(RATED_FRAMES, frames);
  const speed: f32 = frames < SETTLED_FRAMES ? 1 / f32(frames + 20) : 0.001;
  const drift = retained(DRIFT) + i32(speed * f32(missed - retained(RATE_OFFSET) - retained(DRIFT)));
  setRetained(DRIFT, drift);
  setRetained(RATE_OFFSET, -drift);
}
