import { expect, test } from "vitest";
import { fitTone, makeTone } from "../../../../lab/listen/tone.ts";
import { NodeError } from "../../../../src/errors.ts";
import { StereoFifo } from "../../../../src/lib/stereo-fifo.ts";
import { Resampler } from "../../../../src/media/decode/resampler.ts";
import { kernelForRate, ResamplerKernel } from "../../../../src/media/kernels/resampler-kernel.ts";

function resample(rateHz: number, left: Float32Array, { right = left, blockSamples = 441 } = {}) {
  const resampler = new Resampler(rateHz);
  const fifo = new StereoFifo();
  for (let start = 0; start < left.length; start += blockSamples) {
    const end = Math.min(start + blockSamples, left.length);
    resampler.push(left.subarray(start, end), right.subarray(start, end), end - start, fifo);
  }
  resampler.flush(fifo);
  const out = { left: new Float32Array(fifo.lengthSamples), right: new Float32Array(fifo.lengthSamples) };
  fifo.readInto(out.left, out.right, fifo.lengthSamples);
  return out;
}

/** A tone of half a second through the resampler, without its edges. */
function resampledTone(rateHz: number, frequencyHz: number): Float32Array {
  const tone = makeTone({ frequencyHz, sampleRateHz: rateHz, lengthSamples: rateHz / 2 });
  return resample(rateHz, tone).left.subarray(4800, 19_200);
}

const decibels = (ratio: number) => 20 * Math.log10(ratio);

test.each([44_100, 48_001, 88_200, 96_000, 192_000])(
  "from %i Hz the passband is flat to 0.1 dB up to 20 kHz",
  (rate) => {
    for (const frequencyHz of [20, 100, 1000, 5000, 10_000, 15_000, 18_000, 19_000, 19_500, 19_900, 20_000]) {
      const fit = fitTone(resampledTone(rate, frequencyHz), frequencyHz, 48_000);
      expect(Math.abs(decibels(fit.amplitude / 0.5)), `${frequencyHz} Hz`).toBeLessThan(0.1);
    }
  },
);

test.each([44_100, 32_000, 22_050, 11_025, 8000, 44_056, 96_000, 47_999])(
  "from %i Hz everything but the tone itself is 90 dB down",
  (rate) => {
    for (let part = 0.02; part < 0.5; part += 0.043) {
      const frequencyHz = Math.min(Math.round(rate * part), 23_900);
      const { residueDb } = fitTone(resampledTone(rate, frequencyHz), frequencyHz, 48_000);
      // The tone is 6 dB below full scale.
      expect(residueDb + 6, `${frequencyHz} Hz`).toBeLessThan(-90);
    }
  },
);

test.each([96_000, 88_200, 192_000, 705_600])("from %i Hz frequencies above 24 kHz do not fold back", (rate) => {
  for (const frequencyHz of [24_100, 25_000, 28_000, 33_000, 43_900, rate / 2 - 100]) {
    const received = resampledTone(rate, frequencyHz);
    const level = Math.sqrt(received.reduce((sum, value) => sum + value * value, 0) / received.length);
    expect(decibels(level / (0.5 * Math.SQRT1_2)), `${frequencyHz} Hz`).toBeLessThan(-90);
  }
});

test.each([44_100, 8000, 96_000, 44_056])(
  "resampling from %i Hz adds no delay: the first sample stays where it was",
  (rate) => {
    const frequencyHz = 997;
    const tone = makeTone({ frequencyHz, sampleRateHz: rate, lengthSamples: rate / 4, phase: 0.3 });
    const received = resample(rate, tone).left;
    const start = 2400;
    const fit = fitTone(received.subarray(start, 9600), frequencyHz, 48_000);
    const phase = fit.phase - (2 * Math.PI * frequencyHz * start) / 48_000 - 0.3;
    const turns = phase / (2 * Math.PI);
    const delaySamples = ((turns - Math.round(turns)) * 48_000) / frequencyHz;
    expect(Math.abs(delaySamples)).toBeLessThan(0.001);
  },
);

test.each([1000, 8000, 11_025, 44_056, 44_100, 47_999, 96_000, 768_000])(
  "from %i Hz the length is right to the sample, in blocks of any size",
  (rate) => {
    for (const lengthSamples of [1, 7, 100, 1151, 5000]) {
      const audio = makeTone({ frequencyHz: rate / 50, sampleRateHz: rate, lengthSamples });
      const whole = resample(rate, audio, { blockSamples: lengthSamples }).left;
      expect(whole.length).toBe(Math.ceil((lengthSamples * 48_000) / rate));
      const pieces = resample(rate, audio, { blockSamples: 37 }).left;
      expect(pieces.length).toBe(whole.length);
      expect(pieces.every((value, index) => Math.abs(value - whole[index]!) < 1e-6)).toBe(true);
    }
  },
);

test("the resampler keeps left and right separate", () => {
  const left = makeTone({ frequencyHz: 440, sampleRateHz: 44_100, lengthSamples: 22_050 });
  const out = resample(44_100, left, { right: new Float32Array(left.length) });
  expect(out.right.every((value) => value === 0)).toBe(true);
  expect(fitTone(out.left.subarray(2400, 21_600), 440, 48_000).amplitude).toBeCloseTo(0.5, 4);
});

test("a constant stays constant, and a reset clears it", () => {
  const resampler = new Resampler(44_100);
  const fifo = new StereoFifo();
  const ones = new Float32Array(2000).fill(1);
  resampler.push(ones, ones, 2000, fifo);
  const out = new Float32Array(4000);
  const count = fifo.readInto(out, out, 4000);
  expect(out.subarray(200, count).every((value) => Math.abs(value - 1) < 1e-5)).toBe(true);
  resampler.reset();
  resampler.push(new Float32Array(500), new Float32Array(500), 500, fifo);
  const after = new Float32Array(fifo.lengthSamples);
  fifo.readInto(after, after, after.length);
  expect(after.every((value) => value === 0)).toBe(true);
});

test.each([44_100, 44_056, 96_000])("the plain resampler loop and the SIMD loop agree at %i Hz", (rate) => {
  const fast = new ResamplerKernel(rate);
  while (fast.fillRow());
  const plain = new ResamplerKernel(rate, { isSimd: false });
  while (plain.fillRow());
  for (const kernel of [fast, plain]) {
    kernel.inputLeft.forEach((_, index, input) => {
      input[index] = Math.sin(index * 0.37);
      kernel.inputRight[index] = Math.cos(index * 0.11);
    });
    kernel.run(1 % kernel.phaseCount, 500);
  }
  for (let index = 0; index < 500; index++) {
    expect(Math.abs(fast.outputLeft[index]! - plain.outputLeft[index]!)).toBeLessThan(1e-6);
    expect(Math.abs(fast.outputRight[index]! - plain.outputRight[index]!)).toBeLessThan(1e-6);
  }
  expect(fast.outputLeft.some((value) => Math.abs(value) > 0.5)).toBe(true);
});

test("streams of one rate share a resampler filter, and only a few filters are cached", () => {
  const kernel = kernelForRate(44_100);
  expect(kernelForRate(44_100)).toBe(kernel);
  for (let rate = 20_000; rate < 28_000; rate += 1000) kernelForRate(rate);
  expect(kernelForRate(44_100)).not.toBe(kernel);
});

test.each([0, 999, 768_001, 44_100.5, Number.NaN])("resampling from a rate of %d Hz is refused", (rate) => {
  expect(() => new Resampler(rate)).toThrow(NodeError);
});
