import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { segmentClockMs } from "../../../../../src/media/demux/hls/segment-clock.ts";
import { patternBytes } from "../../../../support/input-builders.ts";

const FOLDER = new URL("../../../../fixtures/hls/", import.meta.url);

function id3(timestamp: bigint): Buffer {
  const owner = Buffer.from("com.apple.streaming.transportStreamTimestamp\0");
  const value = Buffer.alloc(8);
  value.writeBigUInt64BE(timestamp);
  const frame = Buffer.concat([Buffer.from("PRIV\0\0\0\x35\0\0", "latin1"), owner, value]);
  return Buffer.concat([Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, frame.length]), frame]);
}

it("MPEG-TS segments follow each other on their clock", () => {
  const clocks = [0, 1, 2, 3, 4].map((index) => segmentClockMs(readFileSync(new URL(`ts${index}.ts`, FOLDER))) ?? 0);
  // 47 frames of 1024 samples at 48 kHz.
  for (const [index, clock] of clocks.entries()) expect(clock - clocks[0]!).toBeCloseTo(index * 1002.667, 1);
});

it("packed audio has its clock in its tag", () => {
  expect(segmentClockMs(Buffer.concat([id3(900_000n), patternBytes(1_000)]))).toBe(10_000);
  expect(segmentClockMs(id3(2n ** 33n + 90n))).toBe(1);
});

it("other segments have no clock, and garbage does no harm (seeded)", () => {
  expect(segmentClockMs(readFileSync(new URL("fmp4-0.m4s", FOLDER)))).toBeUndefined();
  expect(segmentClockMs(new Uint8Array(0))).toBeUndefined();
  const seed = Math.floor(Math.random() * 2 ** 31);
  for (let round = 0; round < 300; round++) {
    const bytes = patternBytes(188 * 20, seed + round);
    for (let at = 0; at < bytes.length; at += 188) bytes[at] = 0x47;
    const clock = segmentClockMs(bytes.subarray(0, round * 12));
    expect(clock ?? 0, `seed ${seed}, round ${round}`).toBeGreaterThanOrEqual(0);
  }
});
