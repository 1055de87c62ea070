import { beforeEach, describe, expect, it } from "vitest";
import type { QueuedPacket } from "../../../../src/media/pipeline/packet-queue.ts";
import { PassablePackets } from "../../../../src/media/pipeline/passable-packets.ts";
import { RecentPackets } from "../../../../src/media/pipeline/recent-packets.ts";
import { numberedPackets } from "../../../support/numbered-packets.ts";

const OPUS = { codec: "opus", sampleRateHz: 48_000, channelCount: 2, description: undefined, pcm: undefined } as const;
const MP3 = { ...OPUS, codec: "mp3" } as const;
/** At 0, 20, 40, 60 and 80 ms. */
const ENTRIES = numberedPackets(5).map((packet) => ({ packet, stream: OPUS }));

let recent: RecentPackets;

const times = (entries: readonly QueuedPacket[] | undefined) => entries?.map(({ packet }) => packet.timestampMs);

beforeEach(() => {
  recent = new RecentPackets(new PassablePackets());
  for (const entry of ENTRIES) recent.add(entry, 5);
});

describe("recent packets", () => {
  it("recent packets are the newest ones up to the limit, oldest first", () => {
    recent.add({ packet: { ...ENTRIES[0]!.packet, timestampMs: 100 }, stream: OPUS }, 4); // five were added
    expect(times(recent.newest(99))).toEqual([40, 60, 80, 100]);
    expect(times(recent.takeAll())).toEqual([40, 60, 80, 100]);
    expect(recent.newest(99)).toEqual([]);
  });

  it("recent packets are read or removed from the newest on", () => {
    expect(times(recent.newest(2))).toEqual([60, 80]);
    expect(times(recent.takeNewest(3))).toEqual([40, 60, 80]);
    expect(times(recent.takeNewest(3))).toEqual([0, 20]);
    expect(times(recent.newest(2))).toEqual([]);
  });

  it("recent packets are removed from the one that begins at a moment, to a rounding error", () => {
    expect(times(recent.takeFrom(40.4))).toEqual([40, 60, 80]);
    expect(times(recent.newest(99))).toEqual([0, 20]);
  });

  it("recent packets are not removed when none begins at the moment, or it may not pass through", () => {
    expect([recent.takeFrom(40.6), recent.takeFrom(100)]).toEqual([undefined, undefined]);
    recent.add({ packet: { ...ENTRIES[0]!.packet, timestampMs: 100 }, stream: MP3 }, 6);
    expect(recent.takeFrom(100)).toBeUndefined();
    expect(recent.newest(99).length).toBe(6);
  });
});

describe("a start behind a moment within a packet", () => {
  it.each([
    [21, 40],
    [35, 40],
    [35.5, 60],
    [39.5, 60],
  ])("the start 5 to 25 ms behind %d ms is at %d ms", (atMs, startMs) => {
    expect(recent.startBehind(atMs)).toBe(startMs);
  });

  it.each([20, 78, 81, 120])("no start is found behind %d ms: a packet begins right there, or none is left", (atMs) => {
    expect(recent.startBehind(atMs)).toBeUndefined();
  });

  it("no start is found when one of the packets may not pass through", () => {
    recent.add({ packet: { ...ENTRIES[0]!.packet, timestampMs: 100 }, stream: MP3 }, 6);
    expect([recent.startBehind(41), recent.startBehind(61)]).toEqual([60, undefined]);
  });
});
