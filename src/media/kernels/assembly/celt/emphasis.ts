// Undoes the pre-emphasis, and writes the audio (RFC 6716 section 4.3.7.2). AssemblyScript, part of the CELT decoder.

import { CHANNEL_BYTES } from "../../../../../opus-encoder/assembly/memory-map.ts";
import { retainedFloat, setRetainedFloat } from "../../../../../opus-encoder/assembly/retained.ts";
import { AUDIO } from "./memory-map.ts";
import { EMPHASIS, signal } from "./slot.ts";

/** How much of each sample is added to the next. */
const SHARE: f32 = 0.850006103515625;
const SHARE_2: f32 = SHARE * SHARE;
const SHARE_3: f32 = SHARE * SHARE_2;
const SHARE_4: f32 = SHARE * SHARE_3;
/** So that silence does not end in subnormal numbers, which are slow. */
const NEARLY_NOTHING: f32 = 1e-30;

/**
 * Writes AUDIO, multiplied by `gain`: four samples of both channels at once, first sums within a vector, then what the
 * sample before it adds. With one channel both are the same.
 */
export function writeAudio(outputs: i32, samples: usize, gain: f32): void {
  const right = outputs - 1;
  const rightBytes = usize(right) * CHANNEL_BYTES;
  const gains = f32x4.splat(gain);
  let from = signal(0);
  let rightFrom = signal(right);
  let left4 = f32x4.splat(retainedFloat(EMPHASIS));
  let right4 = f32x4.splat(retainedFloat(EMPHASIS + right));
  const end: usize = AUDIO + 4 * samples;
  for (let to: usize = AUDIO; to < end; to += 16) {
    left4 = withCarried(from, left4);
    right4 = withCarried(rightFrom, right4);
    v128.store(to + rightBytes, f32x4.mul(gains, right4));
    v128.store(to, f32x4.mul(gains, left4));
    from += 16;
    rightFrom += 16;
  }
  setRetainedFloat(EMPHASIS + right, f32x4.extract_lane(right4, 3));
  setRetainedFloat(EMPHASIS, f32x4.extract_lane(left4, 3));
}

/** The next four samples, after those that end with the last lane of `before`. */
function withCarried(from: usize, before: v128): v128 {
  const zero = f32x4.splat(0);
  const x = f32x4.add(v128.load(from), f32x4.splat(NEARLY_NOTHING));
  const pairs = f32x4.add(x, f32x4.mul(f32x4.splat(SHARE), f32x4.shuffle(x, zero, 4, 0, 1, 2)));
  const all = f32x4.add(pairs, f32x4.mul(f32x4.splat(SHARE_2), f32x4.shuffle(pairs, zero, 4, 4, 0, 1)));
  const last = f32x4.shuffle(before, before, 3, 3, 3, 3);
  return f32x4.add(all, f32x4.mul(last, f32x4(SHARE, SHARE_2, SHARE_3, SHARE_4)));
}
