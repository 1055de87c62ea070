import { describe, expect, it, vi } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { StereoFifo } from "../../../../src/lib/stereo-fifo.ts";
import { EffectChain } from "../../../../src/media/effects/effect-chain.ts";
import { WasmKernel } from "../../../../src/media/kernels/wasm-loop.ts";
import { filterSettings, tonearmFilter } from "../../../support/filter-settings.ts";
import { peak, rms, signals } from "../../../support/filter-vectors.ts";
import { randomFilters } from "../../../support/random-filters.ts";

const FRAME_SAMPLES = 960;
const PRESETS = {
  volume: { volume: 0.5 },
  equalizer: { equalizer: Array.from({ length: 15 }, (_, band) => ({ band, gain: band < 5 ? 0.25 : -0.1 })) },
  karaoke: { karaoke: { level: 1, monoLevel: 1, filterBand: 220, filterWidth: 100 } },
  timescale: { timescale: { speed: 1.25, pitch: 1.25, rate: 1 } },
  tremolo: { tremolo: { frequency: 4, depth: 0.75 } },
  vibrato: { vibrato: { frequency: 4, depth: 0.75 } },
  distortion: { distortion: { sinScale: 2, cosScale: 0, tanScale: 0, tanOffset: 1 } },
  rotation: { rotation: { rotationHz: 0.2 } },
  channelMix: { channelMix: { leftToLeft: 0.5, leftToRight: 0.5, rightToLeft: 0.5, rightToRight: 0.5 } },
  lowPass: { lowPass: { smoothing: 20 } },
  loudness: { pluginFilters: { tonearm: { loudness: { target: -24, peak: -1 } } } },
};

/** A chain fed with a song, played 20 ms at a time. */
class Listening {
  readonly chain = new EffectChain();
  readonly left: number[] = [];
  readonly #song = new StereoFifo();
  readonly #at: (sample: number) => readonly [number, number];
  readonly #frame = { left: new Float32Array(FRAME_SAMPLES), right: new Float32Array(FRAME_SAMPLES) };
  pushedSamples = 0;

  constructor(at: (sample: number) => readonly [number, number]) {
    this.#at = at;
  }

  /** Song time of the next output sample, in samples. */
  get renderedUntil(): number {
    return this.pushedSamples - this.#song.lengthSamples - this.chain.heldSamples;
  }

  render(frameCount: number): Float32Array {
    const rendered = new Float32Array(frameCount * FRAME_SAMPLES);
    for (let frame = 0; frame < frameCount; frame++) rendered.set(this.#renderFrame(), frame * FRAME_SAMPLES);
    for (const value of rendered) this.left.push(value);
    return rendered;
  }

  /** Advances time without recording the output. */
  pass(frameCount: number): void {
    for (let frame = 0; frame < frameCount; frame++) this.#renderFrame();
  }

  #renderFrame(): Float32Array {
    const { left, right } = this.#frame;
    while (this.chain.prepare(this.#song, FRAME_SAMPLES) < FRAME_SAMPLES) this.#decode();
    this.chain.render(this.#song, left, right, FRAME_SAMPLES);
    this.chain.level(left, right, FRAME_SAMPLES);
    // A sum is a number as long as all its parts are.
    let sum = 0;
    for (let sample = 0; sample < FRAME_SAMPLES; sample++) sum += left[sample]! + right[sample]!;
    if (!Number.isFinite(sum)) throw new Error("no number");
    return left;
  }

  #decode(): void {
    const left = new Float32Array(FRAME_SAMPLES);
    const right = new Float32Array(FRAME_SAMPLES);
    for (let sample = 0; sample < FRAME_SAMPLES; sample++) {
      const [l, r] = this.#at(this.pushedSamples + sample);
      left[sample] = l;
      right[sample] = r;
    }
    this.pushedSamples += FRAME_SAMPLES;
    this.#song.append(left, right, 0, FRAME_SAMPLES);
  }
}

const tone = (sample: number) => {
  const value = 0.3 * Math.sin((2 * Math.PI * 353.7 * sample) / 48_000);
  return [value, 0.8 * value] as const;
};

const largestStep = (audio: ArrayLike<number>) => {
  let largest = 0;
  for (let at = 1; at < audio.length; at++) largest = Math.max(largest, Math.abs(audio[at]! - audio[at - 1]!));
  return largest;
};

describe.each(Object.entries(PRESETS))("%s", (name, filters) => {
  it(`${name} fades in and out without a step larger than the audio's own`, () => {
    const listening = new Listening(tone);
    const before = listening.render(10);
    listening.chain.setFilters(filterSettings(filters));
    listening.render(1);
    const during = listening.render(150);
    listening.chain.setFilters({});
    listening.render(50);
    const own = Math.max(largestStep(before), largestStep(during));
    expect(largestStep(listening.left)).toBeLessThan(own * 1.1 + 0.001);
  });

  it(`${name} is audible within 40 ms, and ends so soon that packets can pass again within 150 ms`, () => {
    const listening = new Listening(tone);
    const plain = new Listening(tone);
    listening.render(10);
    listening.chain.setFilters(filterSettings(filters));
    expect(listening.chain.isNeutral).toBe(false);
    listening.render(2);
    plain.render(12);
    const rendered = listening.render(4);
    const unprocessed = plain.render(4);
    expect(rms(rendered.map((value, at) => value - unprocessed[at]!))).toBeGreaterThan(0.005);
    listening.chain.setFilters({});
    let frames = 0;
    while (!listening.chain.isNeutral && frames < 100) frames += listening.render(1).length / FRAME_SAMPLES;
    expect(frames).toBeLessThanOrEqual(7);
    const at = listening.renderedUntil;
    const after = listening.render(3);
    expect(peak(after.map((value, sample) => value - tone(at + sample)[0]))).toBeLessThan(1e-6);
  });

  it(`${name} sent again unchanged changes nothing in the output`, () => {
    const listening = new Listening(tone);
    const undisturbed = new Listening(tone);
    for (const { chain } of [listening, undisturbed]) {
      chain.setFilters(filterSettings(filters));
      chain.begin();
    }
    listening.render(20);
    for (let time = 0; time < 10; time++) {
      listening.chain.setFilters(filterSettings(filters));
      listening.render(1 + (time % 3));
    }
    const rendered = listening.left;
    const expected = undisturbed.render(rendered.length / FRAME_SAMPLES);
    expect(peak(expected.map((value, at) => value - rendered[at]!))).toBeLessThan(name === "equalizer" ? 1e-6 : 1e-7);
  });
});

describe("filters without an effect", () => {
  it.each([
    {},
    { volume: 1 },
    { volume: 1.01 },
    { equalizer: [] },
    { equalizer: [{ band: 3, gain: 0 }] },
    { karaoke: null },
    {
      equalizer: [
        { band: 3, gain: 1 },
        { band: 3, gain: 0 },
      ],
    },
    { timescale: { speed: 2, pitch: 2, rate: 0.5 } },
    { karaoke: { level: 0 } },
    { timescale: {} },
    { timescale: { speed: 1, pitch: 1, rate: 1 } },
    { tremolo: { depth: 0, frequency: 2 } },
    { vibrato: { depth: 0 } },
    { distortion: {} },
    { rotation: {} },
    { channelMix: {} },
    { lowPass: { smoothing: 1 } },
    { lowPass: { smoothing: 0 } },
    { unknown: { depth: 1 } },
  ])("the filter %j without an effect leaves the chain neutral", (filters) => {
    const chain = new EffectChain();
    chain.setFilters(filterSettings(filters));
    expect(chain.isNeutral).toBe(true);
  });

  it("filters without an effect are not switched on by one that has an effect", () => {
    const alone = new Listening(tone);
    const beside = new Listening(tone);
    alone.chain.setFilters({ volume: 0.5 });
    const others = { distortion: {}, rotation: {}, timescale: {}, tremolo: { depth: 0 } };
    beside.chain.setFilters(filterSettings({ volume: 0.5, ...others }));
    expect(beside.render(20)).toEqual(alone.render(20));
  });
});

it("a filter change during a change takes effect after the first one, the newest only", () => {
  const listening = new Listening(() => [0.5, 0.5]);
  listening.render(1);
  for (const volume of [0.1, 2, 0.5, 0.25]) listening.chain.setFilters({ volume });
  listening.render(2);
  expect(listening.render(1)[959]).toBeCloseTo(0.5 * Math.tan(0.79 * 0.25), 6);
});

it("tremolo keeps time for twenty minutes", () => {
  const chain = new EffectChain();
  chain.setFilters({ tremolo: { frequency: 2, depth: 0.5 } });
  chain.begin();
  const source = {
    lengthSamples: FRAME_SAMPLES,
    readInto: (left: Float32Array, right: Float32Array, count: number) => {
      left.fill(1);
      right.fill(1);
      return count;
    },
  };
  const [left, right] = [new Float32Array(FRAME_SAMPLES), new Float32Array(FRAME_SAMPLES)];
  const frames = 1200 * 50 + 7;
  for (let frame = 0; frame < frames; frame++) chain.render(source, left, right, FRAME_SAMPLES);
  const sample = (frames - 1) * FRAME_SAMPLES;
  expect(left[0]).toBeCloseTo(0.75 + 0.25 * Math.sin((2 * Math.PI * 2 * sample) / 48_000), 6);
});

describe("loudness", () => {
  const filters = { pluginFilters: { tonearm: { loudness: { target: -14, peak: -1 } } } };

  it("loudness beside timescale lets the end of the song play", () => {
    const chain = new EffectChain();
    chain.setFilters(filterSettings({ ...filters, timescale: { speed: 1.2, pitch: 1.2 } }));
    chain.begin(-14);
    const song = new StereoFifo();
    const end = Float32Array.from({ length: 4800 }, (_, sample) => (sample < 4750 ? 0 : 0.5));
    song.append(end, end, 0, end.length);
    const [left, right] = [new Float32Array(FRAME_SAMPLES), new Float32Array(FRAME_SAMPLES)];
    let rendered = 0;
    let isFinished = false;
    for (let frame = 0; frame < 10; frame++) {
      if (chain.prepare(song, FRAME_SAMPLES) < FRAME_SAMPLES && !isFinished) {
        chain.finish();
        isFinished = true;
      }
      chain.render(song, left, right, FRAME_SAMPLES);
      rendered += left.reduce((sum, value) => sum + Math.abs(value), 0);
    }
    expect(rendered).toBeGreaterThan(15);
    expect(chain.heldSamples).toBe(0);
  });

  it("loudness holds no audio of the old position after a seek", () => {
    const listening = new Listening(tone);
    listening.chain.setFilters(filterSettings(filters));
    listening.render(5);
    expect(listening.chain.heldSamples).toBeGreaterThan(0);
    listening.chain.jump();
    expect(listening.chain.heldSamples).toBe(0);
  });
});

it("damaged audio is silenced, and does not stay in the filters", () => {
  for (const filters of Object.values(PRESETS)) {
    const listening = new Listening((sample) =>
      sample < 4800 ? tone(sample) : sample < 5000 ? [Number.NaN, Number.POSITIVE_INFINITY] : [1e30, -1e38],
    );
    listening.chain.setFilters(filterSettings(filters));
    listening.render(20); // throws where something is no number
  }
});

it("silence stays silence at the same cost: no subnormal numbers remain", () => {
  for (const filters of Object.values(PRESETS)) {
    const listening = new Listening((sample) => (sample < 9600 ? tone(sample) : [0, 0]));
    listening.chain.setFilters(filterSettings(filters));
    listening.pass(1300);
    const end = listening.render(1);
    expect(end.every((value) => value === 0 || Math.abs(value) > 1e-30)).toBe(true);
  }
});

it("500 random filters objects at random times do no harm", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = seededRandom(seed);
  const noise = signals.noise.left;
  const listening = new Listening((sample) => {
    return [noise[sample % noise.length]!, sample % 7000 === 0 ? 1 : 0.2];
  });
  try {
    for (let change = 0; change < 500; change++) {
      listening.chain.setFilters(randomFilters(random));
      if (random() < 0.2) listening.chain.setVolume(Math.floor(random() * 1000));
      if (random() < 0.05) listening.chain.jump();
      if (random() < 0.02) listening.chain.begin();
      const frameCount = random() < 0.7 ? 1 : Math.floor(random() * 3);
      expect(peak(listening.render(frameCount))).toBeLessThan(200);
      listening.left.length = 0;
      expect(listening.chain.heldSamples).toBeLessThan(96_000);
    }
    listening.chain.setFilters({});
    listening.chain.setVolume(100);
    listening.render(100);
    expect(listening.chain.isNeutral).toBe(true);
  } catch (error) {
    throw new Error(`seed ${seed}`, { cause: error });
  }
});

it("filters with their own memory reuse that of earlier ones: many changes build few, and sound the same", () => {
  const create = vi.spyOn(WasmKernel.prototype, "createLoop");
  const builtCount = (): number => new Set(create.mock.results.map(({ value }) => value)).size;
  const listen = (): Float32Array => {
    const listening = new Listening(tone);
    for (let change = 0; change < 100; change++) {
      listening.chain.setFilters(tonearmFilter(["reverb", "chorus", "flanger"][change % 3]!));
      listening.render(change % 4);
    }
    const output = listening.render(20);
    listening.chain.setFilters(tonearmFilter("reverb"));
    listening.chain.close();
    return output;
  };
  try {
    const first = listen();
    expect(create.mock.calls.length).toBeGreaterThan(60);
    expect(builtCount()).toBeLessThanOrEqual(4);
    expect(listen()).toEqual(first);
    expect(builtCount()).toBeLessThanOrEqual(4);
  } finally {
    create.mockRestore();
  }
});
