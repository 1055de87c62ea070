import { afterEach, expect, test, vi } from "vitest";
import { fitTone } from "../../../../lab/listen/tone.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import type { Decoder } from "../../../../src/media/decode/decoder.ts";
import { readCodecFixture } from "../../../support/codec-fixture.ts";

const FIXTURES = ["mp3", "vorbis", "flac", "flac24", "aac", "adts", "alac", "alac24"] as const;

async function decodeAll(decoder: Decoder, packets: readonly Uint8Array[]) {
  const channels: number[][] = [];
  const lengths: number[] = [];
  const rates = new Set<number>();
  const take = ({ channels: parts, lengthSamples, sampleRateHz }: Awaited<ReturnType<Decoder["decode"]>>) => {
    for (const [index, part] of parts.entries()) {
      channels[index] ??= [];
      channels[index].push(...part.subarray(0, lengthSamples));
    }
    if (lengthSamples > 0) rates.add(sampleRateHz);
    return lengthSamples;
  };
  for (const packet of packets) lengths.push(take(await decoder.decode(packet)));
  take(await decoder.flush());
  return { channels: channels.map((channel) => Float32Array.from(channel)), lengths, rates: [...rates] };
}

/** Checks the tones as the encoder leaves them: LAME scales by 0.95, FFmpeg's AAC encoder adds noise. */
function expectTones(name: string, channels: readonly Float32Array[]): void {
  const scale = name === "mp3" ? 0.95 : 1;
  const residueDbMax = name === "aac" || name === "adts" ? -35 : -45;
  for (const [channel, frequencyHz, amplitude] of [
    [channels[0]!, 440, 0.5],
    [channels[1]!, 1000, 0.25],
  ] as const) {
    const fit = fitTone(channel.subarray(4608, 12_000), frequencyHz, 44_100);
    expect(Math.abs(fit.amplitude / amplitude / scale - 1)).toBeLessThan(0.03);
    expect(fit.residueDb).toBeLessThan(residueDbMax);
  }
}

test.each(FIXTURES)("%s: every packet decodes to both channels, at the right level and rate", async (name) => {
  const { stream, packets } = readCodecFixture(name);
  const decoder = await createDecoder(stream);
  const { channels, lengths, rates } = await decodeAll(decoder, packets);
  decoder.close();
  expect(rates).toEqual([44_100]);
  expect(channels.length).toBe(2);
  expectTones(name, channels);
  const isVorbis = name === "vorbis";
  expect(lengths.findIndex((length) => length > 0)).toBe(isVorbis ? 1 : 0);
  expect(lengths.slice(1).every((length) => length > 0)).toBe(true);
});

// libFLAC as built here divides by 32767 (0.0003 dB).
test("FLAC is bit-exact", async () => {
  const { stream, packets } = readCodecFixture("flac");
  const decoder = await createDecoder(stream);
  const { channels } = await decodeAll(decoder, packets);
  expect(channels[0]?.length).toBe(44_100);
  const exact = channels[0]!.every((value, index) => {
    return Math.abs(value * 32_767 - 16_384 * Math.sin((2 * Math.PI * 440 * index) / 44_100)) <= 1.01;
  });
  expect(exact).toBe(true);
  expect(channels[0]!.every((value) => Math.abs(value * 32_767 - Math.round(value * 32_767)) < 0.002)).toBe(true);
  decoder.close();
});

test.each(["alac", "alac24"])("%s is bit-exact", async (name) => {
  const { stream, packets } = readCodecFixture(name);
  const decoder = await createDecoder(stream);
  const { channels } = await decodeAll(decoder, packets);
  decoder.close();
  const scale = name === "alac" ? 2 ** 15 : 2 ** 23;
  expect(channels[0]?.length).toBe(17_640);
  for (const [channel, frequencyHz, amplitude] of [
    [channels[0]!, 440, 0.5],
    [channels[1]!, 1000, 0.25],
  ] as const) {
    const isExact = channel.every((value, index) => {
      const original = amplitude * Math.sin((2 * Math.PI * frequencyHz * index) / 44_100) * scale;
      return Number.isInteger(value * scale) && Math.abs(value * scale - original) <= 1;
    });
    expect(isExact).toBe(true);
  }
});

test("six ALAC channels are output centre first", async () => {
  const { stream, packets } = readCodecFixture("alac6");
  const decoder = await createDecoder(stream);
  const { channels } = await decodeAll(decoder, packets);
  for (const [index, frequencyHz] of [500, 300, 400, 600, 700, 60].entries()) {
    expect(fitTone(channels[index]!.subarray(0, 8000), frequencyHz, 48_000).amplitude).toBeCloseTo(0.5, 3);
  }
  decoder.close();
});

test.each([
  ["missing", undefined],
  ["too short", new Uint8Array(23)],
  ["all zero", new Uint8Array(24)],
])("an ALAC cookie that is %s is refused", async (_, description) => {
  const { stream } = readCodecFixture("alac");
  await expect(createDecoder({ ...stream, description })).rejects.toMatchObject({ code: "media-unsupported-codec" });
});

test("six Vorbis channels are output in Vorbis order", async () => {
  const { stream, packets } = readCodecFixture("vorbis6");
  const decoder = await createDecoder(stream);
  const { channels } = await decodeAll(decoder, packets);
  // Made of FL 300, FR 400, FC 500, LFE 60, BL 600, BR 700 Hz.
  for (const [index, frequencyHz] of [300, 500, 400, 600, 700, 60].entries()) {
    expect(fitTone(channels[index]!.subarray(6000, 18_000), frequencyHz, 48_000).amplitude).toBeGreaterThan(0.4);
  }
  decoder.close();
});

test.each(FIXTURES)("%s: a decoder after a reset decodes like a new one", async (name) => {
  const { stream, packets } = readCodecFixture(name);
  const half = packets.slice(Math.floor(packets.length / 2));
  const fresh = await createDecoder(stream);
  const expected = await decodeAll(fresh, half);
  const used = await createDecoder(stream);
  for (const packet of packets.slice(0, 2)) await used.decode(packet);
  await used.reset();
  const actual = await decodeAll(used, half);
  expect(actual.lengths).toEqual(expected.lengths);
  for (const [index, channel] of actual.channels.entries()) {
    const other = expected.channels[index]!;
    expect(channel.every((value, sample) => Math.abs(value - other[sample]!) < 1e-6)).toBe(true);
  }
  fresh.close();
  used.close();
});

afterEach(() => {
  vi.restoreAllMocks();
});

test.each(FIXTURES)("%s: damaged packets are skipped in silence, and later packets decode again", async (name) => {
  const output = [vi.spyOn(console, "error"), vi.spyOn(console, "log"), vi.spyOn(console, "warn")];
  const { stream, packets } = readCodecFixture(name);
  const seed = 4;
  const random = seededRandom(seed);
  const decoder = await createDecoder(stream);
  for (let round = 0; round < 12; round++) {
    const bytes = Uint8Array.from({ length: Math.floor(random() * 900) }, () => Math.floor(random() * 256));
    await decoder.decode(bytes);
    const packet = packets[round % packets.length]!;
    await decoder.decode(packet.subarray(0, Math.floor(random() * packet.length)));
  }
  const { channels } = await decodeAll(decoder, [packets[0]!, ...packets]);
  expectTones(
    name,
    channels.map((channel) => channel.subarray(channel.length > 30_000 ? 1152 : 0)),
  );
  decoder.close();
  for (const spy of output) expect(spy).not.toHaveBeenCalled();
});

test.each(FIXTURES)("%s: the very next packet after damage decodes again", async (name) => {
  const { stream, packets } = readCodecFixture(name);
  const seed = 21;
  const random = seededRandom(seed);
  const decoder = await createDecoder(stream);
  await decoder.decode(packets[0]!);
  for (let round = 0; round < 15; round++) {
    for (let count = 0; count < 4; count++) {
      await decoder.decode(Uint8Array.from({ length: 400 }, () => Math.floor(random() * 256)));
    }
    await decoder.decode(packets[1]!.subarray(0, 60));
    const block = await decoder.decode(packets[1]!);
    expect(block.lengthSamples, `seed ${seed} round ${round}`).toBeGreaterThan(0);
  }
  decoder.close();
});

/** Cyclic redundancy check, most significant bit first, from 0: FLAC uses 8 bits of 0x07 and 16 bits of 0x8005. */
function crc(bytes: Uint8Array, bits: 8 | 16, polynomial: number): number {
  let value = 0;
  for (const byte of bytes) {
    value ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++) value = (value << 1) ^ ((value >> (bits - 1)) & 1 ? polynomial : 0);
    value &= 2 ** bits - 1;
  }
  return value;
}

test("FLAC frames that leave rate and bits to STREAMINFO decode, also after damage", async () => {
  const { stream, packets } = readCodecFixture("flac");
  const frame = packets[0]!.slice();
  // Block size and rate in byte 2, channels and bits in byte 3; no longer fields in this frame, so the CRC is byte 5.
  frame[2]! &= 0xf0;
  frame[3]! &= 0xf1;
  frame[5] = crc(frame.subarray(0, 5), 8, 0x07);
  const check = crc(frame.subarray(0, frame.length - 2), 16, 0x8005);
  frame.set([check >> 8, check & 0xff], frame.length - 2);
  const decoder = await createDecoder(stream);
  for (let round = 0; round < 3; round++) {
    const block = await decoder.decode(frame);
    expect([block.lengthSamples, block.sampleRateHz]).toEqual([4608, 44_100]);
    await decoder.decode(new Uint8Array(300).fill(7));
  }
  decoder.close();
});

test.each(FIXTURES)("%s: bit errors neither throw nor hang nor grow", async (name) => {
  const { stream, packets } = readCodecFixture(name);
  const seed = 11;
  const random = seededRandom(seed);
  const decoder = await createDecoder(stream);
  for (let round = 0; round < 150; round++) {
    const packet = packets[round % packets.length]!.slice();
    if (round % 10 !== 0) {
      for (let flips = 0; flips < 8; flips++) packet[Math.floor(random() * packet.length)]! ^= 1 << (random() * 8);
    }
    const block = await decoder.decode(packet);
    expect(block.lengthSamples, `seed ${seed} round ${round}`).toBeLessThanOrEqual(65_536);
  }
  decoder.close();
});

test.each(FIXTURES)("%s: fifty empty packets in a row are an error", async (name) => {
  const decoder = await createDecoder(readCodecFixture(name).stream);
  for (let packet = 0; packet < 49; packet++) await decoder.decode(new Uint8Array(0));
  await expect((async () => decoder.decode(new Uint8Array(0)))()).rejects.toMatchObject({
    code: "media-decode-failed",
  });
  decoder.close();
});

test.each(FIXTURES)("%s: closing a decoder twice, and in the middle of a packet, is harmless", async (name) => {
  const { stream, packets } = readCodecFixture(name);
  const decoder = await createDecoder(stream);
  const pending = decoder.decode(packets[0]!);
  decoder.close();
  decoder.close();
  await pending;
  expect((await decoder.decode(packets[0]!)).lengthSamples).toBe(0);
  await decoder.reset();
  expect((await decoder.flush()).lengthSamples).toBe(0);
});

test("damaged Vorbis headers are refused", async () => {
  const { stream } = readCodecFixture("vorbis");
  const description = stream.description!;
  for (const damaged of [
    undefined,
    description.subarray(0, 200),
    description.map((byte, at) => (at > 400 ? 0xff : byte)),
  ]) {
    const attempt = createDecoder({ ...stream, description: damaged });
    await expect(attempt).rejects.toMatchObject({ code: "media-unsupported-codec" });
  }
});
