// Summarises many measurements: quantiles, a median with its spread, and the ratio of two nodes that were measured in
// alternating rounds. Pure.

/** Summary of several rounds. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The value below which `share` (0 to 1) of the values lie; NaN without any. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Median, minimum and maximum of the measured values; undefined when there are none. */
export function spreadOf(values: readonly (number | undefined)[]): Spread | undefined {
  const sorted = values.filter((value) => value !== undefined).toSorted((a, b) => a - b);
  const [low, high] = [sorted[0], sorted.at(-1)];
  if (low === undefined || high === undefined) return undefined;
  const upper = sorted[Math.floor(sorted.length / 2)] ?? high;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? low;
  return { median: (lower + upper) / 2, low, high };
}

/**
 * How the first node compares with the second: one ratio for each pair of adjacent rounds, in which the machine was the
 * same for both. A pair in which one was not measured, or the second is 0, gives none.
 */
export function ratioOf(
  first: readonly (number | undefined)[],
  second: readonly (number | undefined)[],
): Spread | undefined {
  const ratios = first.map((value, pair) => {
    const other = second[pair];
    return value === undefined || other === undefined || other === 0 ? undefined : value / other;
  });
  return spreadOf(ratios);
}
