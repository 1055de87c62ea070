import { describe, expect, it } from "vitest";
import { ascii, be, concat, le } from "../../../../lab/media-files/bytes.ts";
import { adtsFrame, box } from "../../../../lab/media-files/containers.ts";
import { ByteCursor } from "../../../../src/media/demux/byte-cursor.ts";
import { DemuxWork } from "../../../../src/media/demux/demux-work.ts";
import { readMovieBoxes } from "../../../../src/media/demux/mp4/movie-boxes.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { id3Tag } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

function open(bytes: Uint8Array, options: MemoryByteSourceOptions = {}) {
  return openDemuxer(new MemoryByteSource(bytes, options), {}, createTrackBudget());
}

async function packetsOf(bytes: Uint8Array): Promise<readonly Uint8Array[]> {
  return (await readPackets(await open(bytes))).map(({ data }) => data);
}

const TITLE = concat(ascii("TIT2"), be(6, 4), be(0, 2), ascii("\0Title"));

describe("the FLAC reader", () => {
  it("the FLAC reader tolerates an ID3 tag in front and one behind", async () => {
    const file = readMediaFixture("small.flac");
    const bytes = concat(id3Tag(3, 0, TITLE), file, ascii("TAG"), new Uint8Array(125));
    const demuxer = await open(bytes);
    expect([demuxer.info.probeName, demuxer.info.title]).toEqual(["flac", "Title"]);
    expect(await packetsOf(bytes)).toEqual(await packetsOf(file));
  });

  it("the FLAC reader skips a damaged frame and keeps all others with their times", async () => {
    const file = readMediaFixture("plain.flac");
    const whole = await readPackets(await open(file));
    const bytes = file.slice();
    const frame = whole[4];
    if (frame === undefined) throw new Error("no frame");
    bytes.fill(0xa5, frame.data.byteOffset + 3000, frame.data.byteOffset + 3100);
    const packets = await readPackets(await open(bytes));
    const expectedPackets = whole.filter((_, index) => index !== 4);
    expect(packets.map(({ data, timestampMs }) => [data, timestampMs])).toEqual(
      expectedPackets.map(({ data, timestampMs }) => [data, timestampMs]),
    );
  });
});

describe("the WAV reader", () => {
  /** `data` with the size its header claims, behind chunks of odd size. */
  function wav(claimedBytes: number, data: Uint8Array): Uint8Array {
    const format = concat(le(1, 2), le(2, 2), le(44_100, 4), le(176_400, 4), le(4, 2), le(16, 2));
    const junk = concat(ascii("junk"), le(3, 4), new Uint8Array(4));
    const head = concat(ascii("RIFF"), le(0xffffffff, 4), ascii("WAVE"), junk, ascii("fmt "), le(16, 4), format);
    return concat(head, ascii("data"), le(claimedBytes, 4), data);
  }

  it.each([0, 0xffffffff, 400_000, 176_400])(
    "the WAV reader plays the bytes that exist when the header claims %i bytes",
    async (claimedBytes) => {
      const demuxer = await open(wav(claimedBytes, new Uint8Array(176_402)));
      expect(demuxer.info.lengthMs).toBe(1000);
      const packets = await readPackets(demuxer);
      expect(packets.reduce((sum, { data }) => sum + data.length, 0)).toBe(176_400);
      expect(packets[0]?.durationMs).toBeCloseTo(20, 6);
    },
  );

  it("the WAV reader plays a stream of unknown length to its last complete frame", async () => {
    const demuxer = await open(wav(0, new Uint8Array(10_003)), { isRandomAccess: false, isSizeKnown: false });
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([undefined, false]);
    const packets = await readPackets(demuxer);
    expect(packets.reduce((sum, { data }) => sum + data.length, 0)).toBe(10_000);
  });

  it("the WAV reader starts at the exact sample after a seek", async () => {
    const demuxer = await open(wav(176_400, new Uint8Array(176_400)));
    await demuxer.seek(123.456);
    const packet = await demuxer.next();
    expect(packet?.timestampMs).toBeCloseTo((1000 * Math.floor(123.456 * 44.1)) / 44_100, 9);
  });

  it.each(["pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le", "pcm_alaw", "pcm_mulaw"])(
    "the WAV reader describes the samples of %s",
    async (name) => {
      const demuxer = await open(readMediaFixture(`${name}.wav`));
      const expected = {
        pcm_u8: ["unsigned", 8],
        pcm_s16le: ["signed", 16],
        pcm_s24le: ["signed", 24],
        pcm_s32le: ["signed", 32],
        pcm_f32le: ["float", 32],
        pcm_f64le: ["float", 64],
        pcm_alaw: ["alaw", 8],
        pcm_mulaw: ["mulaw", 8],
      }[name];
      expect([demuxer.stream.pcm?.encoding, demuxer.stream.pcm?.bitsPerSample]).toEqual(expected);
    },
  );
});

describe("the ADTS reader", () => {
  it("the ADTS reader reads tags in front, and skips junk and tags between frames", async () => {
    const file = readMediaFixture("aac.aac");
    const whole = await packetsOf(file);
    const half = whole.slice(0, 40).reduce((sum, { length }) => sum + length, 0);
    const junk = Uint8Array.from({ length: 3000 }, (_, index) => (index * 37) % 251);
    const tag = id3Tag(4, 0, TITLE);
    const bytes = concat(tag, file.subarray(0, half), tag, file.subarray(half, half), junk, file.subarray(half));
    const demuxer = await open(bytes);
    expect([demuxer.info.probeName, demuxer.info.title]).toEqual(["adts", "Title"]);
    expect(await packetsOf(bytes)).toEqual(whole);
  });
});

describe("the length of ADTS files", () => {
  const FRAME_MS = 1024 / 44.1;
  const numbered = (count: number, sizeOf: (number: number) => number): Uint8Array =>
    concat(
      ...Array.from({ length: count }, (_, number) => adtsFrame(concat(be(number, 4), new Uint8Array(sizeOf(number))))),
    );

  it("a small ADTS file is counted, around junk and without a cut frame", async () => {
    const junk = Uint8Array.from({ length: 500 }, (_, index) => index % 200);
    const bytes = concat(
      numbered(300, () => 80),
      junk,
      numbered(100, () => 200),
      numbered(1, () => 100).subarray(0, 60),
    );
    const demuxer = await open(bytes);
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([Math.floor(400 * FRAME_MS), true]);
    expect(await readPackets(demuxer)).toHaveLength(400);
  });

  it("tags behind ADTS frames are read and do not count as audio", async () => {
    const id3v1 = concat(
      ascii("TAG"),
      ascii("Behind".padEnd(30, "\0")),
      ascii("Singer".padEnd(30, "\0")),
      new Uint8Array(65),
    );
    const ape = concat(
      new Uint8Array(3_000_000).fill(0xff),
      ascii("APETAGEX"),
      le(2000, 4),
      le(3_000_032, 4),
      new Uint8Array(16),
    );
    const demuxer = await open(
      concat(
        numbered(400, () => 80),
        ape,
        id3v1,
      ),
    );
    expect(demuxer.info).toMatchObject({ title: "Behind", author: "Singer", lengthMs: Math.floor(400 * FRAME_MS) });
  });

  it("a large ADTS file is estimated with few reads, and seeks exactly", async () => {
    const count = 20_000;
    const bytes = numbered(count, (number) => 150 + ((number * 7919) % 100) + (number > count / 2 ? 100 : 0));
    const source = new MemoryByteSource(bytes);
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    expect(source.bytesRead).toBeLessThan(bytes.length / 4);
    expect(Math.abs((demuxer.info.lengthMs ?? 0) / (count * FRAME_MS) - 1)).toBeLessThan(0.03);
    for (const share of [0.9, 0.3, 0.31, 0, 0.6]) {
      const targetMs = share * count * FRAME_MS;
      const before = source.bytesRead;
      await demuxer.seek(targetMs);
      const packet = await demuxer.next();
      const number = Buffer.from(packet?.data ?? []).readUInt32BE(7);
      expect(packet?.timestampMs).toBeCloseTo(number * FRAME_MS, 5);
      expect(Math.abs(number * FRAME_MS - targetMs)).toBeLessThan(4 * FRAME_MS);
      // Back by the positions noted on the way, not from the start.
      if (share !== 0.9 && share !== 0.6) expect(source.bytesRead - before).toBeLessThan(500_000);
    }
  });

  it("ADTS that cannot be read anywhere is a stream", async () => {
    for (const options of [{ isRandomAccess: false }, { isSizeKnown: false }]) {
      const demuxer = await open(
        numbered(300, () => 80),
        options,
      );
      expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([undefined, false]);
    }
  });
});

describe("the MPEG-TS reader", () => {
  const file = readMediaFixture("aac.mpegts");
  const rows = Array.from({ length: file.length / 188 }, (_, index) => file.subarray(index * 188, index * 188 + 188));

  it.each([
    ["192 bytes, time code in front", (row: Uint8Array) => concat(new Uint8Array(4), row)],
    ["204 bytes, error correction behind", (row: Uint8Array) => concat(row, new Uint8Array(16))],
  ])("the MPEG-TS reader reads packets of %s", async (_, wrap) => {
    expect(await packetsOf(concat(...rows.map(wrap)))).toEqual(await packetsOf(file));
  });

  it("the MPEG-TS reader keeps its time when the clock of 33 bits wraps around", async () => {
    const wrapped = concat(...rows.map((row) => shiftPts(row, 2 ** 33 - 90_000 * 2.4)));
    const packets = await readPackets(await open(wrapped));
    const expectedPackets = await readPackets(await open(file));
    expect(packets.map(({ timestampMs }) => timestampMs)).toEqual(
      expectedPackets.map(({ timestampMs }) => timestampMs),
    );
  });

  it("the MPEG-TS reader loses only the frames of lost packets and advances the time", async () => {
    const expectedPackets = await readPackets(await open(file));
    const packets = await readPackets(await open(concat(...rows.filter((_, index) => index < 40 || index > 60))));
    expect(packets.length).toBeGreaterThan(expectedPackets.length - 40);
    const last = packets.at(-1);
    expect(last?.data).toEqual(expectedPackets.at(-1)?.data);
    expect(Math.abs((last?.timestampMs ?? 0) - (expectedPackets.at(-1)?.timestampMs ?? 0))).toBeLessThan(60);
  });
});

/** Adds ticks to the presentation time of a packet that starts a PES packet. */
function shiftPts(row: Uint8Array, ticks: number): Uint8Array {
  const shifted = row.slice();
  const start = 4 + ((row[3] ?? 0) & 0x20 ? 1 + (row[4] ?? 0) : 0);
  const isPes = ((row[1] ?? 0) & 0x40) !== 0 && row[start] === 0 && row[start + 1] === 0 && row[start + 2] === 1;
  if (!isPes) return shifted;
  const at = start + 9;
  const [a = 0, b = 0, c = 0, d = 0, e = 0] = row.subarray(at, at + 5);
  const pts = ((a >> 1) & 7) * 2 ** 30 + (b << 22) + ((c >> 1) << 15) + (d << 7) + (e >> 1);
  const next = (pts + ticks) % 2 ** 33;
  const [high, low] = [Math.floor(next / 2 ** 30), next % 2 ** 30];
  shifted.set(
    [(a & 0xf0) | (high << 1) | 1, low >> 22, ((low >> 14) & 0xfe) | 1, (low >> 7) & 0xff, ((low << 1) & 0xfe) | 1],
    at,
  );
  return shifted;
}

describe("the MP4 item list", () => {
  const data = (text: string) => box("data", be(1, 4), be(0, 4), ascii(text));
  const freeForm = (name: string, text: string) =>
    box("----", box("mean", be(0, 4), ascii("com.apple.iTunes")), box("name", be(0, 4), ascii(name)), data(text));
  const padding = " 00000000 00000840 000001CA 00000000003F31F6 00000000 00000000";

  async function readList(meta: Uint8Array) {
    const moov = concat(box("mvhd", new Uint8Array(100)), meta, be(0, 4));
    const cursor = new ByteCursor(new MemoryByteSource(moov));
    const work = new DemuxWork(createTrackBudget());
    return (await readMovieBoxes(cursor, { endBytes: moov.length, work, isNeeded: () => true })).list;
  }

  it.each([
    ["title", "artist"],
    ["com.apple.quicktime.title", "com.apple.quicktime.artist"],
  ])(
    "an MP4 item list whose items are called by numbers gives those with the keys %s and %s",
    async (title, artist) => {
      const names = ["encoder", artist, title].map((name) => box("mdta", ascii(name)));
      const keys = box("keys", be(0, 4), be(names.length, 4), ...names);
      const item = (number: number, text: string) => box(String.fromCharCode(0, 0, 0, number), data(text));
      const list = box("ilst", item(1, "muxer"), item(2, "Singer"), item(3, "Song"));
      const meta = box("meta", box("hdlr", new Uint8Array(25)), keys, list);
      expect((await readList(meta)).tags).toEqual({ title: "Song", author: "Singer" });
    },
  );

  it.each([
    ["without a byte order mark", []],
    ["with one", [0xfe, 0xff]],
  ])("an MP4 title in UTF-16 %s is readable", async (_, mark) => {
    const text = Uint8Array.from([...mark, 0, 0x41, 0x04, 0x16, 0x4f, 0x60]);
    const list = box("ilst", box("\xa9nam", box("data", be(2, 4), be(0, 4), text)));
    expect((await readList(box("udta", box("meta", be(0, 4), list)))).tags.title).toBe("A\u0416\u4f60");
  });

  it.each([
    ["MP4", (list: Uint8Array) => box("meta", be(0, 4), list)],
    ["QuickTime", (list: Uint8Array) => box("meta", box("hdlr", new Uint8Array(25)), list)],
  ])("the MP4 item list gives title, artist, ISRC and encoder padding in the form of %s", async (_, meta) => {
    const items = box(
      "ilst",
      box("\xa9nam", data("Song")),
      box("\xa9ART", data("Singer")),
      freeForm("ISRC", "USTEST2600001"),
      freeForm("iTunSMPB", padding),
    );
    const moov = concat(box("mvhd", new Uint8Array(100)), box("udta", meta(items)), be(0, 4));
    const cursor = new ByteCursor(new MemoryByteSource(moov));
    const work = new DemuxWork(createTrackBudget());
    const { list } = await readMovieBoxes(cursor, { endBytes: moov.length, work, isNeeded: () => true });
    expect(list).toEqual({
      tags: { title: "Song", author: "Singer", isrc: "USTEST2600001" },
      gapless: { delaySamples: 0x840, paddingSamples: 0x1ca, musicSamples: 0x3f31f6 },
    });
  });
});
