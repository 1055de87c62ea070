// AAC that describes its channels itself (channel configuration 0).

import { expect, test } from "vitest";
import { adtsFrame } from "../../../../lab/media-files/containers.ts";
import { AacFraming } from "../../../../src/media/decode/aac-framing.ts";
import { parseAacConfig, readAacConfig } from "../../../../src/media/demux/aac-config.ts";
import type { AudioStream } from "../../../../src/media/format/packet.ts";

const hex = (text: string) => new Uint8Array(Buffer.from(text, "hex"));

/** Configurations as FFmpeg 5.1 writes them, with the layout of its input. */
const FFMPEG: Readonly<Record<string, readonly [config: string, speakers: string]>> = {
  "2.1": ["118004c4010020000d4c61766335392e33372e313030", "FL FR LFE"],
  quad: ["118004c4040021100d4c61766335392e33372e313030", "FL FR BL BR"],
  "quad(side)": ["118004c4400021100d4c61766335392e33372e313030", "FL FR SL SR"],
  "3.0(back)": ["118004c4040020000d4c61766335392e33372e313030", "FL FR BC"],
  "3.1": ["118004c8010020000d4c61766335392e33372e313030", "FL FR FC LFE"],
  "4.1": ["118004c844002000880d4c61766335392e33372e313030", "FL FR FC LFE BC"],
  "5.0(side)": ["118004c840002008800d4c61766335392e33372e313030", "FL FR FC SL SR"],
  "5.1(side)": ["118004c844002000c40d4c61766335392e33372e313030", "FL FR FC LFE SL SR"],
  "6.0": ["118004c844002008840d4c61766335392e33372e313030", "FL FR FC BC SL SR"],
  hexagonal: ["118004c808002008840d4c61766335392e33372e313030", "FL FR FC BL BR BC"],
  "6.1": ["118004c848002000c4400d4c61766335392e33372e313030", "FL FR FC LFE BC SL SR"],
  "7.1(wide)": ["118004c848002000c6400d4c61766335392e33372e313030", "FL FR FC LFE BL BR FLC FRC"],
  octagonal: ["118004c848002008c8200d4c61766335392e33372e313030", "FL FR FC BL BR BC SL SR"],
};

test.each(Object.entries(FFMPEG))(
  "AAC of FFmpeg in %s has its channels in the order of the layout",
  (_, [config, order]) => {
    const parsed = parseAacConfig(hex(config));
    expect(parsed?.program?.speakers.join(" ")).toBe(order);
    expect(parsed?.channelCount).toBe(order.split(" ").length);
  },
);

/** A configuration from its elements: `1` a single channel, `2` a pair. */
function configOf(front: string, side: string, back: string, lfe: number): Uint8Array {
  const counts = [front, side, back].map(({ length }) => length.toString(2).padStart(4, "0")).join("");
  const elements = [...front, ...side, ...back].map((size) => `${size === "2" ? 1 : 0}0000`).join("");
  const text = `00010 0011 0000 000 0000 01 0011 ${counts} ${lfe.toString(2).padStart(2, "0")} 000 0000 000`;
  const bits = `${text}${elements}${"0000".repeat(lfe)}`.replaceAll(" ", "");
  const aligned = `${bits.padEnd(Math.ceil(bits.length / 8) * 8, "0")}00000000`;
  return Uint8Array.from(aligned.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
}

test.each([
  ["12", "", "2", 1, "FL FR FC LFE BL BR"],
  ["12", "2", "", 1, "FL FR FC LFE SL SR"],
  ["12", "", "21", 1, "FL FR FC LFE BL BR BC"],
  ["12", "2", "2", 1, "FL FR FC LFE BL BR SL SR"],
  ["122", "", "2", 1, "FL FR FC LFE BL BR FLC FRC"],
  ["12", "", "1", 0, "FL FR FC BC"],
  // A layout that the decoder does not recognise stays in the order of its elements.
  ["21", "", "2", 1, "FL FR FC BL BR LFE"],
] as const)(
  "AAC with the elements front %s, side %s, back %s and %i LFE is in the decoder's order",
  (front, side, back, lfe, order) => {
    expect(parseAacConfig(configOf(front, side, back, lfe))?.program?.speakers.join(" ")).toBe(order);
  },
);

test("AAC with damaged or too many channels is refused by name", () => {
  expect(readAacConfig(configOf("22222", "", "", 0))).toEqual({ unsupported: "AAC with 10 channels" });
  expect(readAacConfig(configOf("", "", "", 0))).toMatchObject({ unsupported: expect.stringContaining("damaged") });
  expect(readAacConfig(configOf("12", "2", "2", 1).subarray(0, 5))).toHaveProperty("unsupported");
  expect(readAacConfig(Uint8Array.of(0x12))).toHaveProperty("unsupported");
});

const streamOf = (description: Uint8Array | undefined): AudioStream => ({
  codec: "aac",
  sampleRateHz: 48_000,
  channelCount: 4,
  description,
  pcm: undefined,
});

test("AAC in ADTS frames that describe their channels keeps that description for those that do not", () => {
  const framing = new AacFraming(streamOf(undefined));
  expect(framing.read(adtsFrame(Uint8Array.of(0x20, 0), 3, 0))).toBeUndefined();
  const config = [...hex(FFMPEG.quad![0])].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const text = `101${config.slice(16)}`;
  const bytes = Uint8Array.from(text.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
  const order = ["FL", "FR", "BL", "BR"];
  expect(framing.read(adtsFrame(bytes, 3, 0))).toMatchObject({ speakers: order, layout: { channelCount: 4 } });
  expect(framing.read(adtsFrame(Uint8Array.of(0x20, 0), 3, 0))?.speakers).toEqual(order);
});
