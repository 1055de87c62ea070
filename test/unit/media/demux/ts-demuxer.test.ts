import { describe, expect, it } from "vitest";
import { ascii, be, concat } from "../../../../lab/media-files/bytes.ts";
import { adtsFrame } from "../../../../lab/media-files/containers.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import type { Demuxer } from "../../../../src/media/demux/demuxer.ts";
import type { Packet } from "../../../../src/media/format/packet.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";
import {
  AUDIO_PID,
  MAP_PID,
  pesUnit,
  section,
  TsPid,
  type TsStreamEntry,
  tsTables,
} from "../../../support/ts-builders.ts";

const FRAME_MS = 1024 / 44.1;
const FORWARD: MemoryByteSourceOptions = { isRandomAccess: false, isSizeKnown: false };
/** Of the program map that names AAC at PID 0x200, as calculated by another program. */
const MOVED_CHECKSUM = 0xd6ec72b7;
const AAC: readonly TsStreamEntry[] = [{ type: 0x0f }];

function open(bytes: Uint8Array, options: MemoryByteSourceOptions = {}, hints = {}): Promise<Demuxer> {
  return openDemuxer(new MemoryByteSource(bytes, options), hints, createTrackBudget());
}

/** An AAC frame that holds its number. */
function frame(number: number, sizeBytes = 100): Uint8Array {
  const data = new Uint8Array(sizeBytes);
  new DataView(data.buffer).setUint32(0, number);
  return adtsFrame(data);
}

function numberOf({ data }: Packet): number {
  return Buffer.from(data).readUInt32BE(7);
}

interface SongOptions {
  readonly frames: number;
  readonly firstFrame?: number;
  /** Time of the first frame on the 90 kHz clock. */
  readonly ticks?: number;
  readonly framesPerUnit?: number;
  readonly sizeOf?: (number: number) => number;
}

/** Units of a few frames each, with their times, without tables. */
function units({ frames, firstFrame = 0, ticks = 0, framesPerUnit = 4, sizeOf }: SongOptions): Uint8Array[] {
  const pid = new TsPid(AUDIO_PID);
  const made: Uint8Array[] = [];
  for (let number = 0; number < frames; number += framesPerUnit) {
    const count = Math.min(framesPerUnit, frames - number);
    const data = Array.from({ length: count }, (_, index) => {
      const nth = firstFrame + number + index;
      return frame(nth, sizeOf?.(nth));
    });
    made.push(...pid.packets(pesUnit(Math.round(ticks + number * FRAME_MS * 90), concat(...data))));
  }
  return made;
}

describe("MPEG-TS tables", () => {
  const rows = units({ frames: 40 });

  it.each([
    ["random access", {}],
    ["forwards only", FORWARD],
  ])(
    "a stream that its map calls private is played when it holds AAC, as in BDAV from ffmpeg (%s)",
    async (_, options) => {
      const many = [...tsTables([{ type: 0x06 }]), ...units({ frames: 600 })];
      const bytes = concat(...many.flatMap((packet) => [new Uint8Array(4), packet]));
      expect((await readPackets(await open(bytes, options))).map(numberOf)).toEqual(
        Array.from({ length: 600 }, (_unused, number) => number),
      );
    },
  );

  it.each([
    ["random access", {}],
    ["forwards only", FORWARD],
  ])("audio before the tables is played, %s", async (_, options) => {
    const bytes = concat(...rows.slice(0, 20), ...tsTables(AAC), ...rows.slice(20));
    const packets = await readPackets(await open(bytes, options));
    expect(packets.map(numberOf)).toEqual(Array.from({ length: 40 }, (_, index) => index));
  });

  it("audio far before the tables of a stream costs no memory, and the rest is played", async () => {
    const many = units({ frames: 2_000 });
    const bytes = concat(...many.slice(0, -20), ...tsTables(AAC), ...many.slice(-20));
    const packets = await readPackets(await open(bytes, FORWARD));
    expect(packets.map(numberOf).at(-1)).toBe(1_999);
    const all = await readPackets(await open(bytes));
    expect(all.map(numberOf)).toEqual(Array.from({ length: 2_000 }, (_, index) => index));
  });

  it("MPEG-TS behind a picture, as some sites disguise it, is played", async () => {
    const random = seededRandom(3);
    const picture = concat(
      ascii("\x89PNG\r\n"),
      Uint8Array.from({ length: 3_000 }, () => Math.floor(random() * 256)),
    );
    const packets = await readPackets(await open(concat(picture, ...tsTables(AAC), ...rows), FORWARD));
    expect(packets.map(numberOf)).toHaveLength(40);
  });

  it("audio without tables is played", async () => {
    expect((await readPackets(await open(concat(...rows)))).map(numberOf)).toHaveLength(40);
    const many = units({ frames: 2_000 });
    expect(await readPackets(await open(concat(...many), FORWARD))).toHaveLength(2_000);
  });

  it("a program map longer than a packet is read", async () => {
    const filler = concat(Uint8Array.of(0x52, 200), new Uint8Array(200));
    const tables = tsTables([{ type: 0x1b, pid: 0x101, descriptors: filler }, { type: 0x0f }]);
    expect((await readPackets(await open(concat(...tables, ...rows)))).map(numberOf)).toHaveLength(40);
  });

  it("audio that moves to another PID in a spliced stream is followed", async () => {
    const other = new TsPid(0x200);
    const second = other.packets(pesUnit(5_000_000, concat(...Array.from({ length: 4 }, (_, nth) => frame(40 + nth)))));
    const bytes = concat(...tsTables(AAC), ...rows, ...tsTables([{ type: 0x0f, pid: 0x200 }]), ...second);
    const packets = await readPackets(await open(bytes));
    expect(packets.map(numberOf)).toEqual(Array.from({ length: 44 }, (_, index) => index));
    expect(packets.at(-1)?.timestampMs).toBeCloseTo(43 * FRAME_MS, 3);
  });

  it("a damaged map does not replace the audio, and a right one with its checksum does", async () => {
    const second = new TsPid(0x200).packets(pesUnit(5_000_000, concat(...[40, 41, 42, 43].map((nth) => frame(nth)))));
    const read = async (checksum: number) => {
      const moved = tsTables([{ type: 0x0f, pid: 0x200 }], checksum);
      return (await readPackets(await open(concat(...tsTables(AAC), ...rows, ...moved, ...second)))).length;
    };
    expect([await read(0x1234), await read(MOVED_CHECKSUM)]).toEqual([40, 44]);
  });

  it("a multiplex whose other programs never come is refused by the codec that was found", async () => {
    const programs = concat(be(1, 2), be(0xe000 | MAP_PID, 2), be(2, 2), be(0xe300, 2));
    const [, map] = tsTables([{ type: 0x81 }]);
    const video = new TsPid(0x300 + 1).packets(new Uint8Array(8_000 * 184));
    const source = new MemoryByteSource(concat(...new TsPid(0).packets(section(0, programs)), map!, ...video));
    await expect(openDemuxer(source, {}, createTrackBudget())).rejects.toThrow("AC-3");
    expect(source.bytesRead).toBeLessThan(1_000_000);
  });

  it("a seek to the beginning of a spliced stream returns to its first PID", async () => {
    const second = new TsPid(0x200).packets(pesUnit(5_000_000, concat(...[40, 41, 42, 43].map((nth) => frame(nth)))));
    const bytes = concat(...tsTables(AAC), ...rows, ...tsTables([{ type: 0x0f, pid: 0x200 }]), ...second);
    const demuxer = await open(bytes);
    await readPackets(demuxer);
    await demuxer.seek(0);
    expect((await readPackets(demuxer)).map(numberOf)).toEqual(Array.from({ length: 44 }, (_, index) => index));
  });

  it("a packet that is sent twice counts once", async () => {
    const bytes = concat(...tsTables(AAC), ...rows.slice(0, 5), rows[4]!, ...rows.slice(5));
    expect((await readPackets(await open(bytes))).map(numberOf)).toEqual(
      Array.from({ length: 40 }, (_, index) => index),
    );
  });

  it("a lost packet costs the frames of its unit that it is part of, and none is put together from two units", async () => {
    const bytes = concat(...tsTables(AAC), ...rows.slice(0, 4), ...rows.slice(5));
    const packets = await readPackets(await open(bytes));
    for (const packet of packets) expect(Buffer.compare(packet.data, frame(numberOf(packet)))).toBe(0);
    expect(packets.map(numberOf).filter((number) => number < 4 || number > 7)).toHaveLength(36);
  });

  it("encrypted audio is refused by that", async () => {
    const encrypted = rows.map((row) => row.map((byte, at) => (at === 3 ? byte | 0x80 : byte)));
    await expect(open(concat(...tsTables(AAC), ...encrypted))).rejects.toThrow(/an encrypted stream/);
  });

  const registered = (name: string) => concat(Uint8Array.of(5, 4), ascii(name));
  const extended = (tag: number) => Uint8Array.of(0x7f, 2, tag, 0);
  it.each<[string, TsStreamEntry]>([
    ["AC-3", { type: 0x81 }],
    ["AC-3", { type: 0x06, descriptors: Uint8Array.of(0x6a, 1, 0) }],
    ["AC-3", { type: 0x06, descriptors: registered("AC-3") }],
    ["E-AC-3", { type: 0x87 }],
    ["E-AC-3", { type: 0x06, descriptors: Uint8Array.of(0x7a, 1, 0) }],
    ["AC-4", { type: 0x06, descriptors: extended(0x15) }],
    ["DTS-UHD", { type: 0x06, descriptors: extended(0x21) }],
    ["DTS-HD", { type: 0x06, descriptors: extended(0x0e) }],
    ["DTS", { type: 0x06, descriptors: registered("DTS2") }],
    ["Opus", { type: 0x06, descriptors: concat(registered("Opus"), extended(0x80)) }],
    ["Dolby TrueHD", { type: 0x83 }],
    ["AAC in LATM", { type: 0x11 }],
  ])("%s in MPEG-TS is refused by its name", async (name, entry) => {
    const data = new TsPid(AUDIO_PID).packets(pesUnit(0, new Uint8Array(400), 0xbd));
    const opening = open(concat(...tsTables([entry]), ...data, ...data));
    await expect(opening).rejects.toMatchObject({
      code: "media-unsupported-codec",
      message: `cannot play the audio codec of the MPEG-TS stream: ${name}`,
    });
  });

  it("private data that is no audio has no name", async () => {
    const data = new TsPid(AUDIO_PID).packets(pesUnit(0, new Uint8Array(400), 0xbd));
    const bytes = concat(...tsTables([{ type: 0x06, descriptors: extended(0x20) }]), ...data, ...data);
    await expect(open(bytes)).rejects.toMatchObject({ code: "media-no-audio" });
  });
});

describe("MPEG audio in MPEG-TS", () => {
  /** A frame of Layer II, 44.1 kHz, with contents that hold the headers of other layers. */
  function layer2Frame(bitrateIndex: number, random: () => number): Uint8Array {
    const kbps = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192][bitrateIndex] ?? 0;
    const data = Uint8Array.from({ length: Math.floor((144_000 * kbps) / 44_100) }, () => Math.floor(random() * 256));
    data.set([0xff, 0xfb, 0x90, 0x44], 60);
    data.set([0xff, 0xfd, bitrateIndex << 4, 0x04]);
    return data;
  }

  it.each([
    [0x03, 5],
    [0x03, 6],
    [0x04, 8],
    [0x04, 10],
  ])("Layer II of stream type %i and bit rate %i is played frame by frame", async (type, bitrateIndex) => {
    const random = seededRandom(type + bitrateIndex);
    const frames = Array.from({ length: 60 }, () => layer2Frame(bitrateIndex, random));
    const whole = concat(...frames);
    const pid = new TsPid(AUDIO_PID);
    const parts = Array.from({ length: Math.ceil(whole.length / 1000) }, (_, nth) => {
      const ticks = Math.ceil((nth * 1000) / frames[0]!.length) * (1152 / 44.1) * 90;
      return pid.packets(pesUnit(Math.round(ticks), whole.subarray(nth * 1000, nth * 1000 + 1000)));
    });
    const demuxer = await open(concat(...tsTables([{ type }]), ...parts.flat()));
    expect(demuxer.stream).toMatchObject({ codec: "mp3", sampleRateHz: 44_100, channelCount: 2 });
    const { stream } = demuxer;
    const packets = await readPackets(demuxer);
    expect(packets.map(({ data }) => Buffer.from(data))).toEqual(frames.map((data) => Buffer.from(data)));
    expect(packets.at(-1)?.timestampMs).toBeCloseTo((59 * 1152) / 44.1, 0);
    expect(demuxer.stream).toBe(stream);
  });
});

describe("MPEG-TS lengths and seeks", () => {
  const FRAMES = 20_000;
  const TOTAL_MS = FRAMES * FRAME_MS;
  /** Ten times as many bytes in the middle as at both ends. */
  const uneven = (number: number) => (number > FRAMES / 3 && number < FRAMES / 2 ? 400 : 40);
  const songs: Readonly<Record<string, Uint8Array[]>> = {
    "of a constant bit rate": units({ frames: FRAMES, ticks: 126_000 }),
    "of an uneven bit rate": units({ frames: FRAMES, sizeOf: uneven }),
    "whose clock wraps around": units({ frames: FRAMES, ticks: 2 ** 33 - 200 * 90_000 }),
    "of two parts, the second with an earlier clock": [
      ...units({ frames: 12_000, ticks: 5_000_000_000 }),
      ...units({ frames: 8_000, firstFrame: 12_000, ticks: 1_000 }),
    ],
    "of two parts, the second with a much later clock": [
      ...units({ frames: 6_000 }),
      ...units({ frames: 14_000, firstFrame: 6_000, ticks: 6_000_000_000 }),
    ],
  };

  describe.each(Object.entries(songs))("a file %s", (name, rows) => {
    const bytes = concat(...tsTables(AAC), ...rows);

    it(`a file ${name} has a length, found with few reads`, async () => {
      const source = new MemoryByteSource(bytes);
      const demuxer = await openDemuxer(source, {}, createTrackBudget());
      expect(demuxer.isSeekable).toBe(true);
      expect(Math.abs((demuxer.info.lengthMs ?? 0) - TOTAL_MS)).toBeLessThan(name.includes("parts") ? 3_000 : 60);
      expect(source.bytesRead).toBeLessThan(bytes.length / 2);
    });

    it(`a file ${name} seeks to any time, with few reads`, async () => {
      const source = new MemoryByteSource(bytes);
      const demuxer = await openDemuxer(source, { isLengthNeeded: false }, createTrackBudget());
      for (const share of [0.5, 0.02, 0.97, 0.31, 0.62, 0, 0.45, 0.999]) {
        const targetMs = share * TOTAL_MS;
        const before = source.bytesRead;
        await demuxer.seek(targetMs);
        const packet = await demuxer.next();
        if (packet === undefined) throw new Error(`no packet at ${share}`);
        const errorMs = Math.abs(numberOf(packet) * FRAME_MS - packet.timestampMs);
        expect(errorMs, `time at ${share}`).toBeLessThan(name.includes("parts") ? 3_000 : 60);
        expect(Math.abs(packet.timestampMs - targetMs), `position at ${share}`).toBeLessThan(120);
        if (before > 0 && share !== 0.5) expect(source.bytesRead - before).toBeLessThan(600_000);
      }
    });
  });

  it("an MPEG-TS stream that ends without a known size has no length and does not seek", async () => {
    const demuxer = await open(concat(...tsTables(AAC), ...units({ frames: 100 })), FORWARD);
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([undefined, false]);
  });

  it("a short MPEG-TS file is measured by its frames, whatever its clock does", async () => {
    const rows = [0, 9_000_000_000, 5, 70_000_000].flatMap((ticks, nth) =>
      units({ frames: 100, firstFrame: nth * 100, ticks }),
    );
    const demuxer = await open(concat(...tsTables(AAC), ...rows));
    expect(demuxer.info.lengthMs).toBe(Math.floor(400 * FRAME_MS));
  });

  it("hostile clocks keep the length finite and the reads bounded (seeded)", async () => {
    const random = seededRandom(7);
    const pid = new TsPid(AUDIO_PID);
    const rows = Array.from({ length: 5_000 }, (_, nth) =>
      pid.packets(pesUnit(Math.floor(random() * 2 ** 33), concat(frame(nth), frame(nth)))),
    );
    const source = new MemoryByteSource(concat(...tsTables(AAC), ...rows.flat()));
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    expect(demuxer.info.lengthMs).toBeLessThan(86_400_000);
    for (let count = 0; count < 20; count++) {
      await demuxer.seek(random() * 300_000);
      await demuxer.next();
    }
    expect(source.bytesRead).toBeLessThan(100_000_000);
  });

  it.each(["aac.mpegts", "mp3.mpegts"])("%s keeps its length when its packets are cut at both ends", async (name) => {
    const file = readMediaFixture(name);
    const whole = await open(file);
    const cut = await open(file.subarray(0, file.length - 100));
    expect(Math.abs((cut.info.lengthMs ?? 0) - (whole.info.lengthMs ?? 0))).toBeLessThan(300);
  });
});

describe("lost MPEG-TS packets", () => {
  it("MPEG-TS packets that are sent twice are read once", async () => {
    const rows = units({ frames: 40, framesPerUnit: 10 }).flatMap((row) => [row, row]);
    const packets = await readPackets(await open(concat(...tsTables(AAC), ...rows)));
    expect(packets.map(numberOf)).toEqual(Array.from({ length: 40 }, (_, index) => index));
  });

  it("a lost packet costs the frames in it, not the rest of its unit", async () => {
    const rows = units({ frames: 240, framesPerUnit: 60 });
    // In the middle of the second unit.
    const lost = Math.floor((rows.length * 3) / 8);
    const packets = await readPackets(await open(concat(...tsTables(AAC), ...rows.toSpliced(lost, 1))));
    const numbers = packets.map(numberOf);
    expect(numbers.length).toBeGreaterThanOrEqual(240 - 3);
    const off = packets.map((packet) => Math.abs(packet.timestampMs - numberOf(packet) * FRAME_MS));
    expect(Math.max(...off)).toBeLessThan(100);
  });
});
