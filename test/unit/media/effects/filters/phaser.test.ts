import { expect, it } from "vitest";
import { PhaserFilter } from "../../../../../src/media/effects/filters/phaser.ts";
import { PhaserKernel } from "../../../../../src/media/kernels/phaser-kernel.ts";
import { peak, signals } from "../../../../support/filter-vectors.ts";

it("the phaser's SIMD and plain loop agree", () => {
  const settings = { frequency: 3, depth: 1, feedback: 0.8, mix: 0.6 };
  const [simd, plain] = [true, false].map((isSimd) => {
    const kernel = new PhaserKernel({ isSimd });
    const [left, right] = [signals.noise.left.slice(0, 20_000), signals.noise.right.slice(0, 20_000)];
    let filter = new PhaserFilter(settings, undefined, kernel);
    for (let start = 0; start < left.length; start += 700) {
      const end = Math.min(start + 700, left.length);
      if (start === 7000) filter = new PhaserFilter({ ...settings, feedback: 0.2 }, filter, kernel);
      filter.process(left.subarray(start, end), right.subarray(start, end), end - start);
    }
    return { left, right };
  });
  expect(peak(simd!.left)).toBeGreaterThan(0.1);
  expect(peak(simd!.left.map((value, at) => value - plain!.left[at]!))).toBeLessThan(1e-6);
  expect(peak(simd!.right.map((value, at) => value - plain!.right[at]!))).toBeLessThan(1e-6);
});
