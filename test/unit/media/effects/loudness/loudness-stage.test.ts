// The whole stage, fed with generated songs, 20 ms at a time: how loud they come out, and that no peak exceeds the
// ceiling.

import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../../lab/seeded-random.ts";
import { type At, LoudnessListening, music, tone } from "../../../../support/loudness-listening.ts";
import { loudnessOf } from "../../../../support/loudness-of.ts";
import { lowPassed, truePeak } from "../../../../support/true-peak.ts";

const SETTINGS = { target: -14, peak: -1 };

function decibels(factor: number): number {
  return 20 * Math.log10(factor);
}

describe("loudness normalization", () => {
  it.each([-28, -23, -16, -9, -6])("a song tagged with %s LUFS is normalized from the first frame on", (lufs) => {
    const listening = new LoudnessListening(music(lufs), { settings: SETTINGS, lufs });
    expect(Math.abs(loudnessOf(listening.render(2)) + 14)).toBeLessThan(0.7);
  });

  it.each([-26, -20, -14, -9, -6])("an untagged song at %s LUFS is normalized once the gain has settled", (lufs) => {
    const listening = new LoudnessListening(music(lufs), { settings: SETTINGS });
    listening.render(8);
    expect(Math.abs(loudnessOf(listening.render(4)) + 14)).toBeLessThan(1);
  });

  it("songs are normalized to other targets", () => {
    for (const target of [-23, -18, -12]) {
      const listening = new LoudnessListening(music(-16), { settings: { target, peak: -1 }, lufs: -16 });
      expect(Math.abs(loudnessOf(listening.render(3)) - target)).toBeLessThan(1);
    }
  });

  it("a loudness tag is trusted, and not compared with a measurement", () => {
    const listening = new LoudnessListening(tone(-20), { settings: SETTINGS, lufs: -17 });
    expect(loudnessOf(listening.render(10))).toBeCloseTo(-17, 1);
  });

  it("an untagged song begins as if it were mastered at -12 LUFS", () => {
    const listening = new LoudnessListening(tone(-24), { settings: SETTINGS });
    expect(loudnessOf(listening.render(0.5))).toBeCloseTo(-26, 0);
  });
});

describe("the measured gain", () => {
  const level = (audio: Float32Array) => decibels(audio.reduce((top, value) => Math.max(top, Math.abs(value)), 0));

  it("the measured gain increases by 3 dB and decreases by 10 dB a second", () => {
    const quiet = new LoudnessListening(tone(-24), { settings: SETTINGS });
    quiet.render(1);
    const loud = new LoudnessListening(tone(-5), { settings: SETTINGS });
    loud.render(0.42);
    const before = [level(quiet.render(0.05)), level(loud.render(0.02))];
    quiet.render(0.95);
    loud.render(0.38);
    expect(level(quiet.render(0.05)) - before[0]!).toBeCloseTo(3, 0);
    expect(level(loud.render(0.02)) - before[1]!).toBeCloseTo(-4, 0);
  });

  it("the measured gain is 12 dB at most, 20 with a tag", () => {
    const measured = new LoudnessListening(tone(-40), { settings: SETTINGS });
    measured.render(10);
    expect(level(measured.render(0.1))).toBeCloseTo(-28, 1);
    const tagged = new LoudnessListening(tone(-40), { settings: SETTINGS, lufs: -40 });
    expect(level(tagged.render(0.1))).toBeCloseTo(-20, 1);
  });

  it("the measured gain does not follow noise before the music, a pause or the end", () => {
    const noisy = new LoudnessListening(tone(-55), { settings: SETTINGS });
    expect(level(noisy.render(5))).toBeCloseTo(-57, 1);
    const paused = new LoudnessListening(tone(-20), { settings: SETTINGS });
    paused.render(8);
    const before = level(paused.render(0.1));
    paused.song = tone(-45);
    paused.render(0.5);
    expect(Math.abs(level(paused.render(10)) - before + 25)).toBeLessThan(0.2);
    paused.song = () => 0;
    paused.render(10);
    paused.song = tone(-20);
    paused.render(0.1);
    expect(Math.abs(level(paused.render(0.1)) - before)).toBeLessThan(0.2);
  });

  it("the measured gain decreases when a quiet song gets loud: two seconds later it is no more than 8 LU above the target", () => {
    const listening = new LoudnessListening(music(-26), { settings: SETTINGS });
    listening.render(15);
    listening.song = music(-8);
    listening.render(2);
    expect(loudnessOf(listening.render(1))).toBeLessThan(-6);
  });

  it("the measured gain does not increase in a pause", () => {
    const listening = new LoudnessListening(tone(-24), { settings: SETTINGS });
    listening.render(1.5);
    listening.song = tone(-44);
    listening.render(0.6);
    const before = level(listening.render(0.1));
    listening.render(3);
    expect(level(listening.render(0.1))).toBeCloseTo(before, 3);
    listening.song = tone(-24);
    listening.render(3);
    expect(level(listening.render(0.1))).toBeGreaterThan(before + 20 + 4);
  });

  it("the measured gain decreases when a long soft song gets loud, before the measurement has caught up", () => {
    const listening = new LoudnessListening(tone(-20), { settings: SETTINGS });
    listening.render(40);
    listening.song = tone(-6);
    listening.render(1.5);
    expect(level(listening.render(0.5))).toBeLessThan(-5.9);
    listening.song = tone(-20);
    listening.render(6);
    expect(level(listening.render(0.1))).toBeGreaterThan(-18);
  });

  it("the measured gain stays over a seek, and starts again with another song", () => {
    const listening = new LoudnessListening(tone(-20), { settings: SETTINGS });
    listening.render(6);
    const before = level(listening.render(0.1));
    listening.env.jump();
    expect(level(listening.render(0.1))).toBeCloseTo(before, 2);
    listening.env.begin(undefined);
    expect(level(listening.render(0.1))).toBeCloseTo(-22, 1);
  });

  it("the measured gain stays when a chained stream's next song has no tag, and moves to the tag when it has one", () => {
    const listening = new LoudnessListening(tone(-20), { settings: SETTINGS, lufs: -20 });
    listening.render(1);
    listening.env.continueWith(undefined);
    expect(level(listening.render(0.3))).toBeCloseTo(-14, 1);
    listening.song = tone(-26);
    listening.render(30);
    expect(level(listening.render(0.1))).toBeCloseTo(-14, 0);
    listening.env.continueWith(-26);
    listening.env.continueWith(-20);
    listening.render(3);
    expect(level(listening.render(0.1))).toBeCloseTo(-20, 1);
  });
});

describe("peaks", () => {
  const random = seededRandom(11);
  const noise = Float32Array.from({ length: 48_000 }, () => 2 * random() - 1);
  const loud = music(-3);
  const SONGS: Readonly<Record<string, At>> = {
    "a quarter of the rate, 45 degrees off": (sample) => Math.sin((Math.PI / 2) * sample + Math.PI / 4),
    "a tone of 16 kHz": (sample) => Math.sin(sample * 2.0944 + 0.3),
    "a tone of 10 kHz in bursts": (sample) => (sample % 24_000 > 12_000 ? Math.sin(sample * 1.309) : 0),
    noise: (sample) => noise[sample]!,
    "noise in bursts": (sample) => (sample % 9600 < 700 ? 2 : 0.1) * noise[sample]!,
    squares: (sample) => (Math.sin(sample * 0.1305) > 0 ? 1 : -1),
    "single samples": (sample) => (sample % 1000 === 0 ? 1 : 0),
    "loud music": loud,
    "clipped music": (sample) => Math.max(-1, Math.min(1, 1.4 * loud(sample))),
  };

  it.each(Object.keys(SONGS))("peaks of %s, as far as Opus carries it, never exceed the ceiling by 0.2 dB", (name) => {
    const audio = lowPassed(
      Float32Array.from({ length: 28_800 }, (_, sample) => SONGS[name]!(sample)),
      20_000,
    );
    for (const peak of [-1, -6]) {
      const listening = new LoudnessListening((sample) => audio[sample] ?? 0, {
        settings: { target: -5, peak },
        lufs: -14,
      });
      const above = decibels(truePeak(listening.render(0.6))) - peak;
      expect(above).toBeLessThan(0.2);
      expect(above).toBeGreaterThan(-0.5);
    }
  });

  it("audio below the ceiling is only multiplied", () => {
    const song = music(-30);
    const listening = new LoudnessListening(song, { settings: SETTINGS, lufs: -20 });
    const gain = 10 ** (6 / 20);
    const worst = listening.render(2).reduce((top, value, at) => Math.max(top, Math.abs(value - gain * song(at))), 0);
    expect(worst).toBeLessThan(1e-6);
  });

  it("peaks are turned down and up again without a step in the gain", () => {
    const listening = new LoudnessListening((sample) => (sample === 24_000 ? 1 : 0.1), {
      settings: SETTINGS,
      lufs: -20,
    });
    const rendered = listening.render(2);
    const gains = rendered.map((value, at) => value / (at === 24_000 ? 1 : 0.1));
    const steps = gains.map((gain, at) => (at === 0 ? 0 : Math.abs(gain - gains[at - 1]!)));
    expect(Math.max(...steps)).toBeLessThan(1.2 / 90);
    expect(gains[24_000]).toBeLessThan(0.9);
    expect(gains[24_000 - 200]).toBeCloseTo(2, 2);
    // A third of the reduction is left after 150 ms.
    expect(gains[24_480]).toBeLessThan(1.1);
    expect(Math.abs(gains[24_000 + 7200]! - 1.59)).toBeLessThan(0.05);
    expect(gains.at(-1)).toBeCloseTo(2, 2);
  });

  it("peaks are also limited without SIMD", () => {
    const [simd, plain] = [true, false].map((isSimd) => {
      return new LoudnessListening(music(-8), { settings: SETTINGS, isSimd }).render(3);
    });
    const worst = simd!.reduce((top, value, at) => Math.max(top, Math.abs(value - plain![at]!)), 0);
    expect(worst).toBeLessThan(1e-5);
  });
});
