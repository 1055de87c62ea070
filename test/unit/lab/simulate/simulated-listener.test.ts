// The rules of a simulation's listener, and what it counts as missing.

import { beforeEach, expect, test } from "vitest";
import { SimulatedListener } from "../../../../lab/simulate/simulated-listener.ts";
import { NUMBERS_PER_SONG } from "../../../../lab/simulate/world.ts";

const FRAME_MS = 20;
const ONE_MINUTE = { why: "test", silentMs: 60_000, lossMs: 60_000 };

let nowMs = 0;
let listener: SimulatedListener;

beforeEach(() => {
  nowMs = 10_000;
  listener = new SimulatedListener({ name: "listener", now: () => nowMs, songPackets: 15_000 });
  listener.expect({ id: 1, song: 0, first: 0 }, 1000);
});

const SECOND = { id: 2, song: 1, first: 100 };
const SECOND_PACKET = NUMBERS_PER_SONG + SECOND.first;
const THIRD = { id: 3, song: 2, first: 0 };
const THIRD_PACKET = 2 * NUMBERS_PER_SONG;

/** One every 20 ms, from `first` to `last`. */
function receive(first: number, last = first): void {
  for (let number = first; number <= last; number++) {
    nowMs += FRAME_MS;
    listener.receive(number);
  }
}

test("a packet that is left out without a cause is a fault", () => {
  receive(0, 9);
  receive(11, 20);
  expect(listener.faults).toHaveLength(1);
  expect(listener.missingCount).toBe(0);
});

test("packets left out where that is allowed are counted as missing, and are no fault", () => {
  receive(0, 9);
  listener.allow(ONE_MINUTE);
  receive(13, 20);
  expect(listener.faults).toEqual([]);
  expect(listener.missingCount).toBe(3);
});

test("the nearest of several seek targets is taken for the received one", () => {
  receive(0, 9);
  listener.allow(ONE_MINUTE);
  for (const positionMs of [9900, 8744, 9077]) listener.expectSeek(positionMs, 1500);
  nowMs += 15_000;
  receive(9077, 9090);
  expect(listener.faults).toEqual([]);
  expect(listener.missingCount).toBe(0);
});

test("packets lost after a seek may be as many as were due since the seek", () => {
  receive(0, 9);
  listener.allow(ONE_MINUTE);
  listener.expectSeek(9580, 1500);
  nowMs += 480 * FRAME_MS;
  receive(9580 + 480, 10_100);
  expect(listener.faults).toEqual([]);
  expect(listener.missingCount).toBe(480);
});

test("a packet of a new position that is left out without a cause is a fault", () => {
  receive(0, 9);
  listener.expectSeek(5000, 1500);
  receive(5001, 5010);
  expect(listener.faults).toHaveLength(1);
});

test("a seek before the first packet of a track applies to that track", () => {
  receive(0, 9);
  listener.expectSeek(3000, 1500);
  listener.expect(SECOND, 1000);
  listener.expectSeek(7000, 1500);
  receive(NUMBERS_PER_SONG + 7000, NUMBERS_PER_SONG + 7010);
  expect(listener.faults).toEqual([]);
  expect(listener.missingCount).toBe(0);
});

test("each seek in a pause drops the packet that was ready, and no more", () => {
  receive(0, 9);
  listener.pause(true);
  listener.expectSeek(500, 1500);
  listener.expectSeek(14_000, 1500);
  listener.pause(false);
  receive(501, 505);
  receive(14_000, 14_005);
  expect(listener.faults).toEqual([]);
  expect(listener.missingCount).toBe(0);
});

test("no more packets of the old position are left out than there were seeks since", () => {
  receive(0, 9);
  listener.expectSeek(5000, 1500);
  receive(11, 15);
  expect(listener.faults).toEqual([]);
  receive(18, 20);
  expect(listener.faults).toHaveLength(1);
});

test("packets lost right before a pause are no fault after it, however long the pause is", () => {
  receive(0, 9);
  listener.allow({ why: "datagrams lost", lossMs: 500 });
  nowMs += 10 * FRAME_MS;
  listener.pause(true);
  nowMs += 60_000;
  listener.pause(false);
  receive(20, 30);
  expect(listener.faults).toEqual([]);
  expect(listener.missingCount).toBe(10);
});

test("a pause excuses no more lost packets than were due before it, and none without a cause", () => {
  receive(0, 9);
  listener.allow({ why: "datagrams lost", lossMs: 500 });
  nowMs += 10 * FRAME_MS;
  listener.pause(true);
  nowMs += 60_000;
  listener.pause(false);
  receive(21, 30);
  expect(listener.faults).toHaveLength(1);
  nowMs += 10 * FRAME_MS;
  listener.pause(true);
  nowMs += 1000;
  listener.pause(false);
  receive(35, 40);
  expect(listener.faults).toHaveLength(2);
});

test.each([
  [10, 0],
  [11, 1],
])("of a track whose first packets are lost before a pause, %i are missing behind it: %i faults", (lost, faults) => {
  receive(0, 9);
  listener.allow({ why: "datagrams lost", lossMs: 500 });
  nowMs += 10 * FRAME_MS;
  listener.expect(SECOND, 1000);
  nowMs += 10 * FRAME_MS;
  listener.pause(true);
  nowMs += 60_000;
  listener.pause(false);
  receive(SECOND_PACKET + lost, SECOND_PACKET + 20);
  expect(listener.faults).toHaveLength(faults);
});

test("packets lost before a silence are no fault behind it, and no more than were due while they might be lost", () => {
  const loseConnection = (): void => {
    listener.allow({ why: "cut", silentMs: 60_000, lossMs: 200 });
    nowMs += 10_000;
    listener.allow({ why: "cut again", silentMs: 60_000, lossMs: 2000 });
    nowMs += 10_000;
  };
  receive(0, 9);
  loseConnection();
  receive(20, 30);
  expect(listener.faults).toEqual([]);
  expect(listener.missingCount).toBe(10);
  loseConnection();
  receive(43, 50);
  expect(listener.faults).toHaveLength(1);
});

test("a track that is over may be received only while its worker gets commands late", () => {
  receive(0, 9);
  listener.stop();
  listener.allow({ why: "worker held up", lossMs: 700, lateMs: 500 });
  nowMs += 480;
  listener.receive(10);
  expect(listener.faults).toEqual([]);
  nowMs += 100;
  listener.receive(11);
  expect(listener.faults).toHaveLength(1);
});

test("a track that began while its packets were lost plays until the track that replaces it is ready", () => {
  receive(0, 9);
  listener.expect(SECOND, 1000);
  listener.allow({ why: "datagrams lost", silentMs: 1800, lossMs: 1800 });
  nowMs += 1500;
  listener.expect(THIRD, 1000);
  nowMs += 200;
  // Began 1000 ms before it was replaced.
  receive(SECOND_PACKET + 60, SECOND_PACKET + 80);
  receive(THIRD_PACKET, THIRD_PACKET + 10);
  expect(listener.faults).toEqual([]);
  expect(listener.missingCount).toBe(60);
});

test("a track that began at a seek while its packets were lost plays until the next track is ready", () => {
  receive(0, 9);
  listener.expect(SECOND, 1000);
  listener.expectSeek(7000, 1000);
  listener.allow({ why: "datagrams lost", silentMs: 1800, lossMs: 1800 });
  nowMs += 1500;
  listener.expect(THIRD, 1000);
  nowMs += 200;
  receive(NUMBERS_PER_SONG + 7060, NUMBERS_PER_SONG + 7080);
  receive(THIRD_PACKET, THIRD_PACKET + 10);
  expect(listener.faults).toEqual([]);
  expect(listener.missingCount).toBe(60);
});

test("a track that begins after it was replaced is a fault, also while packets are lost", () => {
  receive(0, 9);
  listener.expect(SECOND, 1000);
  nowMs += 500;
  listener.expect(THIRD, 1000);
  listener.allow({ why: "datagrams lost", silentMs: 5000, lossMs: 5000 });
  nowMs += 800;
  // Would have begun 420 ms after it was replaced.
  receive(SECOND_PACKET + 20);
  expect(listener.faults).toHaveLength(1);
});

test("a replaced track is a fault at a position that it cannot have reached since it was requested", () => {
  receive(0, 9);
  listener.expect(SECOND, 1000);
  nowMs += 500;
  listener.expect(THIRD, 1000);
  listener.allow({ why: "datagrams lost", silentMs: 5000, lossMs: 5000 });
  nowMs += 500;
  receive(SECOND_PACKET + 60);
  expect(listener.faults).toHaveLength(1);
});

test("a track that begins at the moment when it is replaced is received in order until the next track is ready", () => {
  receive(0, 9);
  listener.expect(SECOND, 1000);
  nowMs += 200;
  listener.expect(THIRD, 1000);
  receive(SECOND_PACKET, SECOND_PACKET + 20);
  expect(listener.faults).toEqual([]);
  receive(SECOND_PACKET + 22);
  expect(listener.faults).toHaveLength(1);
  receive(THIRD_PACKET, THIRD_PACKET + 10);
  receive(SECOND_PACKET + 23);
  expect(listener.faults).toHaveLength(2);
});

test("a track that never began before it was replaced is a fault after a stop", () => {
  receive(0, 9);
  listener.stop();
  nowMs += 5000;
  listener.expect(SECOND, 1000);
  nowMs += 500;
  listener.expect(THIRD, 1000);
  nowMs += 500;
  receive(SECOND_PACKET);
  expect(listener.faults).toHaveLength(1);
});

test("a replaced track that plays longer than the next one may take to start is a fault", () => {
  receive(0, 9);
  listener.expect(SECOND, 1000);
  receive(10, 59);
  expect(listener.faults).toEqual([]);
  receive(60, 70);
  expect(listener.faults).not.toEqual([]);
});

test.each([
  [14_999, 0],
  [14_998, 1],
])("position 0 after packet %i of 15,000: %i faults", (last, faults) => {
  listener.expectSeek(14_900, 1000);
  receive(14_900, last);
  nowMs += 5000;
  listener.reportPosition(0, 0);
  expect(listener.faults).toHaveLength(faults);
});
