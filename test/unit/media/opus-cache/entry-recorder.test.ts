import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { OpusCacheEvent } from "../../../../src/bridge/opus-cache.ts";
import type { Packet } from "../../../../src/media/format/packet.ts";
import { ENTRY_HEAD_BYTES, readEntryHead } from "../../../../src/media/opus-cache/entry-file.ts";
import { EntryRecorder } from "../../../../src/media/opus-cache/entry-recorder.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const KEY = "c".repeat(64);
const FRAME_SAMPLES = 960;

let folder: string;
let path: string;
let isSame: boolean;
let isSliceHeld: boolean;
let onReported: (event: OpusCacheEvent) => void;
let reported: Promise<OpusCacheEvent>;
const given = { type: "opusCacheWritten", sizeBytes: undefined } as const;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-entry-"));
  path = join(folder, "entry.part");
  isSame = true;
  isSliceHeld = false;
  reported = new Promise((resolve) => {
    onReported = resolve;
  });
});
afterEach(() => rmSync(folder, { recursive: true }));

function createRecorder({ bytesMax = 10_000_000 } = {}): EntryRecorder {
  return new EntryRecorder({
    key: KEY,
    path,
    bytesMax,
    nextSlice: () => (isSliceHeld ? new Promise(() => undefined) : Promise.resolve()),
    isSame: () => isSame,
    send: (event) => onReported(event),
  });
}

/** A stereo CELT frame of 20 ms (its first byte) that is unlike the others. */
function frameOf(number: number, sizeBytes = 320): Uint8Array {
  const frame = new Uint8Array(sizeBytes).fill(number % 251);
  frame.set([0xfc, number >> 8, number & 255]);
  return frame;
}

function framesOf(count: number, sizeBytes?: number): Uint8Array[] {
  return Array.from({ length: count }, (_, number) => frameOf(number, sizeBytes));
}

async function packetsOf(file: Uint8Array): Promise<{ readonly packets: Packet[]; readonly lengthMs?: number }> {
  const demuxer = await openDemuxer(new MemoryByteSource(file), {}, createTrackBudget());
  const packets: Packet[] = [];
  for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) packets.push(packet);
  const { lengthMs } = demuxer.info;
  return { packets, ...(lengthMs === undefined ? {} : { lengthMs }) };
}

describe("a recorder of an entry", () => {
  it.each([
    ["less than a page", 20, 320, 19 * FRAME_SAMPLES + 1],
    ["a page", 50, 320, 50 * FRAME_SAMPLES],
    ["many pages", 1234, 320, 1233 * FRAME_SAMPLES + 500],
    ["large frames", 200, 1275, 200 * FRAME_SAMPLES],
  ])("writes an Ogg file with the frames, their times and the length of the track: %s", async (...song) => {
    const [, count, sizeBytes, lengthSamples] = song;
    const frames = framesOf(count, sizeBytes);
    const recorder = createRecorder();
    for (const frame of frames) {
      recorder.add(frame);
      // Frames are made in ticks, with the disk's time between them.
      await new Promise((next) => setImmediate(next));
    }
    recorder.finish(lengthSamples);
    expect(await reported).toEqual({
      type: "opusCacheWritten",
      path,
      sizeBytes: statSync(path).size,
      failure: undefined,
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const file = readFileSync(path);
    const { packets, lengthMs } = await packetsOf(file);
    expect(packets.map(({ data }) => Buffer.from(data))).toEqual(frames.map((frame) => Buffer.from(frame)));
    expect(packets.map(({ timestampMs }) => timestampMs)).toEqual(frames.map((_, number) => number * 20));
    expect(packets.at(-1)?.trimEndSamples).toBe(count * FRAME_SAMPLES - lengthSamples);
    expect(lengthMs).toBe(Math.floor(lengthSamples / 48));
    const sha256 = createHash("sha256").update(file.subarray(ENTRY_HEAD_BYTES)).digest("hex");
    expect(readEntryHead(file.subarray(0, ENTRY_HEAD_BYTES), KEY)).toEqual({ key: KEY, lengthSamples, sha256 });
    expect(readEntryHead(file.subarray(0, ENTRY_HEAD_BYTES), "d".repeat(64))).toBeUndefined();
  });

  it("writes frames that were made again in place of those that were rewound", async () => {
    const recorder = createRecorder();
    for (const frame of framesOf(100)) recorder.add(frame);
    recorder.rewind(5);
    const again = [300, 301, 302, 303, 304].map((number) => frameOf(number));
    for (const frame of again) recorder.add(frame);
    recorder.finish(100 * FRAME_SAMPLES);
    await reported;
    const { packets } = await packetsOf(readFileSync(path));
    expect(packets.map(({ data }) => Buffer.from(data))).toEqual(
      [...framesOf(95), ...again].map((frame) => Buffer.from(frame)),
    );
  });

  it.each<readonly [string, (recorder: EntryRecorder) => void]>([
    ["it is given up", (recorder) => recorder.giveUp()],
    ["more frames are rewound than it has", (recorder) => recorder.rewind(10)],
    ["its frames are not as many as the length takes", (recorder) => recorder.finish(499 * FRAME_SAMPLES)],
    [
      "encoders have other settings now",
      (recorder) => {
        isSame = false;
        recorder.add(frameOf(1));
      },
    ],
  ])("reports that there is no entry when %s", async (_name, end) => {
    const recorder = createRecorder();
    for (const frame of framesOf(500)) recorder.add(frame);
    end(recorder);
    recorder.add(frameOf(500));
    recorder.finish(502 * FRAME_SAMPLES);
    expect(await reported).toEqual({ ...given, path, failure: undefined });
  });

  it("gives the entry up when the disk does not keep up, and holds no more than half a minute", async () => {
    isSliceHeld = true;
    const recorder = createRecorder();
    let count = 0;
    while (!recorder.isEmpty || count === 0) {
      recorder.add(frameOf(count));
      count += 1;
      if (count > 5000) throw new Error("it takes frames without end");
    }
    // The first 64 KiB are on their way.
    expect(count * 320).toBeLessThan(700_000);
  });

  it("gives the entry up when it becomes larger than was reserved", async () => {
    const recorder = createRecorder({ bytesMax: 100_000 });
    for (const frame of framesOf(400)) {
      recorder.add(frame);
      await new Promise((next) => setImmediate(next));
    }
    recorder.finish(400 * FRAME_SAMPLES);
    expect(await reported).toMatchObject({ ...given, path });
    expect(existsSync(path) ? statSync(path).size : 0).toBeLessThanOrEqual(100_000);
  });

  it("reports why the disk refused it", async () => {
    writeFileSync(path, "somebody else's");
    const recorder = createRecorder();
    for (const frame of framesOf(100)) recorder.add(frame);
    recorder.finish(100 * FRAME_SAMPLES);
    expect(await reported).toMatchObject({ ...given, failure: expect.stringContaining("EEXIST") });
    expect(readFileSync(path, "utf8")).toBe("somebody else's");
  });
});
