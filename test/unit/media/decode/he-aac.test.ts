import { afterEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { createAacDecoder } from "../../../../src/media/decode/aac-decoder.ts";
import type { Decoder, PcmBlock } from "../../../../src/media/decode/decoder.ts";
import { aacRate, buildAacConfig } from "../../../../src/media/demux/aac-config.ts";
import type { AudioStream } from "../../../../src/media/format/packet.ts";
import { randomAacPacket } from "../../../support/aac-packets.ts";
import {
  type ReplicationHeader,
  ReplicationWriter,
  type StereoOptions,
  StereoWriter,
} from "../../../support/aac-replication.ts";
import { decodeByFfmpeg, hasFfmpegAac } from "../../../support/ffmpeg-aac.ts";

const PACKETS = 16;
/** Both calculate with 32-bit floats. */
const DIFFERENCE_MAX = 1e-5;

type Numbers = readonly [
  rateIndex: number,
  start: number,
  stop: number,
  crossover: number,
  scale: number,
  alter: number,
  noise: number,
];

const header = (numbers: Numbers, bands: ReplicationHeader["bands"]): ReplicationHeader => {
  const [rateIndex, start, stop, crossover, scale, alter, noise] = numbers;
  return { rateIndex, start, stop, crossover, scale, alter, noise, bands };
};

const HEADERS: readonly ReplicationHeader[] = [
  header([3, 5, 7, 0, 0, 0, 3], [20, 10, 5]),
  header([3, 7, 15, 1, 2, 1, 0], [13, 7, 1]),
  header([4, 14, 8, 1, 2, 1, 0], [3, 2, 1]),
  header([4, 9, 14, 3, 1, 0, 1], [9, 5, 1]),
  header([5, 10, 14, 0, 3, 1, 3], [8, 4, 3]),
  header([5, 8, 9, 0, 2, 0, 1], [16, 8, 2]),
  header([6, 10, 6, 2, 2, 0, 0], [8, 4, 1]),
  header([6, 4, 4, 3, 0, 0, 2], [13, 7, 2]),
  header([7, 1, 1, 0, 3, 1, 2], [10, 5, 3]),
  header([7, 6, 5, 3, 1, 0, 0], [11, 6, 1]),
  header([8, 1, 0, 3, 0, 1, 2], [7, 4, 2]),
  header([8, 4, 13, 2, 0, 0, 0], [46, 23, 1]),
  header([9, 10, 6, 2, 2, 0, 3], [8, 4, 2]),
  header([9, 7, 15, 0, 2, 1, 3], [14, 7, 5]),
  header([10, 2, 10, 1, 0, 1, 3], [19, 10, 5]),
  header([11, 4, 2, 1, 1, 0, 2], [15, 8, 3]),
];

const STEREO: readonly StereoOptions[] = [0, 1, 2, 3, 4, 5].flatMap((levelMode) =>
  [false, true].map((hasPhases) => ({
    levelMode,
    coherenceMode: (levelMode * 5 + (hasPhases ? 3 : 0)) % 6,
    hasPhases,
  })),
);

const opened: Decoder[] = [];
afterEach(() => {
  for (const decoder of opened.splice(0)) decoder.close();
});

function open(decoder: Decoder): Decoder {
  opened.push(decoder);
  return decoder;
}

const CHANNELS: Readonly<Record<string, number>> = { s: 1, p: 2, sppl: 6 };

function streamOf(rateIndex: number, elements: string): AudioStream {
  const sampleRateHz = aacRate(rateIndex)!;
  const channelCount = CHANNELS[elements]!;
  const description = buildAacConfig({ objectType: 2, sampleRateHz, channelCount });
  return { codec: "aac", sampleRateHz, channelCount, description, pcm: undefined };
}

function packetsOf(
  replication: ReplicationHeader,
  elements: string,
  { seed, stereo }: { readonly seed: number; readonly stereo?: StereoOptions },
): readonly Uint8Array[] {
  const random = seededRandom(seed);
  const spread = stereo && new StereoWriter(stereo, random);
  const { rateIndex } = replication;
  const writers = [...elements].map((kind) => new ReplicationWriter(replication, kind === "p", random));
  return Array.from({ length: PACKETS }, (_, index) =>
    randomAacPacket({ rateIndex, windows: "long", elements, isFull: true }, index, random, (bits, element) => {
      if (elements[element] !== "l") writers[element]!.write(bits, spread?.write());
    }),
  );
}

/** The root mean square of the difference to FFmpeg, as a share of that of the audio, over all packets. */
async function differenceOf(stream: AudioStream, packets: readonly Uint8Array[]): Promise<number> {
  const decoder = open(createAacDecoder(stream));
  const reference = await decodeByFfmpeg(stream, packets);
  let [difference, whole] = [0, 0];
  for (const [index, packet] of packets.entries()) {
    const { channels, lengthSamples, sampleRateHz } = decoder.decode(packet) as PcmBlock;
    const expected = reference[index]!;
    expect([lengthSamples, sampleRateHz]).toEqual([expected.lengthSamples, expected.sampleRateHz]);
    for (const [side, samples] of expected.channels.entries()) {
      // Mono may be stereo there.
      const own = channels[Math.min(side, channels.length - 1)]!;
      for (const [at, sample] of samples.entries()) {
        difference += (sample - own[at]!) ** 2;
        whole += sample ** 2;
      }
    }
  }
  return Math.sqrt(difference / whole);
}

describe.runIf(hasFfmpegAac)("the HE-AAC decoder beside FFmpeg", () => {
  test.each(HEADERS.flatMap((replication) => ["s", "p"].map((elements) => ({ ...replication, elements }))))(
    "replicates at rate $rateIndex from $start to $stop, scale $scale, elements $elements, as FFmpeg",
    async ({ elements, ...replication }) => {
      const packets = packetsOf(replication, elements, { seed: 31 });
      expect(await differenceOf(streamOf(replication.rateIndex, elements), packets)).toBeLessThan(DIFFERENCE_MAX);
    },
  );

  test.each(STEREO)(
    "makes two sides of one, levels $levelMode, coherences $coherenceMode, phases $hasPhases, as FFmpeg",
    async (stereo) => {
      const packets = packetsOf(HEADERS[9]!, "s", { seed: 32, stereo });
      expect(await differenceOf(streamOf(HEADERS[9]!.rateIndex, "s"), packets)).toBeLessThan(DIFFERENCE_MAX);
    },
  );
});

/** A packet with some bytes changed, and perhaps cut off. */
function damaged(packet: Uint8Array, random: () => number): Uint8Array {
  const copy = packet.slice();
  const damages = random() < 0.5 ? 3 : copy.length;
  for (let count = 0; count < damages; count++) copy[Math.floor(random() * copy.length)] = Math.floor(256 * random());
  return copy.subarray(0, Math.floor(copy.length * Math.min(1, 3 * random())));
}

test.each(["s", "p"])(
  "an HE-AAC stream (elements %s) is not changed by what hostile ones beside it hold",
  async (elements) => {
    const random = seededRandom(33);
    const stereo = elements === "s" ? STEREO[3]! : undefined;
    const packets = packetsOf(HEADERS[9]!, elements, { seed: 34, ...(stereo && { stereo }) });
    const stream = streamOf(HEADERS[9]!.rateIndex, elements);
    const hostile = open(createAacDecoder(stream));
    let decodedCount = 0;
    const decodeAll = async (besides: () => void) => {
      const decoder = open(createAacDecoder(stream));
      return packets.map((packet) => {
        besides();
        return (decoder.decode(packet) as PcmBlock).channels.map((channel) => channel.slice());
      });
    };
    const alone = await decodeAll(() => undefined);
    const accompanied = await decodeAll(() => {
      for (let step = 0; step < 60; step++) {
        const packet = packets[Math.floor(random() * packets.length)]!;
        const { channels, lengthSamples } = hostile.decode(damaged(packet, random)) as PcmBlock;
        decodedCount += lengthSamples > 0 ? 1 : 0;
        expect(channels.every((channel) => channel.every((sample) => Number.isFinite(sample)))).toBe(true);
        // A run of damage would end the stream.
        hostile.decode(packet);
      }
    });
    expect(decodedCount).toBeGreaterThan(50);
    expect(accompanied).toEqual(alone);
  },
);

test("an HE-AAC stream after a jump decodes as from its start", async () => {
  const packets = packetsOf(HEADERS[9]!, "s", { seed: 35, stereo: STEREO[5]! });
  const decoder = open(createAacDecoder(streamOf(HEADERS[9]!.rateIndex, "s")));
  const decodeAll = () => packets.map((packet) => (decoder.decode(packet) as PcmBlock).channels.map((c) => c.slice()));
  const first = decodeAll();
  expect(first.every(({ length }) => length === 2)).toBe(true);
  decoder.reset();
  expect(decodeAll()).toEqual(first);
});

test("AAC that becomes HE-AAC goes on at twice the rate", async () => {
  const replicated = packetsOf(HEADERS[9]!, "p", { seed: 36 });
  const random = seededRandom(37);
  const plain = randomAacPacket({ rateIndex: HEADERS[9]!.rateIndex, windows: "long", elements: "p" }, 0, random);
  const decoder = open(createAacDecoder(streamOf(HEADERS[9]!.rateIndex, "p")));
  expect(decoder.decode(plain)).toMatchObject({ lengthSamples: 1024, sampleRateHz: 22_050 });
  expect(decoder.decode(replicated[0]!)).toMatchObject({ lengthSamples: 2048, sampleRateHz: 44_100 });
  expect(decoder.decode(plain)).toMatchObject({ lengthSamples: 2048, sampleRateHz: 44_100 });
});
