// Uncompressed audio in QuickTime and MP4: every code and layout, sample sizes that say nothing, and seeks.

import { describe, expect, it } from "vitest";
import { be, concat } from "../../../../../lab/media-files/bytes.ts";
import { box, fullBox } from "../../../../../lab/media-files/containers.ts";
import { openDemuxer } from "../../../../../src/media/probe/open-demuxer.ts";
import { readPackets } from "../../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../../support/memory-byte-source.ts";
import { mp4File, soundEntry } from "../../../../support/mp4-files.ts";
import { createTrackBudget } from "../../../../support/track-budgets.ts";

function open(bytes: Uint8Array) {
  return openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget());
}

/** Half a second in one chunk. */
function pcmFile(entry: Uint8Array, frameBytes: number, declared = frameBytes): Uint8Array {
  return mp4File({ runs: [[22_050, 1]], entry, fixedBytes: { declared, actual: frameBytes } });
}

const little = box("wave", box("enda", be(1, 2)));
const pcmC = (flags: number, bits: number) => fullBox("pcmC", Uint8Array.of(flags, bits));

/** Version 2 of the sample entry. */
function lpcm(bits: number, flags: number): Uint8Array {
  const rate = Buffer.alloc(8);
  rate.writeDoubleBE(44_100);
  const head = concat(new Uint8Array(6), be(1, 2), be(2, 2), be(0, 6), be(3, 2), be(16, 2), be(0xfffe, 2), be(0, 2));
  const more = concat(be(0x10000, 4), be(72, 4), rate, be(2, 4), be(0x7f000000, 4), be(bits, 4), be(flags, 4));
  return box("lpcm", head, more, be(bits / 4, 4), be(1, 4));
}

describe("uncompressed audio in MP4", () => {
  it.each([
    ["sowt", soundEntry("sowt"), "signed", 16, false],
    ["twos", soundEntry("twos"), "signed", 16, true],
    ["twos of 8 bits", soundEntry("twos", { bits: 8 }), "signed", 8, true],
    ["raw", soundEntry("raw ", { bits: 8 }), "unsigned", 8, true],
    ["in24", soundEntry("in24"), "signed", 24, true],
    ["in24, little-endian", soundEntry("in24", { extra: little }), "signed", 24, false],
    ["in32", soundEntry("in32"), "signed", 32, true],
    ["fl32, little-endian", soundEntry("fl32", { extra: little }), "float", 32, false],
    ["fl64", soundEntry("fl64"), "float", 64, true],
    ["alaw", soundEntry("alaw"), "alaw", 8, false],
    ["ulaw", soundEntry("ulaw"), "mulaw", 8, false],
    ["ipcm", soundEntry("ipcm", { extra: pcmC(1, 24) }), "signed", 24, false],
    ["fpcm", soundEntry("fpcm", { extra: pcmC(0, 32) }), "float", 32, true],
    ["lpcm", lpcm(24, 4 | 8), "signed", 24, false],
    ["lpcm of floats", lpcm(32, 1 | 2 | 8), "float", 32, true],
  ] as const)("an MP4 file with %s plays in packets of 20 ms, whatever its sample size says", async (...row) => {
    const [, entry, encoding, bitsPerSample, isBigEndian] = row;
    const frameBytes = bitsPerSample / 4;
    for (const declared of [frameBytes, 1]) {
      const demuxer = await open(pcmFile(entry, frameBytes, declared));
      expect(demuxer.stream).toMatchObject({ codec: "pcm", sampleRateHz: 44_100, channelCount: 2 });
      expect(demuxer.stream.pcm).toMatchObject({ encoding, bitsPerSample });
      if (bitsPerSample > 8) expect(demuxer.stream.pcm?.isBigEndian).toBe(isBigEndian);
      expect(demuxer.info.lengthMs).toBe(500);
      const packets = await readPackets(demuxer);
      expect(packets.map(({ data }) => data.length)).toEqual(Array.from({ length: 25 }, () => 882 * frameBytes));
      expect(packets.at(-1)?.timestampMs).toBeCloseTo(480, 6);
      expect(packets.every(({ durationMs }) => Math.abs(durationMs - 20) < 1e-6)).toBe(true);
    }
  });

  it("a seek in uncompressed audio of MP4 goes to the exact sample", async () => {
    const demuxer = await open(pcmFile(soundEntry("sowt"), 4, 1));
    await demuxer.seek(100);
    const packet = await demuxer.next();
    expect([packet?.timestampMs, packet?.data.slice(0, 2)]).toEqual([100, be(4410, 2)]);
  });

  it.each([
    [soundEntry("ipcm"), "unknown layout (ipcm)"],
    [soundEntry("ipcm", { extra: pcmC(0, 20) }), "unknown layout (ipcm)"],
    [lpcm(16, 4 | 8 | 32), "unknown layout (lpcm)"],
    [soundEntry("twos", { bits: 12 }), "twos"],
    [soundEntry("twos", { channels: 200 }), "200 channels"],
  ])("uncompressed audio in a layout that is not played is refused by name, case %#", async (entry, name) => {
    await expect(open(pcmFile(entry, 4))).rejects.toMatchObject({
      code: "media-unsupported-codec",
      message: expect.stringContaining(name),
    });
  });
});
