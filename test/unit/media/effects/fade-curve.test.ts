import { describe, expect, it } from "vitest";
import { type FadeCurve, fadeGain, fadeOf } from "../../../../src/media/effects/fade-curve.ts";

const CURVES: readonly FadeCurve[] = ["linear", "sine", "exponential"];
const SHARES = Array.from({ length: 101 }, (_, index) => index / 100);

describe.each(CURVES)("the curve %s", (curve) => {
  it("a fade curve leads from silence to full, and never back", () => {
    const gains = SHARES.map((share) => fadeGain(curve, share));
    expect(gains[0]).toBe(0);
    expect(gains.at(-1)).toBe(1);
    for (let index = 1; index < gains.length; index++) expect(gains[index]!).toBeGreaterThan(gains[index - 1]!);
  });

  it("a fade curve is silence before its start and full behind its end", () => {
    expect(fadeGain(curve, -0.5)).toBe(0);
    expect(fadeGain(curve, 1.5)).toBe(1);
  });
});

it("a linear fade is half as high in the middle, an exponential one 30 dB down", () => {
  expect(fadeGain("linear", 0.5)).toBe(0.5);
  expect(20 * Math.log10(fadeGain("exponential", 0.5))).toBeCloseTo(-30.3, 1);
  expect(20 * Math.log10(fadeGain("exponential", 0.75) / fadeGain("exponential", 0.5))).toBeCloseTo(15.2, 1);
});

it("two tracks in a crossfade by a sine are together as loud as one", () => {
  for (const share of SHARES) {
    const power = fadeGain("sine", share) ** 2 + fadeGain("sine", 1 - share) ** 2;
    expect(power).toBeCloseTo(1, 12);
  }
});

it("a fade is as long as requested, and without settings there is none", () => {
  expect(fadeOf(undefined)).toBeUndefined();
  expect(fadeOf({ duration: 100, curve: "linear" })).toEqual({ lengthSamples: 4800, curve: "linear" });
});
