// Padding is cut off where a stream ends, never from a packet that others of its stream follow.

import { describe, expect, it, test } from "vitest";
import { ascii, be, concat } from "../../../../lab/media-files/bytes.ts";
import { cluster, ebml, matroskaHead, oggPage, simpleBlock } from "../../../../lab/media-files/containers.ts";
import { opusPacket } from "../../../../lab/media-files/counted-song.ts";
import type { Demuxer } from "../../../../src/media/demux/demuxer.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { opusHeaders } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

function open(bytes: Uint8Array) {
  return openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget());
}

/** Samples that are trimmed, by the number of the packet. */
async function trims(demuxer: Demuxer): Promise<Record<number, number>> {
  const packets = await readPackets(demuxer);
  const entries = packets.map(({ trimEndSamples }, index) => [index, trimEndSamples] as const);
  return Object.fromEntries(entries.filter(([, samples]) => samples > 0));
}

describe("MP3", () => {
  const song = readMediaFixture("cbr.mp3");
  const oldTag = concat(ascii("TAG"), new Uint8Array(125));

  it.each([
    ["directly", new Uint8Array(0)],
    ["behind an old tag", oldTag],
  ])("the padding that a summary declares is audible when another file follows %s", async (_, between) => {
    const own = await trims(await open(song));
    expect(Object.keys(own).length).toBeGreaterThan(0);
    expect(await trims(await open(concat(song, between, readMediaFixture("cbr-noxing.mp3"))))).toEqual({});
    expect(await trims(await open(concat(song, oldTag)))).toEqual(own);
  });

  it("the stream is that of the packet, also while the packets of another rate are read ahead", async () => {
    const demuxer = await open(concat(song, readMediaFixture("mpeg2.mp3")));
    const own = (await readPackets(await open(song))).length;
    const first = demuxer.stream;
    for (let count = 0; count < own; count++) {
      expect(await demuxer.next()).toBeDefined();
      expect(demuxer.stream).toBe(first);
    }
    await demuxer.next();
    expect(demuxer.stream.sampleRateHz).toBe(22_050);
  });
});

describe("Ogg", () => {
  const heads = (serial: number) =>
    opusHeaders().map((packet, sequence) =>
      oggPage({ serial, sequence, granule: 0, flags: sequence === 0 ? 2 : 0, packets: [packet] }),
    );
  const page = (serial: number, number: number, { endGranule = (number + 1) * 9600, isLast = false } = {}) => {
    const packets = Array.from({ length: 10 }, (_, slot) => opusPacket(number * 10 + slot));
    return oggPage({ serial, sequence: number + 2, granule: endGranule, flags: isLast ? 4 : 0, packets });
  };
  const shortPage = (serial: number, number: number) =>
    page(serial, number, { endGranule: (number + 1) * 9600 - 1500, isLast: true });

  it("a page that claims to be the last one is not trimmed when others of its stream follow", async () => {
    const bytes = concat(...heads(7), page(7, 0), shortPage(7, 1), page(7, 2), shortPage(7, 3));
    expect(await trims(await open(bytes))).toEqual({ 38: 540, 39: 960 });
  });

  it("each stream of a chain is trimmed, and the next one starts where its audio ends", async () => {
    const bytes = concat(...heads(7), shortPage(7, 0), ...heads(8), shortPage(8, 0));
    const demuxer = await open(bytes);
    const first = demuxer.stream;
    const packets = await readPackets(demuxer, 10);
    expect(demuxer.stream).toBe(first);
    expect(packets.map(({ trimEndSamples }) => trimEndSamples).slice(-2)).toEqual([540, 960]);
    const next = await demuxer.next();
    expect(demuxer.stream).not.toBe(first);
    expect(next!.timestampMs + 6.5).toBeCloseTo((9600 - 1500 - 312) / 48, 6);
  });
});

describe("Matroska", () => {
  const head = matroskaHead({ codec: "A_OPUS", rateHz: 48_000, channels: 2, codecPrivate: opusHeaders()[0] });
  const padded = (offsetMs: number, number: number) => {
    const block = ebml(0xa1, concat(Uint8Array.of(0x81), be(offsetMs, 2), Uint8Array.of(0), opusPacket(number)));
    return ebml(0xa0, concat(block, ebml(0x75a2, be(15_000_000, 4))));
  };
  const file = (timesMs: readonly number[]) =>
    concat(
      head,
      cluster(0, [simpleBlock(0, opusPacket(0)), padded(20, 1), ...timesMs.map((ms, index) => padded(ms, index + 2))]),
    );

  it("a block with padding is whole when the next one starts behind the padding", async () => {
    expect(await trims(await open(file([40, 60])))).toEqual({ 3: 720 });
  });

  it("a block with padding is trimmed when the next one starts in place of the padding", async () => {
    const demuxer = await open(file([25, 30]));
    expect(await trims(demuxer)).toEqual({ 1: 720, 2: 720, 3: 720 });
    await demuxer.seek(0);
    const packets = await readPackets(demuxer);
    expect(packets.map(({ timestampMs }) => timestampMs)).toEqual([-6.5, 13.5, 18.5, 23.5]);
  });
});

test("fragments of MP4 are trimmed at the end of the last one only", async () => {
  const packets = await readPackets(await open(readMediaFixture("aac-frag.mp4")));
  expect(packets.slice(0, -1).every(({ trimEndSamples }) => trimEndSamples === 0)).toBe(true);
});
