import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findClicks, findGaps } from "../../../../lab/listen/faults.ts";
import { NodeError } from "../../../../src/errors.ts";
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
/** In a window of 40 ms, by encoder and curve. */
const LEVEL_ERROR_MAX = 0.05;
/** Larger where packets of another encoder follow, because they code loudness as a change since the previous packet. */
const SEAM_ERROR_MAX = 0.12;
const crossfade = { duration: 800, curve: "sine" } as const;
const FADE_WINDOWS = crossfade.duration / WINDOW_MS;
const FADE_FRAMES = crossfade.duration / FRAME_MS;

let low: ToneSong;
let middle: ToneSong;
let high: ToneSong;
let own: TonePlayer;

beforeAll(async () => {
  await warmUp();
  [low, middle, high] = await Promise.all([
    opusSong(425, SONG_FRAMES),
    opusSong(1025, SONG_FRAMES),
    opusSong(1925, SONG_FRAMES),
  ]);
});
beforeEach(async () => {
  own = await TonePlayer.create();
  own.setFilters({ crossfade });
});
afterEach(async () => {
  own.player.close();
  await own.settle();
  expect([own.codecs.encoderCount, own.codecs.decoderCount]).toEqual([0, 0]);
  expect(own.demuxers.filter(({ isClosed }) => !isClosed)).toEqual([]);
});

async function playFor(song: ToneSong, frames: number): Promise<void> {
  own.play(song);
  await own.settle();
  await own.tick(frames);
}

/** Ignores the artefacts of a codec's start and of the end of the last song. */
async function expectFlawless(): Promise<Float32Array> {
  const received = await own.received();
  const audio = received.subarray(2400, -2400);
  expect(findClicks(audio)).toEqual([]);
  expect(findGaps(audio)).toEqual([]);
  return received;
}

/** Both gains follow a sine, and are equal in the middle of the crossfade. */
function expectCrossing(
  received: Float32Array,
  [from, to]: readonly [ToneSong, ToneSong],
  levelErrorMax = LEVEL_ERROR_MAX,
): void {
  const [down, up] = [levelsOf(received, from.hz), levelsOf(received, to.hz)];
  const differences = up.map((level, window) => level - down[window]!);
  const after = differences.findIndex((difference, window) => window > 2 && difference >= 0);
  const middleAt = after - differences[after]! / (differences[after]! - differences[after - 1]!);
  for (let window = 1; window < up.length - 2; window++) {
    const share = Math.min(1, Math.max(0, 0.5 + (window - middleAt) / FADE_WINDOWS));
    const errorMax = share > 0 && share < 1 ? levelErrorMax : SEAM_ERROR_MAX;
    expect(Math.abs(up[window]! - Math.sin((share * Math.PI) / 2))).toBeLessThan(errorMax);
    expect(Math.abs(down[window]! - Math.cos((share * Math.PI) / 2))).toBeLessThan(errorMax);
  }
  expect(middleAt + FADE_WINDOWS / 2).toBeLessThan(up.length - 2);
}

describe("a replaced track with crossfade", () => {
  it.each([
    ["Opus", "Opus", () => [low, high] as const],
    ["PCM", "Opus", () => [pcmSong(425, SONG_FRAMES), high] as const],
    ["Opus", "PCM", () => [low, pcmSong(1925, SONG_FRAMES)] as const],
  ])(
    "a replaced track fades out while the next one fades in, both audible at once: %s and %s",
    async (_from, _to, songs) => {
      const [first, second] = songs();
      await playFor(first, 30);
      own.play(second);
      await own.tick(FADE_FRAMES + 40);
      expectCrossing(await expectFlawless(), [first, second]);
      expect(own.voice.log).not.toContain("silence");
      expect(own.ends).toEqual([]);
      expect(own.demuxers[0]?.isClosed).toBe(true);
    },
  );

  it("a crossfade with timescale runs in played time, each song at its own position", async () => {
    own.setFilters({ crossfade }, { timescale: { speed: 1.25, pitch: 1, rate: 1 } });
    await playFor(pcmSong(425, SONG_FRAMES), 30);
    own.play(high);
    await own.tick(FADE_FRAMES + 20);
    expectCrossing(await expectFlawless(), [low, high], 0.1);
    const receivedMs = (FADE_FRAMES + 20) * FRAME_MS;
    // Starting takes some frames.
    expect(Math.abs(own.player.position!.positionMs - receivedMs * 1.25)).toBeLessThan(160);
  });

  it("tracks on both sides of a crossfade are passed through, packet by packet to the end", async () => {
    await playFor(low, 30);
    own.setFilters({ crossfade });
    own.play(high);
    await own.tick(FADE_FRAMES + 50);
    const [first, last] = own.changed([low, high]);
    expect(first).toBeGreaterThanOrEqual(29);
    expect(last - first).toBeLessThanOrEqual(FADE_FRAMES + 8);
    const rest = own.voice.frames.slice(last + 1);
    // They end where the position says that the song is.
    const end = Math.round((own.player.position!.positionMs + 6.5) / FRAME_MS);
    expect(end).toBeLessThanOrEqual(FADE_FRAMES + 50);
    expect(end).toBeGreaterThan(FADE_FRAMES + 40);
    expect(rest.length).toBeGreaterThan(40);
    expect(rest).toEqual(high.packets.slice(end - rest.length, end).map(({ data }) => data));
  });

  it("a replaced track plays at full volume until the next one is ready", async () => {
    await playFor(low, 20);
    let arrive: (song: ToneSong) => void = () => undefined;
    own.play(() => new Promise((resolve) => (arrive = resolve)));
    // An odd number: where packets of another encoder follow, a window begins.
    await own.tick(31);
    expect(levelsOf(await own.received(), low.hz).at(-1)).toBeGreaterThan(0.97);
    expect(own.player.position).toMatchObject({ trackId: 2, positionMs: 0, rate: 0 });
    arrive(high);
    await own.tick(FADE_FRAMES + 10);
    expectCrossing(await expectFlawless(), [low, high]);
  });

  it("a replaced track fades out when the next one cannot be played", async () => {
    await playFor(low, 20);
    own.play(() => Promise.reject(new NodeError("input-not-found", "nothing there")));
    await own.tick(FADE_FRAMES + 20);
    expect(own.events.map(({ type }) => type)).toContain("trackException");
    expect(own.ends).toEqual(["2 loadFailed"]);
    const levels = levelsOf(await expectFlawless(), low.hz);
    const steps = levels.slice(1).map((level, index) => level - levels[index]!);
    expect(Math.min(...steps.slice(8))).toBeGreaterThan(-0.15);
    expect(own.voice.log.slice(-6)).toEqual(["silence", "silence", "silence", "silence", "silence", "stop"]);
    expect(own.demuxers[0]?.isClosed).toBe(true);
  });

  it("a replaced track is what the track after a failed one fades in over", async () => {
    await playFor(low, 20);
    own.play(() => Promise.reject(new NodeError("input-not-found", "nothing there")));
    await own.tick(5);
    own.play(high);
    await own.tick(FADE_FRAMES + 10);
    const received = await expectFlawless();
    const both = levelsOf(received, low.hz).filter(
      (level, at) => level > 0.3 && levelsOf(received, high.hz)[at]! > 0.3,
    );
    expect(both.length).toBeGreaterThan(5);
    expect(own.voice.log).not.toContain("silence");
  });

  it("a replaced track keeps fading out when the next one stalls, whose position then stands still", async () => {
    await playFor(low, 20);
    let arrive = (): void => undefined;
    own.onOpen = (demuxer) => demuxer.holdAt(15, new Promise((resolve) => (arrive = resolve)));
    own.play(high);
    await own.tick(30);
    expect(own.player.position?.rate).toBe(0);
    const stalled = own.player.position!.positionMs;
    expect(stalled).toBeGreaterThan(200);
    arrive();
    await own.tick(4);
    expect(own.player.position?.rate).toBe(1);
    expect(own.player.position!.positionMs).toBeGreaterThan(stalled);
    await own.tick(FADE_FRAMES);
    expect(own.voice.log).not.toContain("silence");
    const received = await own.received();
    expect(findGaps(received.subarray(2400))).toEqual([]);
    expect(levelsOf(received, high.hz).at(-1)).toBeGreaterThan(0.97);
  });

  it("a replaced track that stalls ends without a click, and the next one keeps fading in", async () => {
    own.onOpen = (demuxer) => demuxer.holdAt(60, new Promise(() => undefined));
    await playFor(low, 40);
    own.onOpen = () => undefined;
    own.play(high);
    await own.tick(FADE_FRAMES + 20);
    const received = await expectFlawless();
    expect(levelsOf(received, high.hz).at(-1)).toBeGreaterThan(0.97);
    expect(own.voice.log).not.toContain("silence");
  });

  it("a replaced track ends at once when the next one starts paused", async () => {
    await playFor(low, 20);
    own.play(high, { isPaused: true });
    await own.tick(20);
    expect(own.voice.log.at(-1)).toBe("stop");
    expect(own.demuxers[0]?.isClosed).toBe(true);
    own.player.pause(false);
    await own.tick(20);
    expect(levelsOf(await own.received(), low.hz).at(-1)).toBeLessThan(0.02);
  });
});

describe.each([{ crossfade }, {}])("crossfade with %j", (tonearm) => {
  beforeEach(() => own.setFilters(tonearm));

  it("a track that is replaced while it is paused is not played again", async () => {
    await playFor(low, 20);
    own.player.pause(true);
    await own.tick(20);
    const before = own.frameCount;
    // As clients do it: the new track takes the pause back.
    own.player.pause(false);
    let arrive: (song: ToneSong) => void = () => undefined;
    own.play(() => new Promise((resolve) => (arrive = resolve)));
    await own.tick(20);
    expect(own.frameCount).toBe(before);
    expect(own.demuxers[0]?.isClosed).toBe(true);
    arrive(high);
    await own.tick(20);
    expect(own.frameCount).toBeGreaterThan(before + 15);
  });

  it("a track that is replaced before it was audible is never played", async () => {
    await playFor(low, 20);
    let arrive: (song: ToneSong) => void = () => undefined;
    own.play(() => new Promise((resolve) => (arrive = resolve)));
    await own.tick(5);
    own.play(high);
    arrive(middle);
    await own.tick(FADE_FRAMES + 20);
    const received = await own.received();
    expect(Math.max(...levelsOf(received.subarray(20 * 960), middle.hz))).toBeLessThan(0.05);
    expect(levelsOf(received, high.hz).at(-1)).toBeGreaterThan(0.97);
  });
});

describe("a third track", () => {
  it("a third track fades in over the second, when that is the louder one; the first makes space", async () => {
    await playFor(low, 20);
    own.play(middle);
    await own.tick(FADE_FRAMES - 16);
    const replacedAt = own.frameCount;
    own.play(high);
    await own.tick(FADE_FRAMES + 20);
    const received = await expectFlawless();
    const levels = [low, middle, high].map(({ hz }) => levelsOf(received, hz));
    const count = levels[0]!.map((_, at) => levels.filter((song) => song[at]! > 0.05).length);
    expect(count.filter((songs) => songs === 3).length).toBeLessThanOrEqual(1);
    expect(levels[1]!.some((level, at) => level > 0.5 && levels[2]![at]! > 0.5)).toBe(true);
    // 100 ms until there is space.
    expect(levels[2]!.findIndex((level) => level > 0.05) - replacedAt / 2).toBeLessThanOrEqual(6);
    expect(levels[2]!.at(-1)).toBeGreaterThan(0.97);
    expect(own.demuxers.slice(0, 2).map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });

  it("a third track fades in over the first, when the second was hardly audible", async () => {
    await playFor(low, 20);
    own.play(middle);
    await own.tick(8);
    own.play(high);
    await own.tick(FADE_FRAMES + 20);
    const received = await expectFlawless();
    const levels = [low, middle, high].map(({ hz }) => levelsOf(received, hz));
    expect(Math.max(...levels[1]!)).toBeLessThan(0.4);
    expect(levels[0]!.some((level, at) => level > 0.4 && levels[2]![at]! > 0.4)).toBe(true);
    expect(levels[2]!.at(-1)).toBeGreaterThan(0.97);
  });
});

it("tracks that are replaced before they are audible are all closed", async () => {
  await playFor(low, 20);
  own.play(middle);
  await own.tick(8);
  for (const song of [high, middle, high]) own.play(song);
  await own.tick(FADE_FRAMES + 20);
  expect(own.demuxers.filter(({ isClosed }) => !isClosed).length).toBe(1);
  expect(levelsOf(await expectFlawless(), high.hz).at(-1)).toBeGreaterThan(0.97);
});

describe("the natural end with crossfade", () => {
  it("the end is reported when the song begins to fade out, and the rest plays when nothing follows", async () => {
    own.play(low);
    await own.settle();
    while (own.ends.length === 0) await own.tick(1);
    expect(own.ends).toEqual(["1 finished"]);
    // A frame is made before it is sent.
    expect(Math.abs(own.frameCount - (SONG_FRAMES - FADE_FRAMES))).toBeLessThanOrEqual(2);
    expect(own.player.position).toBeUndefined();
    expect(own.player.isPlaying).toBe(false);
    await own.tick(FADE_FRAMES + 10);
    expect(Math.abs(own.frameCount - SONG_FRAMES)).toBeLessThanOrEqual(1);
    const levels = levelsOf(await expectFlawless(), low.hz);
    const start = levels.length - FADE_WINDOWS;
    for (let window = 1; window < FADE_WINDOWS - 1; window++) {
      const expected = Math.cos((((window + 0.5) / FADE_WINDOWS) * Math.PI) / 2);
      expect(Math.abs(levels[start + window]! - expected)).toBeLessThan(LEVEL_ERROR_MAX);
    }
    expect(own.voice.log.slice(-6)).toEqual(["silence", "silence", "silence", "silence", "silence", "stop"]);
    expect(own.clock.pendingCount).toBe(0);
    expect(own.events.filter(({ type }) => type === "trackEnded" || type === "trackException").length).toBe(1);
  });

  it("the end lets the track that is started on it fade in over the rest", async () => {
    own.play(low);
    await own.settle();
    while (own.ends.length === 0) await own.tick(1);
    own.play(high);
    await own.tick(FADE_FRAMES + 20);
    // It begins some frames after the other one's fade out, and fades in within the remaining time.
    expectCrossing(await expectFlawless(), [low, high], 0.1);
    expect(own.voice.log).not.toContain("silence");
    expect(own.player.position).toMatchObject({ trackId: 2, rate: 1 });
  });

  it("songs one after the other all play, each over the previous one, with Opus passed through between", async () => {
    const songs = [low, high, low, high];
    for (const song of songs) {
      own.play(song);
      const ends = own.ends.length;
      while (own.ends.length === ends) await own.tick(1);
    }
    await own.tick(FADE_FRAMES + 10);
    const expected = songs.length * SONG_FRAMES - (songs.length - 1) * FADE_FRAMES;
    expect(Math.abs(own.frameCount - expected)).toBeLessThanOrEqual(3 * songs.length);
    await expectFlawless();
    expect(own.ends).toEqual(["1 finished", "2 finished", "3 finished", "4 finished"]);
    expect(own.voice.log.filter((entry) => entry === "silence").length).toBe(5);
  });

  it("the configured end time counts as the end", async () => {
    own.play(low, { endMs: 2000 });
    await own.settle();
    while (own.ends.length === 0) await own.tick(1);
    expect(Math.abs(own.frameCount * FRAME_MS - (2000 - crossfade.duration))).toBeLessThanOrEqual(2 * FRAME_MS);
    await own.tick(FADE_FRAMES + 10);
    expect(Math.abs(own.frameCount * FRAME_MS - 2000)).toBeLessThanOrEqual(FRAME_MS);
    await expectFlawless();
  });

  it("the end comes as early in played time with timescale", async () => {
    own.setFilters({ crossfade }, { timescale: { speed: 1.5, pitch: 1, rate: 1 } });
    own.play(pcmSong(425, 180));
    await own.settle();
    while (own.ends.length === 0) await own.tick(1);
    const early = own.frameCount;
    expect(Math.abs(early - (120 - FADE_FRAMES))).toBeLessThanOrEqual(3);
    await own.tick(FADE_FRAMES + 20);
    expect(Math.abs(own.frameCount - 120)).toBeLessThanOrEqual(2);
  });

  it("the end comes at once after a seek into the last part, which still plays", async () => {
    await playFor(low, 20);
    own.player.seek({ type: "seek", playerId: 1, trackId: 1, seekId: 1, positionMs: 2600 });
    await own.tick(4);
    expect(own.ends).toEqual(["1 finished"]);
    await own.tick(40);
    expect(Math.abs(own.frameCount - 40)).toBeLessThanOrEqual(3);
    expect(own.voice.log.at(-1)).toBe("stop");
  });

  it("the end does not come while paused", async () => {
    await playFor(low, 20);
    own.player.pause(true);
    own.player.seek({ type: "seek", playerId: 1, trackId: 1, seekId: 1, positionMs: 2600 });
    await own.tick(20);
    expect(own.ends).toEqual([]);
    own.player.pause(false);
    await own.tick(3);
    expect(own.ends).toEqual(["1 finished"]);
  });

  it("the end of a stream comes without a fade", async () => {
    own.play(low, { lengthMs: undefined });
    await own.settle();
    await own.tick(SONG_FRAMES - 5);
    expect(own.ends).toEqual([]);
    await own.tick(10);
    expect(own.ends).toEqual(["1 finished"]);
    expect(own.changed([low])).toEqual([-1, -1]);
  });
});

describe("two audible songs", () => {
  beforeEach(async () => {
    await playFor(low, 20);
    own.play(high);
    await own.tick(20);
  });

  it("a pause holds both audible songs, and both continue after it", async () => {
    own.player.pause(true);
    await own.tick(50);
    expect(own.voice.log.slice(-6)).toEqual(["silence", "silence", "silence", "silence", "silence", "stop"]);
    const before = own.frameCount;
    own.player.pause(false);
    await own.tick(10);
    const received = (await own.received()).subarray(before * 960);
    expect(levelsOf(received, low.hz)[1]).toBeGreaterThan(0.4);
    expect(levelsOf(received, high.hz)[1]).toBeGreaterThan(0.4);
  });

  it("a stop silences both audible songs at once", async () => {
    const before = own.frameCount;
    own.player.stop();
    await own.tick(10);
    expect(own.frameCount).toBe(before);
    expect(own.voice.log.slice(-6)).toEqual(["silence", "silence", "silence", "silence", "silence", "stop"]);
    expect(own.demuxers.map(({ isClosed }) => isClosed)).toEqual([true, true]);
    expect(own.ends).toEqual([]);
  });

  it("a lost voice connection holds both audible songs, and both continue when it is back", async () => {
    const before = own.frameCount;
    own.voice.gate = "down";
    await own.tick(20);
    expect(own.frameCount).toBe(before);
    own.voice.gate = "send";
    own.player.onVoiceStatus({ isConnected: true, isReady: true, pingMs: 1 });
    await own.tick(FADE_FRAMES + 10);
    expectCrossing(await expectFlawless(), [low, high]);
  });

  it("volume and filters apply to both audible songs", async () => {
    own.player.setVolume(50);
    own.setFilters({ crossfade }, { volume: 0.5 });
    await own.tick(4);
    const gain = Math.floor(Math.tan(0.0079 * 50) * 10_000) / 10_000;
    const before = own.frameCount;
    await own.tick(4);
    const received = (await own.received()).subarray(before * 960);
    const power = (levelsOf(received, low.hz)[0] ?? 0) ** 2 + (levelsOf(received, high.hz)[0] ?? 0) ** 2;
    expect(Math.sqrt(power)).toBeCloseTo(gain * Math.tan(0.79 * 0.5), 1);
  });

  it("a seek works in the new one of two audible songs", async () => {
    own.player.seek({ type: "seek", playerId: 1, trackId: 2, seekId: 1, positionMs: 100 });
    await own.tick(4);
    expect(own.player.position!.positionMs).toBeGreaterThan(100);
    expect(own.player.position!.positionMs).toBeLessThan(200);
    await own.tick(FADE_FRAMES);
    expect(findGaps((await own.received()).subarray(2400, -2400))).toEqual([]);
    const [, last] = own.changed([low, high]);
    expect(own.frameCount - last).toBeGreaterThan(5);
  });

  it("turning crossfade off lets both audible songs finish their crossfade", async () => {
    own.setFilters({});
    await own.tick(FADE_FRAMES);
    expectCrossing(await expectFlawless(), [low, high]);
  });

  it("the end of the new song leaves the rest of the old one to be played", async () => {
    own.player.setEnd(2, own.player.position!.positionMs + 60);
    own.setFilters({});
    await own.tick(6);
    expect(own.ends).toEqual(["2 finished"]);
    await own.tick(3);
    expect(levelsOf((await own.received()).subarray(-1920), low.hz)[0]).toBeGreaterThan(0.2);
    await own.tick(FADE_FRAMES);
    expect(own.voice.log.at(-1)).toBe("stop");
    const received = await own.received();
    expect(findGaps(received.subarray(2400, -4800))).toEqual([]);
    const levels = levelsOf(received, low.hz);
    const steps = levels.slice(1).map((level, index) => Math.abs(level - levels[index]!));
    expect(Math.max(...steps.slice(8))).toBeLessThan(0.1);
  });
});

it("the rest of a song that has no voice connection is given up after a minute", async () => {
  own.play(low);
  await own.settle();
  while (own.ends.length === 0) await own.tick(1);
  own.voice.gate = "down";
  for (let passedMs = 0; passedMs < 61_000; passedMs += 500) {
    own.clock.advance(500);
    own.player.checkHealth({ hasOthers: false, threadLoad: 0 });
  }
  expect(own.demuxers[0]?.isClosed).toBe(true);
  expect(own.ends).toEqual(["1 finished"]);
});
