import { expect, it } from "vitest";
import { ModulatedDelay } from "../../../../../src/media/effects/filters/modulated-delay.ts";
import { peak, signals } from "../../../../support/filter-vectors.ts";

it.each([960, 700, 313])("the modulated delay's SIMD and plain loop agree, in blocks of %d", (blockSamples) => {
  const lengthSamples = 40_000;
  const [simd, plain] = [true, false].map((isSimd) => {
    const [left, right] = [signals.noise.left.slice(0, lengthSamples), signals.noise.right.slice(0, lengthSamples)];
    const settings = { frequencyHz: 7, delaySamplesMin: 0, delaySamplesMax: 2600, feedback: 0.8, mix: 0.7 };
    let filter = new ModulatedDelay(settings, { previous: undefined, isSimd });
    for (let start = 0; start < lengthSamples; start += blockSamples) {
      const end = Math.min(start + blockSamples, lengthSamples);
      if (start === 20 * blockSamples) {
        filter = new ModulatedDelay({ ...settings, delaySamplesMin: 30 }, { previous: filter, isSimd });
      }
      filter.process(left.subarray(start, end), right.subarray(start, end), end - start);
    }
    return { left, right };
  });
  expect(peak(simd!.left)).toBeGreaterThan(0.1);
  expect(peak(simd!.left.map((value, at) => value - plain!.left[at]!))).toBeLessThan(5e-6);
  expect(peak(simd!.right.map((value, at) => value - plain!.right[at]!))).toBeLessThan(5e-6);
});
