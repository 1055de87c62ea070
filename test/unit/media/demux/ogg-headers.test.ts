// Headers of Ogg streams as broken muxers write them.

import { expect, test } from "vitest";
import { ascii, be, bits, concat, digits, le } from "../../../../lab/media-files/bytes.ts";
import { oggPage } from "../../../../lab/media-files/containers.ts";
import { splitXiphLaced } from "../../../../src/media/format/xiph-lacing.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { readCodecFixture } from "../../../support/codec-fixture.ts";
import { readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

async function open(bytes: Uint8Array) {
  return openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget());
}

const BLOCK_SAMPLES = 4608;

/** FLAC of the fixture in Ogg. Only the flags given say which block is the last. */
function oggFlac(statedCount: number, isFlagged: boolean): { bytes: Uint8Array; packets: readonly Uint8Array[] } {
  const { stream, packets } = readCodecFixture("flac");
  const head = concat(bits(digits(0x7f, 8)), ascii("FLAC"), Uint8Array.of(1, 0), be(statedCount, 2), ascii("fLaC"));
  const info = concat(Uint8Array.of(0), be(34, 3), stream.description!.subarray(8, 42));
  const comments = concat(le(0, 4), le(1, 4), le(10, 4), ascii("TITLE=Song"));
  const block = concat(Uint8Array.of(isFlagged ? 0x84 : 4), be(comments.length, 3), comments);
  const page = (sequence: number, packet: Uint8Array, granule: number) =>
    oggPage({ serial: 3, sequence, granule, flags: sequence === 0 ? 2 : 0, packets: [packet] });
  const data = packets.map((packet, index) => page(index + 2, packet, (index + 1) * BLOCK_SAMPLES));
  return { bytes: concat(page(0, concat(head, info), 0), page(1, block, 0), ...data), packets };
}

test.each([
  ["the flag of the last block", 0, true],
  ["the count of blocks", 1, false],
  ["the first frame", 0, false],
  ["the flag, against the count,", 9, true],
] as const)("Ogg FLAC where only %s ends the headers plays whole", async (_, statedCount, isFlagged) => {
  const { bytes, packets } = oggFlac(statedCount, isFlagged);
  const demuxer = await open(bytes);
  expect(demuxer.info.title).toBe("Song");
  expect((await readPackets(demuxer)).map(({ data }) => data.length)).toEqual(packets.map(({ length }) => length));
});

test.each([true, false])(
  "Vorbis whose set-up spans pages plays, also without their continuation flag (%s)",
  async (isFlagged) => {
    const { stream, packets } = readCodecFixture("vorbis");
    const [identification, comments, setup] = splitXiphLaced(stream.description!)!;
    const cut = 255 * 4;
    const bytes = concat(
      oggPage({ serial: 9, sequence: 0, granule: 0, flags: 2, packets: [identification!] }),
      oggPage({
        serial: 9,
        sequence: 1,
        granule: 0,
        flags: 0,
        packets: [comments!],
        unfinished: setup!.subarray(0, cut),
      }),
      oggPage({ serial: 9, sequence: 2, granule: 0, flags: isFlagged ? 1 : 0, packets: [setup!.subarray(cut)] }),
      ...packets.map((packet, index) =>
        oggPage({ serial: 9, sequence: index + 3, granule: (index + 1) * 1024, flags: 0, packets: [packet] }),
      ),
    );
    expect((await readPackets(await open(bytes))).length).toBe(packets.length);
  },
);

test("an Ogg page that claims to continue a packet that was complete loses nothing", async () => {
  const { stream, packets } = readCodecFixture("vorbis");
  const [identification, comments, setup] = splitXiphLaced(stream.description!)!;
  const bytes = concat(
    oggPage({ serial: 9, sequence: 0, granule: 0, flags: 2, packets: [identification!] }),
    oggPage({ serial: 9, sequence: 1, granule: 0, flags: 0, packets: [comments!, setup!] }),
    ...packets.map((packet, index) =>
      oggPage({ serial: 9, sequence: index + 2, granule: (index + 1) * 1024, flags: index % 2, packets: [packet] }),
    ),
  );
  expect((await readPackets(await open(bytes))).length).toBe(packets.length);
});
