// The loudness stage must not delay, lose or double a sample, be audible when it is switched, or allocate.

import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../../lab/seeded-random.ts";
import { type At, LoudnessListening, music, tone } from "../../../../support/loudness-listening.ts";

const FRAME_SAMPLES = 960;
const SETTINGS = { target: -14, peak: -1 };

function decibels(factor: number): number {
  return 20 * Math.log10(factor);
}

describe("song samples", () => {
  /** Encodes the sample's own number, so that a lost or doubled one is detected. */
  const counted: At = (sample) => (sample % 5000) / 100_000 + 0.001;

  it.each([1, 7, 16, 240, 312, 960])(
    "song samples leave the loudness stage in order, none delayed, in pieces of %s",
    (pieceSamples) => {
      const listening = new LoudnessListening(counted, { settings: { target: -14, peak: 0 }, lufs: -14 });
      const rendered = listening.render(0.3, pieceSamples);
      const worst = rendered.reduce((top, value, at) => Math.max(top, Math.abs(value - counted(at))), 0);
      expect(worst).toBeLessThan(1e-7);
      expect(listening.position).toBe(rendered.length);
      expect(listening.env.heldSamples).toBeLessThan(120);
    },
  );

  it("song samples all leave the loudness stage at the end, and nothing behind them", () => {
    for (const seconds of [0.0003, 0.02, 0.1003, 0.5]) {
      const listening = new LoudnessListening(counted, { settings: { target: -14, peak: 0 }, lufs: -14 });
      const rendered = [...listening.render(seconds), ...listening.finish()];
      expect(rendered.length).toBe(listening.pushedSamples);
      expect(Math.max(...rendered.map((value, at) => Math.abs(value - counted(at))))).toBeLessThan(1e-7);
      expect(listening.env.heldSamples).toBe(0);
    }
  });

  it("samples of another song may follow an end", () => {
    const listening = new LoudnessListening(counted, { settings: SETTINGS, lufs: -14 });
    listening.render(0.1);
    listening.finish();
    listening.env.begin(undefined);
    const start = listening.pushedSamples;
    listening.render(0.1);
    expect(listening.position - start).toBe(4800);
  });

  it("samples are neither lost nor doubled by switching loudness on and off at any time", () => {
    const random = seededRandom(3);
    const listening = new LoudnessListening(counted);
    let at = 0;
    for (let round = 0; round < 300; round++) {
      listening.env.set(random() < 0.5 ? { target: -12, peak: 0 } : undefined);
      const rendered = listening.render(random() * 0.04, 1 + Math.floor(random() * 960));
      const worst = rendered.reduce(
        (top, value, sample) => Math.max(top, Math.abs(value / counted(at + sample) - 1)),
        0,
      );
      // The initial estimate is -12 LUFS, so the gain is 1 until the measurement says that it is silence.
      expect(worst).toBeLessThan(1e-5);
      at += rendered.length;
      expect(listening.position).toBe(at);
    }
  });

  it("NaN samples become silence, and leave no trace", () => {
    const song: At = (sample) =>
      sample < 4000 || sample > 5000 ? counted(sample) : [Number.NaN, 1e38, -1e38][sample % 3]!;
    const listening = new LoudnessListening(song, { settings: SETTINGS });
    const rendered = listening.render(6);
    expect(rendered.every((value) => Math.abs(value) < 1)).toBe(true);
    expect(Math.abs(rendered.at(-1)!)).toBeGreaterThan(0.001);
  });
});

describe("switching loudness", () => {
  const largestStep = (audio: Float32Array) =>
    audio.reduce((top, value, at) => (at === 0 ? 0 : Math.max(top, Math.abs(value - audio[at - 1]!))), 0);

  it("switching loudness on, to another target and off takes effect within 20 ms, without a step above the audio's own", () => {
    const listening = new LoudnessListening(tone(-12, 353));
    const own = largestStep(listening.render(0.2));
    const level = (audio: Float32Array) => decibels(Math.max(...audio.map(Math.abs)));
    const all: Float32Array[] = [];
    for (const [settings, lufs] of [
      [{ target: -20, peak: -1 }, -20],
      [{ target: -30, peak: -1 }, -30],
      [{ target: -16, peak: -20 }, -20.2],
      [undefined, -12],
    ] as const) {
      listening.env.set(settings);
      all.push(listening.render(0.04));
      const after = listening.render(0.02);
      all.push(after);
      expect(Math.abs(level(after) - lufs)).toBeLessThan(0.3);
    }
    const rendered = Float32Array.from(all.flatMap((audio) => [...audio]));
    expect(largestStep(rendered)).toBeLessThan(own * 1.02);
    expect(listening.env.isNeutral).toBe(true);
    expect(listening.env.heldSamples).toBe(0);
  });

  it("switching loudness on and off moves the gain evenly", () => {
    const listening = new LoudnessListening(() => 0.1, { settings: { target: -32, peak: -1 } });
    listening.env.set(undefined);
    const off = listening.render(0.05);
    listening.env.set({ target: -32, peak: -1 });
    const on = listening.render(0.05);
    // From a tenth to all of it, in 960 samples.
    for (const rendered of [off, on]) expect(largestStep(rendered)).toBeLessThan((0.09 / 960) * 1.1);
    expect([off[0], off.at(-1), on[0], on.at(-1)]).toEqual(
      [0.01, 0.1, 0.1, 0.01].map((level) => expect.closeTo(level, 3)),
    );
  });

  it("switching loudness off gives the song bit for bit", () => {
    const song = music(-10);
    const listening = new LoudnessListening(song, { settings: SETTINGS });
    listening.render(1);
    listening.env.set(undefined);
    expect(listening.env.isNeutral).toBe(false);
    listening.render(0.06);
    expect(listening.env.isNeutral).toBe(true);
    const at = listening.position;
    expect(listening.render(0.1).every((value, sample) => value === Math.fround(song(at + sample)))).toBe(true);
  });

  it("setting the same loudness again changes nothing", () => {
    const [undisturbed, disturbed] = [0, 1].map(() => new LoudnessListening(music(-10), { settings: SETTINGS }));
    const expected = undisturbed!.render(2);
    const rendered: number[] = [];
    for (let round = 0; round < 20; round++) {
      disturbed!.env.set({ ...SETTINGS });
      rendered.push(...disturbed!.render(0.1));
    }
    expect(rendered).toEqual([...expected]);
  });

  it("the loudness stage allocates nothing while it runs", () => {
    // One number per chunk would be 960 bytes a frame. Calls into WebAssembly and back take some.
    const listening = new LoudnessListening(() => 0, { settings: SETTINGS });
    listening.render(1);
    const { env } = listening;
    const fifo = { lengthSamples: 4000, readInto: (_left: Float32Array, _right: Float32Array, count: number) => count };
    const [left, right] = [new Float32Array(FRAME_SAMPLES), new Float32Array(FRAME_SAMPLES)];
    const run = (frames: number) => {
      for (let frame = 0; frame < frames; frame++) env.over(fifo).readInto(left, right, FRAME_SAMPLES);
    };
    const frames = 3000;
    const grownBytes = () => {
      const before = process.memoryUsage().heapUsed;
      run(frames);
      return process.memoryUsage().heapUsed - before;
    };
    // It does until the engine has compiled it, which takes its time on a busy machine; and memory is freed at any time.
    let quietRuns = 0;
    for (let runs = 0; runs < 60 && quietRuns < 3; runs++) {
      const bytes = grownBytes();
      quietRuns = bytes >= 0 && bytes < frames * 300 ? quietRuns + 1 : 0;
    }
    expect(quietRuns).toBe(3);
  });
});
