import { expect, test } from "vitest";
import { Turns } from "../../../src/lib/turns.ts";

test("accounts come in turn, and what one account has comes in order", () => {
  const turns = new Turns<string>();
  for (const item of ["a1", "a2", "a3", "a4"]) turns.push(item, "a");
  turns.push("b1", "b");
  turns.push("b2", "b");
  const taken = [turns.shift(), turns.shift(), turns.shift()];
  turns.push("c1", "c");
  while (turns.length > 0) taken.push(turns.shift());
  expect(taken).toEqual(["a1", "b1", "a2", "b2", "a3", "c1", "a4"]);
  expect(turns.shift()).toBeUndefined();
});
