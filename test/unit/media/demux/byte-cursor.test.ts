import { describe, expect, it } from "vitest";
import { ByteCursor } from "../../../../src/media/demux/byte-cursor.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";

const BYTES = Uint8Array.from({ length: 500_000 }, (_, index) => (index * 31) >> 3);

describe("ByteCursor", () => {
  it("a byte cursor peeks further and further without asking a forward-only source for anything twice", async () => {
    const source = new MemoryByteSource(BYTES, { isRandomAccess: false, isSizeKnown: false, readAheadBytes: 0 });
    const cursor = new ByteCursor(source);
    for (const count of [10, 40_000, 60_000, 150_000, 300_000]) {
      expect(await cursor.need(count)).toBe(true);
      expect(Buffer.compare(cursor.view(count), BYTES.subarray(0, count))).toBe(0);
    }
    expect(await cursor.need(500_001)).toBe(false);
    expect([cursor.isShort, cursor.endBytes, cursor.bufferedBytes]).toEqual([true, 500_000, 500_000]);
  });

  it("a byte cursor first reports missing bytes, and then has them", async () => {
    const cursor = new ByteCursor(new MemoryByteSource(BYTES, { isRandomAccess: false, readAheadBytes: 0 }));
    expect([cursor.has(4), cursor.isShort]).toEqual([false, false]);
    await cursor.fill();
    expect([cursor.has(4), cursor.take(4)]).toEqual([true, BYTES.subarray(0, 4)]);
    expect(cursor.position).toBe(4);
  });

  it("a byte cursor reads fewer bytes at the end and none behind it", async () => {
    const cursor = new ByteCursor(new MemoryByteSource(BYTES), 499_997);
    expect(await cursor.read(10)).toEqual(BYTES.subarray(499_997));
    expect(await cursor.read(10)).toHaveLength(0);
    cursor.moveTo(1_000_000);
    expect(await cursor.peek(1)).toHaveLength(0);
    cursor.moveTo(Number.POSITIVE_INFINITY);
    expect([await cursor.need(1), cursor.isShort]).toEqual([false, true]);
    cursor.moveTo(-1);
    expect(cursor.position).toBe(0);
    cursor.moveTo(-(2 ** 31));
    expect(await cursor.read(1)).toEqual(BYTES.subarray(0, 1));
  });

  it("a byte cursor moves to a pattern, or past the bytes that cannot start it", async () => {
    const cursor = new ByteCursor(new MemoryByteSource(Uint8Array.of(9, 1, 1, 2, 3, 9)));
    await cursor.need(6);
    expect(cursor.scanFor([1, 2])).toEqual({ isFound: true, skippedBytes: 2 });
    expect(cursor.scanFor([1, 2])).toEqual({ isFound: true, skippedBytes: 0 });
    cursor.skip(1);
    expect(cursor.scanFor([1, 2])).toEqual({ isFound: false, skippedBytes: 2 });
    expect(cursor.position).toBe(5);
    cursor.moveTo(0);
    expect([cursor.scanFor([1, 2], 1), cursor.position]).toEqual([{ isFound: true, skippedBytes: 1 }, 1]);
    cursor.moveTo(5);
    expect(cursor.scanFor([1, 2])).toEqual({ isFound: false, skippedBytes: 0 });
  });

  it("a byte cursor scans for a pattern a piece at a time", async () => {
    const bytes = new Uint8Array(100_000);
    bytes.set([1, 2], 90_000);
    const cursor = new ByteCursor(new MemoryByteSource(bytes));
    await cursor.need(bytes.length);
    const scans = Array.from({ length: 3 }, () => cursor.scanFor([1, 2]));
    expect(scans.map(({ isFound }) => isFound)).toEqual([false, false, true]);
    expect(Math.max(...scans.map(({ skippedBytes }) => skippedBytes))).toBeLessThan(33_000);
    expect(cursor.position).toBe(90_000);
  });

  it("a byte cursor fetches a little more than it needs when much is already held", async () => {
    let requestCount = 0;
    class CountingSource extends MemoryByteSource {
      override readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined {
        requestCount += 1;
        return super.readBuffered(positionBytes, lengthBytes);
      }
    }
    const cursor = new ByteCursor(new CountingSource(BYTES));
    for (let count = 0; count < 500; count++) {
      await cursor.need(50_000);
      cursor.skip(100);
    }
    expect(requestCount).toBeLessThan(10);
  });
});
