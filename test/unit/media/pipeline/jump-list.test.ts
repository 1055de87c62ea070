import { expect, it } from "vitest";
import { endsTrack, JumpList } from "../../../../src/media/pipeline/jump-list.ts";

const list = new JumpList([
  { fromMs: 5000, toMs: 6000 },
  { fromMs: 1000, toMs: 2000 },
  { fromMs: 2179, toMs: 2500 },
  { fromMs: 1200, toMs: 1300 },
  { fromMs: 2681, toMs: 3000 },
]);

it("jumps with less than 180 ms between them are one, and the next is the first from a position on", () => {
  expect(list.nextFrom(0)).toEqual({ fromMs: 1000, toMs: 2500 });
  expect(list.nextFrom(1000.4)).toEqual({ fromMs: 1000, toMs: 2500 });
  expect(list.nextFrom(1001)).toEqual({ fromMs: 1200, toMs: 1300 });
  expect(list.nextFrom(2180)).toEqual({ fromMs: 2681, toMs: 3000 });
  expect(list.nextFrom(3000)).toEqual({ fromMs: 5000, toMs: 6000 });
  expect(list.nextFrom(5001)).toBeUndefined();
});

it("a jump that begins before the position is not part of the next, however far it leads", () => {
  const overlapping = new JumpList([
    { fromMs: 1000, toMs: 3000 },
    { fromMs: 2000, toMs: 4000 },
    { fromMs: 2500, toMs: 2600 },
  ]);
  expect([1000, 1500, 2000, 2100, 2600].map((positionMs) => overlapping.nextFrom(positionMs))).toEqual([
    { fromMs: 1000, toMs: 4000 },
    { fromMs: 2000, toMs: 4000 },
    { fromMs: 2000, toMs: 4000 },
    { fromMs: 2500, toMs: 2600 },
    undefined,
  ]);
  expect([1500, 2000].map((positionMs) => overlapping.landingOf(positionMs))).toEqual([1500, 4000]);
});

it("a position leads behind a jump only where that begins right there", () => {
  expect([999, 1000, 1500, 2681, 7000].map((positionMs) => list.landingOf(positionMs))).toEqual([
    999, 2500, 1500, 3000, 7000,
  ]);
});

it("a jump that leaves less than 180 ms of a track ends it", () => {
  const jump = { fromMs: 1000, toMs: 2000 };
  expect([1500, 2179, 2181, Number.POSITIVE_INFINITY].map((endMs) => endsTrack(jump, endMs))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
