import { expect, it } from "vitest";
import { VibratoFilter } from "../../../../../src/media/effects/filters/vibrato.ts";
import { VibratoKernel } from "../../../../../src/media/kernels/vibrato-kernel.ts";
import { peak, signals } from "../../../../support/filter-vectors.ts";

it("the vibrato's SIMD and plain loop agree", () => {
  const settings = { frequency: 14, depth: 1 };
  const filters = [
    new VibratoFilter(settings),
    new VibratoFilter(settings, undefined, new VibratoKernel({ isSimd: false })),
  ];
  const [simd, plain] = filters.map((filter) => {
    const [left, right] = [signals.noise.left.slice(0, 20_000), signals.noise.right.slice(0, 20_000)];
    for (let start = 0; start < left.length; start += 700) {
      filter.process(
        left.subarray(start, start + 700),
        right.subarray(start, start + 700),
        Math.min(700, 20_000 - start),
      );
    }
    return { left, right };
  });
  expect(peak(simd!.left)).toBeGreaterThan(0.1);
  expect(peak(simd!.left.map((value, at) => value - plain!.left[at]!))).toBeLessThan(1e-6);
  expect(peak(simd!.right.map((value, at) => value - plain!.right[at]!))).toBeLessThan(1e-6);
});
