import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findClicks, findGaps } from "../../../../lab/listen/faults.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import {
  levelsOf,
  opusSong,
  pcmSong,
  TonePlayer,
  type ToneSong,
  WINDOW_MS,
  warmUp,
} from "../../../support/tone-player.ts";

const FRAME_MS = 20;
const SONG_FRAMES = 150;
const LEVEL_ERROR_MAX = 0.05;
const fade = { duration: 800, curve: "linear" } as const;
const FADE_FRAMES = fade.duration / FRAME_MS;
const FADE_WINDOWS = fade.duration / WINDOW_MS;

let song: ToneSong;
let other: ToneSong;
let own: TonePlayer;

beforeAll(async () => {
  await warmUp();
  [song, other] = await Promise.all([opusSong(425, SONG_FRAMES), opusSong(1025, SONG_FRAMES)]);
});
beforeEach(async () => {
  own = await TonePlayer.create();
});
afterEach(async () => {
  own.player.close();
  await own.settle();
  expect([own.codecs.encoderCount, own.codecs.decoderCount]).toEqual([0, 0]);
  expect(own.demuxers.filter(({ isClosed }) => !isClosed)).toEqual([]);
});

/** The song itself begins with a jump, which is softened only by a fade-in. */
async function levels({ fromSample = 0 } = {}): Promise<number[]> {
  const received = await own.received();
  expect(findClicks(received.subarray(fromSample))).toEqual([]);
  return levelsOf(received, song.hz);
}

/** A line up over the first windows. */
function expectFadeIn(found: readonly number[]): void {
  for (let window = 0; window < FADE_WINDOWS; window++) {
    expect(Math.abs(found[window]! - (window + 0.5) / FADE_WINDOWS)).toBeLessThan(LEVEL_ERROR_MAX);
  }
}

describe("fade in", () => {
  beforeEach(() => own.setFilters({ fadeIn: fade }));

  it("a fade in of Opus is decoded, and followed by the file's own packets, each at its position", async () => {
    own.play(song);
    await own.settle();
    await own.tick(SONG_FRAMES + 10);
    expect(own.frameCount).toBe(SONG_FRAMES);
    const [first, last] = own.changed([song]);
    expect(first).toBe(0);
    expect(last).toBeLessThanOrEqual(FADE_FRAMES + 2);
    expect(own.voice.frames.slice(last + 1)).toEqual(song.packets.slice(last + 1).map(({ data }) => data));
    expectFadeIn(await levels());
    expect(own.ends).toEqual(["1 finished"]);
  });

  it("a fade in of any other codec, and with timescale, lasts as long as requested", async () => {
    own.setFilters({ fadeIn: fade }, { timescale: { speed: 1.5, pitch: 1, rate: 1 } });
    own.play(pcmSong(425, SONG_FRAMES));
    await own.settle();
    await own.tick(FADE_FRAMES + 20);
    expectFadeIn(await levels());
  });

  it("a fade in starts each track, also one that starts in its middle", async () => {
    own.play(song, { startMs: 1000 });
    await own.settle();
    await own.tick(FADE_FRAMES + 5);
    expectFadeIn(await levels());
    const before = own.frameCount;
    own.play(song);
    await own.tick(FADE_FRAMES + 10);
    const second = levelsOf((await own.received()).subarray(before * 960), song.hz);
    const quietest = second.indexOf(Math.min(...second));
    expect(second[quietest]).toBeLessThan(0.1);
    expect(second[quietest + FADE_WINDOWS / 2]).toBeLessThan(0.65);
  });

  it("a fade in is not repeated after a seek or a pause", async () => {
    own.play(song);
    await own.settle();
    await own.tick(FADE_FRAMES + 10);
    own.player.seek({ type: "seek", playerId: 1, trackId: 1, seekId: 1, positionMs: 500 });
    await own.tick(10);
    own.player.pause(true);
    await own.tick(20);
    own.player.pause(false);
    await own.tick(10);
    const found = levelsOf(await own.received(), song.hz);
    // Where it jumps, a window of 40 ms is of two minds.
    expect(Math.min(...found.slice(FADE_WINDOWS + 1, -1))).toBeGreaterThan(0.4);
    const [, last] = own.changed([song]);
    expect(last).toBeLessThanOrEqual(FADE_FRAMES + 2);
  });

  it("a fade in continues after a pause where it was", async () => {
    own.play(song);
    await own.settle();
    await own.tick(20);
    own.player.pause(true);
    await own.tick(20);
    own.player.pause(false);
    await own.tick(FADE_FRAMES);
    expectFadeIn(levelsOf(await own.received(), song.hz));
  });

  it("a fade in set while a song plays applies to the next song", async () => {
    own.setFilters({});
    own.play(song);
    await own.settle();
    await own.tick(10);
    own.setFilters({ fadeIn: fade });
    await own.tick(20);
    expect(own.changed([song])).toEqual([-1, -1]);
  });
});

describe("fade out", () => {
  beforeEach(() => own.setFilters({ fadeOut: fade }));

  async function expectFadeOutBefore(endMs: number, startMs = 0): Promise<void> {
    expect(own.ends).toEqual(["1 finished"]);
    const expectedFrames = (endMs - startMs) / FRAME_MS;
    expect(Math.abs(own.frameCount - expectedFrames)).toBeLessThanOrEqual(1);
    const found = await levels({ fromSample: 2400 });
    const start = (expectedFrames - FADE_FRAMES) / 2;
    for (let window = 0; window < FADE_WINDOWS - 1; window++) {
      const expected = 1 - (window + 0.5) / FADE_WINDOWS;
      expect(Math.abs(found[start + window]! - expected)).toBeLessThan(LEVEL_ERROR_MAX);
    }
    expect(found.at(-1)).toBeLessThan(0.05);
  }

  it("a fade out of Opus keeps the file's packets until half a second before it, and the number of frames", async () => {
    own.play(song);
    await own.settle();
    await own.tick(SONG_FRAMES + 10);
    const [first] = own.changed([song]);
    expect(first).toBeGreaterThan(SONG_FRAMES - FADE_FRAMES - 30);
    await expectFadeOutBefore(SONG_FRAMES * FRAME_MS);
    expect(own.voice.log.slice(-6)).toEqual(["silence", "silence", "silence", "silence", "silence", "stop"]);
  });

  it("a fade out begins in time although the decoder takes long to load", async () => {
    own.codecs.beforeDecoder = () => new Promise((loaded) => own.clock.after(300, loaded));
    own.play(song);
    await own.settle();
    await own.tick(SONG_FRAMES + 10);
    await expectFadeOutBefore(SONG_FRAMES * FRAME_MS);
  });

  it("a fade out ends at the end time", async () => {
    own.play(song, { endMs: 2000 });
    await own.settle();
    await own.tick(120);
    await expectFadeOutBefore(2000);
  });

  it("a fade out with timescale lasts as long as requested", async () => {
    own.setFilters({ fadeOut: fade }, { timescale: { speed: 1.5, pitch: 1, rate: 1 } });
    own.play(pcmSong(425, SONG_FRAMES));
    await own.settle();
    await own.tick(120);
    await expectFadeOutBefore((SONG_FRAMES * FRAME_MS) / 1.5);
  });

  it("a fade out is cancelled by a seek to before it, and comes again", async () => {
    own.play(song);
    await own.settle();
    await own.tick(SONG_FRAMES - 15);
    own.player.seek({ type: "seek", playerId: 1, trackId: 1, seekId: 1, positionMs: 1500 });
    await own.tick(90);
    const received = await own.received();
    expect(findGaps(received)).toEqual([]);
    const found = levelsOf(received, song.hz);
    const dip = Math.round((SONG_FRAMES - 15) / 2);
    expect(Math.max(...found.slice(dip, dip + 10))).toBeGreaterThan(0.97);
    expect(found.at(-1)).toBeLessThan(0.05);
  });

  it("a fade out ends at the real end of a song that is shorter than its container says", async () => {
    own.play(song, { lengthMs: SONG_FRAMES * FRAME_MS + 400 });
    await own.settle();
    await own.tick(SONG_FRAMES + 10);
    expect(own.frameCount).toBe(SONG_FRAMES);
    const found = await levels({ fromSample: 2400 });
    expect(found.at(-1)).toBeLessThan(0.05);
  });

  it("a stream has no fade out", async () => {
    own.play(song, { lengthMs: undefined });
    await own.settle();
    await own.tick(SONG_FRAMES + 10);
    expect(own.changed([song])).toEqual([-1, -1]);
  });

  it("a stop does not wait for a fade out", async () => {
    own.play(song);
    await own.settle();
    await own.tick(20);
    const before = own.frameCount;
    own.player.stop();
    await own.tick(10);
    expect(own.frameCount).toBe(before);
  });
});

it("random changes of fades and songs, with stops and failures, break and leak nothing", async () => {
  const seed = fuzzSeed();
  const random = seededRandom(seed);
  const pick = <T>(...choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!; // never empty
  const curve = () => pick("linear", "sine", "exponential");
  const anyFade = () => pick(undefined, { duration: Math.floor(random() * 1500), curve: curve() });
  const songs = [song, other, pcmSong(425, 60), pcmSong(1025, 20)];
  let seekId = 0;
  let trackId = 0;
  let isPaused = false;
  const actions: readonly (() => void)[] = [
    () => own.setFilters({ fadeIn: anyFade(), fadeOut: anyFade(), crossfade: anyFade() }),
    () => own.setFilters({ crossfade: anyFade() }, { timescale: { speed: 0.5 + random(), pitch: 1, rate: 1 } }),
    () => {
      isPaused = pick(false, false, true);
      const endMs = pick(undefined, random() * 3000);
      trackId = own.play(pick(...songs), { startMs: pick(0, 0, random() * 3000), endMs, isPaused });
    },
    () => {
      trackId = own.play(() => Promise.reject(new Error("this one cannot be opened")));
      isPaused = false;
    },
    () => {
      own.onOpen = pick<TonePlayer["onOpen"]>(
        () => undefined,
        (demuxer) => demuxer.failAt(Math.floor(random() * 60), new Error("this one breaks off")),
        (demuxer) => demuxer.holdAt(Math.floor(random() * 60), new Promise(() => undefined)),
      );
    },
    () => own.player.seek({ type: "seek", playerId: 1, trackId, seekId: ++seekId, positionMs: random() * 3200 }),
    () => own.player.setEnd(trackId, pick(undefined, random() * 3000)),
    () => own.player.setVolume(pick(0, 50, 100, 300)),
    () => {
      isPaused = !isPaused;
      own.player.pause(isPaused);
    },
    () => own.player.stop(),
    () => {
      own.voice.gate = pick("send", "send", "hold", "discard", "down");
      own.player.onVoiceStatus({ isConnected: true, isReady: own.voice.gate === "send", pingMs: 1 });
    },
  ];
  for (let round = 0; round < 500; round++) {
    pick(...actions)();
    await own.tick(Math.floor(random() * 12));
    // Most of the time something must be audible.
    if (own.player.position === undefined || random() < 0.2) {
      own.onOpen = () => undefined;
      own.voice.gate = "send";
      isPaused = false;
      trackId = own.play(pick(...songs), { startMs: pick(0, 0, random() * 2000) });
    }
    // The song that plays, the previous one, and one that is still loading or fades out.
    expect(own.codecs.decoderCount, `seed ${seed}, round ${round}`).toBeLessThanOrEqual(4);
  }
  const received = await own.received();
  // Packets that are passed through from the middle of another tone take the decoder some frames to follow, loudly.
  expect(
    received.every((sample) => Math.abs(sample) < 30),
    `seed ${seed}`,
  ).toBe(true);
  own.player.stop();
  await own.tick(10);
  expect([own.codecs.encoderCount, own.codecs.decoderCount], `seed ${seed}`).toEqual([0, 0]);
}, 30_000);
