// Audible faults: clicks and gaps.

interface ClickOptions {
  /** How far above its context a bend must stand to count, as a factor. Default 10. */
  readonly factor?: number;
  /** Bends below this are never clicks. Default 0.02 of full scale. */
  readonly bendMin?: number;
}

/**
 * Positions of clicks: where the curve bends (second difference) far more than it does in the 10 ms before and after.
 * Clicks within 5 ms count as one. Meant for tones and music without castanets.
 */
export function findClicks(samples: Float32Array, options: ClickOptions = {}): number[] {
  const { factor = 10, bendMin = 0.02 } = options;
  const bends = new Float32Array(samples.length);
  for (let index = 2; index < samples.length; index++) {
    bends[index] = Math.abs(samples[index]! - 2 * samples[index - 1]! + samples[index - 2]!);
  }
  const clicks: number[] = [];
  for (let index = 2; index < samples.length; index++) {
    const bend = bends[index]!;
    if (bend < bendMin || index - (clicks.at(-1) ?? Number.NEGATIVE_INFINITY) < 240) continue;
    if (bend > factor * surroundings(bends, index)) clicks.push(index);
  }
  return clicks;
}

/** Mean bend of the 10 ms on both sides, without the 8 samples around the spot itself. */
function surroundings(bends: Float32Array, spot: number): number {
  let sum = 0;
  let count = 0;
  for (let index = Math.max(2, spot - 480); index < Math.min(bends.length, spot + 480); index++) {
    if (Math.abs(index - spot) <= 8) continue;
    sum += bends[index]!;
    count++;
  }
  return count === 0 ? 0 : sum / count;
}

interface Gap {
  readonly startSample: number;
  readonly lengthSamples: number;
}

interface GapOptions {
  /** Shortest silence that counts. Default 240 (5 ms at 48 kHz). */
  readonly lengthSamplesMin?: number;
  /** The highest peak that still counts as silence. Default 0.0003 (-70 dB). */
  readonly peakMax?: number;
}

/** Silences inside the audio; silence at its very start and end is not a gap. */
export function findGaps(samples: Float32Array, options: GapOptions = {}): Gap[] {
  const { lengthSamplesMin = 240, peakMax = 0.0003 } = options;
  const gaps: Gap[] = [];
  let lastLoud = -1;
  for (let index = 0; index < samples.length; index++) {
    if (Math.abs(samples[index]!) <= peakMax) continue;
    const lengthSamples = index - lastLoud - 1;
    if (lastLoud >= 0 && lengthSamples >= lengthSamplesMin) gaps.push({ startSample: lastLoud + 1, lengthSamples });
    lastLoud = index;
  }
  return gaps;
}
