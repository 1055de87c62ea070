import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { ownCodecModules } from "../../../../src/media/decode/codec-modules.ts";
import type { PcmBlock } from "../../../../src/media/decode/decoder.ts";
import { createMp3Decoder } from "../../../../src/media/decode/mp3-decoder.ts";
import { Mpg123 } from "../../../../src/media/decode/mpg123.ts";
import { readCodecFixture } from "../../../support/codec-fixture.ts";
import { type Layer3FrameOptions, randomLayer3Frame } from "../../../support/layer3-frames.ts";

const FRAMES = 15;
/** Both calculate with 32-bit floats. */
const DIFFERENCE_MAX = 1e-5;

const libmpg123 = ownCodecModules.wasm("mp3");
const codec = await libmpg123.load();
const library = new Mpg123(codec);

/** The largest difference to libmpg123, as a share of the largest sample, over all frames. */
function differenceOf(packets: readonly Uint8Array[]): number {
  const decoder = createMp3Decoder(libmpg123);
  library.reset();
  let worst = 0;
  for (const packet of packets) {
    const { channels, lengthSamples } = decoder.decode(packet) as PcmBlock;
    expect(library.decode(packet)).toBe(lengthSamples);
    let peak = 1e-9;
    let difference = 0;
    for (const [channel, samples] of library.channels.entries()) {
      for (let at = 0; at < lengthSamples; at++) {
        peak = Math.max(peak, Math.abs(samples[at]!));
        difference = Math.max(difference, Math.abs(samples[at]! - channels[channel]![at]!));
      }
    }
    worst = Math.max(worst, difference / peak);
  }
  decoder.close();
  return worst;
}

const JOINT = [0, 1, 2, 3].map((modeExtension) => ({ mode: "joint" as const, modeExtension }));
const MODES = [...JOINT, ...(["stereo", "dual", "mono"] as const).map((mode) => ({ mode, modeExtension: 0 }))];

const STREAMS = ([1, 2, 2.5] as const).flatMap((version) =>
  [0, 1, 2].flatMap((rateIndex) =>
    MODES.flatMap((mode) =>
      (["long", "changing", "short", "mixed"] as const).map(
        (blocks): Layer3FrameOptions => ({ version, rateIndex, ...mode, blocks }),
      ),
    ),
  ),
);

/** Where FFmpeg's decoder agrees with ours, and libmpg123 does not. */
function isWrongInLibrary({ version, rateIndex, modeExtension, blocks }: Layer3FrameOptions): boolean {
  const hasShort = blocks !== "long";
  // At 24 kHz it has another border between two bands (330 in place of 332).
  if (version === 2 && rateIndex === 1 && blocks !== "short" && blocks !== "mixed") return true;
  // It takes the direction of another band of short blocks.
  if (hasShort && (modeExtension & 1) !== 0) return true;
  // At 8 kHz, the highest band takes another direction.
  if (version === 2.5 && rateIndex === 2 && (modeExtension & 1) !== 0) return true;
  // At 11 and 12 kHz, the first Huffman table of mixed blocks reaches further.
  return version === 2.5 && rateIndex !== 2 && blocks === "mixed";
}

describe("layer III", () => {
  test.each(STREAMS.filter((stream) => !isWrongInLibrary(stream)))(
    "decodes as libmpg123: version $version, rate $rateIndex, $mode $modeExtension, $blocks blocks",
    (options) => {
      const random = seededRandom(11);
      const packets = Array.from({ length: FRAMES }, (_, index) => randomLayer3Frame(options, index, random));
      expect(differenceOf(packets)).toBeLessThan(DIFFERENCE_MAX);
    },
  );

  test("decodes an encoder's stream, whose frames need data of earlier ones, as libmpg123", () => {
    expect(differenceOf(readCodecFixture("mp3").packets)).toBeLessThan(DIFFERENCE_MAX);
  });

  test("a stream is not changed by what hostile ones beside it hold", () => {
    const random = seededRandom(12);
    const { packets } = readCodecFixture("mp3");
    const decode = (besides: () => void) => {
      const decoder = createMp3Decoder(libmpg123);
      const heard = packets.map((packet) => {
        besides();
        const { channels, lengthSamples } = decoder.decode(packet) as PcmBlock;
        return channels.map((channel) => channel.slice(0, lengthSamples));
      });
      decoder.close();
      return heard;
    };
    const hostile = [createMp3Decoder(libmpg123), createMp3Decoder(libmpg123)];
    const alone = decode(() => undefined);
    const accompanied = decode(() => {
      for (let step = 0; step < 50; step++) {
        const packet = packets[Math.floor(random() * packets.length)]!.slice();
        // Behind the header, all of the side information and some of the data.
        const until = random() < 0.5 ? 36 : packet.length;
        for (let at = 4; at < until; at++) if (random() < 0.7) packet[at] = Math.floor(256 * random());
        const { channels, lengthSamples } = hostile[step % 2]!.decode(packet) as PcmBlock;
        expect(channels.every((channel) => channel.subarray(0, lengthSamples).every(Number.isFinite))).toBe(true);
      }
    });
    expect(accompanied).toEqual(alone);
    for (const decoder of hostile) decoder.close();
  });
});
