import { expect, test } from "vitest";
import { DemuxWork } from "../../../../src/media/demux/demux-work.ts";
import { spoolSource } from "../../../../src/media/demux/spooled-source.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const SIZE_BYTES = 200_000;
const SIZE_BYTES_MAX = 32 * 1024 * 1024;

function create(sizeBytes: number, { isSizeKnown = false } = {}) {
  const bytes = new Uint8Array(sizeBytes);
  for (let index = 0; index < SIZE_BYTES; index++) bytes[index] = index * 7 + (index >> 8);
  const source = new MemoryByteSource(bytes, { isRandomAccess: false, isSizeKnown });
  const budget = createTrackBudget();
  return { bytes, source, budget, parts: { source, work: new DemuxWork(budget) } };
}

test("a spooled source returns any of its bytes, wherever they are", async () => {
  const { bytes, parts } = create(SIZE_BYTES);
  const spooled = await spoolSource(parts);
  expect([spooled.sizeBytes, spooled.isRandomAccess]).toEqual([SIZE_BYTES, true]);
  for (const [from, count] of [
    [0, 10],
    [65_530, 12],
    [1000, 150_000],
    [SIZE_BYTES - 5, 10],
    [SIZE_BYTES + 5, 10],
  ] as const) {
    expect(await spooled.read(from, count)).toEqual(bytes.slice(from, from + count));
  }
});

test("a spooled source counts its memory, and releases it on close", async () => {
  const { source, budget, parts } = create(SIZE_BYTES);
  const spooled = await spoolSource(parts);
  expect(budget.memory.usedBytes).toBeGreaterThanOrEqual(SIZE_BYTES);
  expect(budget.memory.usedBytes).toBeLessThan(2 * SIZE_BYTES);
  spooled.close();
  expect([budget.memory.usedBytes, source.isClosed]).toEqual([0, true]);
});

test("more than 32 MiB is not spooled, and not read when the size is known before", async () => {
  const refusal = { code: "media-not-seekable" };
  const { source, parts } = create(SIZE_BYTES_MAX + 1, { isSizeKnown: true });
  await expect(spoolSource(parts)).rejects.toMatchObject(refusal);
  expect(source.readCount).toBe(0);
  await expect(spoolSource(create(SIZE_BYTES_MAX).parts)).rejects.toMatchObject(refusal);
});
