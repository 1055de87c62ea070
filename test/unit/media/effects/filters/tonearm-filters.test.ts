// Tonearm's own filters, measured: through a player's whole chain, as a client would set them.

import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../../lab/seeded-random.ts";
import { StereoFifo } from "../../../../../src/lib/stereo-fifo.ts";
import { EffectChain } from "../../../../../src/media/effects/effect-chain.ts";
import { filterSettings, tonearmFilter } from "../../../../support/filter-settings.ts";
import { chainWith, filtered, peak, responseAt, rms, type Stereo } from "../../../../support/filter-vectors.ts";
import { randomFilters } from "../../../../support/random-filters.ts";

const SECOND = 48_000;
const NAMES = ["highPass", "compressor", "chorus", "flanger", "phaser", "echo", "reverb"] as const;
type Name = (typeof NAMES)[number];

const settings = (name: Name, members: object = {}) => tonearmFilter(name, members);

function audio(seconds: number, at: (sample: number) => number): Float32Array {
  return Float32Array.from({ length: Math.round(seconds * SECOND) }, (_, sample) => at(sample));
}

const sine = (amplitude: number, frequencyHz: number) => (sample: number) =>
  amplitude * Math.sin((2 * Math.PI * frequencyHz * sample) / SECOND);

/** A click of 0.5 after 100 ms, on the left side only. */
function clickResponse(filters: object, seconds: number): Stereo {
  const left = audio(seconds, (sample) => (sample === 4800 ? 0.5 : 0));
  const { left: l, right: r } = filtered(chainWith(filters), { left, right: new Float32Array(left.length) });
  return { left: l.subarray(4800).map((value) => value * 2), right: r.subarray(4800).map((value) => value * 2) };
}

function rendered(filters: object, left: Float32Array, right = left): Stereo {
  return filtered(chainWith(filters), { left, right });
}

const decibels = (value: number) => 20 * Math.log10(value);

/** A second of loud noise, over and over. */
class Noise {
  readonly lengthSamples = 960;
  readonly #audio: Float32Array;
  #at = 0;

  constructor(seed: number) {
    const random = seededRandom(seed);
    this.#audio = audio(1, () => 2 * random() - 1);
  }

  readInto(left: Float32Array, right: Float32Array, count: number): number {
    left.set(this.#audio.subarray(this.#at, this.#at + count));
    this.#at = (this.#at + 960) % SECOND;
    right.set(this.#audio.subarray(this.#at, this.#at + count));
    return count;
  }
}

describe("highPass", () => {
  it("highPass is 3 dB down at its frequency, 12 dB per octave below, and open above", () => {
    const response = clickResponse(settings("highPass", { frequency: 1000 }), 1).left;
    const levelAt = (frequencyHz: number) => decibels(responseAt(response, frequencyHz).magnitude);
    expect(levelAt(1000)).toBeCloseTo(-3.01, 1);
    expect(levelAt(125)).toBeCloseTo(-36.1, 0);
    expect(levelAt(250) - levelAt(125)).toBeCloseTo(12, 0);
    expect(levelAt(4000)).toBeCloseTo(0, 1);
    expect(levelAt(18_000)).toBeCloseTo(0, 2);
  });

  it("highPass removes a constant, and leaves the other side unchanged", () => {
    const { left, right } = rendered(
      settings("highPass"),
      audio(1, () => 0.5),
      audio(1, sine(0.25, 1000)),
    );
    expect(peak(left.subarray(-4800))).toBeLessThan(1e-6);
    expect(rms(right.subarray(-4800))).toBeCloseTo(0.25 / Math.SQRT2, 3);
  });
});

describe("echo", () => {
  it("echo comes after the delay, again and again softer by the decay, on its own side", () => {
    const { left, right } = clickResponse(settings("echo", { delay: 125.5, decay: 0.5, mix: 0.4 }), 1);
    const delaySamples = 125.5 * 48;
    expect(left[0]).toBeCloseTo(0.6, 5);
    for (const times of [1, 2, 3, 4, 5, 6]) expect(left[times * delaySamples]).toBeCloseTo(0.4 * 0.5 ** (times - 1), 5);
    const others = left.filter((_, sample) => sample % delaySamples !== 0);
    expect([peak(others), peak(right)]).toEqual([0, 0]);
  });

  it.each([
    [300, 1900, 40],
    // Almost as long as the ring buffer that stores it.
    [10, 250, 10],
    [42.5, 300, 21],
  ])(
    "echo continues from a copy when the delay of %d ms becomes %d and %d, without a click",
    (first, second, third) => {
      const chain = chainWith(settings("echo", { delay: first, decay: 0.9, mix: 1 }));
      const tone = audio(8, sine(0.1, 220));
      const fifo = new StereoFifo();
      const output = new Float32Array(tone.length);
      for (let start = 0; start < tone.length; start += 960) {
        if (start === 2 * SECOND) chain.setFilters(settings("echo", { delay: second, decay: 0.3, mix: 1 }));
        if (start === 5 * SECOND) chain.setFilters(settings("echo", { delay: third, decay: 0.9, mix: 1 }));
        fifo.append(tone, tone, start, 960);
        chain.prepare(fifo, 960);
        chain.render(fifo, output.subarray(start, start + 960), new Float32Array(960), 960);
      }
      // Changes of slope reveal steps that a slope would hide.
      expect(peak(bends(output))).toBeLessThan(2.5 * 0.1 * 10 * ((2 * Math.PI * 220) / SECOND) ** 2 + 0.002);
    },
  );
});

describe("reverb", () => {
  it.each([
    [0, 0.4],
    [0.5, 1.79],
    [1, 8],
  ])("reverb in a room of size %d decays by 60 dB in %d s", (roomSize, seconds) => {
    const { left, right } = clickResponse(settings("reverb", { roomSize, damping: 0, mix: 1 }), 2.5);
    // From the level at two times: 0.1 to 0.2 s, and a while later.
    const laterAt = Math.min(seconds / 2, 2);
    for (const side of [left, right]) {
      const level = (from: number) =>
        decibels(rms(side, Math.round(from * SECOND), Math.round((from + 0.15) * SECOND)));
      const decayPerSecond = (level(0.1) - level(0.1 + laterAt)) / laterAt;
      expect(60 / decayPerSecond / seconds).toBeGreaterThan(0.85);
      expect(60 / decayPerSecond / seconds).toBeLessThan(1.15);
    }
  });

  it("reverb loses its highs first when it is damped", () => {
    const tail = (damping: number) =>
      clickResponse(settings("reverb", { damping, mix: 1 }), 1).left.subarray(24_000, 40_000);
    const [open, damped] = [tail(0), tail(1)];
    const level = (response: Float32Array, centreHz: number) =>
      decibels(
        Math.hypot(
          ...Array.from({ length: 40 }, (_, step) => responseAt(response, centreHz * (1 + step / 100)).magnitude),
        ),
      );
    expect(level(damped, 6000) - level(open, 6000)).toBeLessThan(-30);
    expect(level(damped, 100) - level(open, 100)).toBeGreaterThan(-6);
  });

  it("reverb is as wide as its setting: at 0 both sides are the same", () => {
    const correlation = ({ left, right }: Stereo) =>
      left.reduce((sum, value, at) => sum + value * right[at]!, 0) / (rms(left) * rms(right) * left.length);
    const tailOf = (width: number) => {
      const { left, right } = clickResponse(settings("reverb", { width, mix: 1 }), 1.5);
      return { left: left.subarray(9600), right: right.subarray(9600) };
    };
    expect(correlation(tailOf(0))).toBeCloseTo(1, 5);
    expect(Math.abs(correlation(tailOf(1)))).toBeLessThan(0.15);
  });

  it("reverb is about as loud as the dry audio, whatever the room", () => {
    const random = seededRandom(1);
    const noise = audio(6, () => 0.4 * random() - 0.2);
    for (const roomSize of [0, 0.5, 1]) {
      const { left } = rendered(settings("reverb", { roomSize, damping: 0, mix: 1 }), noise, noise);
      const level = decibels(rms(left, 4 * SECOND) / rms(noise, 4 * SECOND));
      expect(Math.abs(level)).toBeLessThan(4);
    }
  });

  it("reverb is dense: 100 ms after a click hardly a moment is silent", () => {
    const { left } = clickResponse(settings("reverb", { mix: 1 }), 1);
    const piece = left.subarray(4800, 14_400);
    const level = rms(piece);
    expect(piece.filter((value) => Math.abs(value) > level / 100).length / piece.length).toBeGreaterThan(0.9);
  });
});

describe("compressor", () => {
  const levelOut = (amplitude: number, members: object) => {
    const { left } = rendered(settings("compressor", members), audio(2, sine(amplitude, 200)));
    return decibels(rms(left.subarray(-SECOND)) * Math.SQRT2);
  };

  it.each([
    ["hard knee, below", -24, { knee: 0 }, -24],
    ["hard knee, above", -6, { knee: 0 }, -18 + 12 / 4],
    ["in the middle of the knee", -18, { knee: 12 }, -18 - (0.75 * 6 ** 2) / 24],
    ["below the knee", -25, { knee: 12 }, -25],
    ["above the knee", -6, { knee: 12 }, -15],
    ["as a limiter", 0, { threshold: -12, ratio: 20, knee: 0 }, -12 + 12 / 20],
    ["with gain", -24, { knee: 0, gain: 6 }, -18],
    ["ratio 1 with gain", 0, { ratio: 1, gain: 12 }, 12],
  ])("the compressor, %s: %d dB with %j gives %d dB", (_, inputDb, members, outputDb) => {
    expect(levelOut(10 ** (inputDb / 20), members)).toBeCloseTo(outputDb, 0);
  });

  it("the compressor follows with attack and release, 63 % of the change in each", () => {
    const loudFrom = SECOND;
    const loudTo = 3 * SECOND;
    const members = { threshold: -20, ratio: 20, knee: 0, attack: 100, release: 400 };
    const input = audio(5, (sample) => sine(sample >= loudFrom && sample < loudTo ? 1 : 0.01, 1000)(sample));
    const { left } = rendered(settings("compressor", members), input);
    const reductionDb = (sample: number) =>
      decibels(peak(input.subarray(sample - 48, sample)) / peak(left.subarray(sample - 48, sample)));
    const full = 19;
    expect(reductionDb(loudFrom + 4800)).toBeCloseTo(full * (1 - 1 / Math.E), 0);
    expect(reductionDb(loudTo)).toBeCloseTo(full, 0);
    // A peak counts for 10 to 20 ms more.
    expect(reductionDb(loudTo + 720 + 19_200)).toBeCloseTo(full / Math.E, 0);
  });

  it("the compressor turns both sides down alike", () => {
    const { left, right } = rendered(settings("compressor"), audio(1, sine(0.9, 440)), audio(1, sine(0.09, 440)));
    expect(rms(left.subarray(-9600)) / rms(right.subarray(-9600))).toBeCloseTo(10, 3);
  });
});

describe("chorus and flanger", () => {
  /** Where a click comes out again, for clicks at many times: the delay in milliseconds as it swings. */
  function delaysMs(filters: object, side: "left" | "right" = "left"): number[] {
    const clicks = audio(4, (sample) => (sample % 4800 === 0 ? 1 : 0));
    const response = rendered(filters, clicks)[side];
    return Array.from({ length: 39 }, (_, click) => {
      const piece = response.subarray((click + 1) * 4800 + 1, (click + 2) * 4800);
      const weights = piece.reduce((sum, value) => sum + value, 0);
      return piece.reduce((sum, value, at) => sum + value * (at + 1), 0) / weights / 48;
    });
  }

  it("the chorus swings by 4 ms times depth about its delay", () => {
    const delays = delaysMs(settings("chorus", { frequency: 0.5, depth: 0.5, delay: 20, mix: 1 }));
    expect(Math.min(...delays)).toBeCloseTo(18, 1);
    expect(Math.max(...delays)).toBeCloseTo(22, 1);
    const turns = delays.map((delay, click) => delay - 20 - 2 * Math.sin(Math.PI * (0.1 * (click + 1) + delay / 1000)));
    expect(peak(Float32Array.from(turns))).toBeLessThan(0.05);
  });

  it("the right side of the chorus is a quarter of a turn ahead", () => {
    const delays = delaysMs(settings("chorus", { frequency: 0.5, depth: 1, delay: 20, mix: 1 }), "right");
    const turns = delays.map((delay, click) => delay - 20 - 4 * Math.cos(Math.PI * (0.1 * (click + 1) + delay / 1000)));
    expect(peak(Float32Array.from(turns))).toBeLessThan(0.08);
  });

  it("the flanger swings between its delay and depth less", () => {
    const delays = delaysMs(settings("flanger", { frequency: 0.5, depth: 0.8, delay: 10, feedback: 0, mix: 1 }));
    expect(Math.min(...delays)).toBeCloseTo(2, 1);
    expect(Math.max(...delays)).toBeCloseTo(10, 1);
  });

  it("a flanger whose delay stands still is a comb, between samples too", () => {
    // 2.51 ms are 120.48 samples.
    const { left } = clickResponse(settings("flanger", { depth: 0, delay: 2.51, feedback: 0, mix: 0.5 }), 0.5);
    const combAt = (frequencyHz: number) => responseAt(left, frequencyHz).magnitude;
    expect(combAt(1000 / 2.51)).toBeCloseTo(1, 2);
    expect(combAt(500 / 2.51)).toBeLessThan(0.01);
    expect(combAt(4500 / 2.51)).toBeLessThan(0.02);
  });

  it("feedback makes the flanger's comb sharper", () => {
    const { left } = clickResponse(settings("flanger", { depth: 0, delay: 2, feedback: 0.9, mix: 1 }), 2);
    expect(responseAt(left, 500).magnitude).toBeCloseTo(1 / (1 - 0.9), 0);
    expect(responseAt(left, 750).magnitude).toBeCloseTo(1 / (1 + 0.9), 1);
  });
});

describe("phaser", () => {
  it("the phaser has two notches where its stages turn by 180 and 540 degrees", () => {
    const { left } = clickResponse(settings("phaser", { depth: 0, feedback: 0, mix: 0.5 }), 1);
    const notches = [0.4142, 2.4142].map((factor) => 800 * factor);
    for (const frequencyHz of notches) expect(responseAt(left, frequencyHz).magnitude).toBeLessThan(0.01);
    for (const frequencyHz of [30, 800, 20_000]) expect(responseAt(left, frequencyHz).magnitude).toBeGreaterThan(0.98);
  });

  it("the phaser sweeps its notches, left and right independently", () => {
    const { left, right } = rendered(
      settings("phaser", { depth: 1, frequency: 1, feedback: 0 }),
      audio(3, sine(0.5, 700)),
    );
    const levels = (side: Float32Array) =>
      Array.from({ length: 100 }, (_, piece) => rms(side, SECOND + piece * 480, SECOND + (piece + 1) * 480));
    for (const side of [left, right]) {
      expect(Math.min(...levels(side))).toBeLessThan(0.06);
      expect(Math.max(...levels(side))).toBeGreaterThan(0.33);
    }
    const quietest = [left, right].map((side) => levels(side).indexOf(Math.min(...levels(side))));
    expect(quietest[0]).not.toBe(quietest[1]);
  });
});

const WORST: Readonly<Record<Name, object>> = {
  highPass: { frequency: 10 },
  echo: { delay: 1, decay: 0.95, mix: 1 },
  reverb: { roomSize: 1, damping: 0, mix: 1 },
  chorus: { frequency: 14, depth: 1, delay: 5, mix: 1 },
  phaser: { frequency: 14, depth: 1, feedback: 0.95, mix: 1 },
  flanger: { frequency: 14, depth: 1, delay: 15, feedback: 0.95, mix: 1 },
  compressor: { threshold: -60, ratio: 20, attack: 0.1, release: 1, knee: 0, gain: 24 },
};

describe.each(NAMES)("%s", (name) => {
  it(`${name} at its worst settings handles loud noise without growing, and is silent after it`, () => {
    const chain = chainWith(settings(name, WORST[name]));
    const noise = new Noise(7);
    const [left, right] = [new Float32Array(960), new Float32Array(960)];
    const loudest = [0, 0, 0];
    for (const third of loudest.keys()) {
      for (let frame = 0; frame < 800; frame++) {
        chain.render(noise, left, right, 960);
        if (frame % 7 === 0 && frame >= 400) loudest[third] = Math.max(loudest[third]!, peak(left), peak(right));
      }
    }
    expect(Math.max(...loudest)).toBeLessThan(25);
    expect(loudest[2]! / loudest[0]!).toBeLessThan(1.3);
    const silence = { lengthSamples: 960, readInto: () => 0 };
    for (let frame = 0; frame < 2500; frame++) chain.render(silence, left, right, 960);
    expect([...left, ...right].every((value) => value === 0 || Math.abs(value) > 1e-30)).toBe(true);
    expect(peak(left)).toBeLessThan(1e-8);
  });

  it(`${name} gives the same output in blocks of any size`, () => {
    const random = seededRandom(3);
    const noise = audio(1, () => 0.5 * random() - 0.25);
    const input = { left: noise, right: noise.toReversed() };
    const whole = filtered(chainWith(settings(name)), input);
    const pieces = filtered(chainWith(settings(name)), input, 336);
    const difference = whole.left.map((value, at) => value - pieces.left[at]!);
    // Modulation and gain are tuned once per piece.
    expect(peak(difference)).toBeLessThan(name === "phaser" || name === "compressor" ? 0.01 : 1e-5);
  });

  it(`${name} starts again with a track, and rings on over a seek`, () => {
    const { chain, render } = listening(settings(name));
    render(sine(0.5, 300), 50);
    chain.begin();
    expect(peak(render(() => 0, 200))).toBeLessThan(1e-15);
    render(sine(0.5, 300), 50);
    chain.jump();
    const after = peak(render(() => 0, 100).subarray(480));
    if (name === "echo" || name === "reverb") expect(after).toBeGreaterThan(0.02);
  });

  it(`${name} makes no click at a seek`, () => {
    const { chain, render } = listening(settings(name));
    // From top to bottom.
    render((sample) => sine(0.2, 110)(sample + 109), 100);
    chain.jump();
    // The seam itself is faded over by the transcoder.
    const after = render((sample) => sine(0.2, 110)(sample - 109), 100).subarray(240);
    expect(peak(bends(after))).toBeLessThan(0.002);
  });
});

function listening(filters: object) {
  const chain: EffectChain = chainWith(filters);
  const [left, right] = [new Float32Array(960), new Float32Array(960)];
  let sampleCount = 0;
  const render = (at: (sample: number) => number, frameCount: number): Float32Array => {
    const output = new Float32Array(frameCount * 960);
    const song = {
      lengthSamples: 960,
      readInto: (l: Float32Array, r: Float32Array, count: number) => {
        for (let sample = 0; sample < count; sample++) l[sample] = at(sampleCount + sample);
        r.set(l);
        sampleCount += count;
        return count;
      },
    };
    for (let frame = 0; frame < frameCount; frame++) {
      chain.render(song, left, right, 960);
      output.set(left, frame * 960);
    }
    return output;
  };
  return { chain, render };
}

/** Second differences. */
function bends(receivedAudio: Float32Array): Float32Array {
  return receivedAudio.map((value, at) => (at < 2 ? 0 : value - 2 * receivedAudio[at - 1]! + receivedAudio[at - 2]!));
}

it("random Tonearm filter settings, valid and at the edges, do no harm", () => {
  const seed = Date.now() % 2 ** 32;
  const random = seededRandom(seed);
  const noise = new Noise(seed);
  const chain = new EffectChain();
  const [left, right] = [new Float32Array(960), new Float32Array(960)];
  for (let change = 0; change < 400; change++) {
    const { pluginFilters = { tonearm: {} } } = randomFilters(random);
    const filters = { pluginFilters };
    chain.setFilters(filters);
    if (random() < 0.2) chain.jump();
    if (random() < 0.1) chain.begin();
    for (let frame = 0; frame < 1 + random() * 8; frame++) {
      chain.render(noise, left, right, 960);
      chain.level(left, right, 960);
      const loudest = Math.max(peak(left), peak(right));
      if (!(loudest < 3000)) throw new Error(`seed ${seed}: ${loudest} with ${JSON.stringify(filters)}`);
    }
  }
  chain.setFilters({});
  for (let frame = 0; frame < 5; frame++) {
    chain.render(noise, left, right, 960);
    chain.level(left, right, 960);
  }
  expect(chain.isNeutral).toBe(true);
});

describe("Tonearm filters that are off", () => {
  it.each([
    settings("echo", { mix: 0 }),
    settings("reverb", { mix: 0 }),
    settings("chorus", { mix: 0 }),
    settings("phaser", { mix: 0 }),
    settings("flanger", { mix: 0 }),
    settings("compressor", { ratio: 1 }),
    { pluginFilters: { tonearm: { echo: null, wobble: {} }, other: { echo: {} } } },
    { echo: {}, highPass: {}, pluginFilters: { echo: {} } },
  ])("the Tonearm filter setting %j leaves the chain neutral", (filters) => {
    const chain = new EffectChain();
    chain.setFilters(filterSettings(filters));
    expect(chain.isNeutral).toBe(true);
  });
});
