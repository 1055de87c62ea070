import { expect, test } from "vitest";
import { ReplayWindow } from "../../../src/cluster/replay-window.ts";

test("each number of a sender is taken once, in any order", () => {
  const window = new ReplayWindow();
  const taken = [1, 3, 2, 3, 2, 1, 4].map((number) => window.takes("a", number));
  expect(taken).toEqual([true, true, true, false, false, false, true]);
  expect(window.takes("b", 1)).toBe(true);
});

test("numbers that are far behind are not taken, whether they were heard or not", () => {
  const window = new ReplayWindow();
  for (let number = 2; number <= 5000; number++) expect(window.takes("a", number)).toBe(true);
  expect(window.takes("a", 1)).toBe(false);
  expect(window.takes("a", 3000)).toBe(false);
  expect(window.takes("a", 4999)).toBe(false);
});
