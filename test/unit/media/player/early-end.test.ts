// Tracks that end long before their length: over scripted demuxers and decoders, with a listener.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PlayCommand } from "../../../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../../../src/bridge/events.ts";
import { NodeError } from "../../../../src/errors.ts";
import { EMPTY_BLOCK } from "../../../../src/media/decode/damage-limit.ts";
import type { Decoder } from "../../../../src/media/decode/decoder.ts";
import type { AudioCodec, AudioStream, Packet } from "../../../../src/media/format/packet.ts";
import { Codecs } from "../../../../src/media/pipeline/codecs.ts";
import type { AudioPlayer } from "../../../../src/media/player/audio-player.ts";
import {
  connectPlayer,
  createAudioPlayer,
  playCommand,
  readAhead,
  tickFrames,
} from "../../../support/audio-players.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { NUMBERED_STREAM, numberedPackets } from "../../../support/numbered-packets.ts";
import {
  createBlock,
  createPackets,
  createScriptedDecoder,
  SCRIPTED_STREAM,
} from "../../../support/scripted-decoder.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { UndiagnosedVoice } from "../../../support/undiagnosed-voice.ts";

class ListeningVoice extends UndiagnosedVoice {
  readonly gate = "send";
  frames = 0;

  async connect(): Promise<void> {}

  sendFrame(): boolean {
    this.frames += 1;
    return true;
  }

  sendSilence(): void {}

  stopSpeaking(): void {}

  close(): void {}
}

interface Song {
  readonly packets: readonly Packet[];
  readonly stream?: AudioStream;
  readonly decoder?: Decoder;
  readonly failsAt?: number;
}

let clock: FakeClock;
let voice: ListeningVoice;
let player: AudioPlayer;
let events: WorkerEvent[];
let song: Song;
const ours = new Codecs({ complexity: 0, bitrateBps: 64_000, encoder: "tonearm" });

beforeEach(async () => {
  clock = new FakeClock();
  voice = new ListeningVoice();
  events = [];
  player = createAudioPlayer({
    clock,
    voice,
    open: async () => {
      const demuxer = new ScriptedDemuxer({ stream: song.stream ?? SCRIPTED_STREAM, packets: song.packets });
      if (song.failsAt !== undefined) demuxer.failAt(song.failsAt, new NodeError("input-interrupted", "cut"));
      return demuxer;
    },
    codecs: {
      createDecoder: async () => song.decoder ?? createScriptedDecoder(),
      acquireEncoder: () => ours.acquireEncoder(),
      releaseEncoder: (encoder) => ours.releaseEncoder(encoder),
    },
    send: (event) => events.push(event),
  });
  await connectPlayer(player);
});
afterEach(() => player.close());

/** A song of `packets` packets, all 20 ms, played to its end. */
async function play(played: Song, changes: Partial<PlayCommand> = {}): Promise<void> {
  song = played;
  player.play(playCommand(changes));
  await readAhead();
  await toEnd();
}

async function toEnd(): Promise<void> {
  for (let count = 0; count < 600 && !events.some(({ type }) => type === "trackEnded"); count++) {
    await tickFrames(clock, 1);
  }
}

/** What the client, the operator and the log get to know. */
function outcome() {
  const [ended] = events.filter((event) => event.type === "trackEnded");
  const exceptions = events.filter((event) => event.type === "trackException");
  const logs = events.filter((event) => event.type === "log");
  const counts = Object.entries(player.counts.earlyEnds).filter(([, count]) => count > 0);
  return {
    end: ended?.reason,
    exceptions: exceptions.map(({ error }) => error.code),
    reasons: logs.map(({ fields }) => fields.reason),
    counts: Object.fromEntries(counts),
  };
}

const QUIET = { end: "finished", exceptions: [], reasons: [], counts: {} };

function early(reason: string) {
  return { end: "finished", exceptions: [], reasons: [reason], counts: { [reason]: 1 } };
}

function inaudible(reason: string, code: string) {
  return { end: "loadFailed", exceptions: [code], reasons: [reason], counts: { [reason]: 1 } };
}

function streamOf(codec: AudioCodec): AudioStream {
  return { ...SCRIPTED_STREAM, codec };
}

function decoderWithout(isDamaged: (index: number) => boolean): Decoder {
  let index = 0;
  return createScriptedDecoder({ decode: () => (isDamaged(index++) ? EMPTY_BLOCK : createBlock()) });
}

/** 1,000 different bytes each. */
function largePackets(count: number): Packet[] {
  const data = Uint8Array.from({ length: 1000 }, (_, index) => (index * 37) & 255);
  return createPackets(count).map((packet) => ({ ...packet, data }));
}

function silentDecoder(value = 0): Decoder {
  const { channels, ...block } = createBlock();
  for (const channel of channels) channel.fill(value);
  return createScriptedDecoder({ decode: () => ({ ...block, channels }) });
}

describe("a track whose packets end", () => {
  it.each(["passed through", "decoded"])("half of the stated length %s is not an early end, less is", async (way) => {
    const opus = { packets: numberedPackets(100), stream: NUMBERED_STREAM };
    const played = way === "decoded" ? { packets: createPackets(100) } : opus;
    await play(played, { lengthMs: 4000 });
    expect(outcome()).toEqual(QUIET);
    events.length = 0;
    await play(played, { lengthMs: 4100 });
    expect(outcome()).toEqual(early("bytesEnded"));
  });

  it("an early end is logged with what was played and read", async () => {
    await play({ packets: createPackets(50) }, { lengthMs: 4000 });
    const [line] = events.filter((event) => event.type === "log");
    expect(line).toMatchObject({
      level: "warn",
      message: "track ended before half of it was played",
      fields: { reason: "bytesEnded", lengthMs: 4000, packets: 50, undecoded: 0, playerId: 1 },
    });
    expect(line?.fields.playedMs).toBeGreaterThanOrEqual(990);
    expect(line?.fields.playedMs).toBeLessThanOrEqual(1020);
  });

  it("a stream without a length ends whenever it likes", async () => {
    await play({ packets: createPackets(10) });
    expect(outcome()).toEqual(QUIET);
  });

  it("a track that starts in the middle is measured from there", async () => {
    await play({ packets: createPackets(200) }, { startMs: 3500, lengthMs: 4000 });
    expect(outcome()).toEqual(QUIET);
    events.length = 0;
    await play({ packets: createPackets(200) }, { startMs: 3500, lengthMs: 9000 });
    expect(outcome()).toEqual(early("bytesEnded"));
  });

  it("an end time is no early end, and a track that ends long before it is one", async () => {
    await play({ packets: createPackets(200) }, { endMs: 400, lengthMs: 4000 });
    expect(outcome()).toEqual(QUIET);
    events.length = 0;
    await play({ packets: createPackets(20) }, { endMs: 2000, lengthMs: 4000 });
    expect(outcome()).toEqual(early("bytesEnded"));
  });

  it("a track that was sought is not judged", async () => {
    song = { packets: createPackets(100) };
    player.play(playCommand({ lengthMs: 9000 }));
    await readAhead();
    await tickFrames(clock, 5);
    player.seek({ type: "seek", playerId: 1, trackId: 1, seekId: 1, positionMs: 1900 });
    await toEnd();
    expect(outcome()).toEqual(QUIET);
  });

  it("the speed of timescale does not change the judgement", async () => {
    player.setFilters({ timescale: { speed: 3, pitch: 1, rate: 1 } });
    await play({ packets: createPackets(100) }, { lengthMs: 2000 });
    expect(outcome()).toEqual(QUIET);
  });

  it("the part that crossfade plays after the end counts as played", async () => {
    player.setFilters({ pluginFilters: { tonearm: { crossfade: { duration: 1500, curve: "sine" } } } });
    await play({ packets: createPackets(100) }, { lengthMs: 3900 });
    expect(outcome()).toEqual(QUIET);
    expect(voice.frames).toBeLessThan(80);
  });

  it("revoked frames that are made again are not counted twice", async () => {
    song = { packets: createPackets(50) };
    player.play(playCommand({ lengthMs: 4000 }));
    await readAhead();
    for (let volume = 50; volume < 90; volume++) {
      player.setVolume(volume);
      await tickFrames(clock, 1);
    }
    await toEnd();
    expect(outcome()).toEqual(early("bytesEnded"));
  });

  it("a failure that was reported is counted as an exception, unless nothing had been audible", async () => {
    await play({ packets: createPackets(200), failsAt: 20 }, { lengthMs: 4000 });
    expect(outcome()).toEqual({ ...early("exception"), exceptions: ["input-interrupted"] });
    events.length = 0;
    player.counts.earlyEnds.exception = 0;
    await play({ packets: createPackets(200), failsAt: 0 }, { lengthMs: 4000 });
    expect(outcome()).toEqual({ ...QUIET, end: "loadFailed", exceptions: ["input-interrupted"] });
  });
});

describe("a track whose packets are not played", () => {
  it("packets that cannot be decoded are named as the reason", async () => {
    await play({ packets: createPackets(200), decoder: decoderWithout((index) => index % 4 > 0) }, { lengthMs: 4000 });
    expect(outcome()).toEqual(early("decoderErrors"));
  });

  it("silence in the place of packets that cannot be decoded is not played audio", async () => {
    let index = 0;
    const conceal = (isAll: boolean) =>
      createScriptedDecoder({ decode: () => ({ ...createBlock(), isConcealed: isAll || index++ % 4 > 0 }) });
    await play({ packets: createPackets(200), decoder: conceal(false) }, { lengthMs: 4000 });
    expect(outcome()).toEqual(early("decoderErrors"));
    events.length = 0;
    player.counts.earlyEnds.decoderErrors = 0;
    await play({ packets: createPackets(200), decoder: conceal(true) }, { lengthMs: 4000 });
    expect(outcome()).toEqual(inaudible("decoderErrors", "media-decode-failed"));
  });

  it("audio that is trimmed is named as the reason", async () => {
    const packets = createPackets(200).map((packet, index) => ({ ...packet, trimEndSamples: index < 5 ? 0 : 960 }));
    await play({ packets }, { lengthMs: 4000 });
    expect(outcome()).toEqual(early("samplesSkipped"));
  });

  it.each(["passed through", "decoded"])("times without packets are skipped audio, %s", async (way) => {
    const isOpus = way === "passed through";
    const all = isOpus ? numberedPackets(200) : createPackets(200);
    const packets = all.filter((_, index) => index < 10 || index > 190);
    await play({ packets, stream: isOpus ? NUMBERED_STREAM : SCRIPTED_STREAM }, { lengthMs: 4000 });
    expect(outcome()).toEqual(early("samplesSkipped"));
  });
});

describe("a track of which nothing is audible", () => {
  it("a track whose packets cannot be decoded fails, also one without a length", async () => {
    for (const lengthMs of [600, undefined]) {
      events.length = 0;
      player.counts.earlyEnds.decoderErrors = 0;
      await play({ packets: createPackets(30), decoder: decoderWithout(() => true) }, { lengthMs });
      expect(outcome()).toEqual(inaudible("decoderErrors", "media-decode-failed"));
      expect(events.find((event) => event.type === "trackException")?.error.message).toBe(
        "decoding the track failed: none of its 30 packets could be decoded, so nothing of the track was audible; check that it plays elsewhere",
      );
    }
  });

  it("a track of concealed packets that ends early for crossfade fails", async () => {
    player.setFilters({ pluginFilters: { tonearm: { crossfade: { duration: 1500, curve: "sine" } } } });
    const decoder = createScriptedDecoder({ decode: () => ({ ...createBlock(), isConcealed: true }) });
    await play({ packets: createPackets(200), decoder }, { lengthMs: 4000 });
    expect(outcome()).toEqual(inaudible("decoderErrors", "media-decode-failed"));
    expect(voice.frames).toBeLessThan(180);
  });

  it("a track whose audio is trimmed to nothing fails", async () => {
    const packets = createPackets(200).map((packet) => ({ ...packet, trimEndSamples: 960 }));
    await play({ packets }, { lengthMs: 4000 });
    expect(outcome()).toEqual(inaudible("samplesSkipped", "media-damaged"));
  });

  it.each([4000, 0])("a track without packets fails, with a length of %i ms", async (lengthMs) => {
    await play({ packets: [] }, { lengthMs });
    expect(outcome()).toEqual(inaudible("bytesEnded", "media-damaged"));
  });

  it("a start behind the last packet is an early end and no failure", async () => {
    await play({ packets: createPackets(100) }, { startMs: 3000, lengthMs: 4000 });
    expect(outcome()).toEqual(early("bytesEnded"));
  });

  it("a start shortly before the end, where there may be nothing but warm-up, is no failure", async () => {
    await play({ packets: createPackets(200), decoder: decoderWithout(() => true) }, { startMs: 3500, lengthMs: 4000 });
    expect(outcome()).toEqual(early("decoderErrors"));
  });

  it("a start in the middle of a track that cannot be decoded fails", async () => {
    const played = { packets: createPackets(140), decoder: decoderWithout(() => true) };
    await play(played, { startMs: 2000, lengthMs: 4000 });
    expect(outcome()).toEqual(inaudible("decoderErrors", "media-decode-failed"));
  });
});

describe("a track of silence", () => {
  it.each<[AudioCodec, Packet[]]>([
    ["flac", createPackets(100)],
    ["mp3", largePackets(100)],
    ["aac", largePackets(100)],
    ["pcm", createPackets(100).map((packet) => ({ ...packet, data: new Uint8Array(3840) }))],
  ])("silence in %s is played", async (codec, packets) => {
    const pcm = { encoding: "signed", bitsPerSample: 16, isBigEndian: false } as const;
    const stream = { ...streamOf(codec), pcm: codec === "pcm" ? pcm : undefined };
    await play({ packets, stream, decoder: silentDecoder() }, { lengthMs: 2000 });
    expect(outcome()).toEqual(QUIET);
    expect(voice.frames).toBeGreaterThanOrEqual(100);
  });

  it.each([
    [10, 0],
    [100, 0],
    [10, Number.NEGATIVE_INFINITY],
  ])("%i lossless packets that hold audio and decode to %d fail the track", async (count, value) => {
    const played = { packets: largePackets(count), stream: streamOf("flac"), decoder: silentDecoder(value) };
    await play(played, { lengthMs: count * 20 });
    const { end, exceptions } = outcome();
    expect({ end, exceptions }).toEqual({ end: "loadFailed", exceptions: ["media-decode-failed"] });
    expect(voice.frames).toBe(0);
  });

  it("damaged lossless packets are not mistaken for silence", async () => {
    const played = { packets: largePackets(100), stream: streamOf("flac"), decoder: decoderWithout((at) => at < 30) };
    await play(played, { lengthMs: 2000 });
    expect(outcome()).toEqual(QUIET);
  });

  it("silence behind the first audible sample is not suspected", async () => {
    let index = 0;
    const decode = () => (index++ === 0 ? createBlock() : silentDecoder().decode(new Uint8Array(1)));
    const played = { packets: largePackets(100), stream: streamOf("flac") };
    await play({ ...played, decoder: createScriptedDecoder({ decode }) }, { lengthMs: 2000 });
    expect(outcome()).toEqual(QUIET);
  });
});
