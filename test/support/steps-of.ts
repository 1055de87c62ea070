// The differences within a list of numbers: times, offsets, packet numbers.

const FRAME_SAMPLES = 960;

/** The difference of each number from the one before. */
export function stepsOf(numbers: readonly number[]): number[] {
  return numbers.slice(1).map((number, index) => number - numbers[index]!); // one before each
}

/**
 * The steps of received packets that RTP time does not account for. A starved machine may make the node skip deadlines,
 * and packets with them: then RTP time has advanced as well, and nothing is wrong.
 */
export function stepsBeyondTime(numbers: readonly number[], timestamps: readonly number[]): number[] {
  const frames = framesBetween(timestamps);
  return stepsOf(numbers).filter((step, index) => step > (frames[index] ?? 0));
}

/** How many frames each RTP timestamp lies behind the one before. */
export function framesBetween(timestamps: readonly number[]): number[] {
  return stepsOf(timestamps).map((samples) => (samples >>> 0) / FRAME_SAMPLES);
}
