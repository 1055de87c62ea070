// Matroska tracks whose codec is described by the format chunk of WAV (A_MS/ACM).

import { expect, test } from "vitest";
import { be, join, le } from "../../../../lab/media-files/bytes.ts";
import { cluster, matroskaHead, simpleBlock } from "../../../../lab/media-files/containers.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

/** One block of such a track: two channels at 8000 Hz. */
function open(format: number, bits: number, data: Uint8Array) {
  const frameBytes = (2 * bits) / 8;
  const codecPrivate = join([
    ...[le(format, 2), le(2, 2), le(8000, 4), le(8000 * frameBytes, 4)],
    ...[le(frameBytes, 2), le(bits, 2), le(0, 2)],
  ]);
  const head = matroskaHead({ codec: "A_MS/ACM", rateHz: 8000, channels: 2, codecPrivate }, 20);
  const source = new MemoryByteSource(join([head, cluster(0, [simpleBlock(0, data)])]));
  return openDemuxer(source, {}, createTrackBudget());
}

test.each([
  ["alaw", 6, 8],
  ["mulaw", 7, 8],
  ["signed", 1, 16],
  ["float", 3, 32],
] as const)("%s samples in Matroska as ACM play", async (encoding, format, bitsPerSample) => {
  const demuxer = await open(format, bitsPerSample, new Uint8Array(320));
  const pcm = { encoding, bitsPerSample, isBigEndian: false };
  expect(demuxer.stream).toMatchObject({ codec: "pcm", sampleRateHz: 8000, channelCount: 2, pcm });
  expect((await demuxer.next())?.durationMs).toBe((1000 * 320) / ((2 * bitsPerSample) / 8) / 8000);
});

test("MP3 in Matroska as ACM plays", async () => {
  const frame = join([be(0xfffb9000, 4), new Uint8Array(413)]);
  const demuxer = await open(0x55, 0, frame);
  expect(demuxer.stream.codec).toBe("mp3");
  expect((await demuxer.next())?.data.length).toBe(417);
});

test("another codec in Matroska as ACM is refused by name", async () => {
  await expect(open(2, 4, new Uint8Array(8))).rejects.toMatchObject({
    code: "media-unsupported-codec",
    message: expect.stringContaining("A_MS/ACM (Microsoft ADPCM)"),
  });
});
