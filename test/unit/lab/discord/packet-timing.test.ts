// Lateness and jitter of packets, with the times given by the test.

import { expect, test } from "vitest";
import { PacketTiming, steadinessOf } from "../../../../lab/discord/packet-timing.ts";

/** Packets of one stream that is recorded from the first on, 960 ticks apart, at these times. */
function timingOf(arrivalsMs: readonly number[], firstTimestamp = 0): PacketTiming {
  const timing = new PacketTiming();
  timing.begin();
  for (const [index, arrivalMs] of arrivalsMs.entries()) timing.add((firstTimestamp + 960 * index) | 0, arrivalMs);
  return timing;
}

/** A packet every 20 ms, with delays added to single ones. */
function everyFrame(count: number, more: Readonly<Record<number, number>> = {}): number[] {
  return Array.from({ length: count }, (_, index) => 1000 + 20 * index + (more[index] ?? 0));
}

test("packets on their grid are neither late nor unsteady, wherever the timestamp begins", () => {
  const summary = steadinessOf([timingOf(everyFrame(200)), timingOf(everyFrame(200, {}), 0x7fff_ff00)]);
  expect(summary).toEqual({
    packets: 400,
    latenessMsP99: 0,
    latenessMsMax: 0,
    jitterMs: 0,
    spacingMsP99: 0,
    spacingMsMax: 0,
  });
});

test("one packet that is late by 7 ms differs from its neighbours twice, and is late once", () => {
  const summary = steadinessOf([timingOf(everyFrame(100, { 50: 7 }))]);
  expect(summary.latenessMsMax).toBeCloseTo(7);
  expect(summary.latenessMsP99).toBeCloseTo(0);
  expect(summary.spacingMsMax).toBeCloseTo(7);
  expect(summary.spacingMsP99).toBeCloseTo(7); // two of 99 intervals
});

test("a stream that leaves its grid for good is late from there on, and unsteady only in the step", () => {
  const late = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [210 + index, 12]));
  const summary = steadinessOf([timingOf(everyFrame(300, late))]);
  expect(summary.latenessMsP99).toBeCloseTo(12);
  expect(summary.spacingMsP99).toBeCloseTo(0);
  expect(summary.spacingMsMax).toBeCloseTo(12);
});

test("an early packet does not move the grid", () => {
  const summary = steadinessOf([timingOf(everyFrame(100, { 10: -15 }))]);
  expect(summary.latenessMsMax).toBeCloseTo(0);
});

test("each stream has its own grid", () => {
  const shifted = everyFrame(100).map((arrivalMs) => arrivalMs + 9.5);
  expect(steadinessOf([timingOf(everyFrame(100)), timingOf(shifted)]).latenessMsMax).toBeCloseTo(0);
});

test("jitter is RFC 3550's: a sixteenth of each difference plus fifteen sixteenths of the previous value", () => {
  const summary = steadinessOf([timingOf([0, 20, 48, 60])]); // differences 0, 8, 8
  const [second, third] = [8 / 16, 8 / 16 + (8 - 8 / 16) / 16];
  expect(summary.jitterMs).toBeCloseTo((0 + second + third) / 3);
});

test("a skipped frame is as long as its timestamp says, and audio after a stop has a new grid", () => {
  const timing = new PacketTiming();
  timing.begin();
  timing.add(0, 0);
  timing.add(960 * 3, 60);
  timing.endRun();
  timing.add(960 * 4, 5003);
  timing.add(960 * 5, 5023);
  expect(steadinessOf([timing])).toMatchObject({ packets: 4, latenessMsMax: 0, spacingMsMax: 0 });
});

test("only packets within the window count", () => {
  const timing = new PacketTiming();
  timing.add(0, 0);
  timing.begin();
  timing.add(960, 500);
  timing.end();
  timing.add(1920, 900);
  expect(steadinessOf([timing])).toMatchObject({ packets: 1, latenessMsMax: 0, spacingMsMax: 0 });
  timing.begin();
  expect(steadinessOf([timing]).packets).toBe(0);
});
