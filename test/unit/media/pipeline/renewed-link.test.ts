import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { wav } from "../../../../lab/media-files/containers.ts";
import { countedSong, numbersFrom, opusPacketNumber } from "../../../../lab/media-files/counted-song.ts";
import { type Answer, plainPlan, statusPlan } from "../../../../lab/media-server/answer-plan.ts";
import { type LoggedRequest, MediaServer } from "../../../../lab/media-server/media-server.ts";
import { NodeError } from "../../../../src/errors.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { HlsDemuxer } from "../../../../src/media/demux/hls/hls-demuxer.ts";
import type { AudioStream, Packet } from "../../../../src/media/format/packet.ts";
import { openInput } from "../../../../src/media/input/open-input.ts";
import { readPlaylist } from "../../../../src/media/input/playlist.ts";
import { InputReplacedError, TrackLink } from "../../../../src/media/input/track-link.ts";
import { Codecs } from "../../../../src/media/pipeline/codecs.ts";
import { PacketReader, type PacketReaderOptions } from "../../../../src/media/pipeline/packet-reader.ts";
import { Pipeline } from "../../../../src/media/pipeline/pipeline.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { TrackOpener } from "../../../../src/media/probe/track-opener.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createInputDeps } from "../../../support/input-builders.ts";
import { id3Tag } from "../../../support/media-builders.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { linkTo, ScriptedLinks, SITE_INPUT, SITE_TRACK } from "../../../support/scripted-links.ts";
import { SONGS } from "../../../support/song.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";
import { until } from "../../../support/voice-builders.ts";

let cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

/** In front of the first sample, for the encoder. */
const PRIMING_SAMPLES = 648;

const nextIteration = () => new Promise((next) => setImmediate(next));

/**
 * The first file ends after this many bytes, and its link is refused from then on; the next link leads to the second.
 */
async function play(files: readonly [Uint8Array, Uint8Array], cutAfterBytes: number) {
  const answer = ({ path, earlierRequests }: LoggedRequest): Answer => {
    if (path === "/1") return plainPlan(files[1], undefined);
    if (earlierRequests > 0) return statusPlan(403);
    return { ...plainPlan(files[0], undefined), fault: { kind: "cut", afterBytes: cutAfterBytes } };
  };
  const server = await MediaServer.start({ script: answer });
  const links = new ScriptedLinks((nth) => linkTo(`${server.url}/${nth}`, { variant: `r${nth}` }));
  const deps = createInputDeps({ clock: systemClock, requestLink: links.requestLink });
  const opener = new TrackOpener({
    openInput: (input, work) => openInput(input, { ...deps, ...work }),
    readPlaylist,
    openHls: (url, work) => HlsDemuxer.open(url, { ...deps, ...work, openSegment: openDemuxer }),
    openDemuxer,
    clock: systemClock,
    readAheadMs: 10_000,
  });
  const failures: unknown[] = [];
  const pipeline = new Pipeline({
    input: SITE_INPUT,
    startMs: 0,
    endMs: undefined,
    lengthMs: undefined,
    volume: 100,
    filters: {},
    open: async (input, work) => (await opener.open(input, work)).demuxer,
    codecs: new Codecs({ complexity: 0, bitrateBps: 64_000, encoder: "tonearm" }),
    budget: deps.budget,
    onProgress: () => undefined,
    onFailure: (error) => failures.push(error),
  });
  cleanups.push(
    () => server.close(),
    () => deps.client.close(),
    () => pipeline.close(),
  );
  return { pipeline, links, failures, server };
}

async function framesOf<Frame>(pipeline: Pipeline, next: () => Frame | undefined): Promise<Frame[]> {
  const frames: Frame[] = [];
  while (!pipeline.isEnded) {
    const frame = next();
    if (frame === undefined) await nextIteration();
    else frames.push(frame);
    // As between ticks: reading stays ahead of playback.
    for (let round = 0; round < 8; round++) await nextIteration();
  }
  return frames;
}

/** The left channel of the whole output. */
async function audioOf(pipeline: Pipeline): Promise<number[]> {
  const frames = await framesOf(pipeline, () => {
    const frame = pipeline.canRender() ? pipeline.render() : undefined;
    return frame && Array.from(frame.left);
  });
  return frames.flat();
}

describe("a link whose bytes are replaced in the middle of a song", () => {
  it("a replaced link continues with the next packet in passthrough", async () => {
    const files = [countedSong({ seconds: 30 }), countedSong({ seconds: 30, packetBytes: 160 })] as const;
    const { pipeline, links, failures } = await play(files, 60_000);
    const packets = await framesOf(pipeline, () => pipeline.produce()?.slice());
    expect(packets.map(opusPacketNumber)).toEqual(numbersFrom(0, 1500));
    expect([packets[0]?.length, packets.at(-1)?.length]).toEqual([100, 160]);
    expect([links.reasons, failures]).toEqual([["start", "refused 403"], []]);
  });

  it("a replaced link continues at the next sample when audio is decoded", async () => {
    const seconds = 12;
    const file = (bitsPerSample: 16 | 24): Uint8Array => {
      const data = new Uint8Array(seconds * 48_000 * 2 * (bitsPerSample / 8));
      const view = new DataView(data.buffer);
      for (let sample = 0; sample < seconds * 48_000; sample++) {
        const value = Math.round(sampleAt(sample) * 32_768);
        for (const channel of [0, 1]) {
          const at = (sample * 2 + channel) * (bitsPerSample / 8);
          if (bitsPerSample === 24) view.setUint8(at, 0);
          view.setInt16(at + (bitsPerSample === 24 ? 1 : 0), value, true);
        }
      }
      return wav({ rateHz: 48_000, channels: 2, bitsPerSample, data });
    };
    const { pipeline, links, failures } = await play([file(16), file(24)], 1_000_000);
    const audio = await audioOf(pipeline);
    expect([links.reasons, failures]).toEqual([["start", "refused 403"], []]);
    expect(audio.length).toBeGreaterThanOrEqual(seconds * 48_000);
    let worst = 0;
    for (let sample = 0; sample < seconds * 48_000; sample++) {
      worst = Math.max(worst, Math.abs((audio[sample + PRIMING_SAMPLES] ?? 0) - sampleAt(sample)));
    }
    expect(worst).toBeLessThan(1 / 16_384);
  });

  it("a replaced link continues without a seam in MP3", async () => {
    const file = readFileSync(new URL("chord.mp3", SONGS));
    const tagged = Buffer.concat([id3Tag(4, 0, new Uint8Array(5_000)), file]);
    const whole = await audioOf((await play([file, file], Number.POSITIVE_INFINITY)).pipeline);
    const { pipeline, links, failures } = await play([file, tagged], 50_000);
    const audio = await audioOf(pipeline);
    expect([links.reasons, failures, audio.length]).toEqual([["start", "refused 403"], [], whole.length]);
    const worst = audio.reduce((most, sample, index) => Math.max(most, Math.abs(sample - (whole[index] ?? 0))), 0);
    expect(worst).toBeLessThan(0.001);
  });
});

/** No two samples near each other are alike. */
function sampleAt(index: number): number {
  return 0.4 * Math.sin((index / 48_000) * 2 * Math.PI * 3) + 0.3 * Math.sin((index / 48_000) * 2 * Math.PI * 701);
}

const STREAM: AudioStream = {
  codec: "aac",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};

const PACKETS: readonly Packet[] = Array.from({ length: 500 }, (_, index) => ({
  data: new Uint8Array(10).fill(0xfc),
  timestampMs: index * 20,
  durationMs: 20,
  trimEndSamples: 0,
}));

describe("a reader whose bytes are replaced", () => {
  async function replacedError(): Promise<InputReplacedError> {
    const links = new ScriptedLinks(() => linkTo("http://site.example/song"));
    const options = {
      track: SITE_TRACK,
      owner: [],
      requestLink: links.requestLink,
      clock: new FakeClock(),
      logger: silentLogger,
    };
    return new InputReplacedError(await TrackLink.obtain(options, new AbortController().signal));
  }

  function read(open: PacketReaderOptions["open"]) {
    const failures: unknown[] = [];
    const reader = new PacketReader({
      input: SITE_INPUT,
      startMs: 0,
      lengthMs: undefined,
      open,
      onProgress: () => undefined,
      budget: createTrackBudget({ clock: new FakeClock() }),
      onFailure: (error) => failures.push(error),
    });
    cleanups.push(() => reader.close());
    const taken: { readonly timestampMs: number; readonly fromMs: number | undefined }[] = [];
    const drain = () =>
      until(() => {
        for (let entry = reader.queue.take(); entry !== undefined; entry = reader.queue.take()) {
          taken.push({ timestampMs: entry.packet.timestampMs, fromMs: entry.fromMs });
        }
        reader.wake();
        return reader.isFinished || failures.length > 0;
      });
    return { reader, failures, taken, drain };
  }

  /** A demuxer that returns `at` packets and then reports that its bytes have been replaced. */
  function ending(at: number, error: Error, isSeekable = true): ScriptedDemuxer {
    const demuxer = new ScriptedDemuxer({ stream: STREAM, packets: PACKETS, isSeekable });
    demuxer.failAt(at, error);
    return demuxer;
  }

  it("a reader opens replaced bytes with the link it has, and flags packets that only warm up the decoder", async () => {
    const error = await replacedError();
    const [first, second] = [ending(100, error), new ScriptedDemuxer({ stream: { ...STREAM }, packets: PACKETS })];
    const given: unknown[] = [];
    const { drain, taken, failures } = read(async (_, work) => {
      given.push(work.link);
      return given.length === 1 ? first : second;
    });
    await drain();
    expect([given, second.seeks, first.isClosed, failures]).toEqual([[undefined, error.link], [2_000], true, []]);
    const repeated = taken.filter(({ fromMs }) => fromMs !== undefined);
    expect(repeated.map(({ timestampMs }) => timestampMs)).toEqual([1_920, 1_940, 1_960, 1_980]);
    expect(new Set(repeated.map(({ fromMs }) => fromMs))).toEqual(new Set([2_000]));
    const news = taken.filter(({ fromMs }) => fromMs === undefined).map(({ timestampMs }) => timestampMs);
    expect(news).toEqual(PACKETS.map(({ timestampMs }) => timestampMs));
  });

  it("a reader opens replaced bytes before it has read the old ones to their end, when notified in time", async () => {
    const error = await replacedError();
    const first = ending(400, error);
    const second = new ScriptedDemuxer({ stream: { ...STREAM }, packets: PACKETS });
    let notify: (() => void) | undefined;
    const { reader, taken, drain, failures } = read(async (_, { onReplaced }) => {
      if (notify !== undefined) return second;
      notify = () => onReplaced?.(error.link);
      return first;
    });
    await until(() => reader.queue.isFull);
    notify?.();
    await drain();
    expect([second.seeks[0], failures]).toEqual([1_000, []]);
    const news = taken.filter(({ fromMs }) => fromMs === undefined).map(({ timestampMs }) => timestampMs);
    expect(news).toEqual(PACKETS.map(({ timestampMs }) => timestampMs));
  });

  it("a reader continues a seek in the replaced bytes", async () => {
    const error = await replacedError();
    const first = ending(60, error);
    const second = new ScriptedDemuxer({ stream: { ...STREAM }, packets: PACKETS });
    const { reader, drain, taken } = read(async (_, { link }) => (link === undefined ? first : second));
    await until(() => reader.queue.isFull);
    reader.seek(8_000);
    await drain();
    expect(reader.runNumber).toBe(1);
    const landed = taken.slice(taken.findIndex(({ timestampMs }) => timestampMs > 7_000));
    expect(landed.map(({ timestampMs }) => timestampMs)).toEqual(
      PACKETS.slice(396).map(({ timestampMs }) => timestampMs),
    );
    expect(landed.every(({ fromMs }) => fromMs === undefined)).toBe(true);
  });

  it("a reader fails when it cannot seek, in the old bytes or the new ones", async () => {
    for (const [isOldSeekable, isNewSeekable] of [
      [false, true],
      [true, false],
    ]) {
      const error = await replacedError();
      const other = new ScriptedDemuxer({ stream: STREAM, packets: PACKETS, isSeekable: isNewSeekable === true });
      const { drain, failures, taken } = read(async (_, { link }) =>
        link === undefined ? ending(100, error, isOldSeekable) : other,
      );
      await drain();
      expect([failures, taken.length]).toEqual([[error], 100]);
    }
  });

  it("a reader fails with the reason when replaced bytes cannot be opened", async () => {
    const error = await replacedError();
    const refused = new NodeError("link-refused", "no");
    const { drain, failures } = read(async (_, { link }) => {
      if (link !== undefined) throw refused;
      return ending(100, error);
    });
    await drain();
    expect(failures).toEqual([refused]);
  });

  it("a reader fails after three replacements without anything new", async () => {
    const error = await replacedError();
    let openings = 0;
    const { drain, failures } = read(async () => {
      openings += 1;
      return ending(100, error);
    });
    await drain();
    expect([failures, openings]).toEqual([[error], 4]);
  });
});
