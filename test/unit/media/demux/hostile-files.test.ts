// Files built to cost more than their size: reading them takes steps and bytes in proportion to their size, yields the
// thread in between, stays within its memory and releases all of it.

import { describe, expect, it } from "vitest";
import { NodeError } from "../../../../src/errors.ts";
import type { Demuxer } from "../../../../src/media/demux/demuxer.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { CountingSlicer } from "../../../support/counting-slicer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { HOSTILE_FILES, type HostileFile } from "../../../support/hostile-files.ts";
import { readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const SIZE_BYTES = 200_000;
/** Limit of packets read; here each returned packet counts as this many steps. */
const PACKETS_MAX = 20_000;

interface Cost {
  readonly slicer: number;
  readonly bytes: number;
  readonly packets: number;
}

/** Opens, plays to the end, jumps and plays on. A clear error is an end as well. */
async function costOf(file: HostileFile, sizeBytes: number, isRandomAccess: boolean): Promise<Cost> {
  const slicer = new CountingSlicer();
  const budget = createTrackBudget({ clock: new FakeClock(), slicer, memoryBytes: 64 * 1024 * 1024 });
  const source = new MemoryByteSource(file.build(sizeBytes), { isRandomAccess, isSizeKnown: isRandomAccess });
  let packets = 0;
  let demuxer: Demuxer | undefined;
  try {
    demuxer = await openDemuxer(source, file.hints ?? {}, budget);
    for (const targetMs of [undefined, 60_000, 5]) {
      if (targetMs !== undefined) await demuxer.seek(targetMs);
      for (let count = 0; count < PACKETS_MAX && (await demuxer.next()) !== undefined; count++) packets += 1;
    }
  } catch (error) {
    if (!(error instanceof NodeError) || error.cause !== undefined) throw error;
  }
  demuxer?.close();
  expect(budget.memory.usedBytes).toBe(0);
  return { slicer: slicer.count, bytes: source.bytesRead, packets };
}

describe.each(HOSTILE_FILES)("$name", (file) => {
  it.each([true, false])("twice the file costs twice the work (random access: %s)", async (isRandomAccess) => {
    const once = await costOf(file, SIZE_BYTES, isRandomAccess);
    const twice = await costOf(file, 2 * SIZE_BYTES, isRandomAccess);
    expect(twice.slicer).toBeLessThanOrEqual(2.4 * once.slicer + 40);
    expect(twice.bytes).toBeLessThanOrEqual(2.4 * once.bytes + 2_000_000);
    // Opened, played and sought through twice; where bytes only trickle in, a header's worth is asked for at each step
    // of two.
    expect(twice.bytes).toBeLessThanOrEqual(20 * 2 * SIZE_BYTES);
    expect(twice.slicer).toBeLessThanOrEqual((6 * 2 * SIZE_BYTES) / 512);
  });
});

it("FLAC headers of frames that never end are followed only for as many bytes as are passed, and a few frames", async () => {
  const file = HOSTILE_FILES.find(({ name }) => name === "flac: headers of frames that never end");
  const slicer = new CountingSlicer();
  const source = new MemoryByteSource(file?.build(6_000_000) ?? new Uint8Array(0));
  const demuxer = await openDemuxer(source, {}, createTrackBudget({ clock: new FakeClock(), slicer }));
  // The decoder looks for their ends, and gives up after fifty.
  expect((await readPackets(demuxer)).length).toBeLessThan(1000);
  // A step passes a header of six bytes, or looks through 8 KiB.
  expect(slicer.count).toBeLessThan((6_000_000 / 6 + 20_000_000 / 8192) / 512);
  expect(slicer.count).toBeGreaterThan(1000);
});
