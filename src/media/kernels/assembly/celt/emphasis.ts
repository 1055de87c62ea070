// Undoes the pre-emphasis, and writes the audio (RFC 6716 section 4.3.7.2). AssemblyScript, part of the CELT decoder.

import { CHANNEL_BYTES } from "../../../../../opus-encoder/assembly/memory-map.ts";
import { AUDIO } from "./memory-map.ts";
import { EMPHASIS, retainedFloat, setRetainedFloat, signal } from "./slot.ts";

/** How much of each sample is added to the next. */
const SHARE: f32 = 0.850006103515625;
const SHARE_2: f32 = SHARE * SHARE;
const SHARE_3: f32 = SHARE * SHARE_2;
/** So that silence does not end in subnormal numbers, which are slow. */
const NEARLY_NOTHING: f32 = 1e-30;

/** Writes AUDIO, multiplied by `gain`. */
export function writeAudio(outputs: i32, samples: usize, gain: f32): void {
  for (let output = 0; output < outputs; output++) {
    const carried = restoreBass(signal(output), AUDIO + usize(output) * CHANNEL_BYTES, samples, gain, output);
    setRetainedFloat(EMPHASIS + output, carried);
  }
}

/** Four samples at once: sums within a vector first, then what the sample before it adds. */
function restoreBass(from: usize, to: usize, samples: usize, gain: f32, output: i32): f32 {
  const zero = f32x4.splat(0);
  const share = f32x4.splat(SHARE);
  const share2 = f32x4.splat(SHARE_2);
  const bias = f32x4.splat(NEARLY_NOTHING);
  const shares = f32x4(1, SHARE, SHARE_2, SHARE_3);
  const gains = f32x4.splat(gain);
  const end = from + 4 * samples;
  let carried = f32x4.splat(retainedFloat(EMPHASIS + output));
  do {
    const x = f32x4.add(v128.load(from), bias);
    const pairs = f32x4.add(x, f32x4.mul(share, f32x4.shuffle(x, zero, 4, 0, 1, 2)));
    const all = f32x4.add(pairs, f32x4.mul(share2, f32x4.shuffle(pairs, zero, 4, 4, 0, 1)));
    const y = f32x4.add(all, f32x4.mul(carried, shares));
    v128.store(to, f32x4.mul(gains, y));
    carried = f32x4.mul(share, f32x4.shuffle(y, y, 3, 3, 3, 3));
    from += 16;
    to += 16;
  } while (from < end);
  return f32x4.extract_lane(carried, 0);
}
