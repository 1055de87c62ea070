import { Application, createEncoder } from "libopus-wasm";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { ownCodecModules } from "../../../../src/media/decode/codec-modules.ts";
import { OpusStream } from "../../../../src/media/decode/opus-stream.ts";
import { buildOpusPacket, parseOpusPacket } from "../../../../src/media/opus/opus-packet.ts";
import { randomCeltPackets } from "../../../support/celt-comparison.ts";

const STEREO = { channelCount: 2, gainQ8: 0 } as const;
const CELT_20_MS = 31;
const CELT_5_MS = 29;

const opus = await ownCodecModules.libopus("decode").load();

/** All audio of the first channel, by libopus alone or by the stream. */
function decodeByLibrary(packets: readonly Uint8Array[], gainQ8 = 0): Float32Array[] {
  const decoder = opus.createDecoder(2, gainQ8);
  const blocks = packets.map((packet) => {
    opus.module.HEAPU8.set(packet, opus.packetPointer);
    const samples = Math.max(0, opus.decode(decoder, packet.length));
    const start = opus.pcmPointer >> 2;
    return Float32Array.from({ length: samples }, (_, at) => opus.module.HEAPF32[start + 2 * at]!);
  });
  opus.module._oc_destroy_decoder(decoder);
  return blocks;
}

function decodeByStream(stream: OpusStream, packets: readonly Uint8Array[]): Float32Array[] {
  return packets.map((packet) => {
    const samples = Math.max(0, stream.decode(packet, opus) ?? 0);
    return stream.channels[0]!.slice(0, samples);
  });
}

/** The largest difference, as a share of full scale. */
function differenceOf(blocks: readonly Float32Array[], expected: readonly Float32Array[]): number {
  expect(blocks.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
  const differences = blocks.map((block, index) => {
    return block.reduce((worst, sample, at) => Math.max(worst, Math.abs(sample - expected[index]![at]!)), 0);
  });
  return Math.max(...differences);
}

/** Music in packets that are CELT only, then speech in SILK packets. */
async function celtThenSilk(): Promise<{ readonly celt: Uint8Array[]; readonly silk: Uint8Array[] }> {
  const music = await createEncoder({ channels: 2, bitrate: 128_000 });
  const speech = await createEncoder({ channels: 2, bitrate: 20_000, application: Application.Voip });
  const encode = (encoder: typeof music, from: number) =>
    Array.from({ length: 30 }, (_, frame) => {
      const pcm = Float32Array.from({ length: 1920 }, (_, at) => {
        const time = (from + frame) * 960 + (at >> 1);
        return 0.3 * Math.sin(time * 0.03) + 0.2 * Math.sin(time * 0.011);
      });
      return encoder.encodeFloat(pcm, { frameSize: 960 }).slice();
    });
  const packets = { celt: encode(music, 0), silk: encode(speech, 30).slice(2) };
  music.free();
  speech.free();
  expect(packets.celt.every((packet) => parseOpusPacket(packet)?.mode === "celt")).toBe(true);
  expect(packets.silk.every((packet) => parseOpusPacket(packet)?.mode !== "celt")).toBe(true);
  return packets;
}

const framesOf = (sizeLog: number, count: number, seed: number) =>
  randomCeltPackets({ sizeLog, bandwidth: 3, isStereo: true }, count, seededRandom(seed)).map((packet) =>
    // Soft, as louder frames have no meaning; the first bit and those of the coarse levels are left.
    packet.subarray(1, 120),
  );

describe("a stream of Opus packets", () => {
  test("decodes packets of one, two and more CELT frames as libopus", () => {
    const frames = framesOf(1, 20, 41);
    const same = frames.filter((frame) => frame.length === 119);
    expect(same.length).toBeGreaterThan(2);
    const packets = [
      buildOpusPacket(CELT_5_MS, true, frames.slice(0, 1)),
      buildOpusPacket(CELT_5_MS, true, same.slice(0, 2)),
      buildOpusPacket(CELT_5_MS, true, [frames[0]!, frames[1]!.subarray(0, 30)]),
      buildOpusPacket(CELT_5_MS, true, same.slice(0, 3)),
      buildOpusPacket(CELT_5_MS, true, frames),
    ];
    expect(packets.map((packet) => packet[0]! & 3)).toEqual([0, 1, 2, 3, 3]);
    const stream = new OpusStream(STEREO);
    const expected = decodeByLibrary(packets);
    const peak = Math.max(
      ...expected.map((block) => block.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)),
    );
    expect(differenceOf(decodeByStream(stream, packets), expected) / peak).toBeLessThan(2e-6);
    stream.close();
  });

  test("applies the output gain of OpusHead as libopus", async () => {
    const { celt } = await celtThenSilk();
    const stream = new OpusStream({ channelCount: 2, gainQ8: -700 });
    expect(differenceOf(decodeByStream(stream, celt), decodeByLibrary(celt, -700))).toBeLessThan(2e-6);
    stream.close();
  });

  test("goes over to libopus when SILK packets come, without an audible break", async () => {
    const { celt, silk } = await celtThenSilk();
    const packets = [...celt, ...silk, ...celt];
    const stream = new OpusStream(STEREO);
    expect(differenceOf(decodeByStream(stream, packets), decodeByLibrary(packets))).toBeLessThan(0.001);
    stream.close();
  });

  test("goes over to libopus when frames were not transmitted, whose loss it conceals", async () => {
    const { celt } = await celtThenSilk();
    const lost = Uint8Array.of((CELT_20_MS << 3) | 4);
    const packets = [...celt.slice(0, 20), lost, lost, ...celt.slice(20)];
    const stream = new OpusStream(STEREO);
    expect(differenceOf(decodeByStream(stream, packets), decodeByLibrary(packets))).toBeLessThan(0.001);
    stream.close();
  });

  test("begins with SILK packets as libopus does", async () => {
    const { celt, silk } = await celtThenSilk();
    const packets = [...silk, ...celt];
    const stream = new OpusStream(STEREO);
    expect(differenceOf(decodeByStream(stream, packets), decodeByLibrary(packets))).toBe(0);
    stream.close();
  });

  test("decodes like a new one after a reset, whichever decoder it had", async () => {
    const { celt, silk } = await celtThenSilk();
    const stream = new OpusStream(STEREO);
    const first = decodeByStream(stream, celt);
    stream.reset();
    expect(decodeByStream(stream, [...celt, ...silk]).slice(0, celt.length)).toEqual(first);
    stream.reset();
    expect(decodeByStream(stream, celt)).toEqual(first);
    stream.close();
  });

  test("yields nothing for a damaged packet, and decodes the next ones", async () => {
    const { celt } = await celtThenSilk();
    const stream = new OpusStream(STEREO);
    expect(stream.decode(new Uint8Array(0), opus)).toBeLessThanOrEqual(0);
    expect(stream.decode(Uint8Array.of((CELT_20_MS << 3) | 7, 0), opus)).toBeLessThanOrEqual(0);
    expect(stream.decode(Uint8Array.of((CELT_20_MS << 3) | 5, 1, 2, 3, 4, 5), opus)).toBeLessThanOrEqual(0);
    expect(differenceOf(decodeByStream(stream, celt), decodeByLibrary(celt))).toBeLessThan(2e-6);
    stream.close();
  });
});
