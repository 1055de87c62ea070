import { expect, test } from "vitest";
import { PastPackets } from "../../../../src/media/decode/past-packets.ts";

const contents = (past: PastPackets) => past.packets().map((packet) => [...packet]);

test("the last sixteen packets are kept, the oldest first", () => {
  const past = new PastPackets();
  expect(contents(past)).toEqual([]);
  for (let number = 0; number < 19; number++) past.push(Uint8Array.of(number, number));
  expect(contents(past)).toEqual(Array.from({ length: 16 }, (_, index) => [3 + index, 3 + index]));
});

test("a packet of more than 1276 bytes ends the past, one of 1276 bytes does not", () => {
  const past = new PastPackets();
  past.push(Uint8Array.of(1));
  past.push(new Uint8Array(1276));
  expect(past.packets().map(({ length }) => length)).toEqual([1, 1276]);
  past.push(new Uint8Array(1277));
  expect(contents(past)).toEqual([]);
  past.push(Uint8Array.of(2));
  expect(contents(past)).toEqual([[2]]);
});
