import { describe, expect, it, vi } from "vitest";
import { ascii, be, concat } from "../../../../lab/media-files/bytes.ts";
import { ebml } from "../../../../lab/media-files/containers.ts";
import { opusPacket, opusPacketNumber } from "../../../../lab/media-files/counted-song.ts";
import { splitBlock } from "../../../../src/media/demux/matroska/block.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { opusHeaders } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const [OPUS_HEAD] = opusHeaders();
const PACKETS_PER_CLUSTER = 50;

interface WebmOptions {
  readonly clusterCount: number;
  readonly isSizeKnown?: boolean;
  /** Time of the first cluster. */
  readonly startMs?: number;
  /** Whether the head says how long it is. */
  readonly isLengthDeclared?: boolean;
  /** Elements in front of all others. */
  readonly head?: Uint8Array;
  readonly extraTrackFields?: Uint8Array;
  /** An element behind every block. */
  readonly blockSuffix?: Uint8Array;
}

/** A WebM file without cues: clusters of one second, packets that carry their numbers. */
function webm(options: WebmOptions): Uint8Array {
  const sized = (id: number, body: Uint8Array) => ebml(id, body, options.isSizeKnown === false ? "unknown" : undefined);
  const track = ebml(
    0xae,
    concat(
      ...[ebml(0xd7, be(1, 1)), ebml(0x83, be(2, 1)), ebml(0x86, ascii("A_OPUS")), ebml(0x63a2, OPUS_HEAD)],
      ...[ebml(0x56aa, be(6_500_000, 4)), options.extraTrackFields ?? new Uint8Array(0)],
    ),
  );
  const clusters = Array.from({ length: options.clusterCount }, (_, index) => {
    const blocks = Array.from({ length: PACKETS_PER_CLUSTER }, (_unused, slot) => [
      ebml(
        0xa3,
        concat(
          Uint8Array.of(0x81),
          be(slot * 20, 2),
          Uint8Array.of(0x80),
          opusPacket(index * PACKETS_PER_CLUSTER + slot),
        ),
      ),
      options.blockSuffix ?? new Uint8Array(0),
    ]).flat();
    const timestamp = ebml(0xe7, be((options.startMs ?? 0) + index * 1000, 4));
    return sized(0x1f43b675, concat(timestamp, ...blocks));
  });
  const duration = new Uint8Array(8);
  new DataView(duration.buffer).setFloat64(0, options.clusterCount * 1000);
  const info = options.isLengthDeclared ? ebml(0x1549a966, ebml(0x4489, duration)) : new Uint8Array(0);
  const body = concat(options.head ?? new Uint8Array(0), info, ebml(0x1654ae6b, track), ...clusters);
  return concat(ebml(0x1a45dfa3, ebml(0x4282, ascii("webm"))), sized(0x18538067, body));
}

async function open(bytes: Uint8Array, options: MemoryByteSourceOptions = {}) {
  const source = new MemoryByteSource(bytes, options);
  return { source, demuxer: await openDemuxer(source, {}, createTrackBudget()) };
}

describe("the Matroska reader", () => {
  it.each([true, false])(
    "the Matroska reader seeks in a long file without cues (sizes known: %s)",
    async (isSizeKnown) => {
      const { source, demuxer } = await open(webm({ clusterCount: 1200, isSizeKnown }));
      for (const targetMs of [900_000, 17, 1_199_000, 455_555]) {
        await demuxer.seek(targetMs);
        const packet = await demuxer.next();
        const number = opusPacketNumber(packet?.data ?? new Uint8Array(0));
        expect(packet?.timestampMs).toBeCloseTo(number * 20 - 6.5, 6);
        expect(packet?.timestampMs).toBeLessThanOrEqual(Math.max(-6.5, targetMs - 80));
        expect(packet?.timestampMs).toBeGreaterThan(targetMs - 130);
      }
      expect(source.bytesRead).toBeLessThan(4_000_000);
    },
  );

  it.each([
    ["cues", 0x1c53bb6b],
    ["tags", 0x1254c367],
  ])("the Matroska reader seeks when the %s are declared at a position beyond the file", async (_name, id) => {
    const seekEntry = concat(ebml(0x53ab, be(id, 4)), ebml(0x53ac, be(2 ** 62, 8)));
    const source = new MemoryByteSource(webm({ clusterCount: 1200, head: ebml(0x114d9b74, ebml(0x4dbb, seekEntry)) }));
    const asked = vi.spyOn(source, "readBuffered");
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    await demuxer.seek(900_000);
    expect(Math.max(...asked.mock.calls.map(([positionBytes]) => positionBytes))).toBeLessThan(2 ** 31);
    expect((await demuxer.next())?.timestampMs).toBeGreaterThan(899_800);
  });

  it("a Matroska seek examines one or two positions when the file size is known", async () => {
    const readsOfSeek = async (bytes: Uint8Array, targetMs: number) => {
      const { source, demuxer } = await open(bytes);
      const positions: number[] = [0];
      const readBuffered = source.readBuffered.bind(source);
      source.readBuffered = (positionBytes, lengthBytes) => {
        if (Math.abs(positionBytes - (positions.at(-1) ?? 0)) > 20_000) positions.push(positionBytes);
        return readBuffered(positionBytes, lengthBytes);
      };
      await demuxer.seek(targetMs);
      expect((await demuxer.next())?.timestampMs).toBeGreaterThan(targetMs - 130);
      return positions.length - 1;
    };
    const lengthDeclared = webm({ clusterCount: 1200, isLengthDeclared: true });
    const lengthUndeclared = webm({ clusterCount: 1200, isLengthDeclared: false });
    let [declared, measured] = [0, 0];
    for (const targetMs of [701_000, 10_000, 1_101_000, 455_555]) {
      declared += await readsOfSeek(lengthDeclared, targetMs);
      measured += await readsOfSeek(lengthUndeclared, targetMs);
    }
    expect(declared).toBeLessThanOrEqual(8);
    expect(measured).toBeLessThanOrEqual(8);
  });

  it("the Matroska reader starts the time of a live stream at 0 wherever it is joined", async () => {
    const bytes = webm({ clusterCount: 3, isSizeKnown: false, startMs: 3_600_000 });
    const { demuxer } = await open(bytes, { isRandomAccess: false, isSizeKnown: false });
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([undefined, false]);
    const packets = await readPackets(demuxer);
    expect(packets).toHaveLength(150);
    expect(packets[0]?.timestampMs).toBeCloseTo(-6.5, 6);
    expect(packets.at(-1)?.timestampMs).toBeCloseTo(149 * 20 - 6.5, 6);
  });

  it("the Matroska reader skips elements it does not know between the blocks of a cluster", async () => {
    const { demuxer } = await open(webm({ clusterCount: 3, blockSuffix: ebml(0x4fff, ascii("unknown")) }));
    expect((await readPackets(demuxer)).map(({ data }) => opusPacketNumber(data))).toEqual([...Array(150).keys()]);
  });

  it("the Matroska reader continues at the next cluster behind damage, with the right time", async () => {
    const bytes = webm({ clusterCount: 5 });
    const clusterBytes = Math.floor(bytes.length / 5);
    bytes.fill(0, clusterBytes * 2 + 200, clusterBytes * 2 + 900);
    const { demuxer } = await open(bytes);
    const packets = await readPackets(demuxer);
    const numbers = packets.map(({ data }) => opusPacketNumber(data));
    expect(numbers.at(-1)).toBe(249);
    expect(numbers.length).toBeGreaterThan(190);
    for (const [index, packet] of packets.entries()) {
      expect(packet.timestampMs).toBeCloseTo((numbers[index] ?? 0) * 20 - 6.5, 6);
    }
  });

  it("the Matroska reader restores the bytes that header stripping removed from each packet", async () => {
    const compression = ebml(0x5034, concat(ebml(0x4254, be(3, 1)), ebml(0x4255, Uint8Array.of(0xfc))));
    const encodings = ebml(0x6d80, ebml(0x6240, compression));
    const { demuxer } = await open(webm({ clusterCount: 1, extraTrackFields: encodings }));
    const packet = await demuxer.next();
    expect(packet?.data.subarray(0, 3)).toEqual(Uint8Array.of(0xfc, 0xfc, 0));
  });

  it("the Matroska reader searches for a block among the first fields of its group, not among thousands", async () => {
    const block = ebml(0xa1, concat(Uint8Array.of(0x81), be(0, 2), Uint8Array.of(0), opusPacket(7)));
    const voids = (count: number) => Array<Uint8Array>(count).fill(ebml(0xec, new Uint8Array(1)));
    const file = (count: number) =>
      concat(webm({ clusterCount: 0 }), ebml(0x1f43b675, ebml(0xa0, concat(...voids(count), block))));
    const counts = await Promise.all(
      [10, 5000].map(async (count) => (await readPackets((await open(file(count))).demuxer)).length),
    );
    expect(counts).toEqual([1, 0]);
  });

  it("the Matroska reader refuses an encrypted track", async () => {
    const encryption = ebml(0x6d80, ebml(0x6240, ebml(0x5035, new Uint8Array(0))));
    await expect(open(webm({ clusterCount: 1, extraTrackFields: encryption }))).rejects.toMatchObject({
      code: "media-unsupported-codec",
      message: expect.stringContaining("A_OPUS"),
    });
  });

  it("the Matroska reader cuts the padding off the last packet", async () => {
    const { demuxer } = await open(readMediaFixture("opus.webm"));
    const packets = await readPackets(demuxer);
    expect(packets.at(-1)?.trimEndSamples).toBe(648);
    expect(packets.slice(0, -1).every(({ trimEndSamples }) => trimEndSamples === 0)).toBe(true);
  });
});

describe("splitBlock", () => {
  const parts = [Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5), Uint8Array.of(6, 7, 8, 9)];
  const head = (lacing: number) => concat(Uint8Array.of(0x81), be(0xfffe, 2), Uint8Array.of(lacing << 1));

  it("splitBlock reads track and signed time", () => {
    expect(splitBlock(concat(head(0), ...parts))).toEqual({
      trackNumber: 1,
      relativeUnits: -2,
      frames: [concat(...parts)],
    });
  });

  it("splitBlock undoes Xiph, EBML and fixed lacing", () => {
    const xiph = concat(head(1), Uint8Array.of(2, 3, 2), ...parts);
    const ebmlLaced = concat(head(3), Uint8Array.of(2, 0x83, 0xbe), ...parts);
    const fixed = concat(head(2), Uint8Array.of(2), Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9));
    expect(splitBlock(xiph)?.frames).toEqual(parts);
    expect(splitBlock(ebmlLaced)?.frames).toEqual(parts);
    expect(splitBlock(fixed)?.frames).toEqual([Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5, 6), Uint8Array.of(7, 8, 9)]);
  });

  it("splitBlock refuses laces that are longer than the block", () => {
    expect(splitBlock(concat(head(1), Uint8Array.of(1, 200), ...parts))).toBeUndefined();
    expect(splitBlock(concat(head(2), Uint8Array.of(1), Uint8Array.of(1, 2, 3)))).toBeUndefined();
    expect(splitBlock(Uint8Array.of(0x81))).toBeUndefined();
  });
});
