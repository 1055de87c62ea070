import { describe, expect, it } from "vitest";
import { ascii, be, concat, le } from "../../../../lab/media-files/bytes.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { id3Tag, mp3Frames } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

function open(bytes: Uint8Array) {
  return openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget());
}

/** A frame of 128 kbit/s at 44.1 kHz that carries a summary instead of audio. */
function vbriFrame(table: { frameCount: number; sizes: readonly number[]; framesPerEntry: number }): Uint8Array {
  const frame = mp3Frames({ kbps: 128, rateHz: 44_100, sizeBytes: 417 });
  const fields = [
    ...[ascii("VBRI"), be(1, 2), be(0, 2), be(0, 2), be(0, 4), be(table.frameCount, 4)],
    ...[be(table.sizes.length, 2), be(1, 2), be(2, 2), be(table.framesPerEntry, 2)],
    ...table.sizes.map((size) => be(size, 2)),
  ];
  frame.set(concat(...fields), 36);
  return frame;
}

describe("the MP3 reader", () => {
  // Sizes and lengths as recorded from Lavalink 4.2.2 with tone.mp3, notags.mp3, tone-noxing.mp3, tone44.mp3, tronc
  // é.mp3.
  it.each([
    [192, 48_000, 88, 721_240, 30_048],
    [128, 48_000, 45, 480_813, 30_048],
    [128, 48_000, 0, 480_384, 30_024],
    [192, 44_100, 88, 721_693, 30_066],
    [192, 48_000, 88, 40_000, 1_656],
  ] as const)(
    "shows the length that clients know: %i kbit/s, %i Hz, %i bytes of tag, %i in all",
    async (kbps, rateHz, tagBytes, sizeBytes, lengthMs) => {
      const tag = tagBytes === 0 ? new Uint8Array(0) : id3Tag(3, 0, new Uint8Array(tagBytes - 10));
      const bytes = concat(tag, mp3Frames({ kbps, rateHz, sizeBytes: sizeBytes - tagBytes }));
      const demuxer = await open(bytes);
      expect(demuxer.info.lengthMs).toBe(lengthMs);
    },
  );

  it("the MP3 reader seeks a long file of constant rate to the exact frame without reading through it", async () => {
    const bytes = mp3Frames({ kbps: 128, rateHz: 44_100, sizeBytes: 20_000_000 });
    const source = new MemoryByteSource(bytes);
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    for (const targetMs of [1_000_000, 3, 777_777]) {
      await demuxer.seek(targetMs);
      const packet = await demuxer.next();
      const frame = Math.round(((packet?.timestampMs ?? 0) * 44_100) / 1_152_000);
      const start = Math.floor((frame * 144_000 * 128) / 44_100);
      expect(packet?.data.byteOffset).toBe(start);
      expect(packet?.timestampMs).toBeLessThanOrEqual(targetMs);
      expect(packet?.timestampMs).toBeGreaterThan(targetMs - 150);
    }
    expect(source.bytesRead).toBeLessThan(400_000);
  });

  it("the MP3 reader counts frames of a file of varying rate only once", async () => {
    const source = new MemoryByteSource(concat(...Array<Uint8Array>(40).fill(readMediaFixture("vbr-noxing.mp3"))));
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    await demuxer.seek(100_000);
    const [first] = await readPackets(demuxer, 1);
    const afterFirst = source.bytesRead;
    await demuxer.seek(99_000);
    await demuxer.seek(100_000);
    const [second] = await readPackets(demuxer, 1);
    expect(second?.timestampMs).toBe(first?.timestampMs);
    expect(source.bytesRead - afterFirst).toBeLessThan(200_000);
  });

  it("the MP3 reader begins enough frames before a target that small ones, too, have all the bytes they depend on", async () => {
    const demuxer = await open(readMediaFixture("vbr.mp3"));
    await demuxer.seek(2000);
    let frameCount = 0;
    let bytes = 0;
    for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) {
      if (packet.timestampMs + packet.durationMs > 2000) break;
      frameCount += 1;
      bytes += packet.data.length;
    }
    expect(frameCount).toBe(10);
    expect(bytes).toBeGreaterThan(511);
  });

  it("the MP3 reader uses the table of a VBRI frame for seeking", async () => {
    const audio = mp3Frames({ kbps: 128, rateHz: 44_100, sizeBytes: 4_000_000 });
    const frameBytes = (144_000 * 128) / 44_100;
    const edges = Array.from({ length: 96 }, (_, index) => Math.floor(index * 100 * frameBytes));
    const sizes = stepsOf(edges);
    const bytes = concat(vbriFrame({ frameCount: 9569, sizes, framesPerEntry: 100 }), audio);
    const source = new MemoryByteSource(bytes);
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    expect(demuxer.info.lengthMs).toBe(Math.floor((9569 * 1152) / 44.1));
    await demuxer.seek(200_000);
    const packet = await demuxer.next();
    const frame = Math.round(((packet?.timestampMs ?? 0) * 44_100) / 1_152_000);
    expect(packet?.data.byteOffset).toBe(417 + Math.floor(frame * frameBytes));
    expect(source.bytesRead).toBeLessThan(400_000);
  });

  it("the MP3 reader skips junk between frames and tags behind them", async () => {
    const song = readMediaFixture("cbr-noxing.mp3");
    const junk = Uint8Array.from({ length: 5000 }, (_, index) => (index * 37) % 251);
    const ape = concat(
      ascii("APETAGEX"),
      le(2000, 4),
      le(32 + 500, 4),
      le(1, 4),
      le(0xa0000000, 4),
      le(0, 8),
      new Uint8Array(532),
    );
    const id3v1 = concat(ascii("TAG"), new Uint8Array(125));
    const whole = await readPackets(await open(song));
    const half = whole.slice(0, 40).reduce((size, { data }) => size + data.length, 0);
    const bytes = concat(junk.subarray(0, 500), song.subarray(0, half), junk, song.subarray(half), ape, id3v1);
    const packets = await readPackets(await open(bytes));
    expect(packets.map(({ data }) => data)).toEqual(whole.map(({ data }) => data));
  });

  it("the MP3 reader continues with another stream when the file changes its rate", async () => {
    const bytes = concat(readMediaFixture("cbr-noxing.mp3"), readMediaFixture("mpeg2.mp3"));
    const demuxer = await open(bytes);
    const first = demuxer.stream;
    const packets = await readPackets(demuxer);
    expect(first.sampleRateHz).toBe(44_100);
    expect(demuxer.stream).not.toBe(first);
    expect(demuxer.stream.sampleRateHz).toBe(22_050);
    for (const [index, packet] of packets.slice(1).entries()) {
      const before = packets[index];
      expect(packet.timestampMs).toBeCloseTo((before?.timestampMs ?? 0) + (before?.durationMs ?? 0), 3);
    }
  });
});
