import { compileOpusEncoder } from "@tonearm/opus-encoder";
import { Application, createEncoder } from "libopus-wasm";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { findClicks, findGaps } from "../../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../../lab/listen/received.ts";
import { NodeError } from "../../../../src/errors.ts";
import { readWasmCodec } from "../../../../src/lib/read-wasm-codec.ts";
import { CodecModules } from "../../../../src/media/decode/codec-modules.ts";
import type { Decoder } from "../../../../src/media/decode/decoder.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import type { AudioStream, Packet } from "../../../../src/media/format/packet.ts";
import { parseOpusPacket } from "../../../../src/media/opus/opus-packet.ts";
import { Codecs } from "../../../../src/media/pipeline/codecs.ts";
import type { Pipeline, PipelineOptions } from "../../../../src/media/pipeline/pipeline.ts";
import { createPipeline } from "../../../support/pipelines.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";

const FRAME_MS = 20;
const FRAME_SAMPLES = 960;
const PRE_SKIP_MS = 6.5;
const OPUS: AudioStream = {
  codec: "opus",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};
const PCM: AudioStream = {
  codec: "pcm",
  sampleRateHz: 44_100,
  channelCount: 1,
  description: undefined,
  pcm: { encoding: "float", bitsPerSample: 32, isBigEndian: false },
};

let opusPackets: Packet[];
let pcmPackets: Packet[];
const opened: Pipeline[] = [];

/**
 * Two steady partials, so that a seam stands out; no whole number of periods fits a frame, so no two packets are alike.
 */
function song(timeSeconds: number): number {
  return 0.3 * Math.sin(2 * Math.PI * 353.7 * timeSeconds) + 0.1 * Math.sin(2 * Math.PI * 1021.3 * timeSeconds);
}

beforeAll(async () => {
  const codecs = new Codecs({ complexity: 10, bitrateBps: 160_000, encoder: "tonearm" });
  (await codecs.createDecoder(OPUS, { isComplete: true })).close(); // loads the module
  const encoder = await OpusFrameEncoder.create({ complexity: 10, bitrateBps: 160_000 });
  opusPackets = Array.from({ length: 150 }, (_, index) => {
    const pcm = Float32Array.from({ length: FRAME_SAMPLES }, (_, at) => song((index * FRAME_SAMPLES + at) / 48_000));
    const data = Uint8Array.from(encoder.encode(pcm, pcm));
    return { data, timestampMs: index * FRAME_MS - PRE_SKIP_MS, durationMs: FRAME_MS, trimEndSamples: 0 };
  });
  pcmPackets = Array.from({ length: 100 }, (_, index) => {
    const samples = Float32Array.from({ length: 882 }, (_, at) => song((index * 882 + at) / 44_100));
    const data = new Uint8Array(samples.buffer);
    return { data, timestampMs: index * FRAME_MS, durationMs: FRAME_MS, trimEndSamples: 0 };
  });
});

afterEach(() => {
  for (const pipeline of opened.splice(0)) pipeline.close();
});

/** The song in packets that are not CELT only. */
async function speechPackets(count: number): Promise<Packet[]> {
  const encoder = await createEncoder({ channels: 1, bitrate: 20_000, application: Application.Voip });
  const packets = Array.from({ length: count }, (_, index) => {
    const pcm = Float32Array.from({ length: FRAME_SAMPLES }, (_, at) => song((index * FRAME_SAMPLES + at) / 48_000));
    const data = Uint8Array.from(encoder.encodeFloat(pcm, { frameSize: FRAME_SAMPLES }));
    return { data, timestampMs: index * FRAME_MS - PRE_SKIP_MS, durationMs: FRAME_MS, trimEndSamples: 0 };
  });
  encoder.free();
  expect(parseOpusPacket(packets.at(-1)!.data)?.mode).not.toBe("celt");
  return packets;
}

/** Lets code that waits for input or a codec continue. */
const nextIteration = () => new Promise((next) => setImmediate(next));

interface Setup {
  readonly demuxer: ScriptedDemuxer;
  readonly pipeline: Pipeline;
  readonly failures: unknown[];
}

/** Shows with each packet the stream it belongs to. */
class ChainedDemuxer extends ScriptedDemuxer {
  readonly #streams: AudioStream[];

  constructor(entries: readonly { readonly packet: Packet; readonly stream: AudioStream }[]) {
    super({ stream: entries[0]!.stream, packets: entries.map(({ packet }) => packet) }); // never without packets
    this.#streams = entries.map(({ stream }) => stream);
  }

  override async next(): Promise<Packet | undefined> {
    this.stream = this.#streams.shift() ?? this.stream;
    return super.next();
  }
}

function start(stream: AudioStream, packets: readonly Packet[], options: Partial<PipelineOptions> = {}): Setup {
  const demuxer = new ScriptedDemuxer({ stream, packets });
  return { demuxer, ...startOn(demuxer, options) };
}

function startOn(demuxer: ScriptedDemuxer, options: Partial<PipelineOptions>): Omit<Setup, "demuxer"> {
  const failures: unknown[] = [];
  const pipeline = createPipeline(demuxer, {
    codecs: new Codecs({ complexity: 10, bitrateBps: 160_000, encoder: "tonearm" }),
    onFailure: (error) => failures.push(error),
    ...options,
  });
  opened.push(pipeline);
  return { pipeline, failures };
}

/**
 * The next frame, waiting (as the tick would, but without time) for what happens between ticks; undefined at the end.
 */
async function nextFrame(pipeline: Pipeline): Promise<Uint8Array | undefined> {
  const deadlineMs = performance.now() + 10_000;
  while (performance.now() < deadlineMs) {
    const frame = pipeline.produce();
    if (frame !== undefined) return Uint8Array.from(frame);
    if (pipeline.isEnded) return undefined;
    await nextIteration();
  }
  throw new Error(`no frame was produced: waiting for the ${pipeline.stallReason}`);
}

async function frames(pipeline: Pipeline, count: number): Promise<Uint8Array[]> {
  const taken: Uint8Array[] = [];
  for (let index = 0; index < count; index++) {
    const frame = await nextFrame(pipeline);
    if (frame === undefined) break;
    taken.push(frame);
    // Between two ticks promises and small jobs run.
    for (let count = 0; count < 20; count++) await nextIteration();
  }
  return taken;
}

/**
 * Largest difference between output audio and the song itself, `gain` times as loud, over a stretch of output samples.
 */
function worstError(
  received: Float32Array,
  stretch: { from: number; to: number; songAtMs: number; gain?: number },
): number {
  const { from, to, songAtMs, gain = 1 } = stretch;
  let worst = 0;
  for (let index = from; index < to; index++) {
    const expected = gain * song(songAtMs / 1000 + (index - from) / 48_000);
    worst = Math.max(worst, Math.abs(received[index]! - expected));
  }
  return worst;
}

describe("passthrough", () => {
  it("passthrough outputs the packets unchanged, and then reports the end", async () => {
    const { pipeline } = start(OPUS, opusPackets);
    const received = await frames(pipeline, 1000);
    expect(received).toEqual(opusPackets.map((packet) => packet.data));
    expect(pipeline.isEnded).toBe(true);
    expect(pipeline.positionMs).toBeCloseTo(150 * FRAME_MS - PRE_SKIP_MS, 5);
  });

  it("passthrough reports song time after each packet", async () => {
    const { pipeline } = start(OPUS, opusPackets);
    await frames(pipeline, 10);
    expect(pipeline.positionMs).toBeCloseTo(10 * FRAME_MS - PRE_SKIP_MS, 5);
  });

  it("passthrough starts within 10 ms of a start position", async () => {
    const { pipeline } = start(OPUS, opusPackets, { startMs: 1234 });
    const [first] = await frames(pipeline, 1);
    const index = opusPackets.findIndex((packet) => Buffer.compare(packet.data, first!) === 0);
    expect(Math.abs(opusPackets[index]!.timestampMs - 1234)).toBeLessThanOrEqual(10);
  });

  it("passthrough stops at the end time", async () => {
    const { pipeline } = start(OPUS, opusPackets, { endMs: 500 });
    const received = await frames(pipeline, 1000);
    expect(received.length).toBe(26);
    expect(pipeline.isEnded).toBe(true);
  });

  it("passthrough ignores an end time at or before the start", async () => {
    const { pipeline } = start(OPUS, opusPackets, { startMs: 1000, endMs: 1000 });
    expect((await frames(pipeline, 1000)).length).toBeGreaterThan(90);
  });
});

describe("a chained file that continues in another codec", () => {
  it("a chained file continues in another codec: no packet plays twice, and the new audio is complete", async () => {
    const changeMs = 50 * FRAME_MS - PRE_SKIP_MS;
    const demuxer = new ChainedDemuxer([
      ...opusPackets.slice(0, 50).map((packet) => ({ packet, stream: OPUS })),
      ...pcmPackets.map((packet) => {
        const moved = { ...packet, timestampMs: packet.timestampMs + changeMs };
        return { packet: moved, stream: PCM };
      }),
    ]);
    const { pipeline, failures } = startOn(demuxer, {});
    const received = await frames(pipeline, 1000);
    expect(received.slice(0, 50)).toEqual(opusPackets.slice(0, 50).map(({ data }) => data));
    expect(received.length - 50).toBeGreaterThanOrEqual(100);
    expect(received.length - 50).toBeLessThanOrEqual(102);
    expect(pipeline.positionMs).toBeCloseTo(changeMs + 100 * FRAME_MS, -2);
    expect(failures).toEqual([]);
    const audio = (await decodeReceived(received.slice(50))).left;
    const stretch = { from: 10 * FRAME_SAMPLES, to: 80 * FRAME_SAMPLES, songAtMs: 10 * FRAME_MS };
    expect(worstError(audio, stretch)).toBeLessThan(0.02);
  });

  it("a chained file that is closed while the next decoder is being created closes that one too", async () => {
    const codecs = new Codecs({ complexity: 10, bitrateBps: 160_000, encoder: "tonearm" });
    let openDecoders = 0;
    let isRequested = false;
    let give = (): void => undefined;
    const mayBeMade = new Promise<void>((resolve) => {
      give = resolve;
    });
    const createDecoder = async (stream: AudioStream): Promise<Decoder> => {
      isRequested ||= stream === OPUS;
      if (stream === OPUS) await mayBeMade;
      const decoder = await codecs.createDecoder(stream);
      const close = decoder.close.bind(decoder);
      openDecoders += 1;
      decoder.close = () => {
        openDecoders -= 1;
        close();
      };
      return decoder;
    };
    const demuxer = new ChainedDemuxer([
      ...pcmPackets.slice(0, 10).map((packet) => ({ packet, stream: PCM })),
      ...opusPackets.slice(10, 20).map((packet) => ({ packet, stream: OPUS })),
    ]);
    const { pipeline } = startOn(demuxer, {
      codecs: {
        createDecoder,
        acquireEncoder: () => codecs.acquireEncoder(),
        releaseEncoder: (encoder) => codecs.releaseEncoder(encoder),
      },
    });
    while (!isRequested) {
      pipeline.produce();
      await nextIteration();
    }
    expect(openDecoders).toBe(1);
    pipeline.close();
    give();
    for (let count = 0; count < 20; count++) await nextIteration();
    expect(openDecoders).toBe(0);
  });
});

describe("a volume change in the middle of passing through", () => {
  it("a volume change during passthrough makes no seam: same position, no click, no gap, exact level", async () => {
    const { pipeline } = start(OPUS, opusPackets);
    const before = await frames(pipeline, 50);
    pipeline.setVolume(50);
    const changed = await frames(pipeline, 60);
    const received = (await decodeReceived([...before, ...changed])).left;
    const gain = Math.floor(Math.tan(0.0079 * 50) * 10_000) / 10_000;

    expect(findClicks(received.subarray(FRAME_SAMPLES))).toEqual([]);
    expect(findGaps(received.subarray(FRAME_SAMPLES))).toEqual([]);
    // Frame n of the output plays the song from n * 20 ms on, less the source encoder's own delay.
    const loud = { from: 10 * FRAME_SAMPLES, to: 50 * FRAME_SAMPLES, songAtMs: 10 * FRAME_MS - PRE_SKIP_MS };
    const quiet = { from: 60 * FRAME_SAMPLES, to: 110 * FRAME_SAMPLES, songAtMs: 60 * FRAME_MS - PRE_SKIP_MS, gain };
    expect(worstError(received, loud)).toBeLessThan(0.02);
    expect(worstError(received, quiet)).toBeLessThan(0.02);
    expect(pipeline.positionMs).toBeCloseTo(110 * FRAME_MS - PRE_SKIP_MS, 3);
  });

  it("a volume change of speech takes effect once libopus is loaded, and packets pass through until then", async () => {
    const speech = await speechPackets(80);
    const libopus = await readWasmCodec("opus");
    let give = (): void => undefined;
    const isLoaded = new Promise<void>((resolve) => {
      give = resolve;
    });
    const modules = new CodecModules({
      readWasm: async () => {
        await isLoaded;
        return libopus;
      },
      readEncoder: async () => compileOpusEncoder(),
    });
    const codecs = new Codecs({ complexity: 10, bitrateBps: 160_000, encoder: "tonearm" }, modules);
    const { pipeline, failures } = start(OPUS, speech, { codecs });
    const before = await frames(pipeline, 10);
    pipeline.setVolume(50);
    const waiting = await frames(pipeline, 20);
    expect([...before, ...waiting]).toEqual(speech.slice(0, 30).map((packet) => packet.data));
    give();
    for (let count = 0; count < 20; count++) await nextIteration();
    const changed = await frames(pipeline, 40);
    expect(failures).toEqual([]);
    expect(changed.length).toBe(40);
    expect(changed.slice(1)).not.toContainEqual(speech[31]!.data);
    const received = (await decodeReceived([...before, ...waiting, ...changed])).left;
    expect(findGaps(received.subarray(4 * FRAME_SAMPLES))).toEqual([]);
  });

  it("a volume change back to 100 returns to the packets themselves, again without a seam", async () => {
    const { pipeline } = start(OPUS, opusPackets);
    const first = await frames(pipeline, 30);
    pipeline.setVolume(50);
    const quiet = await frames(pipeline, 30);
    pipeline.setVolume(100);
    const last = await frames(pipeline, 90);
    const all = [...first, ...quiet, ...last];

    expect(all.length).toBe(150);
    expect(all.slice(65)).toEqual(opusPackets.slice(65).map((packet) => packet.data));
    const received = (await decodeReceived(all)).left;
    expect(findClicks(received.subarray(FRAME_SAMPLES))).toEqual([]);
    const end = { from: 75 * FRAME_SAMPLES, to: 149 * FRAME_SAMPLES, songAtMs: 75 * FRAME_MS - PRE_SKIP_MS };
    expect(worstError(received, end)).toBeLessThan(0.02);
  });

  it("a volume change during passthrough takes effect within two frames", async () => {
    const { pipeline } = start(OPUS, opusPackets);
    await frames(pipeline, 20);
    pipeline.setVolume(0);
    const after = await frames(pipeline, 6);
    const different = after.findIndex((frame, index) => Buffer.compare(frame, opusPackets[20 + index]!.data) !== 0);
    expect(different).toBeGreaterThanOrEqual(0);
    expect(different).toBeLessThanOrEqual(2);
  });
});

describe("transcoding", () => {
  it("transcoding keeps length, position, pitch and level of the song, whatever its rate", async () => {
    const { pipeline } = start(PCM, pcmPackets);
    const all = await frames(pipeline, 1000);
    const received = (await decodeReceived(all)).left;
    expect(all.length).toBeGreaterThanOrEqual(100);
    expect(all.length).toBeLessThanOrEqual(101);
    expect(worstError(received, { from: 2 * FRAME_SAMPLES, to: 98 * FRAME_SAMPLES, songAtMs: 40 })).toBeLessThan(0.02);
    expect(findClicks(received.subarray(480, 98 * FRAME_SAMPLES))).toEqual([]);
    expect(pipeline.positionMs).toBeGreaterThanOrEqual(2000);
  });

  it("transcoding starts exactly at a start position", async () => {
    const { pipeline } = start(PCM, pcmPackets, { startMs: 777 });
    const received = (await decodeReceived(await frames(pipeline, 30))).left;
    expect(worstError(received, { from: 2 * FRAME_SAMPLES, to: 29 * FRAME_SAMPLES, songAtMs: 817 })).toBeLessThan(0.02);
  });

  it("transcoding seeks exactly, without a click", async () => {
    const { pipeline } = start(PCM, pcmPackets);
    const before = await frames(pipeline, 10);
    pipeline.seek(1500);
    while (pipeline.seekTargetMs !== undefined) await nextIteration();
    const after = await frames(pipeline, 20);
    const received = (await decodeReceived([...before, ...after])).left;
    const from = 11 * FRAME_SAMPLES;
    expect(worstError(received, { from, to: 29 * FRAME_SAMPLES, songAtMs: 1500 + FRAME_MS })).toBeLessThan(0.02);
    expect(findClicks(received.subarray(FRAME_SAMPLES), { factor: 20 })).toEqual([]);
  });
});

describe("a seek", () => {
  it("a seek lets the old position play until the new one is ready", async () => {
    const { pipeline, demuxer } = start(OPUS, opusPackets);
    await frames(pipeline, 5);
    let arrive = (): void => undefined;
    demuxer.holdAt(0, new Promise((resolve) => (arrive = resolve)));
    pipeline.seek(2000);
    const ghost = await frames(pipeline, 5);
    expect(ghost).toEqual(opusPackets.slice(5, 10).map((packet) => packet.data));
    expect(pipeline.seekTargetMs).toBe(2000);
    arrive();
    while (pipeline.seekTargetMs !== undefined) await nextIteration();
    await frames(pipeline, 1);
    expect(Math.abs(pipeline.positionMs - 2020)).toBeLessThanOrEqual(10);
  });

  it("a seek past the end ends the track", async () => {
    const { pipeline } = start(OPUS, opusPackets);
    await frames(pipeline, 5);
    pipeline.seek(60_000);
    while (pipeline.seekTargetMs !== undefined) await nextIteration();
    expect(await nextFrame(pipeline)).toBeUndefined();
    expect(pipeline.isEnded).toBe(true);
  });

  it("a seek past the end time ends the track", async () => {
    const { pipeline } = start(OPUS, opusPackets, { endMs: 1000 });
    await frames(pipeline, 5);
    pipeline.seek(1500);
    while (pipeline.seekTargetMs !== undefined) await nextIteration();
    expect(await nextFrame(pipeline)).toBeUndefined();
    expect(pipeline.isEnded).toBe(true);
  });

  it("of several seeks only the last one counts", async () => {
    const { pipeline } = start(OPUS, opusPackets);
    await frames(pipeline, 5);
    pipeline.seek(500);
    pipeline.seek(1500);
    pipeline.seek(2500);
    while (pipeline.seekTargetMs !== undefined) await nextIteration();
    await frames(pipeline, 1);
    expect(Math.abs(pipeline.positionMs - 2520)).toBeLessThanOrEqual(10);
  });
});

describe("failures", () => {
  it("a failure of reading is reported at once, and buffered audio plays on", async () => {
    const demuxer = new ScriptedDemuxer({ stream: OPUS, packets: opusPackets });
    demuxer.failAt(30, new NodeError("input-interrupted", "the connection broke"));
    const { pipeline, failures } = startOn(demuxer, {});
    await frames(pipeline, 1);
    expect(failures.length).toBe(1);
    expect((await frames(pipeline, 1000)).length).toBe(29);
    expect(pipeline.isEnded).toBe(true);
  });

  it("a failure of opening leaves nothing to play", async () => {
    const error = new NodeError("input-not-found", "nothing there");
    const { pipeline, failures } = startOn(new ScriptedDemuxer({ stream: OPUS, packets: [] }), {
      open: () => Promise.reject(error),
    });
    expect(await nextFrame(pipeline)).toBeUndefined();
    expect(failures).toEqual([error]);
    expect(pipeline.isEnded).toBe(true);
  });

  it("a failure of a codec ends the track though packets are there", async () => {
    const { pipeline, failures } = start({ ...PCM, pcm: undefined }, pcmPackets);
    expect(await nextFrame(pipeline)).toBeUndefined();
    expect(failures.length).toBe(1);
    expect(pipeline.isEnded).toBe(true);
  });
});

it("a closed pipeline closes its demuxer, also one that opens too late", async () => {
  const demuxer = new ScriptedDemuxer({ stream: OPUS, packets: opusPackets });
  let arrive = (): void => undefined;
  const opening = new Promise<void>((resolve) => (arrive = resolve));
  const { pipeline } = startOn(demuxer, { open: () => opening.then(() => demuxer) });
  pipeline.close();
  arrive();
  await opening;
  await nextIteration();
  expect(demuxer.isClosed).toBe(true);
});

describe("timescale", () => {
  const speedTwo = { timescale: { speed: 2, pitch: 1, rate: 1 } };

  it("a song at twice the speed ends after half its frames, and its position runs twice as fast", async () => {
    const { pipeline } = start(PCM, pcmPackets);
    pipeline.setFilters(speedTwo);
    await frames(pipeline, 25);
    expect(pipeline.positionMs).toBeCloseTo(25 * 2 * FRAME_MS, -1.4);
    const rest = await frames(pipeline, 100);
    expect(Math.abs(25 + rest.length - pcmPackets.length / 2)).toBeLessThanOrEqual(1);
    expect(pipeline.isEnded).toBe(true);
  });

  it("an end time with timescale is in song time", async () => {
    const { pipeline } = start(PCM, pcmPackets, { endMs: 1000 });
    pipeline.setFilters(speedTwo);
    const received = await frames(pipeline, 100);
    expect(Math.abs(received.length - 25)).toBeLessThanOrEqual(1);
    expect(pipeline.isEnded).toBe(true);
  });

  it("a seek with timescale drops held audio and lands at its target", async () => {
    const { pipeline } = start(PCM, pcmPackets);
    pipeline.setFilters(speedTwo);
    await frames(pipeline, 10);
    pipeline.seek(1500);
    const rest = await frames(pipeline, 100);
    expect(pipeline.landedMs).toBeCloseTo(1500, 0);
    // Half a second of song at twice the speed, and the audio played until the seek had landed.
    expect(rest.length).toBeGreaterThanOrEqual(12);
    expect(rest.length).toBeLessThanOrEqual(16);
  });

  it("removing timescale returns to the file's own packets, without a click", async () => {
    const { pipeline } = start(OPUS, opusPackets);
    const received = await frames(pipeline, 20);
    pipeline.setFilters(speedTwo);
    received.push(...(await frames(pipeline, 20)));
    pipeline.setFilters({});
    received.push(...(await frames(pipeline, 200)));
    const own = received.map((frame) => opusPackets.findIndex(({ data }) => Buffer.compare(data, frame) === 0));
    expect(own.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, index) => index));
    const back = own.findIndex((packetIndex, index) => index > 20 && packetIndex > 20);
    expect(back).toBeLessThan(50);
    expect(own.slice(back)).toEqual(Array.from({ length: own.length - back }, (_, index) => own[back]! + index));
    expect(own.at(-1)).toBe(opusPackets.length - 1);
    const { left } = await decodeReceived(received);
    expect(findClicks(left.subarray(4800, -4800))).toEqual([]);
    expect(findGaps(left)).toEqual([]);
  });
});
