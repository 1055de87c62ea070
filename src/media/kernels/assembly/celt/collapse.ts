// Fills short blocks that got no energy, although the frames before had some (anti-collapse, RFC 6716 section 4.3.5).
// AssemblyScript, part of the CELT decoder.

import { bandWidth, edge } from "../../../../../opus-encoder/assembly/format.ts";
import { floatAt, intAt, setFloat } from "../../../../../opus-encoder/assembly/lists.ts";
import { CHANNEL_BYTES, PULSE_BITS, SHAPES } from "../../../../../opus-encoder/assembly/memory-map.ts";
import { maskOf } from "./bands.ts";
import { random } from "./noise.ts";
import { powerOf2 } from "./power.ts";
import { normalise } from "./shapes.ts";
import { levels, levelsBefore, levelsBeforeThat } from "./slot.ts";

/** Eight short blocks of steady audio are louder than a long one by this much. */
const EIGHT_BLOCKS: f32 = f32(Math.SQRT2);

/** Changes SHAPES. */
export function fillCollapsed(channels: i32, sizeLog: i32, bands: i32): void {
  for (let band = 0; band < bands; band++) {
    const width = bandWidth(band);
    const depth = ((1 + intAt(PULSE_BITS, band)) / width) >> sizeLog;
    const limit: f32 = 0.5 * powerOf2(-0.125 * f32(depth));
    const each: f32 = 1 / Mathf.sqrt(f32(width << sizeLog));
    for (let channel = 0; channel < channels; channel++) {
      const rise: f32 = floatAt(levels(channel), band) - lowestBefore(channels, channel, band);
      const fallen: f32 = 2 * powerOf2(-max<f32>(0, rise)) * (sizeLog === 3 ? EIGHT_BLOCKS : 1);
      const shape = SHAPES + usize(channel) * CHANNEL_BYTES + (usize(edge(band) << sizeLog) << 2);
      fillBlocks(shape, width, sizeLog, maskOf(channel, band), min<f32>(limit, fallen) * each);
    }
  }
}

/** The lower one of the last two levels. */
function lowestBefore(channels: i32, channel: i32, band: i32): f32 {
  let before = floatAt(levelsBefore(channel), band);
  let beforeThat = floatAt(levelsBeforeThat(channel), band);
  if (channels === 1) {
    before = max(before, floatAt(levelsBefore(1), band));
    beforeThat = max(beforeThat, floatAt(levelsBeforeThat(1), band));
  }
  return min(before, beforeThat);
}

function fillBlocks(shape: usize, width: i32, sizeLog: i32, mask: u32, amplitude: f32): void {
  let isFilled = false;
  for (let block = 0; block < 1 << sizeLog; block++) {
    if ((mask & (1 << u32(block))) !== 0) continue;
    isFilled = true;
    for (let index = 0; index < width; index++) {
      setFloat(shape, (index << sizeLog) + block, (random() & 0x8000) !== 0 ? amplitude : -amplitude);
    }
  }
  if (isFilled) normalise(shape, width << sizeLog, 1);
}
