// The filters of Lavalink's plugins, measured: through a player's whole chain, as a client would set them.

import { describe, expect, it } from "vitest";
import { filterSettings } from "../../../../support/filter-settings.ts";
import { chainWith, filtered, peak, responseAt } from "../../../../support/filter-vectors.ts";

const SECOND = 48_000;

function audio(seconds: number, at: (sample: number) => number): Float32Array {
  return Float32Array.from({ length: Math.round(seconds * SECOND) }, (_, sample) => at(sample));
}

function rendered(pluginFilters: object, left: Float32Array): Float32Array {
  const right = new Float32Array(left.length);
  return filtered(chainWith(filterSettings({ pluginFilters })), { left, right }).left;
}

/** From a click of 0.25 after 100 ms, on the left side. */
function clickResponse(pluginFilters: object, seconds = 1): Float32Array {
  const output = rendered(
    pluginFilters,
    audio(seconds, (sample) => (sample === 4800 ? 0.25 : 0)),
  );
  return output.subarray(4800).map((value) => value * 4);
}

const decibels = (value: number) => 20 * Math.log10(value);

describe("high-pass and low-pass of LavaDSPX", () => {
  it.each([
    ["high-pass", 250],
    ["low-pass", 4000],
  ])("%s is 3 dB down at its cutoff and 24 dB two octaves beyond", (name, beyondHz) => {
    const response = clickResponse({ [name]: { cutoffFrequency: 1000 } });
    const levelAt = (frequencyHz: number) => decibels(responseAt(response, frequencyHz).magnitude);
    expect(levelAt(1000)).toBeCloseTo(-3.01, 1);
    expect(levelAt(beyondHz)).toBeCloseTo(-24.3, 0);
    expect(levelAt(1_000_000 / beyondHz)).toBeCloseTo(0, 0);
  });

  it.each(["high-pass", "low-pass"])("%s multiplies by boostFactor, and clips to full scale", (name) => {
    const tone = audio(1, (sample) => 0.3 * Math.sin((2 * Math.PI * 1000 * sample) / SECOND));
    const cutoffFrequency = name === "high-pass" ? 10 : 20_000;
    const boosted = rendered({ [name]: { cutoffFrequency, boostFactor: 2 } }, tone);
    expect(peak(boosted.subarray(-4800))).toBeCloseTo(0.6, 2);
    expect(peak(rendered({ [name]: { cutoffFrequency, boostFactor: 50 } }, tone))).toBe(1);
  });

  it("low-pass beyond half of the sample rate leaves the audio as it is", () => {
    const tone = audio(1, (sample) => 0.3 * Math.sin((2 * Math.PI * 1000 * sample) / SECOND));
    expect(peak(rendered({ "low-pass": { cutoffFrequency: 2 ** 31 - 1 } }, tone).subarray(-4800))).toBeCloseTo(0.3, 2);
  });
});

describe("normalization of LavaDSPX", () => {
  const steps = audio(3, (sample) => (sample < SECOND ? 0.2 : sample < 2 * SECOND ? 0.8 : 0.2));

  it("scales what is above maxAmplitude down to it, and with adaptive what follows by as much", () => {
    const output = rendered({ normalization: { maxAmplitude: 0.4 } }, steps);
    expect(output[SECOND / 2]).toBeCloseTo(0.2, 5);
    expect(output[1.5 * SECOND]).toBeCloseTo(0.4, 5);
    expect(output[2.5 * SECOND]).toBeCloseTo(0.1, 5);
    expect(peak(output)).toBeLessThanOrEqual(0.4 + 1e-6);
  });

  it("without adaptive, softer audio after a peak keeps its level", () => {
    const output = rendered({ normalization: { maxAmplitude: 0.4, adaptive: false } }, steps);
    expect(output[1.5 * SECOND]).toBeCloseTo(0.4, 5);
    expect(output[2.5 * SECOND]).toBeCloseTo(0.2, 5);
  });
});

describe("echoes and reverb", () => {
  it.each([
    ["of LavaDSPX", { echo: { echoLength: 0.1, decay: 0.5 } }],
    ["of lavalink-filter-plugin", { echo: { delay: 0.1, decay: 0.5 } }],
    ["of lavalink-filter-plugin, nested", { "lavalink-filter-plugin": { echo: { delay: 0.1, decay: 0.5 } } }],
  ])("the echo %s is added after its length, each time softer by the decay", (_, pluginFilters) => {
    const response = clickResponse(pluginFilters);
    for (const times of [0, 1, 2, 3]) expect(response[times * 4800]).toBeCloseTo(0.5 ** times, 5);
    expect(peak(response.filter((_, sample) => sample % 4800 !== 0))).toBe(0);
  });

  it("an echo that would never end fades out", () => {
    const response = clickResponse({ echo: { echoLength: 0.01, decay: 1 } }, 3);
    expect(peak(response.subarray(-4800))).toBeLessThan(0.001);
  });

  it("the reverb adds the mean of its combs, each repeating after its delay by its gain", () => {
    const reverb = { delays: [0.1, 0.15, 0.2], gains: [0.5, 0.25] };
    for (const pluginFilters of [{ reverb }, { "lavalink-filter-plugin": { reverb } }]) {
      const response = clickResponse(pluginFilters);
      expect(response[0]).toBeCloseTo(1, 5);
      expect(response[4800]).toBeCloseTo(0.5, 5);
      expect(response[7200]).toBeCloseTo(0.5, 5);
      expect(response[9600]).toBeCloseTo(0.25, 5);
      // The second repeat of the one and the third of the other meet.
      expect(response[14_400]).toBeCloseTo(0.5 * 0.25 + 0.5 * 0.25, 5);
    }
  });
});
