// Pipelines of one worker that play the same track with the same settings share its frames. The control is the same
// playback alone.

import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { findClicks, findGaps } from "../../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../../lab/listen/received.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { type CodecSupply, Codecs } from "../../../../src/media/pipeline/codecs.ts";
import type { Pipeline, PipelineOptions } from "../../../../src/media/pipeline/pipeline.ts";
import { FrameShares } from "../../../../src/media/pipeline/shared-frames.ts";
import { SharedStreams } from "../../../../src/media/probe/shared-streams.ts";
import { AheadPlayer } from "../../../support/ahead-player.ts";
import { filterSettings, tonearmFilter } from "../../../support/filter-settings.ts";
import { createPipeline } from "../../../support/pipelines.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { createOpusSong, PCM_SONG, SONG_MS, type TakeableSong, wordsOf } from "../../../support/takeable-songs.ts";

const AHEAD_FRAMES = 5;
const SONG_FRAMES = SONG_MS / 20;
const FRAME_SAMPLES = 960;

const opened: Pipeline[] = [];
let song: TakeableSong;
let codecs: Codecs;

beforeAll(async () => {
  codecs = new Codecs({ complexity: 1, bitrateBps: 128_000, encoder: "tonearm" });
  song = await createOpusSong();
});

afterEach(() => {
  for (const pipeline of opened.splice(0)) pipeline.close();
});

/** Players of one worker, and how many decoders they have requested together. */
class Worker {
  readonly #shares = new FrameShares();
  decoderCount = 0;
  readonly #codecs: CodecSupply = {
    createDecoder: (stream, parts) => {
      this.decoderCount += 1;
      return codecs.createDecoder(stream, parts);
    },
    acquireEncoder: () => codecs.acquireEncoder(),
    releaseEncoder: (encoder) => codecs.releaseEncoder(encoder),
  };

  start(options: Partial<PipelineOptions> = {}, demuxer = new ScriptedDemuxer(song)): AheadPlayer {
    const pipeline = createPipeline(demuxer, {
      codecs: this.#codecs,
      shares: this.#shares,
      lengthMs: SONG_MS,
      volume: 50,
      ...options,
    });
    opened.push(pipeline);
    return new AheadPlayer(pipeline, AHEAD_FRAMES);
  }
}

/** A worker whose players listen to a station, which plays the song four times. */
class StationWorker extends Worker {
  readonly #streams = new SharedStreams({
    clock: systemClock,
    openTrack: async () => ({ demuxer: longSong({ isSeekable: false }), isStation: true }),
  });

  tuneIn(options: Partial<PipelineOptions> = {}): AheadPlayer {
    return this.start({
      input: { kind: "http", url: "http://station.example/live", container: undefined },
      lengthMs: undefined,
      open: (input, work) => this.#streams.open(input, work),
      ...options,
    });
  }
}

/** The song four times. */
function longSong({ isSeekable = true } = {}): ScriptedDemuxer {
  const packets = [0, 1, 2, 3].flatMap((time) =>
    song.packets.map((packet) => ({ ...packet, timestampMs: packet.timestampMs + time * SONG_MS })),
  );
  return new ScriptedDemuxer({ stream: song.stream, packets, isSeekable });
}

/** Frames of the song, played alone. */
async function playAlone(options: Partial<PipelineOptions> = {}): Promise<AheadPlayer> {
  const player = new Worker().start(options);
  await player.play();
  return player;
}

async function playAll(players: readonly AheadPlayer[], frames?: number): Promise<void> {
  const rounds = frames ?? SONG_FRAMES + 10;
  for (let round = 0; round < rounds; round++) await Promise.all(players.map((player) => player.play(1)));
}

/** The first sample of a frame that differs audibly from the same song at this volume; undefined without one. */
async function hearDifference(player: AheadPlayer, control: AheadPlayer, fromFrame = 0): Promise<number | undefined> {
  const [received, expected] = [await decodeReceived(player.sent), await decodeReceived(control.sent)];
  for (let sample = fromFrame * FRAME_SAMPLES; sample < expected.left.length; sample++) {
    const difference = Math.abs((received.left[sample] ?? 1) - expected.left[sample]!);
    if (difference > 0.03) return sample;
  }
  return undefined;
}

async function expectNoFaults(player: AheadPlayer): Promise<void> {
  const { left } = await decodeReceived(player.sent);
  expect(findClicks(left.subarray(FRAME_SAMPLES))).toEqual([]);
  expect(findGaps(left)).toEqual([]);
}

describe("pipelines that play the same track with the same settings", () => {
  it("three pipelines send the frames of one decoder and encoder, as one alone would have made them", async () => {
    const control = await playAlone();
    const worker = new Worker();
    const players = [worker.start(), worker.start(), worker.start()];
    await playAll(players);
    expect(worker.decoderCount).toBe(1);
    for (const { sent, sentMs, pipeline } of players) {
      expect(wordsOf(sent)).toEqual(wordsOf(control.sent));
      expect(sentMs).toBe(control.sentMs);
      expect(pipeline.isEnded).toBe(true);
    }
  });

  it("a pipeline that starts seconds later sends the same frames", async () => {
    const control = await playAlone();
    const worker = new Worker();
    const first = worker.start();
    await first.play(150);
    const second = worker.start();
    await playAll([first, second]);
    expect(worker.decoderCount).toBe(1);
    expect(wordsOf(second.sent)).toEqual(wordsOf(control.sent));
  });

  it("a pipeline that starts more than five seconds later makes its frames itself", async () => {
    const worker = new Worker();
    const options = { lengthMs: 4 * SONG_MS };
    const first = worker.start(options, longSong());
    await first.play(240);
    const second = worker.start(options, longSong());
    await second.play(1);
    await playAll([first, second], 20);
    expect(worker.decoderCount).toBe(1);
    await playAll([first, second, worker.start(options, longSong())], 20);
    expect(worker.decoderCount).toBe(2);
  });

  it("frames that any of them rewinds are sent again bit for bit", async () => {
    const control = await playAlone();
    const worker = new Worker();
    const random = seededRandom(4);
    const players = [worker.start(), worker.start(), worker.start()];
    let rewoundCount = 0;
    for (let round = 0; round < SONG_FRAMES; round++) {
      await playAll(players, 1);
      const player = players[Math.floor(random() * players.length)]!;
      const expected = 1 + Math.floor(random() * AHEAD_FRAMES);
      const positionMs = player.positionBefore(expected);
      const count = player.rewind(expected);
      rewoundCount += count;
      if (count === expected) expect(player.pipeline.positionMs).toBe(positionMs);
    }
    await playAll(players);
    expect(rewoundCount).toBeGreaterThan(SONG_FRAMES);
    expect(worker.decoderCount).toBe(1);
    for (const { sent } of players) expect(wordsOf(sent)).toEqual(wordsOf(control.sent));
  });

  it("settings that come before the first frame count as those of the start", async () => {
    const worker = new Worker();
    const players = [worker.start({ volume: 100 }), worker.start({ volume: 70 })];
    players[0]!.pipeline.setVolume(70);
    for (const { pipeline } of players) pipeline.setFilters(filterSettings({ equalizer: [{ band: 1, gain: 0.2 }] }));
    await playAll(players, 20);
    expect(worker.decoderCount).toBe(1);
    expect(wordsOf(players[0]!.sent)).toEqual(wordsOf(players[1]!.sent));
  });

  it("filters that are set and do nothing do not keep frames from being shared", async () => {
    const filters = filterSettings({ timescale: { speed: 1 }, rotation: { rotationHz: 0 } });
    expect(Object.keys(filters)).toEqual(["timescale", "rotation"]);
    const worker = new Worker();
    await playAll([worker.start({ filters }), worker.start({ filters })], 20);
    expect(worker.decoderCount).toBe(1);
  });

  it.each<[string, Partial<PipelineOptions>]>([
    ["another volume", { volume: 51 }],
    ["a filter", { filters: filterSettings({ equalizer: [{ band: 1, gain: 0.2 }] }) }],
    ["another start", { startMs: 1000 }],
    ["another input", { input: { kind: "local", path: "/other", container: undefined } }],
  ])("a pipeline with %s makes its frames itself", async (_name, options) => {
    const worker = new Worker();
    const control = await playAlone(options);
    const players = [worker.start(), worker.start(options)];
    await playAll(players);
    expect(worker.decoderCount).toBe(2);
    expect(wordsOf(players[1]!.sent)).toEqual(wordsOf(control.sent));
  });

  it.each<[string, Partial<PipelineOptions>]>([
    ["a filter with a phase", { filters: filterSettings({ rotation: { rotationHz: 0.5 } }) }],
    ["an echo", { filters: tonearmFilter("echo") }],
    ["a stream that is read alone", { lengthMs: undefined }],
  ])("nothing is shared with %s", async (_name, options) => {
    const worker = new Worker();
    await playAll([worker.start(options), worker.start(options)], 20);
    expect(worker.decoderCount).toBe(2);
  });

  it("uncompressed audio, whose packets are large, is not shared", async () => {
    const worker = new Worker();
    const players = [1, 2].map(() => worker.start({}, new ScriptedDemuxer(PCM_SONG)));
    await playAll(players, 20);
    expect(worker.decoderCount).toBe(2);
  });
});

describe("a pipeline that leaves the others", () => {
  it.each([
    ["the one that makes the frames", 0],
    ["one that follows", 1],
    ["one that follows far behind", 2],
  ])("its volume changes at once and without a click, and nobody else's: %s", async (_name, index) => {
    const control = await playAlone();
    const worker = new Worker();
    const players = [worker.start(), worker.start()];
    await playAll(players, 60);
    players.push(worker.start());
    await playAll(players, 60);
    const changed = players[index]!;
    const startFrame = changed.sent.length;
    changed.pipeline.setVolume(100);
    changed.rewind();
    await playAll(players);
    for (const player of players) {
      await expectNoFaults(player);
      if (player !== changed) expect(await hearDifference(player, control)).toBe(undefined);
      expect(player.sentMs).toBeCloseTo(control.sentMs, 0);
    }
    // 10 ms of ramp, and the frame of the encoder's overlap.
    const loud = await playAlone({ volume: 100.0001 });
    expect(await hearDifference(changed, loud, startFrame + 2)).toBe(undefined);
    expect(await hearDifference(changed, control)).toBeGreaterThanOrEqual(startFrame * FRAME_SAMPLES);
  });

  it("the one that makes the frames leaves at its own position, where another is ahead of it", async () => {
    const worker = new Worker();
    const players = [worker.start(), worker.start()];
    await playAll(players, 60);
    await players[1]!.play(4);
    const [maker] = players;
    const startFrame = maker!.sent.length;
    maker!.pipeline.setVolume(100);
    maker!.rewind();
    await playAll(players);
    await expectNoFaults(maker!);
    expect(await hearDifference(maker!, await playAlone({ volume: 100.0001 }), startFrame + 12)).toBe(undefined);
    expect(worker.decoderCount).toBe(2);
  });

  it("a filter changes without a click", async () => {
    const worker = new Worker();
    const players = [worker.start(), worker.start()];
    await playAll(players, 60);
    const filters = filterSettings({ equalizer: [{ band: 0, gain: 0.5 }] });
    players[1]!.pipeline.setFilters(filters);
    players[1]!.rewind();
    await playAll(players);
    for (const player of players) await expectNoFaults(player);
    expect(await hearDifference(players[1]!, await playAlone({ filters }), 64)).toBe(undefined);
  });

  it("settings that are the same are no change", async () => {
    const worker = new Worker();
    const players = [worker.start(), worker.start()];
    await playAll(players, 30);
    players[1]!.pipeline.setVolume(50);
    players[1]!.pipeline.setFilters({});
    await playAll(players, 30);
    expect(worker.decoderCount).toBe(1);
  });

  it.each([
    ["the one that makes the frames", 0],
    ["one that follows", 1],
  ])("it seeks without a click while the others play on: %s", async (_name, index) => {
    const control = await playAlone();
    const worker = new Worker();
    const players = [worker.start(), worker.start(), worker.start()];
    await playAll(players, 60);
    const seeking = players[index]!;
    seeking.pipeline.seek(3000);
    await playAll(players);
    for (const player of players) {
      await expectNoFaults(player);
      expect(player.sentMs).toBeCloseTo(control.sentMs, 0);
      if (player !== seeking) expect(player.sent.length).toBe(control.sent.length);
    }
    expect(seeking.sent.length).toBeLessThan(SONG_FRAMES - 30);
  });

  it("when the one that makes the frames stops, one other takes its place, and nobody hears it", async () => {
    const control = await playAlone();
    const worker = new Worker();
    const players = Array.from({ length: 5 }, () => worker.start());
    await playAll(players, 60);
    players[0]!.pipeline.close();
    const others = players.slice(1);
    await playAll(others);
    expect(worker.decoderCount).toBe(2);
    for (const player of others) {
      await expectNoFaults(player);
      expect(await hearDifference(player, control)).toBe(undefined);
      expect(wordsOf(player.sent)).toEqual(wordsOf(others[0]!.sent));
    }
  });

  it("nobody waits for the one that was to take that place, and was paused", async () => {
    const worker = new Worker();
    const players = Array.from({ length: 3 }, () => worker.start());
    await playAll(players, 60);
    players[0]!.pipeline.close();
    while (players[1]!.pipeline.produce() !== undefined);
    await players[2]!.play(60);
    expect(players[2]!.sent).toHaveLength(120);
  });

  it("when the one that makes the frames is paused, the others play on", async () => {
    const control = await playAlone();
    const worker = new Worker();
    const players = Array.from({ length: 4 }, () => worker.start());
    await playAll(players, 60);
    await playAll(players.slice(1), 60);
    await playAll(players);
    expect(worker.decoderCount).toBe(2);
    for (const player of players) {
      expect(await hearDifference(player, control)).toBe(undefined);
      expect(player.sent.length).toBe(control.sent.length);
    }
  });

  it("a pipeline that was paused for more than ten seconds continues where it stopped, with its own frames", async () => {
    const worker = new Worker();
    const options = { lengthMs: 4 * SONG_MS };
    const players = [1, 2].map(() => worker.start(options, longSong()));
    await playAll(players, 60);
    await players[0]!.play(600);
    expect(worker.decoderCount).toBe(1);
    await playAll(players, 100);
    expect(worker.decoderCount).toBe(2);
    const control = new Worker().start(options, longSong());
    await control.play(160);
    expect(await hearDifference(players[1]!, control)).toBe(undefined);
  });

  it("when the input of the one that makes the frames stalls, the others play on, and it goes on with them", async () => {
    const control = await playAlone();
    const worker = new Worker();
    const stalling = new ScriptedDemuxer(song);
    stalling.holdAt(60, new Promise(() => undefined));
    const players = [worker.start({}, stalling), worker.start(), worker.start()];
    await playAll(players);
    for (const player of players.slice(1)) {
      expect(player.sent.length).toBe(control.sent.length);
      expect(await hearDifference(player, control)).toBe(undefined);
    }
  });

  it("when its track fails, the others play on", async () => {
    const control = await playAlone();
    const worker = new Worker();
    const failing = new ScriptedDemuxer(song);
    failing.failAt(100, new Error("connection lost"));
    const failures: unknown[] = [];
    const players = [worker.start({ onFailure: (error) => failures.push(error) }, failing), worker.start()];
    await playAll(players);
    expect(failures).toHaveLength(1);
    expect(players[0]!.pipeline.isEnded).toBe(true);
    expect(players[1]!.sent.length).toBe(control.sent.length);
    expect(await hearDifference(players[1]!, control)).toBe(undefined);
  });

  it("a track that ends too early does not end the others, who miss no more than 20 ms", async () => {
    const control = await playAlone();
    const worker = new Worker();
    const cut = new ScriptedDemuxer({ ...song, packets: song.packets.slice(0, 100) });
    const players = [worker.start({}, cut), worker.start()];
    await playAll(players);
    expect(players[1]!.sent.length).toBe(control.sent.length);
    expect(await hearDifference(players[1]!, control)).toBeGreaterThanOrEqual(100 * FRAME_SAMPLES);
    expect(await hearDifference(players[1]!, control, 102)).toBe(undefined);
  });
});

describe("a station", () => {
  /** Where the frames of a player lie in those of another. */
  function offsetIn(whole: AheadPlayer, part: AheadPlayer): number {
    const [words, first] = [wordsOf(whole.sent), wordsOf(part.sent)[0] ?? ""];
    return words.indexOf(first);
  }

  it("players that tune in at any time send the frames of one decoder and encoder", async () => {
    const worker = new StationWorker();
    const first = worker.tuneIn();
    await first.play(300);
    const second = worker.tuneIn();
    await playAll([first, second], 100);
    const third = worker.tuneIn();
    await playAll([first, second, third], 150);
    expect(worker.decoderCount).toBe(1);
    for (const player of [second, third]) {
      const offset = offsetIn(first, player);
      expect(offset).toBeGreaterThan(100);
      const sameFrames = first.sent.slice(offset, offset + player.sent.length);
      expect(wordsOf(player.sent)).toEqual(wordsOf(sameFrames));
      // At most the part of a packet before the frame is missing.
      expect(player.sentMs - 20 * player.sent.length).toBeGreaterThanOrEqual(0);
      expect(player.sentMs - 20 * player.sent.length).toBeLessThan(20);
    }
  });

  it.each([
    ["the first changes its volume", 0, false],
    ["the second changes its volume", 1, false],
    ["the first stops", 0, true],
  ])("nobody hears a click when %s", async (_name, index, isStop) => {
    const worker = new StationWorker();
    const players = [worker.tuneIn()];
    await playAll(players, 100);
    players.push(worker.tuneIn(), worker.tuneIn());
    await playAll(players, 60);
    const changed = players[index]!;
    if (isStop) changed.pipeline.close();
    else changed.pipeline.setVolume(100);
    const sounding = players.filter((player) => player !== changed || !isStop);
    for (const player of sounding) player.rewind();
    await playAll(sounding, 100);
    expect(worker.decoderCount).toBe(2);
    for (const player of sounding) await expectNoFaults(player);
  });

  it("players that do not change anything are not joined where a filter has a phase", async () => {
    const worker = new StationWorker();
    const filters = filterSettings({ rotation: { rotationHz: 0.5 } });
    await playAll([worker.tuneIn({ filters }), worker.tuneIn({ filters })], 20);
    expect(worker.decoderCount).toBe(2);
  });
});
