// Ogg files joined from several: their length, and seeks in them, also when the links repeat one serial number.

import { createHash } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { concat, join, le } from "../../../../lab/media-files/bytes.ts";
import { oggPage } from "../../../../lab/media-files/containers.ts";
import { opusPacket, opusPacketNumber } from "../../../../lab/media-files/counted-song.ts";
import { chainWithItself, changePages } from "../../../../lab/media-files/ogg-pages.ts";
import type { Packet } from "../../../../src/media/format/packet.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { JumpingSource } from "../../../support/jumping-source.ts";
import { opusHeaders } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const PRE_SKIP_MS = 6.5;

async function open(bytes: Uint8Array, options = {}) {
  const source = new MemoryByteSource(bytes);
  return { source, demuxer: await openDemuxer(source, options, createTrackBudget()) };
}

function hash({ data }: Packet): string {
  return createHash("sha256").update(data).digest("base64");
}

describe.each(["opus.ogg", "vorbis.ogg", "flac.oga"])("%s joined with itself", (name) => {
  const file = readMediaFixture(name);

  it.each([
    ["with one serial number", concat(file, file)],
    ["with two serial numbers", chainWithItself(file)],
  ])("has the length of both, plays both and seeks in both (%s)", async (_, bytes) => {
    const alone = (await open(file)).demuxer;
    const aloneMs = alone.info.lengthMs!;
    const packets = await readPackets(alone);
    const { demuxer } = await open(bytes);
    expect(demuxer.isSeekable).toBe(true);
    expect(Math.abs(demuxer.info.lengthMs! - 2 * aloneMs)).toBeLessThan(10);
    const all = await readPackets(demuxer);
    expect(all.map(hash)).toEqual([...packets, ...packets].map(hash));
    for (const options of [{}, { isLengthNeeded: false }]) {
      const again = (await open(bytes, options)).demuxer;
      for (const targetMs of [aloneMs * 1.5, aloneMs / 2, aloneMs * 2 - 60, 0, aloneMs + 20]) {
        await again.seek(targetMs);
        const found = await readPackets(again);
        const first = found[0]!;
        const index = all.findIndex(({ timestampMs }) => Math.abs(timestampMs - first.timestampMs) < 0.1);
        expect(found.map(hash)).toEqual(all.slice(index).map(hash));
        expect(first.timestampMs).toBeLessThanOrEqual(targetMs);
        expect(first.timestampMs).toBeGreaterThan(targetMs - 400);
      }
    }
  });
});

/** A stream of so many seconds in one serial number, its packets numbered from `firstNumber`. */
function link(seconds: number, firstNumber: number, serial = 7): Uint8Array {
  const heads = opusHeaders().map((packet, sequence) =>
    oggPage({ serial, sequence, granule: 0, flags: sequence === 0 ? 2 : 0, packets: [packet] }),
  );
  const pages = Array.from({ length: seconds }, (_, second) => {
    const packets = Array.from({ length: 50 }, (_unused, slot) => opusPacket(firstNumber + second * 50 + slot, 254));
    const flags = second === seconds - 1 ? 4 : 0;
    return oggPage({ serial, sequence: second + 2, granule: (second + 1) * 48_000, flags, packets });
  });
  return concat(...heads, ...pages);
}

/** When a packet starts: each link has samples in front that are not audible. */
function timeOf(number: number, seconds: readonly number[]): number {
  let [index, end] = [0, seconds[0]!];
  while (number >= end * 50) end += seconds[++index]!;
  return number * 20 - PRE_SKIP_MS * (index + 1);
}

test.each([
  ["two equal ones", [200, 200]],
  ["a short and a long one", [60, 300]],
  ["a long and a short one", [300, 3]],
  ["four of different lengths", [100, 25, 170, 90]],
])("a large Ogg file of %s with one serial number has its length and seeks everywhere", async (_, seconds) => {
  let total = 0;
  const links = seconds.map((length) => {
    total += length;
    return link(length, (total - length) * 50);
  });
  const bytes = concat(...links);
  const { demuxer, source } = await open(bytes);
  expect(demuxer.info.lengthMs).toBe(Math.floor(total * 1000 - PRE_SKIP_MS * (links.length - 1)));
  expect(source.bytesRead).toBeLessThan(bytes.length * 0.7);
  for (const share of [0.9, 0.1, 0.55, 0.3, 0.999]) {
    await demuxer.seek(share * total * 1000);
    const packet = (await demuxer.next())!;
    expect(packet.timestampMs).toBeCloseTo(timeOf(opusPacketNumber(packet.data), seconds), 3);
    expect(packet.timestampMs).toBeGreaterThan(share * total * 1000 - 130);
    expect(packet.timestampMs).toBeLessThanOrEqual(share * total * 1000);
  }
});

interface Stream {
  readonly sizeBytes: number;
  /** Bytes of a packet in the page at that position. */
  readonly packetBytes: (positionBytes: number) => number;
  readonly sequenceOf?: (page: number) => number;
}

/** One stream, a page a second. */
function stream({ sizeBytes, packetBytes, sequenceOf = (page) => page }: Stream) {
  const parts = opusHeaders().map((packet, sequence) =>
    oggPage({ serial: 7, sequence, granule: 0, flags: sequence === 0 ? 2 : 0, packets: [packet] }),
  );
  let seconds = 0;
  for (let position = 0; position < sizeBytes; position += parts.at(-1)!.length) {
    const size = packetBytes(position);
    const packets = Array.from({ length: 50 }, (_, slot) => opusPacket(seconds * 50 + slot, size));
    seconds += 1;
    parts.push(oggPage({ serial: 7, sequence: sequenceOf(seconds + 1), granule: seconds * 48_000, flags: 0, packets }));
  }
  return { bytes: join(parts), seconds };
}

const REGION_BYTES = 320 * 1024;

/** Quiet and loud parts within quiet and loud parts: the bytes of pages in each half differ from those in the other. */
const VARYING = stream({
  sizeBytes: 16 * REGION_BYTES,
  packetBytes: (position) => {
    const region = Math.floor(position / REGION_BYTES);
    return Math.floor(1200 / [8, 4, 2, 1].reduce((part, unit) => part * (region & unit ? 1 : 2), 1));
  },
});

test("an Ogg file of one stream whose pages vary in size is one stream, found out with few reads", async () => {
  const { demuxer, source } = await open(VARYING.bytes);
  expect(demuxer.info.lengthMs).toBe(VARYING.seconds * 1000);
  expect(source.bytesRead).toBeLessThan(VARYING.bytes.length * 0.8);
});

test("the first seek in an Ogg file whose pages vary in size makes few jumps", async () => {
  const source = new JumpingSource(VARYING.bytes);
  const demuxer = await openDemuxer(source, { isLengthNeeded: false }, createTrackBudget());
  await demuxer.next();
  const before = source.jumps;
  await demuxer.seek(300_000);
  expect((await demuxer.next())?.timestampMs).toBeGreaterThan(299_000);
  expect(source.jumps - before).toBeLessThan(15);
});

test.each([
  ["all 0", () => 0],
  ["restarted in the middle", (page: number) => page % 200],
  ["restarted often", (page: number) => page % 7],
])("a large Ogg file of one stream whose page numbers are %s has its length and seeks", async (_, sequenceOf) => {
  const { bytes, seconds } = stream({ sizeBytes: 24 * 1024 * 1024, packetBytes: () => 1200, sequenceOf });
  const { demuxer } = await open(bytes);
  expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([seconds * 1000, true]);
  await demuxer.seek(300_000);
  const packet = (await demuxer.next())!;
  expect(packet.timestampMs).toBeGreaterThan(299_000);
  expect(packet.timestampMs).toBeCloseTo(opusPacketNumber(packet.data) * 20 - PRE_SKIP_MS, 3);
});

test("an Ogg file of more streams than are worth the search is a stream without a length", async () => {
  const bytes = concat(...Array.from({ length: 40 }, (_, index) => link(2, index * 100)));
  const { demuxer } = await open(bytes);
  expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([undefined, false]);
  const { demuxer: playing } = await open(bytes, { isLengthNeeded: false });
  await playing.seek(50_000);
  const packet = (await playing.next())!;
  expect(packet.timestampMs).toBeCloseTo(timeOf(opusPacketNumber(packet.data), Array<number>(40).fill(2)), 3);
  expect(packet.timestampMs).toBeGreaterThan(49_800);
});

test("a chained Ogg stream that only goes forward seeks to packets that were read ahead", async () => {
  const cut = changePages(link(2, 0), (page) => {
    const isLast = (page[5]! & 4) !== 0;
    if (isLast) page.set(le(2 * 48_000 - 7 * 960 - 100, 8), 6);
    return page;
  });
  const source = new MemoryByteSource(concat(cut, link(2, 100)), { isRandomAccess: false, isSizeKnown: false });
  const demuxer = await openDemuxer(source, {}, createTrackBudget());
  const before = (await readPackets(demuxer, 93)).at(-1)!;
  await demuxer.seek(before.timestampMs + 5 * 20 + 1);
  expect((await demuxer.next())?.timestampMs).toBeCloseTo(before.timestampMs + 20, 3);
});
