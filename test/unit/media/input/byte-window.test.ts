import { expect, it } from "vitest";
import { ByteWindow } from "../../../../src/media/input/byte-window.ts";
import { patternBytes } from "../../../support/input-builders.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

it("a byte window holds exactly the bytes that were appended and not dropped, for any chunks (seeded)", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = patternBytes(20_000, seed);
  const file = patternBytes(200_000, seed + 1);
  const window = new ByteWindow(createTrackBudget().memory);
  let take = 0;
  const draw = (max: number): number => Math.floor((random.readUInt16LE((take++ * 2) % 19_998) * max) / 65_536);
  for (let round = 0; round < 500; round++) {
    if (window.endBytes < file.length) {
      window.append(file.subarray(window.endBytes, window.endBytes + 1 + draw(1_500)));
    }
    if (draw(3) === 0) window.dropBefore(window.endBytes - draw(30_000));
    const at = window.startBytes + draw(window.endBytes - window.startBytes + 1);
    const length = draw(window.endBytes - at + 1);
    const data = window.read(at, length);
    expect(data && Buffer.compare(data, file.subarray(at, at + length)), `seed ${seed} round ${round}`).toBe(0);
    expect(window.read(at, window.endBytes - at + 1), `seed ${seed}`).toBeUndefined();
    if (window.startBytes > 0) expect(window.read(window.startBytes - 1, 1), `seed ${seed}`).toBeUndefined();
  }
});

it("a read within one chunk returns a view", () => {
  const window = new ByteWindow(createTrackBudget().memory);
  const chunk = patternBytes(10_000);
  window.reset(1_000);
  window.append(chunk);
  expect(window.read(1_010, 5)?.buffer).toBe(chunk.buffer);
});

it("bytes that arrive one at a time are held in few pieces", () => {
  const window = new ByteWindow(createTrackBudget().memory);
  const file = patternBytes(200_000);
  for (let at = 0; at < file.length; at++) window.append(Uint8Array.of(file[at]!));
  expect(window.chunkCount).toBeLessThan(20);
  expect(Buffer.compare(window.read(10_000, 150_000)!, file.subarray(10_000, 160_000))).toBe(0);
});

it("a small piece of a large buffer does not keep the buffer alive", () => {
  const window = new ByteWindow(createTrackBudget().memory);
  const buffer = new ArrayBuffer(64 * 1024);
  window.append(new Uint8Array(buffer, 100, 5_000));
  expect(window.read(0, 5_000)?.buffer).not.toBe(buffer);
});

it("all bytes in a window are reserved from the given memory, and released again", () => {
  const { memory } = createTrackBudget({ memoryBytes: 100_000 });
  const window = new ByteWindow(memory);
  for (let count = 0; count < 8; count++) window.append(patternBytes(10_000));
  window.append(patternBytes(10));
  expect(memory.usedBytes).toBeGreaterThan(90_000);
  expect(() => window.append(patternBytes(10_000))).toThrow(/memory for what it reads ahead/);
  window.dropBefore(50_000);
  expect(memory.usedBytes).toBeLessThan(60_000);
  window.reset(0);
  expect(memory.usedBytes).toBe(0);
});
