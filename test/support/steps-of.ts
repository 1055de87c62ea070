// How a list of numbers goes on: moments, places, packet numbers.

const FRAME_SAMPLES = 960;

/** What each adds to the one before. */
export function stepsOf(numbers: readonly number[]): number[] {
  return numbers.slice(1).map((number, index) => number - numbers[index]!); // one before each
}

/**
 * The steps of packets heard that RTP time does not account for. A machine that has no time for the node may leave out
 * deadlines, and packets with them: then RTP time has gone on as well, and nothing is wrong.
 */
export function stepsBeyondTime(numbers: readonly number[], timestamps: readonly number[]): number[] {
  const frames = framesBetween(timestamps);
  return stepsOf(numbers).filter((step, index) => step > (frames[index] ?? 0));
}

/** How many frames each RTP timestamp lies behind the one before. */
export function framesBetween(timestamps: readonly number[]): number[] {
  return stepsOf(timestamps).map((samples) => (samples >>> 0) / FRAME_SAMPLES);
}
