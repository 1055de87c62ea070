// The meter against the test signals of EBU Tech 3341 (2016) table 1, generated here: sine tones of 1 kHz in both
// channels. Case 6 is surround audio, which the meter never receives.

import { describe, expect, it } from "vitest";
import { LoudnessMeter } from "../../../../../src/media/effects/loudness/loudness-meter.ts";
import { sharedLoudnessKernel } from "../../../../../src/media/kernels/loudness-kernel.ts";

const BLOCK_SAMPLES = 960;

type Part = readonly [seconds: number, levelDbfs: number];

class Tone {
  readonly meter = new LoudnessMeter();
  #phase = 0;

  /** 1 kHz by default, with peaks at a level. */
  play([seconds, levelDbfs]: Part, { hz = 1000, isMono = false } = {}): void {
    const kernel = sharedLoudnessKernel();
    const level = 10 ** (levelDbfs / 20);
    for (let left = Math.round(seconds * 48_000); left > 0; left -= BLOCK_SAMPLES) {
      const count = Math.min(left, BLOCK_SAMPLES);
      for (let sample = 0; sample < count; sample++) {
        kernel.left[sample] = level * Math.sin(this.#phase);
        kernel.right[sample] = isMono ? 0 : kernel.left[sample]!;
        this.#phase += (2 * Math.PI * hz) / 48_000;
      }
      this.meter.measure(0, count);
    }
  }
}

describe("EBU Tech 3341", () => {
  it.each<[string, readonly Part[], number]>([
    ["1: steady at -23", [[20, -23]], -23],
    ["2: steady at -33", [[20, -33]], -33],
    [
      "3: the relative gate",
      [
        [10, -36],
        [60, -23],
        [10, -36],
      ],
      -23,
    ],
    [
      "4: both gates",
      [
        [10, -72],
        [10, -36],
        [60, -23],
        [10, -36],
        [10, -72],
      ],
      -23,
    ],
    [
      "5: audio within the gate counts by its power",
      [
        [20, -26],
        [20.1, -20],
        [20, -26],
      ],
      -23,
    ],
  ])("the meter passes EBU Tech 3341 case %s", (_name, parts, lufs) => {
    const tone = new Tone();
    for (const part of parts) tone.play(part);
    expect(Math.abs((tone.meter.integratedLufs ?? 0) - lufs)).toBeLessThan(0.1);
  });

  it("momentary loudness covers the last 400 ms", () => {
    const tone = new Tone();
    tone.play([0.3, -23]);
    expect(tone.meter.momentaryLufs).toBe(Number.NEGATIVE_INFINITY);
    tone.play([1, -23]);
    expect(tone.meter.momentaryLufs).toBeCloseTo(-23, 1);
    tone.play([0.4, -33]);
    expect(tone.meter.momentaryLufs).toBeCloseTo(-33, 1);
  });
});

it("997 Hz at full scale in one channel reads -3.01 (BS.1770-4 annex 1)", () => {
  const tone = new Tone();
  tone.play([2, 0], { hz: 997, isMono: true });
  expect(tone.meter.integratedLufs).toBeCloseTo(-3.01, 2);
});

it("bass counts for less and treble for more", () => {
  const readings = [40, 100, 1000, 10_000].map((hz) => {
    const tone = new Tone();
    tone.play([2, -23], { hz });
    return tone.meter.integratedLufs;
  });
  // As FFmpeg's ebur128 reads them.
  expect(readings).toEqual([-29.3, -24.8, -23, -19.6].map((lufs) => expect.closeTo(lufs, 1)));
});

it("silence and audio below the gate do not count", () => {
  const tone = new Tone();
  tone.play([2, -Infinity]);
  tone.play([2, -71]);
  expect(tone.meter.integratedLufs).toBeUndefined();
  tone.play([4, -60]);
  expect(Math.abs((tone.meter.integratedLufs ?? 0) + 60)).toBeLessThan(0.3);
});

it("a reset clears the measured loudness", () => {
  const tone = new Tone();
  tone.play([3, -10]);
  tone.meter.reset();
  expect([tone.meter.integratedLufs, tone.meter.momentaryLufs]).toEqual([undefined, Number.NEGATIVE_INFINITY]);
  tone.play([2, -30]);
  expect(tone.meter.integratedLufs).toBeCloseTo(-30, 1);
});

it("a station is measured by its last hour, not by its whole run", () => {
  const kernel = sharedLoudnessKernel();
  const meter = new LoudnessMeter();
  // A block holds whole periods, so it can be repeated.
  const feed = (minutes: number, levelDbfs: number) => {
    kernel.left.forEach((_, sample) => {
      kernel.left[sample] = 10 ** (levelDbfs / 20) * Math.sin((2 * Math.PI * sample) / 48);
    });
    kernel.right.set(kernel.left);
    for (let block = 0; block < minutes * 60 * 50; block++) meter.measure(0, BLOCK_SAMPLES);
    return meter.integratedLufs ?? 0;
  };
  expect(feed(29, -20)).toBeCloseTo(-20, 1);
  // Half of 29 minutes, and 15.
  feed(15, -28);
  expect(feed(1, -28)).toBeLessThan(-22.4);
  expect(feed(30, -28)).toBeLessThan(-25);
});

it("the loudness meter measures the same in pieces of any length", () => {
  const kernel = sharedLoudnessKernel();
  const readings = [960, 333, 1, 1000].map((pieceSamples) => {
    const meter = new LoudnessMeter();
    for (let at = 0; at < 48_000; at += pieceSamples) {
      for (let sample = 0; sample < pieceSamples; sample++) {
        kernel.left[17 + sample] = 0.3 * Math.sin((at + sample) * 0.1);
        kernel.right[17 + sample] = 0.2 * Math.sin((at + sample) * 0.03);
      }
      meter.measure(17, pieceSamples);
    }
    return meter.integratedLufs;
  });
  for (const reading of readings) expect(reading).toBeCloseTo(readings[0] ?? 0, 2);
});
