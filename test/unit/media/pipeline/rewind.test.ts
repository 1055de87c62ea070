// Frames that were made ahead and not sent are rewound while a track is transcoded. The control is the same playback
// without look-ahead, in which there is nothing to rewind.

import { afterEach, describe, expect, it } from "vitest";
import { findClicks, findGaps } from "../../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../../lab/listen/received.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import type { FilterSettings } from "../../../../src/filters/filter-settings.ts";
import { FRAMES_AHEAD_MAX } from "../../../../src/media/format/audio-format.ts";
import type { Pipeline, PipelineOptions } from "../../../../src/media/pipeline/pipeline.ts";
import type { AheadPlayer } from "../../../support/ahead-player.ts";
import { filterSettings, tonearmFilter } from "../../../support/filter-settings.ts";
import { PCM_SONG, playAhead, SONG_MS, wordsOf } from "../../../support/takeable-songs.ts";

const AHEAD_FRAMES = 5;
const FRAME_SAMPLES = 960;
const EQUALIZER = { equalizer: [{ band: 1, gain: 0.25 }] };
const FADES = {
  pluginFilters: {
    tonearm: {
      fadeIn: { duration: 700, curve: "sine" },
      fadeOut: { duration: 900, curve: "exponential" },
      loudness: {},
      echo: { delay: 250, decay: 0.4, mix: 0.3 },
      reverb: {},
    },
  },
  rotation: { rotationHz: 0.7 },
  tremolo: { frequency: 5, depth: 0.5 },
};

const opened: Pipeline[] = [];

afterEach(() => {
  for (const pipeline of opened.splice(0)) pipeline.close();
});

function start(aheadFrames: number, options: Partial<PipelineOptions> = {}): AheadPlayer {
  const player = playAhead(PCM_SONG, aheadFrames, { lengthMs: SONG_MS, ...options });
  opened.push(player.pipeline);
  return player;
}

/** Plays to the end, and now and then rewinds some of the waiting frames; returns how often. */
async function playRewinding(player: AheadPlayer, seed: number): Promise<number> {
  const random = seededRandom(seed);
  let times = 0;
  for (let before = -1; player.sent.length > before; ) {
    before = player.sent.length;
    await player.play(1 + Math.floor(random() * 4));
    const expected = 1 + Math.floor(random() * AHEAD_FRAMES);
    const positionMs = player.positionBefore(expected);
    if (player.rewind(expected) > 0) times += 1;
    expect(player.pipeline.positionMs).toBe(positionMs);
    if (player.waitingFrames === 0) expect(player.pipeline.positionMs).toBe(player.sentMs);
  }
  return times;
}

describe("rewound frames without a change", () => {
  it.each<[string, object]>([
    ["as it is", {}],
    ["with an equalizer", EQUALIZER],
    ["at half the speed", { timescale: { speed: 0.5 } }],
    ["at 1.5 times the speed", { timescale: { speed: 1.5 } }],
    ["at twice the speed", { timescale: { speed: 2 } }],
    ["with fades, loudness, and filters that remember", FADES],
  ])("rewound frames are made again bit for bit, to the last frame: %s", async (_name, filters) => {
    const options = { filters: filterSettings(filters), volume: 70 };
    const control = start(0, options);
    await control.play();
    const player = start(AHEAD_FRAMES, options);
    const times = await playRewinding(player, 12);
    expect(times).toBeGreaterThan(30);
    expect(wordsOf(player.sent)).toEqual(wordsOf(control.sent));
    expect(player.sentMs).toBe(control.sentMs);
  });

  it("rewound frames end again at an end time, and at another one that is set since", async () => {
    const player = start(AHEAD_FRAMES, { endMs: 1000 });
    const control = start(0);
    await control.play(60);
    await player.play(48);
    expect([player.pipeline.isEnded, player.waitingFrames]).toEqual([true, 2]);
    player.rewind();
    expect(player.pipeline.isEnded).toBe(false);
    player.pipeline.setEnd(1200);
    await player.play();
    expect([player.sentMs, player.sent.length]).toEqual([1200, 60]);
    expect(wordsOf(player.sent)).toEqual(wordsOf(control.sent));
  });

  it("rewound frames depend on nothing before them when silence was sent in between", async () => {
    const player = start(AHEAD_FRAMES);
    await player.play(20);
    player.rewind();
    player.pipeline.onSilenceSent();
    const control = start(0);
    await control.play(20);
    control.pipeline.onSilenceSent();
    await control.play(5);
    await player.play(5);
    expect(wordsOf(player.sent)).toEqual(wordsOf(control.sent));
  });
});

describe("a change after a rewind", () => {
  it("a volume change after a rewind sounds as if nothing had been made ahead, bit for bit", async () => {
    const [control, player] = [start(0), start(AHEAD_FRAMES)];
    for (const [frames, volume] of [
      [20, 40],
      [1, 150],
      [3, 0],
      [2, 100],
      [30, 10],
    ] as const) {
      for (const one of [control, player]) {
        await one.play(frames);
        // Either order will do.
        if (volume > 50) one.pipeline.setVolume(volume);
        one.rewind();
        one.pipeline.setVolume(volume);
      }
    }
    await control.play();
    await player.play();
    expect(wordsOf(player.sent)).toEqual(wordsOf(control.sent));
  });

  it("a volume change after a rewind starts from the output, when another comes before any of it was sent", async () => {
    const [control, player] = [start(0), start(AHEAD_FRAMES)];
    await control.play(10);
    control.pipeline.setVolume(60);
    await control.play(10);
    await player.play(10);
    for (const volume of [5, 1000, 60]) {
      player.pipeline.setVolume(volume);
      expect(player.rewind()).toBe(AHEAD_FRAMES);
      await player.makeAhead();
      player.rewind(1);
    }
    await player.play(10);
    expect(wordsOf(player.sent)).toEqual(wordsOf(control.sent));
  });

  it.each<[string, FilterSettings, FilterSettings]>([
    ["an equalizer", {}, filterSettings(EQUALIZER)],
    ["no equalizer any more", filterSettings(EQUALIZER), {}],
    [
      "mono",
      {},
      filterSettings({ channelMix: { leftToLeft: 0.5, leftToRight: 0.5, rightToLeft: 0.5, rightToRight: 0.5 } }),
    ],
    ["nightcore", {}, filterSettings({ timescale: { speed: 1.2, pitch: 1.2 } })],
    [
      "nightcore with an equalizer",
      filterSettings({ timescale: { speed: 1.2, pitch: 1.2 } }),
      filterSettings({ ...EQUALIZER, timescale: { speed: 1.2, pitch: 1.2 } }),
    ],
    ["loudness", {}, tonearmFilter("loudness")],
  ])(
    "a filter change takes effect with the first frame that is made again, and without a click: %s",
    async (_name, before, after) => {
      const [control, player] = [start(0, { filters: before }), start(AHEAD_FRAMES, { filters: before })];
      const unchanged = start(0, { filters: before });
      await unchanged.play(100);
      for (const one of [control, player]) {
        await one.play(60);
        one.pipeline.setFilters(after);
        one.rewind();
        await one.play(60);
      }
      expect(wordsOf(player.sent.slice(0, 60))).toEqual(wordsOf(unchanged.sent.slice(0, 60)));
      expect(player.sent[60]).not.toEqual(unchanged.sent[60]);
      expect(Math.abs(player.sentMs - control.sentMs)).toBeLessThan(0.05);
      const [received, expected] = [await decodeReceived(player.sent), await decodeReceived(control.sent)];
      expect(findClicks(received.left.subarray(FRAME_SAMPLES))).toEqual([]);
      expect(findGaps(received.left)).toEqual([]);
      // Behind a frame for the change, and the encoder's: no more than half a sample between the two.
      expect(difference(received.left, expected.left, 62)).toBeLessThan(0.02);
    },
  );

  it("a filter change follows the frames already made when there is an echo, which would be audible twice", async () => {
    const echo = { pluginFilters: { tonearm: { echo: { delay: 250, decay: 0.4, mix: 0.3 } } } };
    const [control, player] = [start(0), start(AHEAD_FRAMES)].map((one) => {
      one.pipeline.setFilters(filterSettings(echo));
      return one;
    }) as [AheadPlayer, AheadPlayer];
    const changed = filterSettings({ ...echo, ...EQUALIZER });
    await control.play(40 + AHEAD_FRAMES);
    control.pipeline.setFilters(changed);
    await control.play(50);
    await player.play(40);
    player.pipeline.setFilters(changed);
    expect(player.rewind()).toBe(AHEAD_FRAMES);
    await player.play(50 + AHEAD_FRAMES);
    expect(wordsOf(player.sent)).toEqual(wordsOf(control.sent));
  });

  it("a seek after a rewind sounds as if nothing had been made ahead, bit for bit", async () => {
    const [control, player] = [start(0), start(AHEAD_FRAMES)];
    for (const one of [control, player]) {
      await one.play(30);
      one.pipeline.seek(2500);
      expect(one.pipeline.hasLanded).toBe(false);
      while (one.pipeline.seekTargetMs !== undefined) await new Promise((next) => setImmediate(next));
      expect([one.pipeline.hasLanded, one.pipeline.isOutdated]).toEqual([true, true]);
      one.rewind();
      await one.play(20);
      expect([one.pipeline.hasLanded, one.pipeline.isOutdated]).toEqual([false, false]);
      // Back to the very start of the run, and no further.
      if (one === player) expect([one.rewind(), one.pipeline.rewindFramesMax]).toEqual([AHEAD_FRAMES, 4]);
      await one.play(10);
    }
    expect(player.sentMs).toBe(2500 + 30 * 20);
    expect(wordsOf(player.sent)).toEqual(wordsOf(control.sent));
  });
});

describe("the number of frames that can be rewound", () => {
  it("as many frames can be rewound as were made, up to the limit, and none more than once", async () => {
    const { pipeline } = start(0);
    expect(pipeline.rewindFramesMax).toBe(0);
    const made: number[] = [];
    while (made.length < 12) {
      if (pipeline.produce() !== undefined) made.push(pipeline.rewindFramesMax);
      await new Promise((next) => setImmediate(next));
    }
    expect(made).toEqual(made.map((_, index) => Math.min(index + 1, FRAMES_AHEAD_MAX)));
    pipeline.rewind(4);
    expect([pipeline.positionMs, pipeline.rewindFramesMax]).toEqual([160, 5]);
    pipeline.rewind(99);
    expect([pipeline.positionMs, pipeline.rewindFramesMax]).toEqual([60, 0]);
  });

  it("frames that were mixed with another track's cannot be rewound", async () => {
    const { pipeline } = start(0);
    while (!pipeline.canRender()) await new Promise((next) => setImmediate(next));
    pipeline.produce();
    expect(pipeline.rewindFramesMax).toBe(1);
    const frame = pipeline.render();
    expect(frame).toBeDefined();
    expect(pipeline.rewindFramesMax).toBe(0);
    pipeline.produce();
    expect(pipeline.rewindFramesMax).toBe(1);
  });
});

/** Effective, from the start of a frame on. */
function difference(received: Float32Array, expected: Float32Array, fromFrame: number): number {
  let sum = 0;
  const start = fromFrame * FRAME_SAMPLES;
  for (let sample = start; sample < received.length; sample++) sum += (received[sample]! - expected[sample]!) ** 2;
  return Math.sqrt(sum / (received.length - start));
}
