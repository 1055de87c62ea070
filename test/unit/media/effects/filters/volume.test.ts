import { expect, test } from "vitest";
import { VolumeFilter, volumeGain } from "../../../../../src/media/effects/filters/volume.ts";

const constant = (value: number, length = 960) => new Float32Array(length).fill(value);

test.each([
  [0, 0],
  [1, 0.0079],
  [50, 0.4169],
  [99, 0.9934],
  [100, 1],
  [101, 1.0253],
  [150, 2.4621],
  [151, (2.4621 * 151) / 150],
  [1000, 16.414],
])("volume %i multiplies by %f", (volume, gain) => {
  expect(volumeGain(volume)).toBeCloseTo(gain, 4);
});

test("the volume curve never decreases", () => {
  for (let volume = 1; volume <= 1000; volume++) {
    expect(volumeGain(volume)).toBeGreaterThan(volumeGain(volume - 1));
  }
});

test("at volume 100 the audio is unchanged, even beyond full scale", () => {
  const filter = new VolumeFilter();
  const left = Float32Array.of(0.1, -1.5);
  filter.process(left, left, 2);
  expect(left).toEqual(Float32Array.of(0.1, -1.5));
  expect(filter.isNeutral).toBe(true);
});

test("a volume change is a ramp without a jump, complete after 10 ms, across frames", () => {
  const filter = new VolumeFilter(100);
  filter.setVolume(50);
  expect(filter.isNeutral).toBe(false);
  const rendered: number[] = [];
  for (let frame = 0; frame < 6; frame++) {
    const [left, right] = [constant(0.5, 160), constant(-0.5, 160)];
    filter.process(left, right, 160);
    expect(right).toEqual(left.map((value) => -value));
    rendered.push(...left);
  }
  let before = 0.5;
  for (const value of rendered) {
    expect(before - value).toBeLessThan(0.001);
    expect(value).toBeLessThanOrEqual(before);
    before = value;
  }
  expect(rendered[479]).toBeCloseTo(0.5 * volumeGain(50), 4);
  expect(rendered.at(-1)).toBeCloseTo(0.5 * volumeGain(50), 6);
});

test("the volume back at 100 is neutral again when the ramp is done", () => {
  const filter = new VolumeFilter(300);
  filter.setVolume(100);
  filter.process(constant(0), constant(0), 479);
  expect(filter.isNeutral).toBe(false);
  filter.process(constant(0), constant(0), 2);
  expect(filter.isNeutral).toBe(true);
});

test("loud audio is clamped, not wrapped around", () => {
  const filter = new VolumeFilter(1000);
  const left = Float32Array.of(0.9, -0.9, 0.01);
  filter.process(left, new Float32Array(3), 3);
  expect([...left].map((value) => value.toFixed(4))).toEqual(["1.0000", "-1.0000", "0.1641"]);
});

test("volume 0 is silence and reset ends a ramp at once", () => {
  const filter = new VolumeFilter(100);
  filter.setVolume(0);
  filter.reset();
  const left = constant(0.7);
  filter.process(left, constant(0.7), 960);
  expect(left.every((value) => value === 0)).toBe(true);
});

test("a ramp that was not played starts again from the last output gain, and ends at the setting", () => {
  const filter = new VolumeFilter(100);
  filter.setVolume(50);
  filter.process(constant(1), constant(1), 960);
  expect(filter.gain).toBeCloseTo(0.4169, 4);
  filter.continueFrom(1);
  filter.setVolume(0);
  const left = constant(1);
  filter.process(left, constant(1), 960);
  expect(left[0]).toBeCloseTo(1, 2);
  expect(left[240]).toBeCloseTo(0.5, 2);
  expect(left[480]).toBe(0);
});
