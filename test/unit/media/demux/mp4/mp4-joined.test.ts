// Fragmented MP4 whose times go back: joined files, and 0 as the time of each fragment.

import { expect, test } from "vitest";
import { concat } from "../../../../../lab/media-files/bytes.ts";
import type { Packet } from "../../../../../src/media/format/packet.ts";
import { openDemuxer } from "../../../../../src/media/probe/open-demuxer.ts";
import { readMediaFixture, readPackets } from "../../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../../support/track-budgets.ts";

const FRAGMENTED = readMediaFixture("aac-frag.mp4");

function withoutTimes(file: Uint8Array): Uint8Array {
  const bytes = Buffer.from(file);
  for (let at = bytes.indexOf("tfdt"); at >= 0; at = bytes.indexOf("tfdt", at + 4)) {
    bytes.fill(0, at + 8, at + (bytes[at + 4] === 1 ? 16 : 12));
  }
  return bytes;
}

function open(bytes: Uint8Array) {
  return openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget());
}

const dataOf = (packets: readonly Packet[]) => packets.map(({ data }) => Buffer.from(data).toString("base64"));

test.each([
  ["joined from two", concat(FRAGMENTED, FRAGMENTED), 2],
  ["joined from twenty", concat(...Array<Uint8Array>(20).fill(FRAGMENTED)), 20],
  ["with 0 as the time of each fragment", withoutTimes(FRAGMENTED), 1],
  [
    "with 0 as the time of each fragment, joined from three",
    withoutTimes(concat(FRAGMENTED, FRAGMENTED, FRAGMENTED)),
    3,
  ],
])(
  "fragmented MP4 %s has the length of all parts, positions that never go back, and seeks",
  async (_, bytes, count) => {
    const alone = await open(FRAGMENTED);
    const own = await readPackets(alone);
    const demuxer = await open(bytes);
    expect(Math.abs(demuxer.info.lengthMs! - count * alone.info.lengthMs!)).toBeLessThan(count * 12);
    const packets = await readPackets(demuxer);
    expect(dataOf(packets)).toEqual(Array(count).fill(dataOf(own)).flat());
    for (const [index, { timestampMs }] of packets.slice(1).entries()) {
      const gapMs = timestampMs - packets[index]!.timestampMs;
      expect(gapMs).toBeGreaterThan(0);
      expect(gapMs).toBeLessThan(25);
    }
    for (const share of [0.9, 0.2, 0.6]) {
      const targetMs = share * demuxer.info.lengthMs!;
      await demuxer.seek(targetMs);
      const [first] = await readPackets(demuxer, 1);
      expect(first!.timestampMs).toBeLessThanOrEqual(targetMs);
      expect(first!.timestampMs).toBeGreaterThan(targetMs - 100);
      const sameMs = packets.filter(({ timestampMs }) => Math.abs(timestampMs - first!.timestampMs) < 1);
      expect(dataOf(sameMs)).toEqual(dataOf([first!]));
    }
  },
);
