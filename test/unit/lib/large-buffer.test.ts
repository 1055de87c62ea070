import { expect, test } from "vitest";
import { allocateBytes, GrowingBytes } from "../../../src/lib/large-buffer.ts";

test.each([0, 1, 100_000, 131_072, 5_000_001])(
  "an allocation of %i bytes has that size, shares no memory, and can be filled",
  (sizeBytes) => {
    const bytes = allocateBytes(sizeBytes);
    expect([bytes.length, bytes.byteOffset, bytes.buffer.byteLength]).toEqual([sizeBytes, 0, sizeBytes]);
    bytes.fill(7);
    expect(bytes.at(-1)).toBe(sizeBytes === 0 ? undefined : 7);
  },
);

test("large ones come from V8's pages", () => {
  const isResizable = (sizeBytes: number) => Reflect.get(allocateBytes(sizeBytes).buffer, "resizable");
  expect([isResizable(1000), isResizable(1_000_000)]).toEqual([false, true]);
});

test("bytes that arrive piece by piece are in their order, as text, and no more than was said", () => {
  const bytes = new GrowingBytes(10);
  expect(bytes.toString()).toBe("");
  // A character that is cut in two.
  for (const piece of [Buffer.from("abc"), Buffer.of(0xc3), Buffer.of(), Buffer.of(0xa4), Buffer.from("z")])
    bytes.append(piece);
  expect(bytes.toString()).toBe("abcäz");
  expect(() => bytes.append(Buffer.alloc(5))).toThrow(RangeError);
  expect(bytes.toString()).toBe("abcäz");
});
