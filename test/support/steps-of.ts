// How a list of numbers goes on: moments, places, packet numbers.

/** What each adds to the one before. */
export function stepsOf(numbers: readonly number[]): number[] {
  return numbers.slice(1).map((number, index) => number - numbers[index]!); // one before each
}
