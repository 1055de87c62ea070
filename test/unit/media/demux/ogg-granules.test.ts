// Ogg streams whose granules do not begin at 0, or say more than there is: cut out of longer ones, or damaged.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { crc, le } from "../../../../lab/media-files/bytes.ts";
import type { Demuxer } from "../../../../src/media/demux/demuxer.ts";
import type { Packet } from "../../../../src/media/format/packet.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const oggCrc = crc(32, 0x04c11db7);
const FIVE_HOURS_SAMPLES = 5 * 3600 * 48_000;

interface Page {
  readonly index: number;
  readonly serial: number;
  readonly granule: number;
  readonly isLast: boolean;
}

/** The file with other granules on its pages, except for those of headers (0) and without one. */
function withGranules(file: Uint8Array, change: (page: Page) => number): Uint8Array {
  const bytes = Buffer.from(file);
  let index = 0;
  for (let at = 0; at < bytes.length; index++) {
    const sizes = bytes.subarray(at + 27, at + 27 + bytes[at + 26]!);
    const end = at + 27 + sizes.length + sizes.reduce((sum, size) => sum + size, 0);
    const granule = Number(bytes.readBigInt64LE(at + 6));
    const page = { index, serial: bytes.readUInt32LE(at + 14), granule, isLast: (bytes[at + 5]! & 4) !== 0 };
    if (granule > 0) {
      bytes.writeBigInt64LE(BigInt(change(page)), at + 6);
      bytes.fill(0, at + 22, at + 26);
      bytes.set(le(oggCrc(bytes.subarray(at, end)), 4), at + 22);
    }
    at = end;
  }
  return bytes;
}

/** Each packet in short: its time, length and bytes. */
async function outline(demuxer: Demuxer): Promise<string[]> {
  const packets = await readPackets(demuxer);
  return packets.map(({ timestampMs, durationMs, trimEndSamples, data }) => {
    const times = `${timestampMs.toFixed(3)} ${durationMs.toFixed(3)} ${trimEndSamples}`;
    return `${times} ${createHash("sha256").update(data).digest("base64")}`;
  });
}

async function open(bytes: Uint8Array) {
  return openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget());
}

test.each(["opus.ogg", "vorbis.ogg", "flac.oga"])(
  "%s cut out of a longer stream has the length and positions of what is there",
  async (name) => {
    const file = readMediaFixture(name);
    const moved = await open(withGranules(file, ({ granule }) => granule + FIVE_HOURS_SAMPLES));
    const plain = await open(file);
    expect(moved.info).toEqual(plain.info);
    expect(await outline(moved)).toEqual(await outline(plain));
    for (const targetMs of [1500, 0, 700, 1990]) {
      await moved.seek(targetMs);
      await plain.seek(targetMs);
      expect(await outline(moved)).toEqual(await outline(plain));
    }
    await moved.seek(plain.info.lengthMs!);
    expect(await moved.next()).toBeUndefined();
  },
);

test("chained Ogg streams that begin at different granules follow each other without a gap", async () => {
  const file = readMediaFixture("chained.ogg");
  const offsets = new Map<number, number>();
  const moved = withGranules(file, ({ serial, granule }) => {
    if (!offsets.has(serial)) offsets.set(serial, (offsets.size + 1) * FIVE_HOURS_SAMPLES);
    return granule + offsets.get(serial)!;
  });
  expect(offsets.size).toBeGreaterThan(1);
  expect(await outline(await open(moved))).toEqual(await outline(await open(file)));
});

test("the length of an Ogg stream is not taken from a last granule that its page cannot hold", async () => {
  const file = readMediaFixture("opus.ogg");
  const { info } = await open(withGranules(file, ({ granule, isLast }) => (isLast ? FIVE_HOURS_SAMPLES : granule)));
  expect(info.lengthMs).toBeGreaterThan(900);
  expect(info.lengthMs).toBeLessThan(2010);
});

test.each(["opus.ogg", "vorbis.ogg", "flac.oga"])("%s without granules is heard whole", async (name) => {
  const file = readMediaFixture(name);
  const plain = await readPackets(await open(file));
  const without = await open(withGranules(file, () => 0));
  expect([without.info.lengthMs, without.isSeekable]).toEqual([undefined, false]);
  const packets = await readPackets(without);
  const hex = (list: readonly Packet[]) => list.map(({ data }) => Buffer.from(data).toString("hex"));
  expect(hex(packets)).toEqual(hex(plain));
  expect(packets[0]?.timestampMs).toBeCloseTo(plain[0]?.timestampMs ?? Number.NaN, 3);
});
