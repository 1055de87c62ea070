// The loudness of audio, in LUFS: by the node's own meter, which test/unit/media/effects/loudness/ checks against the
// EBU's signals.

import { LoudnessMeter } from "../../src/media/effects/loudness/loudness-meter.ts";
import { sharedLoudnessKernel } from "../../src/media/kernels/loudness-kernel.ts";

const BLOCK_SAMPLES = 960;

/** Integrated loudness of audio at 48 kHz, 400 ms at the least; minus infinity for silence. */
export function loudnessOf(left: Float32Array, right = left): number {
  const meter = new LoudnessMeter();
  const kernel = sharedLoudnessKernel();
  for (let at = 0; at < left.length; at += BLOCK_SAMPLES) {
    const piece = left.subarray(at, at + BLOCK_SAMPLES);
    kernel.left.set(piece);
    kernel.right.set(right.subarray(at, at + BLOCK_SAMPLES));
    meter.measure(0, piece.length);
  }
  return meter.integratedLufs ?? Number.NEGATIVE_INFINITY;
}
