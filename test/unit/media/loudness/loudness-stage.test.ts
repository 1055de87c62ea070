// The whole stage, fed with songs made here and heard 20 ms at a time: how loud they come out, that no peak passes the
// ceiling, that nothing is delayed, lost or doubled, and that nobody hears it being switched.

import { describe, expect, it } from "vitest";
import { StereoFifo } from "../../../../src/lib/stereo-fifo.ts";
import { LoudnessKernel } from "../../../../src/media/loudness/loudness-kernel.ts";
import { type LoudnessSettings, LoudnessStage } from "../../../../src/media/loudness/loudness-stage.ts";
import { loudnessOf } from "../../../support/loudness-of.ts";
import { seededRandom } from "../../../support/seeded-random.ts";
import { lowPassed, truePeak } from "../../../support/true-peak.ts";

const FRAME_SAMPLES = 960;
const SETTINGS = { target: -14, peak: -1 };

type At = (sample: number) => number;

/** A stage fed with a song of its own; both sides are alike. */
class Listening {
  readonly stage: LoudnessStage;
  heard = new Float32Array(0);
  song: At;
  pushedSamples = 0;
  readonly #fifo = new StereoFifo();
  readonly #frame = { left: new Float32Array(FRAME_SAMPLES), right: new Float32Array(FRAME_SAMPLES) };

  constructor(
    song: At,
    { settings, lufs, isSimd = true }: { settings?: LoudnessSettings; lufs?: number; isSimd?: boolean } = {},
  ) {
    this.song = song;
    this.stage = isSimd ? new LoudnessStage() : new LoudnessStage(() => new LoudnessKernel({ isSimd }));
    if (settings !== undefined) this.stage.set(settings);
    this.stage.begin(lufs);
  }

  /** Song samples that have been heard. */
  get position(): number {
    return this.pushedSamples - this.#fifo.lengthSamples - this.stage.heldSamples;
  }

  /** What is heard in the next while. */
  hear(seconds: number, pieceSamples = FRAME_SAMPLES): Float32Array {
    const wantedSamples = Math.round(seconds * 48_000);
    const heard = new Float32Array(wantedSamples);
    for (let done = 0; done < wantedSamples; ) {
      const queue = this.stage.over(this.#fifo);
      const count = Math.min(pieceSamples, wantedSamples - done);
      while (queue.lengthSamples < count) this.#push();
      expect(queue.readInto(this.#frame.left, this.#frame.right, count)).toBe(count);
      heard.set(this.#frame.left.subarray(0, count), done);
      done += count;
    }
    return heard;
  }

  /** No more song: everything that is left. */
  finish(): Float32Array {
    this.stage.finish();
    const queue = this.stage.over(this.#fifo);
    const heard: number[] = [];
    for (let count = -1; count !== 0; ) {
      count = queue.readInto(this.#frame.left, this.#frame.right, Math.min(FRAME_SAMPLES, queue.lengthSamples));
      heard.push(...this.#frame.left.subarray(0, count));
    }
    return Float32Array.from(heard);
  }

  #push(): void {
    const block = Float32Array.from({ length: FRAME_SAMPLES }, (_, sample) => this.song(this.pushedSamples + sample));
    this.pushedSamples += FRAME_SAMPLES;
    this.#fifo.append(block, block, 0, FRAME_SAMPLES);
  }
}

function decibels(factor: number): number {
  return 20 * Math.log10(factor);
}

/** What a 1 kHz tone at this loudness is. */
const tone =
  (lufs: number, hz = 1000): At =>
  (sample) =>
    10 ** (lufs / 20) * Math.sin((2 * Math.PI * hz * sample) / 48_000);

/** Something like music: a chord, a beat, noise; at some loudness, with peaks some 10 dB above it. */
function music(lufs: number, seed = 5): At {
  const random = seededRandom(seed);
  const noise = Float32Array.from({ length: 9600 }, () => 2 * random() - 1);
  const raw: At = (sample) => {
    const seconds = sample / 48_000;
    const chord = [220, 277.2, 329.6].reduce((sum, hz) => sum + Math.sin(2 * Math.PI * hz * seconds), 0);
    const beat = Math.exp(-((seconds * 2) % 1) * 12);
    return 0.1 * chord + beat * (0.4 * Math.sin(2 * Math.PI * 60 * seconds) + 0.2 * noise[sample % 9600]!);
  };
  const sound = Float32Array.from({ length: 48_000 * 2 }, (_, sample) => raw(sample));
  const gain = 10 ** ((lufs - loudnessOf(sound)) / 20);
  return (sample) => gain * sound[sample % sound.length]!;
}

describe("songs come out alike", () => {
  it.each([-28, -23, -16, -9, -6])("tagged with %s LUFS: from the first frame on", (lufs) => {
    const listening = new Listening(music(lufs), { settings: SETTINGS, lufs });
    expect(Math.abs(loudnessOf(listening.hear(2)) + 14)).toBeLessThan(0.7);
  });

  it.each([-26, -20, -14, -9, -6])("at %s LUFS without a tag: once the gain has settled", (lufs) => {
    const listening = new Listening(music(lufs), { settings: SETTINGS });
    listening.hear(8);
    expect(Math.abs(loudnessOf(listening.hear(4)) + 14)).toBeLessThan(1);
  });

  it("at other targets", () => {
    for (const target of [-23, -18, -12]) {
      const listening = new Listening(music(-16), { settings: { target, peak: -1 }, lufs: -16 });
      expect(Math.abs(loudnessOf(listening.hear(3)) - target)).toBeLessThan(1);
    }
  });

  it("a tag is believed, and not measured against", () => {
    const listening = new Listening(tone(-20), { settings: SETTINGS, lufs: -17 });
    expect(loudnessOf(listening.hear(10))).toBeCloseTo(-17, 1);
  });

  it("an untagged song begins as if it were mastered at -12 LUFS", () => {
    const listening = new Listening(tone(-24), { settings: SETTINGS });
    expect(loudnessOf(listening.hear(0.5))).toBeCloseTo(-26, 0);
  });
});

describe("the measured gain", () => {
  const level = (sound: Float32Array) => decibels(sound.reduce((top, value) => Math.max(top, Math.abs(value)), 0));

  it("rises by 3 dB and falls by 10 dB a second", () => {
    const quiet = new Listening(tone(-24), { settings: SETTINGS });
    quiet.hear(1);
    const loud = new Listening(tone(-5), { settings: SETTINGS });
    loud.hear(0.42);
    const before = [level(quiet.hear(0.05)), level(loud.hear(0.02))];
    quiet.hear(0.95);
    loud.hear(0.38);
    expect(level(quiet.hear(0.05)) - before[0]!).toBeCloseTo(3, 0);
    expect(level(loud.hear(0.02)) - before[1]!).toBeCloseTo(-4, 0);
  });

  it("is 12 dB at most, 20 with a tag", () => {
    const measured = new Listening(tone(-40), { settings: SETTINGS });
    measured.hear(10);
    expect(level(measured.hear(0.1))).toBeCloseTo(-28, 1);
    const tagged = new Listening(tone(-40), { settings: SETTINGS, lufs: -40 });
    expect(level(tagged.hear(0.1))).toBeCloseTo(-20, 1);
  });

  it("does not follow noise before the music, a pause or the end", () => {
    const noisy = new Listening(tone(-55), { settings: SETTINGS });
    expect(level(noisy.hear(5))).toBeCloseTo(-57, 1);
    const paused = new Listening(tone(-20), { settings: SETTINGS });
    paused.hear(8);
    const before = level(paused.hear(0.1));
    paused.song = tone(-45);
    paused.hear(0.5);
    expect(Math.abs(level(paused.hear(10)) - before + 25)).toBeLessThan(0.2);
    paused.song = () => 0;
    paused.hear(10);
    paused.song = tone(-20);
    paused.hear(0.1);
    expect(Math.abs(level(paused.hear(0.1)) - before)).toBeLessThan(0.2);
  });

  it("gives way when a quiet song turns loud: two seconds later it is no more than 8 LU above the target", () => {
    const listening = new Listening(music(-26), { settings: SETTINGS });
    listening.hear(15);
    listening.song = music(-8);
    listening.hear(2);
    expect(loudnessOf(listening.hear(1))).toBeLessThan(-6);
  });

  it("does not rise in a pause", () => {
    const listening = new Listening(tone(-24), { settings: SETTINGS });
    listening.hear(1.5);
    listening.song = tone(-44);
    listening.hear(0.6);
    const before = level(listening.hear(0.1));
    listening.hear(3);
    expect(level(listening.hear(0.1))).toBeCloseTo(before, 3);
    listening.song = tone(-24);
    listening.hear(3);
    expect(level(listening.hear(0.1))).toBeGreaterThan(before + 20 + 4);
  });

  it("falls when a long soft song turns loud, before the measurement has caught up", () => {
    const listening = new Listening(tone(-20), { settings: SETTINGS });
    listening.hear(40);
    listening.song = tone(-6);
    listening.hear(1.5);
    expect(level(listening.hear(0.5))).toBeLessThan(-5.9);
    listening.song = tone(-20);
    listening.hear(6);
    expect(level(listening.hear(0.1))).toBeGreaterThan(-18);
  });

  it("is kept over a seek, and begins anew with another song", () => {
    const listening = new Listening(tone(-20), { settings: SETTINGS });
    listening.hear(6);
    const before = level(listening.hear(0.1));
    listening.stage.jump();
    expect(level(listening.hear(0.1))).toBeCloseTo(before, 2);
    listening.stage.begin(undefined);
    expect(level(listening.hear(0.1))).toBeCloseTo(-22, 1);
  });

  it("goes on from where it is when a chained stream's next song has no tag, and to the tag when it has one", () => {
    const listening = new Listening(tone(-20), { settings: SETTINGS, lufs: -20 });
    listening.hear(1);
    listening.stage.continueWith(undefined);
    expect(level(listening.hear(0.3))).toBeCloseTo(-14, 1);
    listening.song = tone(-26);
    listening.hear(30);
    expect(level(listening.hear(0.1))).toBeCloseTo(-14, 0);
    listening.stage.continueWith(-26);
    listening.stage.continueWith(-20);
    listening.hear(3);
    expect(level(listening.hear(0.1))).toBeCloseTo(-20, 1);
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

  it.each(Object.keys(SONGS))("of %s, as far as Opus carries it: never above the ceiling by 0.2 dB", (name) => {
    const sound = lowPassed(
      Float32Array.from({ length: 28_800 }, (_, sample) => SONGS[name]!(sample)),
      20_000,
    );
    for (const peak of [-1, -6]) {
      const listening = new Listening((sample) => sound[sample] ?? 0, { settings: { target: -5, peak }, lufs: -14 });
      const above = decibels(truePeak(listening.hear(0.6))) - peak;
      expect(above).toBeLessThan(0.2);
      expect(above).toBeGreaterThan(-0.5);
    }
  });

  it("below the ceiling the sound is only multiplied", () => {
    const song = music(-30);
    const listening = new Listening(song, { settings: SETTINGS, lufs: -20 });
    const gain = 10 ** (6 / 20);
    const worst = listening.hear(2).reduce((top, value, at) => Math.max(top, Math.abs(value - gain * song(at))), 0);
    expect(worst).toBeLessThan(1e-6);
  });

  it("are turned down and up again without a step in the gain", () => {
    const listening = new Listening((sample) => (sample === 24_000 ? 1 : 0.1), { settings: SETTINGS, lufs: -20 });
    const heard = listening.hear(2);
    const gains = heard.map((value, at) => value / (at === 24_000 ? 1 : 0.1));
    const steps = gains.map((gain, at) => (at === 0 ? 0 : Math.abs(gain - gains[at - 1]!)));
    expect(Math.max(...steps)).toBeLessThan(1.2 / 90);
    expect(gains[24_000]).toBeLessThan(0.9);
    expect(gains[24_000 - 200]).toBeCloseTo(2, 2);
    // A third of the way is left after 150 ms.
    expect(gains[24_480]).toBeLessThan(1.1);
    expect(Math.abs(gains[24_000 + 7200]! - 1.59)).toBeLessThan(0.05);
    expect(gains.at(-1)).toBeCloseTo(2, 2);
  });

  it("also where the processor has no SIMD", () => {
    const [simd, plain] = [true, false].map((isSimd) => {
      return new Listening(music(-8), { settings: SETTINGS, isSimd }).hear(3);
    });
    const worst = simd!.reduce((top, value, at) => Math.max(top, Math.abs(value - plain![at]!)), 0);
    expect(worst).toBeLessThan(1e-5);
  });
});

describe("song samples", () => {
  /** Tells its own number, so that none can be lost or doubled. */
  const counted: At = (sample) => (sample % 5000) / 100_000 + 0.001;

  it.each([1, 7, 16, 240, 312, 960])("come in order, none delayed, in pieces of %s", (pieceSamples) => {
    const listening = new Listening(counted, { settings: { target: -14, peak: 0 }, lufs: -14 });
    const heard = listening.hear(0.3, pieceSamples);
    const worst = heard.reduce((top, value, at) => Math.max(top, Math.abs(value - counted(at))), 0);
    expect(worst).toBeLessThan(1e-7);
    expect(listening.position).toBe(heard.length);
    expect(listening.stage.heldSamples).toBeLessThan(120);
  });

  it("all come out at the end, and nothing behind them", () => {
    for (const seconds of [0.0003, 0.02, 0.1003, 0.5]) {
      const listening = new Listening(counted, { settings: { target: -14, peak: 0 }, lufs: -14 });
      const heard = [...listening.hear(seconds), ...listening.finish()];
      expect(heard.length).toBe(listening.pushedSamples);
      expect(Math.max(...heard.map((value, at) => Math.abs(value - counted(at))))).toBeLessThan(1e-7);
      expect(listening.stage.heldSamples).toBe(0);
    }
  });

  it("of another song may come behind an end", () => {
    const listening = new Listening(counted, { settings: SETTINGS, lufs: -14 });
    listening.hear(0.1);
    listening.finish();
    listening.stage.begin(undefined);
    const start = listening.pushedSamples;
    listening.hear(0.1);
    expect(listening.position - start).toBe(4800);
  });

  it("are neither lost nor doubled by switching on and off at any time", () => {
    const random = seededRandom(3);
    const listening = new Listening(counted);
    let at = 0;
    for (let round = 0; round < 300; round++) {
      listening.stage.set(random() < 0.5 ? { target: -12, peak: 0 } : undefined);
      const heard = listening.hear(random() * 0.04, 1 + Math.floor(random() * 960));
      const worst = heard.reduce((top, value, sample) => Math.max(top, Math.abs(value / counted(at + sample) - 1)), 0);
      // The guess is -12 LUFS, so the gain is 1 until the measurement says that it is silence.
      expect(worst).toBeLessThan(1e-5);
      at += heard.length;
      expect(listening.position).toBe(at);
    }
  });

  it("that are no numbers are silence, and forgotten", () => {
    const song: At = (sample) =>
      sample < 4000 || sample > 5000 ? counted(sample) : [Number.NaN, 1e38, -1e38][sample % 3]!;
    const listening = new Listening(song, { settings: SETTINGS });
    const heard = listening.hear(6);
    expect(heard.every((value) => Math.abs(value) < 1)).toBe(true);
    expect(Math.abs(heard.at(-1)!)).toBeGreaterThan(0.001);
  });
});

describe("switching", () => {
  const largestStep = (sound: Float32Array) =>
    sound.reduce((top, value, at) => (at === 0 ? 0 : Math.max(top, Math.abs(value - sound[at - 1]!))), 0);

  it("on, to another target and off is heard within 20 ms, without a step above the sound's own", () => {
    const listening = new Listening(tone(-12, 353));
    const own = largestStep(listening.hear(0.2));
    const level = (sound: Float32Array) => decibels(Math.max(...sound.map(Math.abs)));
    const all: Float32Array[] = [];
    for (const [settings, lufs] of [
      [{ target: -20, peak: -1 }, -20],
      [{ target: -30, peak: -1 }, -30],
      [{ target: -16, peak: -20 }, -20.2],
      [undefined, -12],
    ] as const) {
      listening.stage.set(settings);
      all.push(listening.hear(0.04));
      const after = listening.hear(0.02);
      all.push(after);
      expect(Math.abs(level(after) - lufs)).toBeLessThan(0.3);
    }
    const heard = Float32Array.from(all.flatMap((sound) => [...sound]));
    expect(largestStep(heard)).toBeLessThan(own * 1.02);
    expect(listening.stage.isNeutral).toBe(true);
    expect(listening.stage.heldSamples).toBe(0);
  });

  it("on and off turns the gain evenly", () => {
    const listening = new Listening(() => 0.1, { settings: { target: -32, peak: -1 } });
    listening.stage.set(undefined);
    const off = listening.hear(0.05);
    listening.stage.set({ target: -32, peak: -1 });
    const on = listening.hear(0.05);
    // From a tenth to all of it, in 960 samples.
    for (const heard of [off, on]) expect(largestStep(heard)).toBeLessThan((0.09 / 960) * 1.1);
    expect([off[0], off.at(-1), on[0], on.at(-1)]).toEqual(
      [0.01, 0.1, 0.1, 0.01].map((level) => expect.closeTo(level, 3)),
    );
  });

  it("off gives the song bit for bit", () => {
    const song = music(-10);
    const listening = new Listening(song, { settings: SETTINGS });
    listening.hear(1);
    listening.stage.set(undefined);
    expect(listening.stage.isNeutral).toBe(false);
    listening.hear(0.06);
    expect(listening.stage.isNeutral).toBe(true);
    const at = listening.position;
    expect(listening.hear(0.1).every((value, sample) => value === Math.fround(song(at + sample)))).toBe(true);
  });

  it("the same settings again change nothing", () => {
    const [undisturbed, disturbed] = [0, 1].map(() => new Listening(music(-10), { settings: SETTINGS }));
    const wanted = undisturbed!.hear(2);
    const heard: number[] = [];
    for (let round = 0; round < 20; round++) {
      disturbed!.stage.set({ ...SETTINGS });
      heard.push(...disturbed!.hear(0.1));
    }
    expect(heard).toEqual([...wanted]);
  });

  it("allocates nothing while it runs", () => {
    // One number per chunk would be 960 bytes a frame. What crosses into WebAssembly and back takes some.
    const listening = new Listening(() => 0, { settings: SETTINGS });
    listening.hear(1);
    const { stage } = listening;
    const fifo = { lengthSamples: 4000, readInto: (_left: Float32Array, _right: Float32Array, count: number) => count };
    const [left, right] = [new Float32Array(FRAME_SAMPLES), new Float32Array(FRAME_SAMPLES)];
    const run = (frames: number) => {
      for (let frame = 0; frame < frames; frame++) stage.over(fifo).readInto(left, right, FRAME_SAMPLES);
    };
    run(3000);
    const before = process.memoryUsage().heapUsed;
    run(3000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(3000 * 300);
  });
});
