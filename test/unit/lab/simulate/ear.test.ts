// What the listener of a simulation takes for right, and what it counts as missing.

import { beforeEach, expect, test } from "vitest";
import { Ear } from "../../../../lab/simulate/ear.ts";
import { NUMBERS_PER_SONG } from "../../../../lab/simulate/world.ts";

const FRAME_MS = 20;
const ONE_MINUTE = { why: "test", silentMs: 60_000, lossMs: 60_000 };

let nowMs = 0;
let ear: Ear;

beforeEach(() => {
  nowMs = 10_000;
  ear = new Ear({ name: "ear", now: () => nowMs, songPackets: 15_000 });
  ear.expect({ id: 1, song: 0, first: 0 }, 1000);
});

/** One every 20 ms, from `first` to `last`. */
function hear(first: number, last = first): void {
  for (let number = first; number <= last; number++) {
    nowMs += FRAME_MS;
    ear.hear(number);
  }
}

test("a packet that is left out without a cause is a fault", () => {
  hear(0, 9);
  hear(11, 20);
  expect(ear.faults).toHaveLength(1);
  expect(ear.missingCount).toBe(0);
});

test("packets left out where that is allowed are missing, and no fault", () => {
  hear(0, 9);
  ear.allow(ONE_MINUTE);
  hear(13, 20);
  expect(ear.faults).toEqual([]);
  expect(ear.missingCount).toBe(3);
});

test("of several places that were sought, the nearest is the one that is heard", () => {
  hear(0, 9);
  ear.allow(ONE_MINUTE);
  for (const place of [9900, 8744, 9077]) ear.expectSeek(place, 1500);
  nowMs += 15_000;
  hear(9077, 9090);
  expect(ear.faults).toEqual([]);
  expect(ear.missingCount).toBe(0);
});

test("what is lost of a new place may be as much as was to be heard since it was sought", () => {
  hear(0, 9);
  ear.allow(ONE_MINUTE);
  ear.expectSeek(9580, 1500);
  nowMs += 480 * FRAME_MS;
  hear(9580 + 480, 10_100);
  expect(ear.faults).toEqual([]);
  expect(ear.missingCount).toBe(480);
});

test("no packet of a new place is left out without a cause", () => {
  hear(0, 9);
  ear.expectSeek(5000, 1500);
  hear(5001, 5010);
  expect(ear.faults).toHaveLength(1);
});

test("what is sought in a track before its first packet is sought in that track", () => {
  hear(0, 9);
  ear.expectSeek(3000, 1500);
  ear.expect({ id: 2, song: 1, first: 100 }, 1000);
  ear.expectSeek(7000, 1500);
  hear(NUMBERS_PER_SONG + 7000, NUMBERS_PER_SONG + 7010);
  expect(ear.faults).toEqual([]);
  expect(ear.missingCount).toBe(0);
});

test("each seek in a pause throws away the packet that was ready, and no more", () => {
  hear(0, 9);
  ear.pause(true);
  ear.expectSeek(500, 1500);
  ear.expectSeek(14_000, 1500);
  ear.pause(false);
  hear(501, 505);
  hear(14_000, 14_005);
  expect(ear.faults).toEqual([]);
  expect(ear.missingCount).toBe(0);
});

test("from the old place, packets are left out by no more than the seeks since", () => {
  hear(0, 9);
  ear.expectSeek(5000, 1500);
  hear(11, 15);
  expect(ear.faults).toEqual([]);
  hear(18, 20);
  expect(ear.faults).toHaveLength(1);
});

test("packets lost right before a pause are no fault after it, however long the pause is", () => {
  hear(0, 9);
  ear.allow({ why: "datagrams lost", lossMs: 500 });
  nowMs += 10 * FRAME_MS;
  ear.pause(true);
  nowMs += 60_000;
  ear.pause(false);
  hear(20, 30);
  expect(ear.faults).toEqual([]);
  expect(ear.missingCount).toBe(10);
});

test("a pause excuses no more lost packets than were due before it, and none without a cause", () => {
  hear(0, 9);
  ear.allow({ why: "datagrams lost", lossMs: 500 });
  nowMs += 10 * FRAME_MS;
  ear.pause(true);
  nowMs += 60_000;
  ear.pause(false);
  hear(21, 30);
  expect(ear.faults).toHaveLength(1);
  nowMs += 10 * FRAME_MS;
  ear.pause(true);
  nowMs += 1000;
  ear.pause(false);
  hear(35, 40);
  expect(ear.faults).toHaveLength(2);
});

test("a track that is over may be heard only while its worker hears of commands late", () => {
  hear(0, 9);
  ear.stop();
  ear.allow({ why: "worker held up", lossMs: 700, lateMs: 500 });
  nowMs += 480;
  ear.hear(10);
  expect(ear.faults).toEqual([]);
  nowMs += 100;
  ear.hear(11);
  expect(ear.faults).toHaveLength(1);
});
