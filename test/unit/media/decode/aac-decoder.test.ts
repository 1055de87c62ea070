import { afterEach, describe, expect, test } from "vitest";
import { adtsFrame } from "../../../../lab/media-files/containers.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { createAacDecoder } from "../../../../src/media/decode/aac-decoder.ts";
import type { Decoder, PcmBlock } from "../../../../src/media/decode/decoder.ts";
import { aacRate, buildAacConfig } from "../../../../src/media/demux/aac-config.ts";
import type { AudioStream } from "../../../../src/media/format/packet.ts";
import { type AacPacketOptions, BitWriter, randomAacPacket } from "../../../support/aac-packets.ts";
import { readCodecFixture } from "../../../support/codec-fixture.ts";
import { decodeByFfmpeg, hasFfmpegAac } from "../../../support/ffmpeg-aac.ts";

const PACKETS = 12;
/** Both calculate with 32-bit floats. */
const DIFFERENCE_MAX = 1e-5;

const opened: Decoder[] = [];
afterEach(() => {
  for (const decoder of opened.splice(0)) decoder.close();
});

function open(decoder: Decoder): Decoder {
  opened.push(decoder);
  return decoder;
}

/** The largest difference to FFmpeg, as a share of the largest sample so far, over all packets. */
async function differenceOf(stream: AudioStream, packets: readonly Uint8Array[]): Promise<number> {
  const decoder = open(createAacDecoder(stream));
  const reference = await decodeByFfmpeg(stream, packets);
  let worst = 0;
  let peak = 1e-3;
  for (const [index, packet] of packets.entries()) {
    const { channels, lengthSamples, sampleRateHz } = decoder.decode(packet) as PcmBlock;
    const expected = reference[index]!;
    expect([channels.length, lengthSamples, sampleRateHz]).toEqual([
      expected.channels.length,
      expected.lengthSamples,
      expected.sampleRateHz,
    ]);
    let difference = 0;
    for (const [channel, samples] of expected.channels.entries()) {
      for (let at = 0; at < lengthSamples; at++) {
        peak = Math.max(peak, Math.abs(samples[at]!));
        difference = Math.max(difference, Math.abs(samples[at]! - channels[channel]![at]!));
      }
    }
    worst = Math.max(worst, difference / peak);
  }
  return worst;
}

const CHANNELS: Readonly<Record<string, number>> = { s: 1, p: 2, sp: 3, sps: 4, spp: 5, sppl: 6, sppsl: 7, spppl: 8 };

function streamOf({ rateIndex, elements }: AacPacketOptions): AudioStream {
  const sampleRateHz = aacRate(rateIndex)!;
  const channelCount = CHANNELS[elements]!;
  const description =
    channelCount === 7
      ? Uint8Array.of((2 << 3) | (rateIndex >> 1), ((rateIndex & 1) << 7) | (11 << 3))
      : buildAacConfig({ objectType: 2, sampleRateHz, channelCount });
  return { codec: "aac", sampleRateHz, channelCount, description, pcm: undefined };
}

const WINDOWS = ["long", "short", "changing"] as const;
const STREAMS: readonly AacPacketOptions[] = [
  ...Array.from({ length: 13 }, (_, rateIndex) => rateIndex).flatMap((rateIndex) =>
    WINDOWS.map((windows) => ({ rateIndex, windows, elements: "p" })),
  ),
  ...Object.keys(CHANNELS).flatMap((elements) => WINDOWS.map((windows) => ({ rateIndex: 3, windows, elements }))),
];

describe.runIf(hasFfmpegAac)("the AAC decoder beside FFmpeg", () => {
  test.each(STREAMS)("decodes rate $rateIndex, $windows windows, elements $elements as FFmpeg", async (options) => {
    const random = seededRandom(21);
    const packets = Array.from({ length: PACKETS }, (_, index) => randomAacPacket(options, index, random));
    expect(await differenceOf(streamOf(options), packets)).toBeLessThan(DIFFERENCE_MAX);
  });

  test.each(["aac", "adts"])("decodes an encoder's stream (%s) as FFmpeg", async (name) => {
    const { stream, packets } = readCodecFixture(name);
    expect(await differenceOf(stream, packets)).toBeLessThan(DIFFERENCE_MAX);
  });
});

/** AudioSpecificConfig (LC, 48 kHz) with a program: elements of the front, the side, the back, and low frequencies. */
function programConfig(front: string, side: string, back: string, low: number): Uint8Array {
  const bits = new BitWriter().write(2, 5).write(3, 4).write(0, 4).write(0, 3);
  bits.write(0, 4).write(1, 2).write(3, 4);
  for (const place of [front, side, back]) bits.write(place.length, 4);
  bits.write(low, 2).write(0, 3).write(0, 4).write(0, 3);
  const tags = { s: 0, p: 0 };
  for (const kind of (front + side + back) as Iterable<"s" | "p">)
    bits.write(kind === "p" ? 1 : 0, 1).write(tags[kind]++, 4);
  for (let index = 0; index < low; index++) bits.write(index, 4);
  return bits
    .write(0, (8 - (bits.bitCount % 8)) % 8)
    .write(0, 8)
    .toBytes();
}

test.runIf(hasFfmpegAac).each([
  ["p", "", "", 1],
  ["p", "", "p", 0],
  ["p", "p", "", 0],
  ["spp", "", "p", 1],
  ["ps", "", "p", 1],
  ["ps", "s", "pp", 0],
  ["ps", "p", "s", 0],
] as const)(
  "AAC with the elements %s, %s, %s and %i LFE has its channels in FFmpeg's order",
  async (front, side, back, low) => {
    const elements = `${front}${side}${back}${"l".repeat(low)}`;
    const random = seededRandom(22);
    const packets = Array.from({ length: 4 }, (_, index) =>
      randomAacPacket({ rateIndex: 3, windows: "long", elements }, index, random),
    );
    const description = programConfig(front, side, back, low);
    const channelCount = elements.replaceAll("p", "ss").length;
    const stream: AudioStream = { codec: "aac", sampleRateHz: 48_000, channelCount, description, pcm: undefined };
    expect(await differenceOf(stream, packets)).toBeLessThan(DIFFERENCE_MAX);
  },
);

const STEREO: AacPacketOptions = { rateIndex: 4, windows: "changing", elements: "p" };

function packetsOf(options: AacPacketOptions, count = PACKETS): readonly Uint8Array[] {
  const random = seededRandom(23);
  return Array.from({ length: count }, (_, index) => randomAacPacket(options, index, random));
}

test("AAC-LC needs no package and is decoded at once", async () => {
  const { stream, packets } = readCodecFixture("aac");
  const decoder = open(createAacDecoder(stream));
  expect(decoder.decode(packets[0]!)).toMatchObject({ lengthSamples: 1024, sampleRateHz: 44_100 });
});

test("AAC with damaged set-up data is refused", async () => {
  const stream: AudioStream = { ...streamOf(STEREO), description: Uint8Array.of(0x12) };
  expect(() => createAacDecoder(stream)).toThrow(expect.objectContaining({ code: "media-unsupported-codec" }));
});

test("an AAC stream is not changed by what hostile ones beside it hold", async () => {
  const random = seededRandom(24);
  const packets = packetsOf(STEREO);
  const surround = packetsOf({ ...STEREO, elements: "spppl" });
  const hostile = [
    open(createAacDecoder(streamOf(STEREO))),
    open(createAacDecoder(streamOf({ ...STEREO, elements: "spppl" }))),
  ];
  const decodeAll = async (besides: () => void) => {
    const decoder = open(createAacDecoder(streamOf(STEREO)));
    return packets.map((packet) => {
      besides();
      const { channels } = decoder.decode(packet) as PcmBlock;
      return channels.map((channel) => channel.slice());
    });
  };
  const alone = await decodeAll(() => undefined);
  let decoded = 0;
  const accompanied = await decodeAll(() => {
    for (let step = 0; step < 100; step++) {
      const packet = (step % 2 === 0 ? packets : surround)[Math.floor(random() * packets.length)]!.slice();
      const damages = random() < 0.5 ? 3 : packet.length;
      for (let count = 0; count < damages; count++) {
        packet[Math.floor(random() * packet.length)] = Math.floor(256 * random());
      }
      const cut = packet.subarray(0, Math.floor(packet.length * Math.min(1, 2 * random())));
      const { channels, lengthSamples } = hostile[step % 2]!.decode(cut) as PcmBlock;
      decoded += lengthSamples > 0 ? 1 : 0;
      expect(channels.every((channel) => channel.every((sample) => Number.isFinite(sample)))).toBe(true);
      // A run of damage would end the stream.
      hostile[step % 2]!.decode((step % 2 === 0 ? packets : surround)[0]!);
    }
  });
  expect(decoded).toBeGreaterThan(50);
  expect(accompanied).toEqual(alone);
});

test("AAC decodes to the same audio after a jump as from the start", async () => {
  const packets = packetsOf(STEREO);
  const decoder = open(createAacDecoder(streamOf(STEREO)));
  const decodeAll = () => packets.map((packet) => (decoder.decode(packet) as PcmBlock).channels.map((c) => c.slice()));
  const first = decodeAll();
  decoder.reset();
  expect(decodeAll()).toEqual(first);
});

test("a damaged AAC packet yields nothing, and a run of them ends the stream", async () => {
  const decoder = open(createAacDecoder(streamOf(STEREO)));
  const damaged = Uint8Array.of(0x20, 0xff, 0xff, 0xff);
  for (let count = 0; count < 49; count++) expect(decoder.decode(damaged)).toMatchObject({ lengthSamples: 0 });
  expect(() => decoder.decode(damaged)).toThrow(expect.objectContaining({ code: "media-decode-failed" }));
});

test("an AAC stream whose packets get more channels has all of them", async () => {
  const stream: AudioStream = { ...streamOf(STEREO), description: undefined };
  const decoder = open(createAacDecoder(stream));
  const framed = (options: AacPacketOptions, channels: number) => adtsFrame(packetsOf(options, 1)[0]!, 4, channels);
  expect(decoder.decode(framed(STEREO, 2))).toMatchObject({ channels: { length: 2 } });
  expect(decoder.decode(framed({ ...STEREO, elements: "sppl" }, 6))).toMatchObject({ channels: { length: 6 } });
  expect(decoder.decode(framed({ ...STEREO, elements: "s" }, 1))).toMatchObject({ channels: { length: 1 } });
});

test("the AAC decoder trusts ADTS headers over the container", async () => {
  const { stream, packets } = readCodecFixture("adts");
  const decoder = open(createAacDecoder({ ...stream, sampleRateHz: 22_050, channelCount: 1 }));
  const block = decoder.decode(packets[0]!) as PcmBlock;
  expect([block.lengthSamples, block.sampleRateHz, block.channels.length]).toEqual([1024, 44_100, 2]);
});
