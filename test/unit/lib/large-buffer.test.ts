import { expect, test } from "vitest";
import { allocateBytes } from "../../../src/lib/large-buffer.ts";

test.each([0, 1, 100_000, 131_072, 5_000_001])(
  "%i bytes are as many as asked for, of their own, and can be filled",
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
