import { describe, expect, it } from "vitest";
import { ascii, be, concat, le } from "../../../../lab/media-files/bytes.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import type { Demuxer } from "../../../../src/media/demux/demuxer.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import {
  aiffChunk,
  aiffData,
  aiffFile,
  aiffFormat,
  cafChunk,
  cafData,
  cafFile,
  infoList,
  riffChunk,
  riffFile,
  wavFormat,
} from "../../../support/chunk-builders.ts";
import { readCodecFixture } from "../../../support/codec-fixture.ts";
import { id3Tag, mp3Frames } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const RATE_HZ = 8000;
const VALUES = Array.from({ length: RATE_HZ }, (_, index) => Math.round(100 * Math.sin(index / 5)) / 128);

function open(bytes: Uint8Array, options: MemoryByteSourceOptions = {}): Promise<Demuxer> {
  return openDemuxer(new MemoryByteSource(bytes, options), {}, createTrackBudget());
}

/** Integers of so many bits, most significant byte first. */
function integers(bits: number): Uint8Array {
  return concat(...VALUES.map((value) => be(BigInt(Math.round(value * 128)) << BigInt(bits - 8), bits / 8)));
}

function floats(bits: 32 | 64): Uint8Array {
  const view = new DataView(new ArrayBuffer((VALUES.length * bits) / 8));
  VALUES.forEach((value, index) => {
    if (bits === 32) view.setFloat32(4 * index, value);
    else view.setFloat64(8 * index, value);
  });
  return new Uint8Array(view.buffer);
}

/** The same samples with the least significant byte first. */
function swapped(bytes: Uint8Array, bits: number): Uint8Array {
  const sizeBytes = bits / 8;
  return bytes.map((_, at) => bytes[at - (at % sizeBytes) + sizeBytes - 1 - (at % sizeBytes)]!);
}

async function samplesOf(demuxer: Demuxer): Promise<number[]> {
  const decoder = await createDecoder(demuxer.stream);
  const samples: number[] = [];
  for (const { data } of await readPackets(demuxer)) {
    const block = await decoder.decode(data);
    samples.push(...block.channels[0]!.subarray(0, block.lengthSamples));
  }
  decoder.close();
  return samples;
}

async function expectTone(demuxer: Demuxer): Promise<void> {
  expect(demuxer.info.lengthMs).toBe(1000);
  const samples = await samplesOf(demuxer);
  expect(samples).toHaveLength(VALUES.length);
  for (const at of [0, 7, 100, 7999]) expect(samples[at]).toBeCloseTo(VALUES[at]!, 5);
  await demuxer.seek(500);
  expect(await demuxer.next()).toMatchObject({ timestampMs: 500 });
}

describe("AIFF", () => {
  const NAME = aiffChunk("NAME", Buffer.from("Žižek"));
  const ID3 = aiffChunk("ID3 ", id3Tag(3, 0, concat(ascii("TPE1"), be(7, 4), be(0, 2), ascii("\0Artist"))));

  it.each([8, 16, 24, 32])("AIFF with %i bits plays, with length, seek and tags", async (bits) => {
    const chunks = [aiffFormat({ frames: RATE_HZ, bits }), NAME, aiffData(integers(bits)), ID3];
    const demuxer = await open(aiffFile("AIFF", ...chunks));
    expect(demuxer.info).toMatchObject({ probeName: "aiff", title: "Žižek", author: "Artist" });
    await expectTone(demuxer);
    await expectTone(await open(aiffFile("AIFF", chunks[2]!, chunks[0]!)));
  });

  it.each([
    ["twos", 16, integers(16)],
    ["sowt", 16, swapped(integers(16), 16)],
    ["sowt", 24, swapped(integers(24), 24)],
    ["in24", 24, integers(24)],
    ["in32", 32, integers(32)],
    ["raw ", 8, integers(8).map((byte) => byte ^ 0x80)],
    ["fl32", 32, floats(32)],
    ["FL64", 64, floats(64)],
  ] as const)("AIFF-C with the codec %s of %i bits plays", async (codec, bits, samples) => {
    await expectTone(await open(aiffFile("AIFC", aiffFormat({ frames: RATE_HZ, bits, codec }), aiffData(samples))));
  });

  it("AIFF that counts fewer samples than its chunk holds plays all of them", async () => {
    await expectTone(await open(aiffFile("AIFF", aiffFormat({ frames: 100, bits: 16 }), aiffData(integers(16)), NAME)));
  });

  it("AIFF whose samples are not counted, as programs that stream write it, plays to the end of the file", async () => {
    const data = concat(ascii("SSND"), be(0, 4), new Uint8Array(8), integers(16));
    await expectTone(await open(aiffFile("AIFF", aiffFormat({ frames: 0, bits: 16 }), data)));
  });

  it.each([
    ["ima4", "IMA ADPCM"],
    ["MAC3", "MACE 3:1"],
    ["XyZ1", "XyZ1"],
  ])("AIFF-C with the codec %s is refused by name", async (codec, name) => {
    const bytes = aiffFile("AIFC", aiffFormat({ frames: 1, bits: 16, codec }), aiffData(new Uint8Array(64)));
    await expect(open(bytes)).rejects.toThrow(`cannot play the audio codec of the AIFF file: ${name}`);
  });
});

describe("CAF", () => {
  const INFO = cafChunk("info", concat(be(2, 4), Buffer.from("artist\0Artist\0title\0Žižek\0")));

  it.each([
    ["lpcm", 0, 8, integers(8)],
    ["lpcm", 0, 16, integers(16)],
    ["lpcm", 2, 16, swapped(integers(16), 16)],
    ["lpcm", 2, 24, swapped(integers(24), 24)],
    ["lpcm", 0, 24, integers(24)],
    ["lpcm", 0, 32, integers(32)],
    ["lpcm", 1, 32, floats(32)],
    ["lpcm", 3, 64, swapped(floats(64), 64)],
  ] as const)(
    "CAF with %s, flags %i and %i bits plays, with length, seek and tags",
    async (codec, flags, bits, samples) => {
      const description = { codec, flags, rateHz: RATE_HZ, packetBytes: bits / 8, packetFrames: 1, channels: 1, bits };
      const demuxer = await open(cafFile(description, cafData(samples), INFO));
      expect(demuxer.info).toMatchObject({ probeName: "caf", title: "Žižek", author: "Artist" });
      await expectTone(demuxer);
      const endless = concat(ascii("data"), be(-1, 8), be(0, 4), samples);
      await expectTone(await open(cafFile(description, endless)));
    },
  );

  const { stream, packets } = readCodecFixture("alac");
  const FRAMES = 4096;
  const description = {
    ...{ codec: "alac", rateHz: stream.sampleRateHz, packetBytes: 0, packetFrames: FRAMES },
    ...{ channels: stream.channelCount, bits: 16 },
  };
  const sizes = packets.map(({ length }) => Uint8Array.of(0x80 | (length >> 7), length & 0x7f));
  const frameCount = FRAMES * packets.length;
  const TABLE = cafChunk("pakt", concat(be(packets.length, 8), be(frameCount, 8), be(0, 8), ...sizes));
  const COOKIE = cafChunk("kuki", stream.description!);
  const OLD_COOKIE = cafChunk(
    "kuki",
    concat(be(12, 4), ascii("frmaalac"), be(36, 4), ascii("alac"), be(0, 4), stream.description!),
  );
  const DATA = cafData(concat(...packets));

  it.each([
    ["in front", [COOKIE, TABLE, DATA]],
    ["behind, with an old cookie", [OLD_COOKIE, DATA, TABLE]],
  ] as const)("CAF with ALAC plays, with length and seek: packet table %s", async (_where, chunks) => {
    const demuxer = await open(cafFile(description, ...chunks));
    expect(demuxer.stream.description).toEqual(stream.description);
    const read = await readPackets(demuxer);
    expect(read.map(({ data }) => data)).toEqual(packets);
    const { length } = await samplesOf(await open(cafFile(description, ...chunks)));
    expect(demuxer.info.lengthMs).toBe(Math.floor((1000 * length) / stream.sampleRateHz));
    await demuxer.seek(read[1]!.timestampMs + 10);
    expect((await demuxer.next())?.data).toEqual(packets[1]);
  });

  it.each([0, Number.NaN, -44_100])(
    "CAF with ALAC plays at the rate of its set-up data, not at %d Hz",
    async (rateHz) => {
      const demuxer = await open(cafFile({ ...description, rateHz }, COOKIE, TABLE, DATA));
      expect([demuxer.stream.sampleRateHz, demuxer.info.lengthMs! > 0]).toEqual([stream.sampleRateHz, true]);
      const silent = stream.description!.with(20, 0).with(21, 0).with(22, 0).with(23, 0);
      const bad = cafFile({ ...description, rateHz }, cafChunk("kuki", silent), TABLE, DATA);
      await expect(open(bad)).rejects.toThrow("channels at 0 Hz");
    },
  );

  it("CAF with ALAC whose table claims more packets than there are ends with the file", async () => {
    const table = cafChunk("pakt", concat(be(2 ** 40, 8), be(2 ** 50, 8), be(0, 8), ...sizes, ...sizes, ...sizes));
    const demuxer = await open(cafFile(description, COOKIE, table, DATA));
    expect(await readPackets(demuxer)).toHaveLength(packets.length);
    expect(demuxer.info.lengthMs).toBeLessThanOrEqual((1000 * frameCount) / stream.sampleRateHz);
  });

  it.each([
    ["aac ", "AAC"],
    ["ima4", "IMA ADPCM"],
    ["XyZ1", "XyZ1"],
  ])("CAF with the codec %s is refused by name", async (codec, name) => {
    const bytes = cafFile({ ...description, codec }, COOKIE, TABLE, DATA);
    await expect(open(bytes)).rejects.toThrow(`cannot play the audio codec of the CAF file: ${name}`);
  });
});

describe("WAV", () => {
  const SAMPLES = riffChunk("data", swapped(integers(16), 16));
  const INFO = infoList(["IART", ascii("Caf\xe9\0")], ["INAM", Uint8Array.of(0xca, 0xe8, 0xed, 0xee, 0)]);
  const ID3 = riffChunk("id3 ", id3Tag(3, 0, concat(ascii("TIT2"), be(6, 4), be(0, 2), ascii("\0Title"))));

  it("WAV shows title and artist of its tags, in front of the audio and behind it", async () => {
    for (const chunks of [
      [INFO, SAMPLES],
      [SAMPLES, INFO],
    ]) {
      const demuxer = await open(riffFile(wavFormat(1), ...chunks));
      expect(demuxer.info).toMatchObject({ title: "Кино", author: "Café" });
      await expectTone(demuxer);
    }
    for (const chunks of [
      [ID3, SAMPLES],
      [SAMPLES, ID3],
    ]) {
      expect((await open(riffFile(wavFormat(1), ...chunks))).info.title).toBe("Title");
    }
  });

  it("WAV whose header declares nonsense for the size of a frame plays by the bits of a sample", async () => {
    await expectTone(await open(riffFile(wavFormat(1, { frameBytes: 0 }), SAMPLES)));
    await expectTone(await open(riffFile(wavFormat(1, { frameBytes: 1152 }), SAMPLES)));
  });

  it.each([
    [0x55, mp3Frames({ kbps: 128, rateHz: 48_000, sizeBytes: 384 * 125 }), 125],
    [0x50, layer2(100), 100],
  ] as const)("MPEG audio in WAV, format 0x%s, plays with length, seek and tags", async (format, audio, frameCount) => {
    for (const isRandomAccess of [true, false]) {
      const bytes = riffFile(wavFormat(format, { frameBytes: 1152, bits: 0 }), INFO, riffChunk("data", audio), ID3);
      const demuxer = await open(bytes, { isRandomAccess });
      expect(demuxer.info).toMatchObject({ title: "Кино", author: "Café", lengthMs: frameCount * 24 });
      expect(await readPackets(demuxer)).toHaveLength(frameCount);
      if (!isRandomAccess) continue;
      await demuxer.seek(1200);
      expect((await demuxer.next())?.timestampMs).toBeGreaterThan(900);
    }
  });

  it("MP3 in WAV that calls it samples plays as MP3", async () => {
    const audio = mp3Frames({ kbps: 128, rateHz: 48_000, sizeBytes: 384 * 125 });
    const demuxer = await open(riffFile(wavFormat(1), riffChunk("data", audio)));
    expect([demuxer.stream.codec, demuxer.info.lengthMs]).toEqual(["mp3", 3000]);
  });

  it("AAC with ADTS headers in WAV plays", async () => {
    const audio = riffChunk("data", readMediaFixture("aac.aac"));
    expect((await open(riffFile(wavFormat(0x1600), audio))).stream.codec).toBe("aac");
  });

  it.each([
    [2, "Microsoft ADPCM"],
    [0x11, "IMA ADPCM"],
    [0x31, "GSM 6.10"],
    [0x161, "Windows Media Audio 2"],
    [0x2000, "AC-3"],
    [0x1234, "format 0x1234"],
  ])("WAV with format %i is refused by name", async (format, name) => {
    const bytes = riffFile(wavFormat(format, { frameBytes: 520, bits: 4 }), riffChunk("data", new Uint8Array(2000)));
    await expect(open(bytes)).rejects.toThrow(`cannot play the audio codec of the WAV file: ${name}`);
  });

  it("WAV whose samples are frames of DTS is refused by name", async () => {
    const samples = concat(new Uint8Array(800), Uint8Array.of(0xfe, 0x7f, 0x01, 0x80), new Uint8Array(4000));
    await expect(open(riffFile(wavFormat(1), riffChunk("data", samples)))).rejects.toThrow("WAV file: DTS");
  });

  it.each([1, 2, 50])("a square wave in WAV that changes every %i samples is no DTS", async (every) => {
    const samples = Array.from({ length: 4000 }, (_, at) => le(Math.floor(at / every) % 2 === 0 ? 0x7ffe : 0x8001, 2));
    const demuxer = await open(riffFile(wavFormat(1), riffChunk("data", concat(...samples))));
    expect(demuxer.info.lengthMs).toBe(500);
  });

  it("WAV behind an ID3 tag shows the title of that tag", async () => {
    const tag = id3Tag(3, 0, concat(ascii("TIT2"), be(9, 4), be(0, 2), ascii("\0In front")));
    const demuxer = await open(concat(tag, riffFile(wavFormat(1), SAMPLES)));
    expect(demuxer.info.title).toBe("In front");
    await expectTone(demuxer);
  });

  it("WAV with a foreign format in its extension is refused by name", async () => {
    const head = wavFormat(0xfffe).subarray(8);
    const guid = Buffer.from("bfaa23e958cb7144a119fffa01e4ce62", "hex");
    const format = riffChunk("fmt ", concat(head, le(22, 2), le(16, 2), le(3, 4), guid));
    await expect(open(riffFile(format, SAMPLES))).rejects.toThrow("ATRAC3+");
  });
});

/** Silent frames of 192 kbit/s at 48 kHz. */
function layer2(frameCount: number): Uint8Array {
  const bytes = new Uint8Array(576 * frameCount);
  for (let at = 0; at < bytes.length; at += 576) bytes.set([0xff, 0xfd, 0xa4, 0], at);
  return bytes;
}
