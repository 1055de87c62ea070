import { describe, expect, it } from "vitest";
import { type FadeCurve, fadeGain } from "../../../../src/media/effects/fade-curve.ts";
import { TrackFades } from "../../../../src/media/effects/track-fades.ts";

const FRAME_SAMPLES = 960;
const SAMPLES_PER_MS = 48;
const CURVES: readonly FadeCurve[] = ["linear", "sine", "exponential"];
/** Between the points that are calculated lie straight lines. */
const LINE_ERROR_MAX = 0.002;

type Fades = Readonly<Record<string, { readonly duration: number; readonly curve: FadeCurve }>>;

function filters(tonearm: Fades): object {
  return { pluginFilters: { tonearm } };
}

/** Fades with settings, as at the start of a song: `begin` has been called. */
function started(tonearm: Fades): TrackFades {
  const fades = new TrackFades();
  fades.set({ ...filters(tonearm) });
  fades.begin();
  return fades;
}

/**
 * The gains of the next samples, in pieces of any length; calls `setPosition` before each piece, as the pipeline does.
 */
function gains(
  fades: TrackFades,
  lengthSamples: number,
  setPosition: (done: number) => void = () => undefined,
): number[] {
  const rendered: number[] = [];
  while (rendered.length < lengthSamples) {
    const left = new Float32Array(Math.min(FRAME_SAMPLES, lengthSamples - rendered.length)).fill(1);
    const right = Float32Array.from(left);
    setPosition(rendered.length);
    fades.process(left, right, left.length);
    expect(right).toEqual(left);
    rendered.push(...left);
  }
  return rendered;
}

function expectNear(rendered: readonly number[], expected: (sample: number) => number): void {
  rendered.forEach((gain, sample) => {
    if (Math.abs(gain - expected(sample)) > LINE_ERROR_MAX) expect([sample, gain]).toEqual([sample, expected(sample)]);
  });
}

function largestStep(rendered: readonly number[]): number {
  return rendered.reduce((worst, gain, at) => (at === 0 ? 0 : Math.max(worst, Math.abs(gain - rendered[at - 1]!))), 0);
}

describe.each(CURVES)("a fade-in by %s", (curve) => {
  it("a fade-in follows its curve sample by sample, and then leaves the audio unchanged", () => {
    const length = 500 * SAMPLES_PER_MS;
    const fades = started({ fadeIn: { duration: 500, curve } });
    expect(fades.isNeutral).toBe(false);
    const rendered = gains(fades, length + FRAME_SAMPLES);
    expect(rendered[0]).toBe(0);
    expectNear(rendered, (sample) => fadeGain(curve, sample / length));
    expect(rendered.slice(length)).toEqual(Array(FRAME_SAMPLES).fill(1));
    expect(fades.isNeutral).toBe(true);
  });
});

describe.each(CURVES)("a fade-out by %s", (curve) => {
  it("a fade-out follows its curve down to the end of the song", () => {
    const length = 300 * SAMPLES_PER_MS;
    const whole = 60_000 * SAMPLES_PER_MS;
    const fades = started({ fadeOut: { duration: 300, curve } });
    const lead = 10 * FRAME_SAMPLES;
    const rendered = gains(fades, lead + length, (done) => fades.setPosition(lead + length - done, whole));
    expect(rendered.slice(0, lead)).toEqual(Array(lead).fill(1));
    expectNear(rendered.slice(lead), (sample) => fadeGain(curve, 1 - sample / length));
    expect(fades.gain).toBe(0);
  });
});

describe("fade-in", () => {
  const fadeIn = { duration: 1000, curve: "linear" } as const;

  it("a fade-in set before the first sample applies, a later one applies to the next song", () => {
    const fades = new TrackFades();
    fades.set({ ...filters({ fadeIn }) });
    expect(fades.isNeutral).toBe(false);
    const late = new TrackFades();
    late.setPosition(1e6, 1e6);
    late.set({ ...filters({ fadeIn }) });
    expect(late.isNeutral).toBe(true);
  });

  it("a removed fade-in ends within 20 ms, without a jump", () => {
    const fades = started({ fadeIn });
    gains(fades, 20 * FRAME_SAMPLES);
    fades.set({});
    const rendered = gains(fades, 2 * FRAME_SAMPLES);
    expect(rendered[0]).toBeCloseTo(0.4, 3);
    expect(largestStep(rendered)).toBeLessThan(0.002);
    expect(rendered.slice(FRAME_SAMPLES)).toEqual(Array(FRAME_SAMPLES).fill(1));
    expect(fades.isNeutral).toBe(true);
  });

  it("a fade-in continues with its own length when it is changed on the way", () => {
    const fades = started({ fadeIn });
    gains(fades, 10 * FRAME_SAMPLES);
    fades.set({ ...filters({ fadeIn: { duration: 100, curve: "sine" } }) });
    expect(gains(fades, FRAME_SAMPLES)[0]).toBeCloseTo(0.2, 3);
  });

  it("a fade-in of length 0 does nothing", () => {
    expect(started({ fadeIn: { duration: 0, curve: "sine" } }).gain).toBe(1);
  });
});

describe("the end", () => {
  const fadeOut = { duration: 1000, curve: "linear" } as const;
  const second = 1000 * SAMPLES_PER_MS;

  it("a fade-out leaves the audio unchanged until half a second before it begins", () => {
    const fades = new TrackFades();
    fades.set({ ...filters({ fadeOut }) });
    fades.setPosition(1.6 * second, 60 * second);
    expect(fades.isNeutral).toBe(true);
    fades.setPosition(1.4 * second, 60 * second);
    expect(fades.isNeutral).toBe(false);
    expect(fades.gain).toBe(1);
  });

  it("a song with an unknown end does not fade", () => {
    const fades = new TrackFades();
    fades.set({ ...filters({ fadeOut, crossfade: fadeOut }) });
    fades.setPosition(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    expect([fades.isNeutral, fades.isEnding, fades.gain]).toEqual([true, false, 1]);
  });

  it("a fade-out follows an end that moves (a seek, a new end time) over 20 ms", () => {
    const fades = started({ fadeOut });
    gains(fades, FRAME_SAMPLES, () => fades.setPosition(0.25 * second, 60 * second));
    const rendered = gains(fades, 2 * FRAME_SAMPLES, (done) => fades.setPosition(10 * second - done, 60 * second));
    expect(rendered[0]).toBeCloseTo(0.23, 2);
    expect(largestStep(rendered)).toBeLessThan(0.002);
    expect(rendered.slice(FRAME_SAMPLES)).toEqual(Array(FRAME_SAMPLES).fill(1));
  });

  it("a wrong end does not leave the song silent for longer than a second", () => {
    const fades = started({ fadeOut });
    const rendered = gains(fades, 3 * second, (done) => fades.setPosition(0.5 * second - done, 60 * second));
    expect(rendered[second]).toBe(0);
    expect(rendered.at(-1)).toBe(1);
    expect(largestStep(rendered)).toBeLessThan(0.002);
  });

  it("a crossfade replaces the fade-out at the end", () => {
    const fades = started({ fadeOut, crossfade: { duration: 2000, curve: "sine" } });
    gains(fades, FRAME_SAMPLES, () => fades.setPosition(1.5 * second, 60 * second));
    expect(fades.gain).toBeCloseTo(fadeGain("sine", (1.5 * second - FRAME_SAMPLES) / (2 * second)), 3);
    expect(fades.isEnding).toBe(true);
  });

  it("a fade-out of a short song begins in its middle at the earliest", () => {
    const fades = started({ crossfade: { duration: 10_000, curve: "sine" } });
    fades.setPosition(1.01 * second, 2 * second);
    expect([fades.isEnding, fades.gain]).toEqual([false, 1]);
    fades.setPosition(second, 2 * second);
    expect(fades.isEnding).toBe(true);
  });
});

describe("two songs in a crossfade", () => {
  const fade = { lengthSamples: 100 * SAMPLES_PER_MS, curve: "sine" } as const;

  it("two songs in a crossfade are together as loud as one, at every sample, also when the first fades out a moment later", () => {
    const [fadingOut, fadingIn] = [started({}), started({})];
    fadingIn.crossfadeIn(fade);
    fadingOut.crossfadeOut(fade, 648);
    const down = gains(fadingOut, fade.lengthSamples + 648);
    const up = gains(fadingIn, fade.lengthSamples);
    expect(down.slice(0, 600)).toEqual(Array(600).fill(1));
    up.forEach((gain, sample) => {
      expect(Math.abs(gain ** 2 + down[648 + sample]! ** 2 - 1)).toBeLessThan(0.002);
    });
    expect(fadingOut.remainingFadeOutSamples).toBe(0);
  });

  it("a crossfade in replaces the song's fade-in", () => {
    const fadingIn = started({ fadeIn: { duration: 1000, curve: "linear" } });
    fadingIn.crossfadeIn(fade);
    const rendered = gains(fadingIn, fade.lengthSamples);
    expectNear(rendered, (sample) => fadeGain("sine", sample / fade.lengthSamples));
    gains(fadingIn, FRAME_SAMPLES);
    expect(fadingIn.isNeutral).toBe(true);
  });

  it("a crossfade out starts from the current gain", () => {
    const fades = started({ fadeIn: { duration: 200, curve: "linear" } });
    gains(fades, 100 * SAMPLES_PER_MS);
    fades.crossfadeOut(fade);
    const rendered = gains(fades, fade.lengthSamples);
    expect(rendered[0]).toBeCloseTo(0.5, 3);
    expect(largestStep(rendered)).toBeLessThan(0.001);
    expect(rendered.at(-1)).toBeLessThan(0.001);
  });

  it("a fade-out can be cut short, and is not made longer", () => {
    const fades = started({});
    fades.crossfadeOut({ lengthSamples: 48_000, curve: "sine" });
    gains(fades, 24_000);
    const before = fades.gain;
    fades.crossfadeOut({ lengthSamples: 4800, curve: "sine" });
    expect(fades.remainingFadeOutSamples).toBe(4800);
    expect(fades.gain).toBeCloseTo(before, 6);
    gains(fades, 960);
    fades.crossfadeOut({ lengthSamples: 48_000, curve: "sine" });
    expect(fades.remainingFadeOutSamples).toBe(3840);
  });
});

describe("rewinding fades", () => {
  const taken = 5 * FRAME_SAMPLES;

  it.each<[string, Fades]>([
    ["a running fade-in", { fadeIn: { duration: 500, curve: "sine" } }],
    ["a fade-in that is over since", { fadeIn: { duration: 90, curve: "linear" } }],
    ["a fade-out", { fadeOut: { duration: 900, curve: "exponential" } }],
  ])("fades are rewound from %s, which then continues as before", (_name, tonearm) => {
    const lengthSamples = 48_000;
    const [control, fades] = [started(tonearm), started(tonearm)];
    const setPositionFrom = (one: TrackFades, start: number) => (done: number) =>
      one.setPosition(lengthSamples - start - done, lengthSamples);
    const expected = gains(control, 10 * taken, setPositionFrom(control, 0));
    const rendered = gains(fades, FRAME_SAMPLES, setPositionFrom(fades, 0));
    while (rendered.length < expected.length) {
      const snapshot = { lastGain: undefined, glide: 0, glideSamples: 0 };
      fades.snapshot(snapshot);
      gains(fades, taken, setPositionFrom(fades, rendered.length));
      fades.rewind(snapshot, taken);
      setPositionFrom(fades, rendered.length)(0);
      expect(fades.gain).toBeCloseTo(rendered.at(-1)!, 1);
      rendered.push(...gains(fades, FRAME_SAMPLES, setPositionFrom(fades, rendered.length)));
    }
    expect(rendered.slice(0, expected.length)).toEqual(expected);
    expect(fades.isNeutral).toBe(control.isNeutral);
  });

  it("fades are rewound from before a fade-out was requested: then it begins where the audio is", () => {
    const fades = started({});
    const snapshot = { lastGain: undefined, glide: 0, glideSamples: 0 };
    gains(fades, FRAME_SAMPLES);
    fades.snapshot(snapshot);
    gains(fades, taken);
    fades.crossfadeOut({ lengthSamples: 4800, curve: "linear" }, 960);
    gains(fades, FRAME_SAMPLES);
    fades.rewind(snapshot, taken + FRAME_SAMPLES);
    expectNear(gains(fades, 4800), (sample) => 1 - Math.max(0, sample - 960) / 4800);
  });
});
