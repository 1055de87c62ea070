import { createEncoder } from "libopus-wasm";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { CeltStream } from "../../../../src/media/kernels/celt-kernel.ts";
import { celtDifference, randomCeltPackets } from "../../../support/celt-comparison.ts";

/** Both calculate with 32-bit floats. */
const DIFFERENCE_MAX = 2e-6;
const FORMATS = [0, 1, 2, 3].flatMap((sizeLog) =>
  [0, 1, 2, 3].flatMap((bandwidth) => [false, true].map((isStereo) => ({ sizeLog, bandwidth, isStereo }))),
);
const FULL_BAND = { sizeLog: 3, bandwidth: 3, isStereo: true };
const STEREO_FRAME = { sizeLog: 3, bands: 21, channelCount: 2 } as const;

/** What an encoder makes of tones, knocks and noise: bands of all kinds, and transients. */
async function encodedPackets(options: EncoderSettings): Promise<Uint8Array[]> {
  const { channels, bitrate, frameSamples, complexity, isVariable } = options;
  const encoder = await createEncoder({ channels, bitrate, complexity, vbr: isVariable, frameSize: frameSamples });
  const random = seededRandom(5);
  const packets = Array.from({ length: 40 }, (_, frame) => {
    const pcm = new Float32Array(frameSamples * channels);
    for (let at = 0; at < frameSamples; at++) {
      const time = frame * frameSamples + at;
      const knock = time % 5000 < 200 ? 0.5 : 0.02;
      for (let channel = 0; channel < channels; channel++) {
        const tone = 0.3 * Math.sin(time * (0.03 + 0.02 * channel)) + 0.1 * Math.sin(time * 0.7);
        pcm[at * channels + channel] = tone + knock * (random() - 0.5);
      }
    }
    return encoder.encodeFloat(pcm, { frameSize: frameSamples }).slice();
  });
  encoder.free();
  return packets.filter((packet) => packet[0]! >> 3 >= 16 && (packet[0]! & 3) === 0);
}

interface EncoderSettings {
  readonly channels: 1 | 2;
  readonly bitrate: number;
  readonly frameSamples: 120 | 240 | 480 | 960;
  readonly complexity: number;
  readonly isVariable: boolean;
}

const ENCODERS = ([1, 2] as const).flatMap((channels) =>
  ([120, 240, 480, 960] as const).flatMap((frameSamples) =>
    [48_000, 128_000, 320_000].map((bitrate, index) => {
      return { channels, frameSamples, bitrate, complexity: 5 * index, isVariable: index !== 1 };
    }),
  ),
);

describe("the CELT decoder", () => {
  test.each(FORMATS)(
    "decodes random frames as libopus: size $sizeLog, bandwidth $bandwidth, stereo $isStereo",
    (options) => {
      const random = seededRandom(31);
      const packets = randomCeltPackets(options, 40, random);
      expect(celtDifference(packets, 2)).toBeLessThan(DIFFERENCE_MAX);
      expect(celtDifference(packets, 1)).toBeLessThan(DIFFERENCE_MAX);
    },
  );

  test("decodes streams whose frames change in size, bandwidth and channels as libopus", () => {
    const random = seededRandom(32);
    const packets = Array.from({ length: 200 }, () => {
      return randomCeltPackets(FORMATS[Math.floor(FORMATS.length * random())]!, 1, random)[0]!;
    });
    expect(celtDifference(packets, 2)).toBeLessThan(DIFFERENCE_MAX);
    expect(celtDifference(packets, 1)).toBeLessThan(DIFFERENCE_MAX);
  });

  test.each(ENCODERS)(
    "decodes an encoder's stream as libopus: $channels channels, $frameSamples samples, $bitrate bit/s",
    async (options) => {
      const packets = await encodedPackets(options);
      expect(packets.length).toBeGreaterThan(20);
      expect(celtDifference(packets, options.channels)).toBeLessThan(DIFFERENCE_MAX);
    },
  );

  test("makes finite audio of random frames, and a stream beside them does not change", () => {
    const random = seededRandom(33);
    const packets = randomCeltPackets(FULL_BAND, 20, random);
    const decode = (besides: () => void): Float32Array[] => {
      const stream = CeltStream.start(2)!;
      const audio = packets.flatMap((packet) => {
        besides();
        stream.decode(packet.subarray(1), STEREO_FRAME, 1);
        return stream.channels.map((channel) => channel.slice());
      });
      stream.close();
      return audio;
    };
    const hostile = CeltStream.start(2)!;
    const alone = decode(() => undefined);
    const beside = decode(() => {
      for (const options of FORMATS) {
        const [packet] = randomCeltPackets(options, 1, random);
        const channelCount = options.isStereo ? 2 : 1;
        hostile.decode(
          packet!.subarray(1),
          { ...options, bands: [13, 17, 19, 21][options.bandwidth]!, channelCount },
          1,
        );
        expect(hostile.channels.every((channel) => channel.every(Number.isFinite))).toBe(true);
      }
    });
    hostile.close();
    expect(beside).toEqual(alone);
  });

  test("a stream after a reset decodes like a new one, also in the slot of a closed one", () => {
    const packets = randomCeltPackets(FULL_BAND, 6, seededRandom(34));
    const stream = CeltStream.start(2)!;
    const decode = () =>
      packets.map((packet) => {
        stream.decode(packet.subarray(1), STEREO_FRAME, 1);
        return stream.channels[0].slice();
      });
    const first = decode();
    expect(decode()).not.toEqual(first);
    stream.reset();
    expect(decode()).toEqual(first);
    stream.close();
    const next = CeltStream.start(2)!;
    next.decode(packets[0]!.subarray(1), STEREO_FRAME, 1);
    expect(next.channels[0]).toEqual(first[0]);
    next.close();
  });

  test("more streams than one memory holds have their own states", () => {
    const packets = randomCeltPackets(FULL_BAND, 2, seededRandom(35));
    const streams = Array.from({ length: 40 }, () => CeltStream.start(2)!);
    const [first, second] = packets.map((packet) => packet.subarray(1));
    for (const stream of streams) stream.decode(first!, STEREO_FRAME, 1);
    const audio = streams.map((stream) => {
      stream.decode(second!, STEREO_FRAME, 1);
      return stream.channels[1].slice();
    });
    expect(audio.every((channel) => channel.every((sample, at) => sample === audio[0]![at]))).toBe(true);
    for (const stream of streams) stream.close();
    expect(streams[0]!.decode(first!, STEREO_FRAME, 1)).toBe(false);
  });
});
