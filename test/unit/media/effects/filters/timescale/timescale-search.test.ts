import { expect, it } from "vitest";
import { findJump } from "../../../../../../src/media/effects/filters/timescale/timescale-search.ts";
import { TimescaleWindow } from "../../../../../../src/media/effects/filters/timescale/timescale-window.ts";
import { TimescaleSearchKernel } from "../../../../../../src/media/kernels/timescale-search-kernel.ts";
import { signals } from "../../../../../support/filter-vectors.ts";

it.each([
  { here: 5, there: 77, length: 96, count: 145 },
  { here: 2000, there: 1001, length: 768, count: 17 },
  { here: 0, there: 0, length: 768, count: 1 },
])("the timescale search's SIMD and plain loop agree over %j", (comparison) => {
  const [simd, plain] = [new TimescaleSearchKernel(), new TimescaleSearchKernel({ isSimd: false })];
  for (const kernel of [simd, plain]) kernel.compare(signals.noise, comparison);
  const [found, target] = [simd, plain].map(({ products }) => [...products.subarray(0, comparison.count)]);
  expect(Math.max(...target!.map(Math.abs))).toBeGreaterThan(0.1);
  for (const [sampleIndex, product] of target!.entries()) expect(found![sampleIndex]).toBeCloseTo(product, 4);
});

it.each([1000, 1007, -1100, 1511])("a repetition %i samples away is found to the sample", (jump) => {
  const window = new TimescaleWindow();
  // The audio after sample 3000 is repeated, on the right with the opposite sign: a search in the sum would find
  // nothing.
  const left = signals.noise.left.slice(0, 6000);
  left.copyWithin(3000 + jump, 3000, 3900);
  const right = left.map((value) => -value);
  for (let start = 0; start < left.length; start += 960) {
    const end = Math.min(start + 960, left.length);
    window.append(left.subarray(start, end), right.subarray(start, end), end - start);
  }
  const target = jump + 200;
  const best = { samples: 0, likeness: 0 };
  findJump(window, 3000, { low: target - 576, high: target + 576, target }, best);
  expect(best.samples).toBe(jump);
  expect(best.likeness).toBeCloseTo(1, 4);
});
