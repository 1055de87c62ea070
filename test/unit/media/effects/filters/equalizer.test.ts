import { expect, it } from "vitest";
import { EqualizerFilter } from "../../../../../src/media/effects/filters/equalizer.ts";
import { EqualizerKernel } from "../../../../../src/media/kernels/equalizer-kernel.ts";
import { peak, signals } from "../../../../support/filter-vectors.ts";

it.each([
  ["all fifteen bands", Array.from({ length: 15 }, (_, band) => (band % 3) * 0.3 - 0.2)],
  ["one band", [0, 0, 0, 0.7]],
])("the equalizer's SIMD and plain loop agree over %s", (_, gains) => {
  const [simd, plain] = [
    new EqualizerFilter(gains),
    new EqualizerFilter(gains, undefined, new EqualizerKernel({ isSimd: false })),
  ];
  const outputs = [simd, plain].map((filter) => {
    const [left, right] = [signals.noise.left.slice(), signals.noise.right.slice()];
    for (let start = 0; start < left.length; start += 700) {
      const piece = [left.subarray(start, start + 700), right.subarray(start, start + 700)] as const;
      filter.process(piece[0], piece[1], piece[0].length);
    }
    return { left, right };
  });
  expect(peak(outputs[0]!.left)).toBeGreaterThan(0.1);
  expect(peak(outputs[0]!.left.map((value, at) => value - outputs[1]!.left[at]!))).toBeLessThan(1e-7);
  expect(peak(outputs[0]!.right.map((value, at) => value - outputs[1]!.right[at]!))).toBeLessThan(1e-7);
});

it("the built equalizer kernel matches its source: it is WebAssembly and runs", () => {
  const filter = new EqualizerFilter([0.5]);
  const left = Float32Array.of(1, 0, 0);
  filter.process(left, left.slice(), 3);
  expect(left[1]).not.toBe(0);
});
