import { expect, it } from "vitest";
import { DistortionFilter } from "../../../../../src/media/effects/filters/distortion.ts";
import { DistortionKernel } from "../../../../../src/media/kernels/distortion-kernel.ts";
import { peak, type Stereo, signals } from "../../../../support/filter-vectors.ts";

const NEUTRAL = {
  sinOffset: 0,
  sinScale: 1,
  cosOffset: 0,
  cosScale: 1,
  tanOffset: 0,
  tanScale: 1,
  offset: 0,
  scale: 1,
};
const MILD = { ...NEUTRAL, sinScale: 2, cosScale: 0, tanScale: 0, tanOffset: 1 };
const CLIPPING = { ...NEUTRAL, scale: 5, offset: 0.2 };
const WILD = { ...NEUTRAL, sinScale: 900, tanScale: 4, scale: 0.7 };

function distorted(filter: DistortionFilter, input: Stereo, blockSamples: number): Stereo {
  const [left, right] = [input.left.slice(0, 20_000), input.right.slice(0, 20_000)];
  for (let start = 0; start < left.length; start += blockSamples) {
    const piece = [left.subarray(start, start + blockSamples), right.subarray(start, start + blockSamples)] as const;
    filter.process(piece[0], piece[1], piece[0].length);
  }
  return { left, right };
}

it.each(Object.entries({ MILD, CLIPPING, WILD }))("the distortion's SIMD and plain loop agree over %s", (_, curve) => {
  const [simd, plain] = [new DistortionKernel(), new DistortionKernel({ isSimd: false })].map((kernel) =>
    distorted(new DistortionFilter(curve, undefined, kernel), signals.loud, 701),
  );
  expect(peak(simd!.left)).toBeGreaterThan(0.1);
  expect(peak(simd!.left.map((value, at) => value - plain!.left[at]!))).toBeLessThan(2e-6);
  expect(peak(simd!.right.map((value, at) => value - plain!.right[at]!))).toBeLessThan(2e-6);
});

it.each(Object.entries({ MILD, CLIPPING, WILD }))("the distortion %s is the formula, cut to full scale", (name, c) => {
  const { left } = distorted(new DistortionFilter(c), signals.loud, 2000);
  // Wild curves are exact at 16-bit values, which these are; 64-bit sines of large angles differ in their last digits.
  for (let at = 0; at < left.length; at += 7) {
    const x = signals.loud.left[at]!;
    const sine = c.sinOffset + Math.sin(x * c.sinScale);
    const cosine = c.cosOffset + Math.cos(x * c.cosScale);
    const value = c.offset + c.scale * sine * cosine * (c.tanOffset + Math.tan(x * c.tanScale));
    expect(left[at], `${name} at ${x}`).toBeCloseTo(Math.min(Math.max(value, -1), 1), 5);
  }
});

it("distortion curves of several players share the kernel's memory", () => {
  const filters = [MILD, CLIPPING, WILD].map((curve) => new DistortionFilter(curve));
  const alone = filters.map((filter) => distorted(filter, signals.tone, 20_000));
  for (let start = 0; start < 4800; start += 960) {
    for (const [index, filter] of filters.entries()) {
      const [left, right] = [signals.tone.left.slice(start, start + 960), signals.tone.right.slice(start, start + 960)];
      filter.process(left, right, 960);
      expect(left).toEqual(alone[index]!.left.slice(start, start + 960));
    }
  }
});
