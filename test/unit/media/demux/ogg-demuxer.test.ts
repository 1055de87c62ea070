import { describe, expect, it } from "vitest";
import { concat } from "../../../../lab/media-files/bytes.ts";
import { oggPage } from "../../../../lab/media-files/containers.ts";
import { opusPacket, opusPacketNumber } from "../../../../lab/media-files/counted-song.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { opusHeaders } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const PACKETS_PER_PAGE = 50;
const FORWARD = { isRandomAccess: false, isSizeKnown: false };

function headPages(serial: number): Uint8Array[] {
  return opusHeaders().map((packet, sequence) =>
    oggPage({ serial, sequence, granule: 0, flags: sequence === 0 ? 2 : 0, packets: [packet] }),
  );
}

/** Pages of one second with packets that carry their numbers, from page `first` to before `end`. */
function dataPages(serial: number, range: { first: number; end: number; isEnded?: boolean }): Uint8Array[] {
  return Array.from({ length: range.end - range.first }, (_, index) => {
    const page = range.first + index;
    const packets = Array.from({ length: PACKETS_PER_PAGE }, (_unused, slot) =>
      opusPacket(page * PACKETS_PER_PAGE + slot),
    );
    const isLast = (range.isEnded ?? true) && page === range.end - 1;
    return oggPage({ serial, sequence: page + 2, granule: (page + 1) * 48_000, flags: isLast ? 4 : 0, packets });
  });
}

async function open(bytes: Uint8Array, options: MemoryByteSourceOptions = {}) {
  const source = new MemoryByteSource(bytes, options);
  return { source, demuxer: await openDemuxer(source, {}, createTrackBudget()) };
}

describe("the Ogg reader", () => {
  it("the Ogg reader seeks in a long file by bisection", async () => {
    const bytes = concat(...headPages(7), ...dataPages(7, { first: 0, end: 1500 }));
    const { source, demuxer } = await open(bytes);
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([1_500_000, true]);
    for (const targetMs of [1_200_000, 5, 1_499_900, 333_333]) {
      await demuxer.seek(targetMs);
      const packet = await demuxer.next();
      expect(packet?.timestampMs).toBeCloseTo(opusPacketNumber(packet?.data ?? new Uint8Array(0)) * 20 - 6.5, 6);
      expect(packet?.timestampMs).toBeLessThanOrEqual(Math.max(-6.5, targetMs - 80));
      expect(packet?.timestampMs).toBeGreaterThan(targetMs - 130);
    }
    expect(source.bytesRead).toBeLessThan(5_000_000);
  });

  it("the Ogg reader does not read the end of a file that is opened for playback, and still seeks everywhere", async () => {
    const bytes = concat(...headPages(7), ...dataPages(7, { first: 0, end: 600 }));
    const source = new MemoryByteSource(bytes);
    const demuxer = await openDemuxer(source, { isLengthNeeded: false }, createTrackBudget());
    expect(source.bytesRead).toBeLessThan(32_768);
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([undefined, true]);
    for (const targetMs of [400_000, 20, 599_900]) {
      await demuxer.seek(targetMs);
      const packet = await demuxer.next();
      expect(packet?.timestampMs).toBeCloseTo(opusPacketNumber(packet?.data ?? new Uint8Array(0)) * 20 - 6.5, 6);
      expect(packet?.timestampMs).toBeLessThanOrEqual(Math.max(-6.5, targetMs - 80));
      expect(packet?.timestampMs).toBeGreaterThan(targetMs - 130);
    }
    await demuxer.seek(600_001);
    for (const { timestampMs, durationMs } of await readPackets(demuxer)) {
      expect(timestampMs + durationMs).toBeLessThanOrEqual(600_001);
    }
  });

  it("the Ogg reader seeks back and forth in a chained file that is playing", async () => {
    const source = new MemoryByteSource(readMediaFixture("chained.ogg"));
    const demuxer = await openDemuxer(source, { isLengthNeeded: false }, createTrackBudget());
    expect((await readPackets(demuxer)).length).toBe(197);
    await demuxer.seek(1000);
    const opus = await demuxer.next();
    expect(demuxer.stream.codec).toBe("opus");
    expect(opus?.timestampMs).toBeLessThanOrEqual(920);
    expect(opus?.timestampMs).toBeGreaterThan(800);
    await demuxer.seek(3000);
    const vorbis = await demuxer.next();
    expect(demuxer.stream.codec).toBe("vorbis");
    expect(vorbis?.timestampMs).toBeLessThanOrEqual(3000);
    expect(vorbis?.timestampMs).toBeGreaterThan(2900);
  });

  it("the Ogg reader skips a damaged page and keeps the time of the rest", async () => {
    const pages = dataPages(7, { first: 0, end: 4 });
    pages[1]?.fill(0x99, 500, 600);
    const { demuxer } = await open(concat(...headPages(7), ...pages));
    const packets = await readPackets(demuxer);
    expect(packets).toHaveLength(150);
    for (const packet of packets) expect(packet.timestampMs).toBeCloseTo(opusPacketNumber(packet.data) * 20 - 6.5, 6);
  });

  it("the Ogg reader starts the time of a live stream at 0 wherever it is joined", async () => {
    const bytes = concat(...headPages(7), ...dataPages(7, { first: 5000, end: 5003, isEnded: false }));
    const { demuxer } = await open(bytes, FORWARD);
    const packets = await readPackets(demuxer);
    expect(packets[0]?.timestampMs).toBeCloseTo(-6.5, 6);
    expect(packets.at(-1)?.timestampMs).toBeCloseTo(149 * 20 - 6.5, 6);
  });

  it.each([{}, FORWARD])(
    "the Ogg reader follows chained streams with a new stream object and growing times",
    async (options) => {
      const { demuxer } = await open(readMediaFixture("chained.ogg"), options);
      const first = demuxer.stream;
      const opus = await readPackets(demuxer, 101);
      expect(demuxer.stream).toBe(first);
      const vorbis = await readPackets(demuxer);
      expect([first.codec, demuxer.stream.codec]).toEqual(["opus", "vorbis"]);
      expect([opus.length, vorbis.length]).toEqual([101, 96]);
      expect(vorbis[0]?.timestampMs).toBeCloseTo(2000, 3);
    },
  );

  it("the Ogg reader skips pages of other streams in between", async () => {
    const own = [...headPages(7), ...dataPages(7, { first: 0, end: 3 })];
    const other = dataPages(99, { first: 0, end: 5 });
    const { demuxer } = await open(
      concat(...own.flatMap((page, index) => [page, other[index] ?? new Uint8Array(0)])),
      FORWARD,
    );
    expect(await readPackets(demuxer)).toHaveLength(150);
  });

  it("the Ogg reader joins packets that continue in the next page", async () => {
    const long = opusPacket(1, 700);
    const whole = oggPage({ serial: 7, sequence: 2, granule: 960, flags: 4, packets: [long] });
    // The packet again with its first 510 bytes on one page and the rest on the next.
    const first = splitPage(long.subarray(0, 510), { isContinued: false });
    const second = splitPage(long.subarray(510), { isContinued: true });
    const { demuxer: expected } = await open(concat(...headPages(7), whole));
    const { demuxer } = await open(concat(...headPages(7), first, second));
    expect((await readPackets(demuxer)).map(({ data }) => data)).toEqual(
      (await readPackets(expected)).map(({ data }) => data),
    );
  });
});

/** One half of a packet as a page: the first half ends in full segments, so that it continues. */
function splitPage(part: Uint8Array, options: { isContinued: boolean }): Uint8Array {
  const packets = options.isContinued ? [part] : [part.subarray(0, 0)];
  const page = { serial: 7, sequence: options.isContinued ? 3 : 2, flags: options.isContinued ? 5 : 0, packets };
  if (options.isContinued) return oggPage({ ...page, granule: 960 });
  return oggPage({ ...page, granule: -1, packets: [], unfinished: part });
}
