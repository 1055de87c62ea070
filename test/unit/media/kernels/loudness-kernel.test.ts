import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { LoudnessKernel } from "../../../../src/media/kernels/loudness-kernel.ts";

const START = 32;
const SAMPLES = 960;

function filled(at: (sample: number) => number, { isSimd = true } = {}) {
  const kernel = new LoudnessKernel({ isSimd });
  for (let index = 0; index < kernel.left.length; index++) {
    kernel.left[index] = at(index);
    kernel.right[index] = 0.5 * at(index + 7);
  }
  return kernel;
}

/** The highest peak in 60 chunks. */
function peakOf(at: (sample: number) => number, options = {}) {
  const kernel = filled(at, options);
  kernel.findPeaks(START, SAMPLES / 16, 0);
  return Math.max(...kernel.peaks.subarray(0, SAMPLES / 16));
}

it("the loudness kernel's SIMD and plain loops agree", () => {
  const random = seededRandom(7);
  const noise = Float32Array.from({ length: 2000 }, () => 2 * random() - 1);
  const [simd, plain] = [true, false].map((isSimd) => filled((sample) => noise[sample]!, { isSimd }));
  for (let round = 0; round < 3; round++) {
    const sums = [simd!, plain!].map((kernel) => kernel.weigh(5, 777));
    expect(sums[0]! / sums[1]!).toBeCloseTo(1, 12);
    expect([...simd!.state]).toEqual([...plain!.state].map((value) => expect.closeTo(value, 9)));
  }
  for (const limit of [0, 1.5, 2, 30]) {
    for (const kernel of [simd!, plain!]) kernel.findPeaks(START, 60, limit);
    const worst = simd!.peaks.map((peak, chunk) => Math.abs(peak - plain!.peaks[chunk]!));
    expect(Math.max(...worst.subarray(0, 60))).toBeLessThan(1e-6);
  }
});

describe.each([true, false])("peaks between samples (SIMD %s)", (isSimd) => {
  it.each([
    // BS.1770-4 annex 2's own example: a quarter of the rate, 45 degrees off, reads 3 dB low on samples.
    [12_000, Math.PI / 4, 0.5],
    [8000, Math.PI / 6, 0.5],
    [6000, Math.PI / 8, 0.5],
    [997, 0, 0.9],
    [15_000, 1, 0.7],
  ])("a peak between samples at %s Hz and phase %s is measured within +0.3 and -0.3 dB", (hz, phase, level) => {
    const peak = peakOf((sample) => level * Math.sin((2 * Math.PI * hz * sample) / 48_000 + phase), { isSimd });
    expect(Math.abs(20 * Math.log10(peak / level))).toBeLessThan(0.3);
  });

  it("a quarter of the rate, 45 degrees off, reads 3 dB above its samples", () => {
    const at = (sample: number) => Math.sin((Math.PI / 2) * sample + Math.PI / 4);
    expect(20 * Math.log10(peakOf(at, { isSimd }) / Math.SQRT1_2)).toBeCloseTo(3.01, 0);
  });

  it("peaks not above the limit are measured roughly, those above it exactly", () => {
    const at = (sample: number) => Math.sin(1.9 * sample);
    const exact = filled(at, { isSimd });
    exact.findPeaks(START, 60, 0);
    for (const limit of [0.5, 0.8, 0.95, 0.999, 1.01, 1.5, 3]) {
      const kernel = filled(at, { isSimd });
      kernel.findPeaks(START, 60, limit);
      kernel.peaks.subarray(0, 60).forEach((peak, chunk) => {
        if (exact.peaks[chunk]! > limit) expect(peak).toBe(exact.peaks[chunk]);
        else expect(peak).toBeLessThanOrEqual(limit);
      });
    }
  });

  it("in quiet audio only samples are examined", () => {
    const kernel = filled((sample) => Math.sin((Math.PI / 2) * sample + Math.PI / 4), { isSimd });
    kernel.findPeaks(START, 2, 1.5);
    expect(kernel.peaks[0]).toBeCloseTo(Math.SQRT1_2, 6);
  });
});
