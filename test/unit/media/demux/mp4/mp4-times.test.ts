// Times and lengths that MP4 files declare: none is believed alone, and no sample with a successor is trimmed.

import { describe, expect, it } from "vitest";
import { ascii, be, concat } from "../../../../../lab/media-files/bytes.ts";
import { box } from "../../../../../lab/media-files/containers.ts";
import type { Demuxer } from "../../../../../src/media/demux/demuxer.ts";
import { openDemuxer } from "../../../../../src/media/probe/open-demuxer.ts";
import { readPackets } from "../../../../support/media-fixture.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../../support/memory-byte-source.ts";
import { mp4aEntry, mp4File } from "../../../../support/mp4-files.ts";
import { createTrackBudget } from "../../../../support/track-budgets.ts";

const FRAME_MS = (1000 * 1024) / 44_100;
const FORWARD: MemoryByteSourceOptions = { isRandomAccess: false, isSizeKnown: false };

function open(bytes: Uint8Array, options: MemoryByteSourceOptions = {}): Promise<Demuxer> {
  return openDemuxer(new MemoryByteSource(bytes, options), {}, createTrackBudget());
}

/** How much is heard: packets, and samples cut off from all of them and from the last. */
async function heard(demuxer: Demuxer) {
  const packets = await readPackets(demuxer);
  const trims = packets.map(({ trimEndSamples }) => trimEndSamples);
  return { packets: packets.length, trimmed: trims.reduce((sum, trim) => sum + trim, 0), last: trims.at(-1) ?? 0 };
}

const times = (count: number, ticks = 1024): number[] => Array.from({ length: count }, () => ticks);

describe("durations of MP4 samples", () => {
  it.each([
    [
      "a first sample of 2964 ticks",
      [
        [1, 2964],
        [99, 1024],
      ],
    ],
    [
      "a first sample of 1200 ticks",
      [
        [1, 1200],
        [99, 1024],
      ],
    ],
    [
      "a first sample of 10 s",
      [
        [1, 441_000],
        [99, 1024],
      ],
    ],
    [
      "a first sample of an hour",
      [
        [1, 158_760_000],
        [99, 1024],
      ],
    ],
    [
      "jitter",
      [
        [30, 1024],
        [1, 1472],
        [1, 576],
        [30, 1024],
        [1, 200],
        [1, 1848],
        [36, 1024],
      ],
    ],
    [
      "a negative duration",
      [
        [50, 1024],
        [1, 0xfffffc00],
        [49, 1024],
      ],
    ],
    ["durations of one tick", [[100, 1]]],
    ["durations of zero", [[100, 0]]],
    ["times for half of the samples", [[50, 1024]]],
    ["no times", []],
  ] as const)("every MP4 sample is heard whole with %s", async (_, runs) => {
    const file = mp4File({ runs: runs.length === 0 ? [[100, 1024]] : [...runs], sampleCount: 100 });
    const times = Buffer.from(file.buffer, file.byteOffset, file.length);
    if (runs.length === 0) times.writeUInt32BE(0, times.indexOf("stts") + 8);
    for (const options of [{}, FORWARD]) {
      const { packets, trimmed, last } = await heard(await open(file, options));
      expect([packets > 49, trimmed - last]).toEqual([true, 0]);
      expect(packets === 100 || runs[0]?.[0] === 50).toBe(true);
    }
  });

  it("the last MP4 sample is cut to its duration, the one in front of it is not", async () => {
    const file = mp4File({
      runs: [
        [98, 1024],
        [1, 500],
        [1, 300],
      ],
    });
    const packets = await readPackets(await open(file));
    expect(packets.slice(-2).map(({ trimEndSamples }) => trimEndSamples)).toEqual([0, 724]);
  });

  it.each([
    [
      [
        [1, 44_100_000],
        [99, 1024],
      ],
      100 * FRAME_MS,
    ],
    [[[100, 1]], 100 * FRAME_MS],
    [[[100, 0]], 100 * FRAME_MS],
    [
      [
        [1, 2964],
        [99, 1024],
      ],
      (2964 + 99 * 1024) / 44.1,
    ],
  ] as const)("the length of an MP4 file with the durations %j is that of its audio", async (runs, lengthMs) => {
    const { info } = await open(mp4File({ runs: [...runs] }));
    expect(Math.abs((info.lengthMs ?? 0) - lengthMs)).toBeLessThan(2);
  });

  it.each([4_000_000_000, 44_100, 1])(
    "an MP4 header that claims %i ticks does not change the length",
    async (mediaTicks) => {
      const { info } = await open(mp4File({ runs: [[100, 1024]], mediaTicks }));
      expect(info.lengthMs).toBe(Math.floor(100 * FRAME_MS));
    },
  );

  it("an MP4 file whose times are wrong seeks by the audio", async () => {
    const demuxer = await open(
      mp4File({
        runs: [
          [1, 44_100_000],
          [99, 1024],
        ],
      }),
    );
    await demuxer.seek(1000);
    expect((await demuxer.next())?.timestampMs).toBeGreaterThan(900);
  });
});

describe("edit lists and notes", () => {
  const runs = [[100, 1024]] as const;

  it.each([
    ["an edit that begins behind the end", [[2000, 200 * 1024]], 100],
    [
      "an edit that only delays the start",
      [
        [500, 0xffffffff],
        [2321, 0],
      ],
      100,
    ],
    [
      "two edits",
      [
        [1000, 0],
        [1321, 44_100],
      ],
      100,
    ],
    ["an edit in the middle", [[1000, 22_050]], 65],
  ] as const)("an MP4 file with %s plays what it shows", async (_, edits, count) => {
    expect((await heard(await open(mp4File({ runs, edits: [...edits] })))).packets).toBe(count);
  });

  it.each([
    ["starts a second later", [[2321, 44_100]], (100 * 1024 - 44_100) / 44.1],
    ["shows a second from the middle", [[1000, 22_050]], 1000],
    ["cuts two packets of encoder padding", [[2321, 2048]], 100 * FRAME_MS],
  ] as const)("the length of an MP4 file whose edit %s is that of what is heard", async (_, edits, lengthMs) => {
    const demuxer = await open(mp4File({ runs, edits: [...edits] }));
    expect(demuxer.info.lengthMs).toBe(Math.floor(lengthMs));
  });

  const noted = (delay: number, padding: number, music: number): Uint8Array => {
    const hex = (value: number) => value.toString(16).toUpperCase().padStart(8, "0");
    const text = ascii(` 00000000 ${hex(delay)} ${hex(padding)} ${hex(music)}`);
    const named = box("name", be(0, 4), ascii("iTunSMPB"));
    return box("----", box("mean", be(0, 4), ascii("com.apple.iTunes")), named, box("data", be(1, 4), be(0, 4), text));
  };

  it("iTunes' note of the padding is used when its samples add up to the file's", async () => {
    const right = await heard(await open(mp4File({ runs, items: noted(2112, 288, 100_000) })));
    expect([right.packets, right.last]).toEqual([100, 288]);
    const wrong = await heard(await open(mp4File({ runs, items: noted(2112, 288, 10_000) })));
    expect([wrong.packets, wrong.trimmed]).toEqual([100, 0]);
  });
});

describe("fragments of MP4", () => {
  const fragments = [0, 1, 2, 3].map((index) => ({ startTicks: index * 40 * 1024, durations: times(40) }));
  const lengthMs = Math.floor(160 * FRAME_MS);

  it.each([
    ["a first sample of 2964 ticks", [2964, ...times(39)]],
    ["a first sample of 10 s", [441_000, ...times(39)]],
    ["a short last sample", [...times(39), 576]],
    ["jitter", [...times(10), 1472, 576, ...times(10), 100, 1948, ...times(16)]],
  ])("every sample of fragments with %s is heard whole", async (_, durations) => {
    const file = mp4File({ fragments: fragments.map(({ startTicks }) => ({ startTicks, durations })) });
    for (const options of [{}, FORWARD]) {
      const { packets, trimmed, last } = await heard(await open(file, options));
      expect([packets, trimmed - last]).toEqual([160, 0]);
    }
  });

  it("only the last sample of the last fragment is cut to its duration", async () => {
    const durations = [...times(39), 400];
    const file = mp4File({ fragments: fragments.map(({ startTicks }) => ({ startTicks, durations })) });
    expect(await heard(await open(file))).toEqual({ packets: 160, trimmed: 624, last: 624 });
  });

  it.each([
    ["", {}],
    [", forwards only", FORWARD],
  ])("samples in moov and in fragments are both played, and count in the length%s", async (_, options) => {
    const behind = fragments.slice(1);
    const demuxer = await open(mp4File({ runs: [[40, 1024]], fragments: behind }), options);
    const packets = await readPackets(demuxer);
    expect(packets.length).toBe(160);
    for (const [index, packet] of packets.entries()) expect(packet.timestampMs).toBeCloseTo(index * FRAME_MS, 3);
    if (options !== FORWARD) expect(demuxer.info.lengthMs).toBe(lengthMs);
  });

  it("an edit list that covers only the samples in moov does not end the fragments", async () => {
    const file = mp4File({ runs: [[40, 1024]], fragments: fragments.slice(1), edits: [[928, 0]] });
    expect(await heard(await open(file))).toEqual({ packets: 160, trimmed: 0, last: 0 });
  });

  it("a movie that announces fragments and has none plays its samples and has their length", async () => {
    const demuxer = await open(mp4File({ runs: [[100, 1024]], fragments: [] }));
    expect([demuxer.info.lengthMs, (await readPackets(demuxer)).length]).toEqual([Math.floor(100 * FRAME_MS), 100]);
  });

  it("a fragment of 20,000 samples is heard whole, and a seek does not read through it", async () => {
    const source = new MemoryByteSource(mp4File({ fragments: [{ startTicks: 0, durations: times(20_000) }] }));
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    expect(demuxer.info.lengthMs).toBe(Math.floor(20_000 * FRAME_MS));
    expect((await heard(demuxer)).packets).toBe(20_000);
    const before = source.bytesRead;
    await demuxer.seek(460_000);
    expect((await demuxer.next())?.timestampMs).toBeGreaterThan(459_000);
    expect(source.bytesRead - before).toBeLessThan(450_000);
  });

  it("audio that starts where the data of the video ends is found there", async () => {
    const withVideo = fragments.map((fragment) => ({ ...fragment, videoBytes: 1000 }));
    const packets = await readPackets(await open(mp4File({ fragments: withVideo })));
    expect(packets.map(({ data }) => data[1])).toEqual([0, 1, 2, 3].flatMap(() => times(40).map((_, at) => at)));
  });

  it.each([
    ["where the edit list starts", 44_100],
    ["behind the start of the edit list", 441_000],
  ])("fragments whose times start %s are heard from 0 on", async (_, base) => {
    const shifted = fragments.map(({ startTicks, durations }) => ({ startTicks: startTicks + base, durations }));
    const demuxer = await open(mp4File({ fragments: shifted, edits: [[0, 44_100]] }));
    expect((await demuxer.next())?.timestampMs).toBe(0);
    expect(demuxer.info.lengthMs).toBe(lengthMs);
  });

  it("an index of the first fragment gives no length to a file of unknown size", async () => {
    const file = mp4File({ fragments: fragments.map((fragment) => ({ ...fragment, hasIndex: true })) });
    expect((await open(file, FORWARD)).info.lengthMs).toBeUndefined();
  });

  it.each([
    ["more", 24],
    ["less", 23],
  ])("durations that add up to %s than the times of the fragments do not move them", async (_, frameMs) => {
    const startTicks = (index: number) => Math.round(index * 40 * FRAME_MS);
    const rounded = [...Array(50).keys()].map((index) => ({
      startTicks: startTicks(index),
      durations: times(40, frameMs),
      hasIndex: true,
    }));
    const totalMs = startTicks(49) + 40 * frameMs;
    for (const hints of [{}, { isLengthNeeded: false }]) {
      const source = new MemoryByteSource(mp4File({ timescale: 1000, fragments: rounded }));
      const demuxer = await openDemuxer(source, hints, createTrackBudget());
      expect(demuxer.info.lengthMs ?? totalMs).toBe(totalMs);
      const packets = await readPackets(demuxer);
      for (const index of [1, 20, 49]) expect(packets[index * 40]?.timestampMs).toBe(startTicks(index));
      await demuxer.seek(40_000);
      const found = (await readPackets(demuxer, 1))[0]!;
      const isThere = packets.some(
        ({ timestampMs, data }) => timestampMs === found.timestampMs && data[1] === found.data[1],
      );
      expect([isThere, found.timestampMs > 39_900, found.timestampMs <= 40_000]).toEqual([true, true, true]);
    }
  });

  const files = {
    "a sidx for each fragment": mp4File({ fragments: fragments.map((fragment) => ({ ...fragment, hasIndex: true })) }),
    "a sidx for the first fragment only": mp4File({
      fragments: fragments.map((fragment, index) => ({ ...fragment, hasIndex: index === 0 })),
    }),
    "no index": mp4File({ fragments }),
    "no times in its fragments": mp4File({ fragments: fragments.map((fragment) => ({ ...fragment, hasTime: false })) }),
    "no times in its fragments but in an index at the end": mp4File({
      fragments: fragments.map((fragment) => ({ ...fragment, hasTime: false })),
      hasTailIndex: true,
    }),
    "the first samples in moov": mp4File({ runs: [[40, 1024]], fragments: fragments.slice(1) }),
    "a header that claims 5 hours": mp4File({ fragments, declaredMs: 19_080_000 }),
    "a header that claims half a second": mp4File({ fragments, declaredMs: 500 }),
    "500 fragments in front": mp4File({
      fragments: Array.from({ length: 160 }, (_, index) => ({ startTicks: index * 1024, durations: [1024] })),
    }),
  };

  it.each(Object.entries(files))(
    "a fragmented file with %s has its whole length and seeks in all of it",
    async (_, file) => {
      const demuxer = await open(file);
      expect(demuxer.info.lengthMs).toBe(lengthMs);
      for (const targetMs of [3000, 500, 1500, 2500, 3650]) {
        await demuxer.seek(targetMs);
        const packet = await demuxer.next();
        expect(packet?.timestampMs).toBeGreaterThan(targetMs - 4 * FRAME_MS);
        expect(packet?.timestampMs).toBeLessThanOrEqual(targetMs);
        expect(packet?.data.slice(0, 2)).toBeDefined();
      }
      await demuxer.seek(lengthMs);
      expect(await demuxer.next()).toBeUndefined();
    },
  );

  it.each([
    ["a sidx for each fragment", lengthMs],
    ["a header that claims 5 hours", undefined],
  ] as const)(
    "a source without ranges gives a length to a file with %s only as far as it is plausible",
    async (name, expected) => {
      const { info } = await open(files[name], { isRandomAccess: false });
      if (expected === undefined) expect(info.lengthMs).toBeUndefined();
      else expect(Math.abs((info.lengthMs ?? 0) - expected)).toBeLessThan(0.05 * expected);
    },
  );

  it("the index of one fragment is no length of a file whose size is unknown", async () => {
    const source = { isRandomAccess: false, isSizeKnown: false };
    expect((await open(files["a sidx for each fragment"], source)).info.lengthMs).toBeUndefined();
  });
});

describe("what an MP4 file with another codec says", () => {
  const config = (objectType: number) =>
    objectType < 31
      ? be((objectType << 11) | (4 << 7) | (2 << 3), 2)
      : be((31 << 27) | ((objectType - 32) << 21) | (4 << 17) | (2 << 13), 4);

  it.each([
    [mp4aEntry(0x40, config(42)), "xHE-AAC"],
    [mp4aEntry(0x40, config(36)), "ALS"],
    [mp4aEntry(0x40, config(39)), "AAC-ELD"],
    [mp4aEntry(0x40, config(3)), "AAC SSR"],
    [mp4aEntry(0x40, Uint8Array.of(0x12, 0x14)), "960 samples"],
    [mp4aEntry(0x40, Uint8Array.of(0x12, 0x68)), "channel configuration 13"],
    [mp4aEntry(0xa9, undefined), "DTS"],
    [mp4aEntry(0xa5, undefined), "AC-3"],
    [mp4aEntry(0xdd, undefined), "Vorbis"],
    [mp4aEntry(0x90, undefined), "object type 0x90"],
    [mp4aEntry(0, undefined), "no object type"],
    [box("mp4a", new Uint8Array(60)), "mp4a without a description"],
    [concat(be(36, 4), ascii("ac-3"), new Uint8Array(28)), "AC-3 (ac-3)"],
    [concat(be(36, 4), ascii("zzzz"), new Uint8Array(28)), "zzzz"],
  ])("the message names the codec of case %#", async (entry, name) => {
    const attempt = open(mp4File({ runs: [[10, 1024]], entry }));
    await expect(attempt).rejects.toMatchObject({
      code: "media-unsupported-codec",
      message: expect.stringContaining(name),
    });
  });
});
