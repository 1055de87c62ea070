import { expect, test } from "vitest";
import { NodeError } from "../../../../src/errors.ts";
import { EMPTY_BLOCK } from "../../../../src/media/decode/damage-limit.ts";
import type { Decoder, PcmBlock } from "../../../../src/media/decode/decoder.ts";
import { createPcmDecoder } from "../../../../src/media/decode/pcm-decoder.ts";
import type { AudioStream, Packet } from "../../../../src/media/format/packet.ts";
import { TrackDecoder } from "../../../../src/media/pipeline/track-decoder.ts";
import type { TrackBudget } from "../../../../src/media/quota/track-budget.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import {
  createBlock,
  createPackets,
  createScriptedDecoder,
  SCRIPTED_STREAM,
} from "../../../support/scripted-decoder.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

interface Setup {
  readonly song: TrackDecoder;
  readonly failures: unknown[];
  readonly supply: { take(): { packet: Packet; stream: AudioStream } | undefined; isFinished: boolean; taken: number };
}

interface Script {
  readonly decoder?: Decoder;
  readonly packets: readonly Packet[];
  readonly streamOf?: (index: number) => AudioStream;
  readonly budget?: TrackBudget;
}

function start({ decoder, packets, streamOf = () => SCRIPTED_STREAM, budget }: Script): Setup {
  const failures: unknown[] = [];
  const supply = {
    taken: 0,
    take() {
      const packet = packets[this.taken];
      return packet && { packet, stream: streamOf(this.taken++) };
    },
    get isFinished() {
      return this.taken >= packets.length;
    },
  };
  const song = new TrackDecoder({
    decoder: decoder ?? createScriptedDecoder(),
    stream: streamOf(0),
    createDecoder: async () => createScriptedDecoder(),
    budget: budget ?? createTrackBudget({ clock: new FakeClock() }),
    onProgress: () => undefined,
    onFailure: (error) => failures.push(error),
    onStream: () => undefined,
  });
  song.startAt(0);
  return { song, failures, supply };
}

const nextIteration = () => new Promise((next) => setImmediate(next));

/** Plays until `seconds` have been output or it fails; returns the failure. */
async function playUntilFailed({ song, supply, failures }: Setup, seconds: number): Promise<unknown> {
  for (let received = 0; received < seconds * 48_000 && failures.length === 0; ) {
    try {
      song.fill(supply);
    } catch (error) {
      return error;
    }
    received += song.fifo.discard(960);
    await nextIteration();
  }
  return failures[0];
}

test.each([0, 1, 999, 768_001, 2 ** 31, -48_000, 44_100.5, Number.NaN, Number.POSITIVE_INFINITY])(
  "audio at %d Hz is refused, at the first block and in the middle",
  async (sampleRateHz) => {
    for (const goodPackets of [0, 3]) {
      let count = 0;
      const decode = () => createBlock({ sampleRateHz: count++ < goodPackets ? 48_000 : sampleRateHz });
      const setup = start({ decoder: createScriptedDecoder({ decode }), packets: createPackets(10) });
      expect(await playUntilFailed(setup, 1)).toMatchObject({ code: "media-unsupported-codec" });
    }
  },
);

test("another rate in every frame ends the track after a few filter tables", async () => {
  let rate = 20_000;
  const rates = new Set<number>();
  const decode = () => {
    rates.add(++rate);
    return createBlock({ lengthSamples: 16, sampleRateHz: rate });
  };
  const setup = start({ decoder: createScriptedDecoder({ decode }), packets: createPackets(10_000) });
  expect(await playUntilFailed(setup, 60)).toMatchObject({ code: "media-damaged" });
  expect(rates.size).toBeLessThan(16);
});

test("another number of channels in every frame ends the track", async () => {
  let count = 0;
  const decode = () => createBlock({ lengthSamples: 16, channelCount: 1 + (count++ % 8) });
  const setup = start({ decoder: createScriptedDecoder({ decode }), packets: createPackets(10_000) });
  expect(await playUntilFailed(setup, 60)).toMatchObject({ code: "media-damaged" });
});

test("another stream in every packet ends the track after a few decoders", async () => {
  const streams = Array.from({ length: 1000 }, () => ({ ...SCRIPTED_STREAM }));
  const decode = () => createBlock({ lengthSamples: 48 });
  const setup = start({
    decoder: createScriptedDecoder({ decode }),
    packets: createPackets(1000),
    streamOf: (index) => streams[index] ?? SCRIPTED_STREAM,
  });
  expect(await playUntilFailed(setup, 60)).toMatchObject({ code: "media-damaged" });
  expect(setup.supply.taken).toBeLessThan(60);
});

test("a new stream every two seconds plays on forever", async () => {
  const streams = Array.from({ length: 60 }, () => ({ ...SCRIPTED_STREAM }));
  const setup = start({
    packets: createPackets(3000),
    streamOf: (index) => streams[Math.floor(index / 100)] ?? SCRIPTED_STREAM,
  });
  expect(await playUntilFailed(setup, 55)).toBeUndefined();
});

test("packets without audio are decoded a limited number at a time, and finally end the track", async () => {
  const decode = () => EMPTY_BLOCK;
  const setup = start({ decoder: createScriptedDecoder({ decode }), packets: createPackets(100_000) });
  setup.song.fill(setup.supply);
  expect(setup.supply.taken).toBeLessThan(100);
  while (setup.failures.length === 0) await nextIteration();
  expect(setup.failures).toEqual([expect.objectContaining({ code: "media-damaged" })]);
  expect(setup.supply.taken).toBeLessThan(3000);
});

test("one call decodes at most two milliseconds, the rest follows in its own time slice", async () => {
  const clock = new FakeClock();
  const decode = () => {
    clock.stall(1.5);
    return createBlock({ lengthSamples: 16 });
  };
  const setup = start({
    decoder: createScriptedDecoder({ decode }),
    packets: createPackets(1000),
    budget: createTrackBudget({ clock }),
  });
  setup.song.fill(setup.supply);
  expect(setup.supply.taken).toBeLessThanOrEqual(2);
  expect(setup.song.isWaiting).toBe(true);
  while (setup.song.fifo.lengthSamples < 1920) await nextIteration();
  expect(setup.supply.taken).toBe(120);
});

test("a block of a minute is converted as it is needed", async () => {
  const decode = () => createBlock({ lengthSamples: 60_000, sampleRateHz: 1000 });
  const setup = start({ decoder: createScriptedDecoder({ decode }), packets: createPackets(2) });
  let longest = 0;
  let received = 0;
  while (received < 120 * 48_000) {
    setup.song.fill(setup.supply);
    longest = Math.max(longest, setup.song.fifo.lengthSamples);
    received += setup.song.fifo.discard(960);
    if (setup.song.fifo.lengthSamples === 0) await nextIteration();
    if (setup.song.isFlushed && setup.song.fifo.lengthSamples === 0) break;
  }
  expect(received).toBe(120 * 48_000);
  expect(longest).toBeLessThanOrEqual(2 * 1920);
});

test("a packet of a minute of uncompressed audio is decoded in pieces, to the same audio", () => {
  const stream: AudioStream = {
    ...SCRIPTED_STREAM,
    codec: "pcm",
    pcm: { encoding: "signed", bitsPerSample: 16, isBigEndian: false },
  };
  const samples = Int16Array.from({ length: 2 * 48_000 * 60 + 1 }, (_, index) => (index * 7919) & 0x7fff);
  const packet = { data: new Uint8Array(samples.buffer), timestampMs: 0, durationMs: 60_000, trimEndSamples: 48_000 };
  const lengths: number[] = [];
  const pcm = createPcmDecoder(stream);
  const decode = (data: Uint8Array): PcmBlock => {
    lengths.push(data.length / 4);
    return pcm.decode(data) as PcmBlock; // it answers at once
  };
  const setup = start({ decoder: { ...createScriptedDecoder(), decode }, packets: [packet], streamOf: () => stream });
  const left = new Float32Array(960);
  const right = new Float32Array(960);
  let received = 0;
  for (;;) {
    setup.song.fill(setup.supply);
    const count = setup.song.fifo.readInto(left, right, 960);
    if (count === 0) break;
    for (let index = 0; index < count; index++) {
      if (left[index] !== (samples[2 * (received + index)] ?? 0) / 32_768)
        throw new Error(`sample ${received + index}`);
      if (right[index] !== (samples[2 * (received + index) + 1] ?? 0) / 32_768)
        throw new Error(`sample ${received + index}`);
    }
    received += count;
  }
  expect(received).toBe(59 * 48_000);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(1920);
});

test("a filter table that exceeds the track's memory ends the track", async () => {
  const setup = start({
    decoder: createScriptedDecoder({ decode: () => createBlock({ sampleRateHz: 44_100 }) }),
    packets: createPackets(4),
    budget: createTrackBudget({ clock: new FakeClock(), memoryBytes: 1000 }),
  });
  expect(await playUntilFailed(setup, 1)).toMatchObject({ code: "memory-exhausted" });
});

test("the memory of a filter table is counted, and released at the end", async () => {
  const budget = createTrackBudget({ clock: new FakeClock() });
  const decode = () => createBlock({ sampleRateHz: 44_100 });
  const setup = start({ decoder: createScriptedDecoder({ decode }), packets: createPackets(4), budget });
  expect(await playUntilFailed(setup, 0.02)).toBeUndefined();
  expect(budget.memory.usedBytes).toBeGreaterThan(100_000);
  setup.song.close();
  expect(budget.memory.usedBytes).toBe(0);
});

test("a late decoder error is reported once, and nothing is decoded after a close", async () => {
  const decode = () => Promise.reject(new NodeError("media-decode-failed", "broken"));
  const setup = start({ decoder: createScriptedDecoder({ decode }), packets: createPackets(10) });
  setup.song.fill(setup.supply);
  await nextIteration();
  expect(setup.failures).toEqual([expect.objectContaining({ code: "media-decode-failed" })]);
  setup.song.close();
  setup.song.fill(setup.supply);
  await nextIteration();
  expect(setup.supply.taken).toBe(1);
  expect(setup.failures).toHaveLength(1);
});

test("padding at the rate of the container is trimmed at that of the decoder", () => {
  const stream: AudioStream = { ...SCRIPTED_STREAM, sampleRateHz: 24_000 };
  const packet = { data: new Uint8Array(4), timestampMs: 0, durationMs: 40, trimEndSamples: 480 };
  const decode = (): PcmBlock => ({ channels: [new Float32Array(1920)], lengthSamples: 1920, sampleRateHz: 48_000 });
  const setup = start({ decoder: { ...createScriptedDecoder(), decode }, packets: [packet], streamOf: () => stream });
  for (let count = 0; count < 10; count++) setup.song.fill(setup.supply);
  expect(setup.song.fifo.lengthSamples).toBe(960);
});
