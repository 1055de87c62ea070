// Frames that were made ahead and not sent are rewound during passthrough, and where it begins and ends.

import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { findClicks, findGaps } from "../../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../../lab/listen/received.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { FRAMES_AHEAD_MAX } from "../../../../src/media/format/audio-format.ts";
import type { Pipeline, PipelineOptions } from "../../../../src/media/pipeline/pipeline.ts";
import type { AheadPlayer } from "../../../support/ahead-player.ts";
import { filterSettings } from "../../../support/filter-settings.ts";
import { createOpusSong, playAhead, SONG_MS, type TakeableSong, wordsOf } from "../../../support/takeable-songs.ts";

const AHEAD_FRAMES = 5;
const FRAME_MS = 20;
const FRAME_SAMPLES = 960;

let song: TakeableSong;
const opened: Pipeline[] = [];

beforeAll(async () => {
  song = await createOpusSong();
});

afterEach(() => {
  for (const pipeline of opened.splice(0)) pipeline.close();
});

function start(options: Partial<PipelineOptions> = {}): AheadPlayer {
  const player = playAhead(song, AHEAD_FRAMES, { lengthMs: SONG_MS, ...options });
  opened.push(player.pipeline);
  return player;
}

const nextIteration = () => new Promise((next) => setImmediate(next));

/** The packets of the song, from one on. */
const packetsFrom = (first: number, end?: number) => song.packets.slice(first, end).map(({ data }) => data);

describe("rewound passthrough packets", () => {
  it.each([undefined, 1000])(
    "rewound passthrough packets come again bit for bit and in order, from the first to the last (end: %s)",
    async (endMs) => {
      const random = seededRandom(5);
      const player = start({ endMs });
      for (let before = -1; player.sent.length > before; ) {
        before = player.sent.length;
        await player.play(1 + Math.floor(random() * 4));
        const expected = 1 + Math.floor(random() * AHEAD_FRAMES);
        const positionMs = player.positionBefore(expected);
        player.rewind(expected);
        expect(player.pipeline.positionMs).toBe(positionMs);
      }
      expect(wordsOf(player.sent)).toEqual(wordsOf(packetsFrom(0, endMs === undefined ? undefined : endMs / FRAME_MS)));
      expect(player.sentMs).toBe(endMs ?? SONG_MS);
    },
  );

  it("passthrough packets from before a landed seek are not repeated after it", async () => {
    const player = start();
    await player.play(120);
    player.pipeline.seek(1000);
    while (player.pipeline.seekTargetMs !== undefined) await nextIteration();
    expect(player.rewind()).toBe(AHEAD_FRAMES);
    expect(player.pipeline.positionMs).toBe(2400);
    await player.play(1);
    // Everything from the new position, too, down to where it begins.
    expect(player.rewind()).toBe(AHEAD_FRAMES);
    await player.play();
    expect(wordsOf(player.sent)).toEqual(wordsOf([...packetsFrom(0, 120), ...packetsFrom(50)]));
  });

  it("as many passthrough packets can be rewound as may be ahead, and none from before a seek", async () => {
    const { pipeline } = start({ startMs: 1000 });
    const made: number[] = [];
    while (made.length < 12) {
      if (pipeline.produce() !== undefined) made.push(pipeline.rewindFramesMax);
      await nextIteration();
    }
    expect(made).toEqual(made.map((_, index) => Math.min(index + 1, FRAMES_AHEAD_MAX)));
    pipeline.rewind(pipeline.rewindFramesMax);
    expect([pipeline.positionMs, pipeline.rewindFramesMax]).toEqual([1060, 0]);
  });
});

describe("a change from passthrough to decoding", () => {
  it("a change from passthrough takes effect with the next frame, though others were made until the decoder was ready", async () => {
    const player = start();
    await player.play(50);
    player.pipeline.setVolume(50);
    expect(player.rewind()).toBe(AHEAD_FRAMES);
    // Like the pacer: the waiting frames are filled up at once.
    for (let frame = 0; frame < AHEAD_FRAMES; frame++)
      expect(player.pipeline.produce()).toEqual(song.packets[50 + frame]!.data);
    expect(player.pipeline.isOutdated).toBe(false);
    while (!player.pipeline.isOutdated) await nextIteration();
    player.pipeline.rewind(AHEAD_FRAMES);
    await player.play(50);
    expect(player.pipeline.isOutdated).toBe(false);
    expect(wordsOf(player.sent.slice(0, 50))).toEqual(wordsOf(packetsFrom(0, 50)));
    expect(player.sent[50]).not.toEqual(song.packets[50]!.data);
    const { left } = await decodeReceived(player.sent);
    const source = await decodeReceived(packetsFrom(0));
    expect(findClicks(left.subarray(FRAME_SAMPLES))).toEqual([]);
    expect(findGaps(left.subarray(FRAME_SAMPLES))).toEqual([]);
    const gain = Math.floor(Math.tan(0.0079 * 50) * 10_000) / 10_000;
    for (let sample = 52 * FRAME_SAMPLES; sample < left.length; sample++) {
      const expected = gain * source.left[sample]!;
      if (Math.abs(left[sample]! - expected) > 0.03) expect([sample, left[sample]]).toEqual([sample, expected]);
    }
  });

  it("a change from passthrough that is undone before the decoder is ready leaves the packets unchanged", async () => {
    const player = start();
    await player.play(30);
    player.pipeline.setVolume(50);
    player.pipeline.produce();
    player.pipeline.rewind(1);
    player.pipeline.setVolume(100);
    for (let iterations = 0; iterations < 50; iterations++) await nextIteration();
    player.rewind();
    await player.play();
    expect(wordsOf(player.sent)).toEqual(wordsOf(packetsFrom(0)));
  });

  it("a change from passthrough and back, again and again, loses and repeats nothing", async () => {
    const random = seededRandom(3);
    const player = start();
    const iterations: number[] = [];
    for (let count = 0; count < 30; count++) {
      await player.play(1 + Math.floor(random() * 6));
      player.pipeline.setVolume(count % 2 === 0 ? 99 : 100);
      if (player.rewind() > 0) iterations.push(player.sent.length);
    }
    expect(iterations.length).toBeGreaterThan(6);
    await player.play();
    expect([player.sent.length, player.sentMs]).toEqual([song.packets.length, SONG_MS]);
    const [received, expected] = [await decodeReceived(player.sent), await decodeReceived(packetsFrom(0))];
    expect(findClicks(received.left.subarray(FRAME_SAMPLES))).toEqual([]);
    expect(received.left.every((value, at) => at < FRAME_SAMPLES || Math.abs(value - expected.left[at]!) < 0.1)).toBe(
      true,
    );
  });
});

it("removing timescale leads back to the packets, past rewound frames", async () => {
  const player = start();
  await player.play(20);
  player.pipeline.setFilters(filterSettings({ timescale: { speed: 1.3 } }));
  player.rewind();
  await player.play(40);
  player.pipeline.setFilters({});
  player.rewind();
  await player.play();
  const own = player.sent.map((frame) => song.packets.findIndex(({ data }) => Buffer.compare(data, frame) === 0));
  const back = own.findIndex((packetIndex, at) => at > 30 && packetIndex > 20);
  expect(back).toBeLessThan(75);
  expect(own.slice(back)).toEqual(own.slice(back).map((_, at) => own[back]! + at));
  expect(own.at(-1)).toBe(song.packets.length - 1);
  const { left } = await decodeReceived(player.sent);
  expect(findClicks(left.subarray(FRAME_SAMPLES))).toEqual([]);
  expect(findGaps(left)).toEqual([]);
});
