import { createEncoder } from "libopus-wasm";
import { expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { loadLibopus } from "../../../../src/media/opus/libopus.ts";
import {
  buildOpusPacket,
  isPassthroughPacket,
  OpusRepacketizer,
  packetDurationSamples,
  parseOpusPacket,
} from "../../../../src/media/opus/opus-packet.ts";

const bytes = (length: number, value = 1) => new Uint8Array(length).fill(value);

/** Real packets of one length from libopus, of a chirp. */
async function realPackets(frameMs: number, count: number): Promise<Uint8Array[]> {
  const encoder = await createEncoder({ channels: 2, bitrate: 96_000 });
  const samples = frameMs * 48;
  const packets = Array.from({ length: count }, (_, packet) => {
    const pcm = Float32Array.from({ length: samples * 2 }, (_, index) => {
      const time = packet * samples + (index >> 1);
      return 0.4 * Math.sin(time * (0.02 + time * 1e-7));
    });
    return encoder.encodeFloat(pcm, { frameSize: samples });
  });
  encoder.free();
  return packets;
}

/** The output of one libopus decoder for the packets. */
async function decode(packets: readonly Uint8Array[]): Promise<number[]> {
  const opus = await loadLibopus();
  const { module, packetPointer, pcmPointer } = opus;
  const decoder = opus.createDecoder(2, 0);
  const audio: number[] = [];
  for (const packet of packets) {
    module.HEAPU8.set(packet, packetPointer);
    const samples = module._oc_decode_float(decoder, packetPointer, packet.length, pcmPointer, 5760, 0);
    audio.push(...module.HEAPF32.slice(pcmPointer >> 2, (pcmPointer >> 2) + samples * 2));
  }
  module._oc_destroy_decoder(decoder);
  return audio;
}

test("every configuration of RFC 6716 table 2 has its frame length and mode", () => {
  const lengths = [10, 20, 40, 60];
  const expected = [
    ...[0, 1, 2].flatMap(() => lengths.map((ms) => ["silk", ms])),
    ...[0, 1].flatMap(() => [10, 20].map((ms) => ["hybrid", ms])),
    ...[0, 1, 2, 3].flatMap(() => [2.5, 5, 10, 20].map((ms) => ["celt", ms])),
  ];
  const actual = Array.from({ length: 32 }, (_, config) => {
    const packet = parseOpusPacket(Uint8Array.of(config << 3, 1));
    return [packet?.mode, (packet?.frameSamples ?? 0) / 48];
  });
  expect(actual).toEqual(expected);
});

test.each([5, 10, 20, 40, 60])("durations agree with libopus for %i ms", async (frameMs) => {
  for (const packet of await realPackets(frameMs, 3)) {
    expect(packetDurationSamples(packet)).toBe(frameMs * 48);
    expect(isPassthroughPacket(packet)).toBe(frameMs === 20);
  }
});

test("splitting and building an Opus packet again gives the same frames, in every code and framing", () => {
  const seed = 20_261_121;
  const random = seededRandom(seed);
  for (let round = 0; round < 2000; round++) {
    const count = 1 + Math.floor(random() * 12);
    const isEqual = random() < 0.4;
    const size = Math.floor(random() * 1276);
    const frames = Array.from({ length: count }, () => {
      return bytes(isEqual ? size : Math.floor(random() * 1276), Math.floor(random() * 256));
    });
    const built = buildOpusPacket(16 + Math.floor(random() * 4) * 4, random() < 0.5, frames);
    const parsed = parseOpusPacket(built);
    const isSame = parsed?.frames.every((frame, index) => Buffer.compare(frame, frames[index]!) === 0);
    expect(isSame, `seed ${seed} round ${round}`).toBe(true);
    expect(parsed?.frames.length).toBe(count);
    expect(parsed?.sizeBytes).toBe(built.length);
    expect(packetDurationSamples(built)).toBe(count * 120);
  }
});

test("Opus padding is skipped", () => {
  // Code 3, one frame, padding flag, 2 bytes of padding.
  const parsed = parseOpusPacket(Uint8Array.of((31 << 3) | 3, 0x41, 2, 7, 8, 9, 0, 0));
  expect(parsed?.frames).toEqual([Uint8Array.of(7, 8, 9)]);
});

test("self-delimited packets (RFC 6716 appendix B) leave the bytes behind them unread", () => {
  const toc = 31 << 3;
  const cases: [number[], number[][]][] = [
    [[toc, 2, 1, 2, 99], [[1, 2]]],
    [
      [toc | 1, 1, 5, 6, 99],
      [[5], [6]],
    ],
    [
      [toc | 2, 1, 2, 5, 6, 7, 99],
      [[5], [6, 7]],
    ],
    [
      [toc | 3, 3, 1, 5, 6, 7, 99],
      [[5], [6], [7]],
    ],
    [
      [toc | 3, 0x82, 1, 2, 5, 6, 7, 99],
      [[5], [6, 7]],
    ],
    [
      [toc | 3, 0x42, 1, 1, 5, 6, 0, 99],
      [[5], [6]],
    ],
  ];
  for (const [packet, frames] of cases) {
    const parsed = parseOpusPacket(Uint8Array.from(packet), { isSelfDelimited: true });
    expect(parsed?.frames.map((frame) => [...frame])).toEqual(frames);
    expect(parsed?.sizeBytes).toBe(packet.length - 1);
  }
});

test.each([
  ["nothing", []],
  ["two equal frames in an odd number of bytes", [(31 << 3) | 1, 1, 2, 3]],
  ["a first frame longer than the packet", [(31 << 3) | 2, 9, 1]],
  ["a count of none", [(31 << 3) | 3, 0]],
  ["more than 120 ms", [(31 << 3) | 3, 7, 1, 1, 1, 1, 1, 1, 1]],
  ["more padding than bytes", [(31 << 3) | 3, 0x41, 200, 1]],
  ["equal frames that do not divide", [(28 << 3) | 3, 2, 1, 2, 3]],
])("an Opus packet of %s is refused", (_, packet) => {
  expect(parseOpusPacket(Uint8Array.from(packet))).toBeUndefined();
  expect(isPassthroughPacket(Uint8Array.from(packet))).toBe(false);
});

test("an Opus frame of more than 1275 bytes is refused", () => {
  expect(isPassthroughPacket(Uint8Array.from([31 << 3, ...bytes(1275)]))).toBe(true);
  expect(isPassthroughPacket(Uint8Array.from([31 << 3, ...bytes(1276)]))).toBe(false);
});

test("random bytes are never read past their end, and libopus agrees about which are packets", async () => {
  const seed = 7;
  const random = seededRandom(seed);
  const { module, packetPointer } = await loadLibopus();
  const parse = (module as unknown as { _oc_packet_parse(packet: number, size: number): number })._oc_packet_parse;
  for (let round = 0; round < 20_000; round++) {
    const length = 1 + Math.floor(random() * (round % 10 === 0 ? 3000 : 30));
    const packet = Uint8Array.from({ length }, () => Math.floor(random() * 256));
    const parsed = parseOpusPacket(packet);
    parseOpusPacket(packet, { isSelfDelimited: true });
    module.HEAPU8.set(packet, packetPointer);
    const count = parse(packetPointer, length);
    expect(parsed?.frames.length ?? 0, `seed ${seed} round ${round}: ${packet}`).toBe(Math.max(count, 0));
  }
});

test.each([10, 5])("Opus packets of %i ms are joined to 20 ms and sound the same", async (frameMs) => {
  const packets = await realPackets(frameMs, 24);
  const repacketizer = new OpusRepacketizer();
  const joined = packets.flatMap((packet) => repacketizer.push(packet) ?? []);
  expect(joined.length).toBe((24 * frameMs) / 20);
  expect(joined.every(isPassthroughPacket)).toBe(true);
  expect(repacketizer.pendingSamples).toBe(0);
  expect(await decode(joined)).toEqual(await decode(packets));
});

test("Opus packets of several 20 ms frames are split and sound the same", async () => {
  const single = await realPackets(20, 12);
  const frames = single.map((packet) => parseOpusPacket(packet));
  const triple = [0, 3, 6, 9].map((start) => {
    const [first, ...rest] = frames.slice(start, start + 3);
    return buildOpusPacket(
      first!.config,
      first!.isStereo,
      [first!, ...rest].flatMap((packet) => packet!.frames),
    );
  });
  const repacketizer = new OpusRepacketizer();
  expect(triple.flatMap((packet) => repacketizer.push(packet) ?? [])).toEqual(single);
});

test("Opus packets of 20 ms pass unchanged", async () => {
  const repacketizer = new OpusRepacketizer();
  for (const packet of await realPackets(20, 3)) expect(repacketizer.push(packet)).toEqual([packet]);
});

test("40 ms frames, a change inside a group, and damage cannot be regrouped", async () => {
  const repacketizer = new OpusRepacketizer();
  expect(repacketizer.push(Uint8Array.of((2 << 3) | 0, 1, 2))).toBeUndefined();
  expect(repacketizer.push(Uint8Array.of(30 << 3, 1, 2))).toEqual([]);
  expect(repacketizer.pendingSamples).toBe(480);
  expect(repacketizer.push(Uint8Array.of(26 << 3, 1, 2))).toBeUndefined();
  expect(repacketizer.pendingSamples).toBe(0);
  expect(repacketizer.push(new Uint8Array(0))).toBeUndefined();
});
