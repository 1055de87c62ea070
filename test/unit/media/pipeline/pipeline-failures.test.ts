// Whatever decoder, filters or encoder throw, and whenever: the track fails with it, once, and no other track notices.

import { afterEach, expect, it, vi } from "vitest";
import type { Decoder } from "../../../../src/media/decode/decoder.ts";
import { EffectChain } from "../../../../src/media/effects/effect-chain.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import { TonearmFrameEncoder } from "../../../../src/media/encode/tonearm-encoder.ts";
import type { AudioStream, Packet } from "../../../../src/media/format/packet.ts";
import { type CodecSupply, Codecs } from "../../../../src/media/pipeline/codecs.ts";
import type { Pipeline } from "../../../../src/media/pipeline/pipeline.ts";
import { createPipeline } from "../../../support/pipelines.ts";
import { createPackets, createScriptedDecoder, SCRIPTED_STREAM } from "../../../support/scripted-decoder.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";

const fail = (): never => {
  throw new RangeError("out of bounds");
};
const nextIteration = () => new Promise((next) => setImmediate(next));
const opened: Pipeline[] = [];

afterEach(() => {
  vi.restoreAllMocks();
  for (const pipeline of opened.splice(0)) pipeline.close();
});

interface Parts {
  readonly decoder?: Decoder;
  readonly codecs?: Partial<CodecSupply>;
  readonly stream?: AudioStream;
  readonly packets?: readonly Packet[];
}

function start(parts: Parts) {
  const { decoder = createScriptedDecoder(), codecs } = parts;
  const { stream = SCRIPTED_STREAM, packets = createPackets(50) } = parts;
  const failures: unknown[] = [];
  const ours = new Codecs({ complexity: 0, bitrateBps: 64_000, encoder: "tonearm" });
  const demuxer = new ScriptedDemuxer({ stream, packets });
  const pipeline = createPipeline(demuxer, {
    codecs: {
      createDecoder: async () => decoder,
      acquireEncoder: () => ours.acquireEncoder(),
      releaseEncoder: (encoder) => ours.releaseEncoder(encoder),
      ...codecs,
    },
    onFailure: (error) => failures.push(error),
  });
  opened.push(pipeline);
  return { pipeline, failures };
}

/** Plays until `frames` frames have come, or the end. */
async function play({ pipeline }: ReturnType<typeof start>, frames = 1000): Promise<void> {
  const deadlineMs = performance.now() + 10_000;
  for (let count = 0; count < frames && !pipeline.isEnded && performance.now() < deadlineMs; ) {
    if (pipeline.produce() !== undefined) count += 1;
    await nextIteration();
  }
}

function failingOnce(name: "decode" | "flush" | "reset" | "close", isLate = false): Decoder {
  const work = isLate ? async () => fail() : fail;
  return createScriptedDecoder({ [name]: work });
}

it.each(["decode", "flush"] as const)("a decoder that throws in %s, at once or late, fails its track", async (name) => {
  for (const isLate of [false, true]) {
    const setup = start({ decoder: failingOnce(name, isLate) });
    await play(setup);
    expect(setup.failures).toEqual([expect.any(RangeError)]);
    expect(setup.pipeline.isEnded).toBe(true);
  }
});

it("a decoder that throws in reset, at a seek, fails its track", async () => {
  const setup = start({ decoder: failingOnce("reset") });
  await play(setup, 10);
  setup.pipeline.seek(500);
  await play(setup);
  expect(setup.failures).toEqual([expect.any(RangeError)]);
});

it("a decoder that throws in close does not make closing the pipeline throw", async () => {
  const setup = start({ decoder: failingOnce("close") });
  await play(setup, 10);
  expect(() => setup.pipeline.close()).not.toThrow();
});

it("a decoder that throws when it takes over from passthrough fails its track", async () => {
  const encoder = await OpusFrameEncoder.create({ complexity: 0, bitrateBps: 64_000 });
  const frame = new Float32Array(960);
  const data = Uint8Array.from(encoder.encode(frame, frame));
  const packets = createPackets(50).map((packet) => ({ ...packet, data }));
  const setup = start({
    decoder: failingOnce("decode"),
    packets,
    stream: { ...SCRIPTED_STREAM, codec: "opus" },
  });
  await play(setup, 10);
  setup.pipeline.setVolume(50);
  await play(setup);
  expect(setup.failures).toEqual([expect.any(RangeError)]);
});

it.each(["prepare", "render", "begin", "finish", "jump"] as const)(
  "a chain that throws in %s fails its track",
  async (name) => {
    vi.spyOn(EffectChain.prototype, name).mockImplementation(fail);
    const packets = createPackets(50).map((packet) => ({
      ...packet,
      trimEndSamples: packet.timestampMs === 980 ? 100 : 0,
    }));
    const setup = start({ packets });
    await play(setup, 10);
    setup.pipeline.seek(500);
    await play(setup);
    expect(setup.failures).toEqual([expect.any(RangeError)]);
  },
);

it("an encoder that throws fails its track", async () => {
  const setup = start({});
  vi.spyOn(TonearmFrameEncoder.prototype, "encode").mockImplementation(fail);
  await play(setup);
  expect(setup.failures).toEqual([expect.any(RangeError)]);
});

it("a mix that throws, at every entry point, fails its track", async () => {
  const setup = start({});
  await play(setup, 10);
  vi.spyOn(EffectChain.prototype, "prepare").mockImplementation(fail);
  vi.spyOn(TonearmFrameEncoder.prototype, "encode").mockImplementation(fail);
  const { pipeline } = setup;
  const [left, right] = [new Float32Array(960), new Float32Array(960)];
  expect([pipeline.hasMore, pipeline.render(), pipeline.canRender(), pipeline.encode({ left, right })]).toEqual([
    false,
    undefined,
    false,
    undefined,
  ]);
  expect(setup.failures).toHaveLength(1);
});

it("decoders that cannot be created, at once or late, leave no encoder behind", async () => {
  for (const createDecoder of [() => Promise.reject(new RangeError("none")), async () => fail()]) {
    let held = 0;
    const ours = new Codecs({ complexity: 0, bitrateBps: 64_000, encoder: "tonearm" });
    const setup = start({
      codecs: {
        createDecoder,
        acquireEncoder: () => {
          held += 1;
          return ours.acquireEncoder();
        },
        releaseEncoder: (encoder) => {
          held -= 1;
          ours.releaseEncoder(encoder);
        },
      },
    });
    await play(setup);
    for (let count = 0; count < 10; count++) await nextIteration();
    expect(setup.failures).toEqual([expect.any(RangeError)]);
    expect(held).toBe(0);
  }
});
