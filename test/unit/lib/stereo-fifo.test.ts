import { expect, test } from "vitest";
import { StereoFifo } from "../../../src/lib/stereo-fifo.ts";

const ramp = (start: number, length: number) => Float32Array.from({ length }, (_, index) => start + index);

test("samples come out in the order of writing, across the wrap and while growing", () => {
  const fifo = new StereoFifo({ capacitySamples: 7, capacitySamplesMax: 1000 });
  const left = new Float32Array(64);
  const right = new Float32Array(64);
  let written = 0;
  let read = 0;
  for (let round = 1; round < 200; round++) {
    const length = (round * 7) % 23;
    fifo.append(
      ramp(written - 2, length + 2),
      ramp(-written + 2, length + 2).map((v, i) => v - 2 * i),
      2,
      length,
    );
    written += length;
    const count = fifo.readInto(left, right, (round * 5) % 22);
    for (let index = 0; index < count; index++, read++) {
      expect(left[index]).toBe(read);
      expect(right[index]).toBeCloseTo(-read);
    }
    expect(fifo.lengthSamples).toBe(written - read);
  }
  expect(read).toBeGreaterThan(1000);
  expect(fifo.droppedSamples).toBe(0);
});

test("at the bound further samples are dropped and counted, and earlier ones stay", () => {
  const fifo = new StereoFifo({ capacitySamples: 4, capacitySamplesMax: 10 });
  fifo.append(ramp(0, 8), ramp(0, 8), 0, 8);
  expect(fifo.writableSamples).toBe(2);
  fifo.append(ramp(8, 8), ramp(8, 8), 0, 8);
  expect(fifo.lengthSamples).toBe(10);
  expect(fifo.droppedSamples).toBe(6);
  const out = new Float32Array(12);
  expect(fifo.readInto(out, out, 12)).toBe(10);
  expect([...out.subarray(0, 10)]).toEqual([...ramp(0, 10)]);
});

test("discard skips the oldest samples, clear all", () => {
  const fifo = new StereoFifo({ capacitySamples: 8 });
  fifo.append(ramp(0, 6), ramp(0, 6), 0, 6);
  expect(fifo.discard(2)).toBe(2);
  const out = new Float32Array(1);
  fifo.readInto(out, out, 1);
  expect(out[0]).toBe(2);
  expect(fifo.discard(9)).toBe(3);
  fifo.append(ramp(0, 6), ramp(0, 6), 0, 6);
  fifo.clear();
  expect(fifo.lengthSamples).toBe(0);
  expect(fifo.readInto(out, out, 1)).toBe(0);
});

test("the samples read last can be put back, at least the retained number, across the wrap and while growing", () => {
  const fifo = new StereoFifo({ capacitySamples: 16, capacitySamplesMax: 1000 });
  fifo.keepRead(30);
  const out = new Float32Array(64);
  let written = 0;
  for (let round = 1; round < 300; round++) {
    const length = (round * 7) % 23;
    fifo.append(ramp(written, length), ramp(written, length), 0, length);
    written += length;
    const first = fifo.readSamples;
    fifo.readInto(out, out, (round * 5) % 22);
    fifo.discard(round % 2);
    expect(fifo.readSamples + fifo.lengthSamples).toBe(written);
    const backMax = Math.min(fifo.readSamples, 30);
    expect(fifo.unreadableSamples).toBeGreaterThanOrEqual(backMax);
    const expected = round % 3 === 0 ? backMax : 0;
    expect(fifo.unread(expected)).toBe(expected);
    const from = fifo.readSamples;
    expect(from).toBeLessThanOrEqual(Math.max(first + 22, 0));
    const count = fifo.readInto(out, out, 64);
    expect([...out.subarray(0, count)]).toEqual([...ramp(from, count)]);
    fifo.unread(count - expected);
  }
});

test("no more samples are put back than there are, and none from before clear", () => {
  const fifo = new StereoFifo({ capacitySamples: 8, capacitySamplesMax: 8 });
  fifo.keepRead(8);
  fifo.append(ramp(0, 6), ramp(0, 6), 0, 6);
  fifo.discard(6);
  fifo.append(ramp(6, 5), ramp(6, 5), 0, 5);
  expect([fifo.unreadableSamples, fifo.unread(9), fifo.lengthSamples, fifo.readSamples]).toEqual([3, 3, 8, 3]);
  const out = new Float32Array(8);
  fifo.readInto(out, out, 8);
  expect([...out]).toEqual([...ramp(3, 8)]);
  fifo.clear();
  expect([fifo.unread(5), fifo.lengthSamples]).toEqual([0, 0]);
});
