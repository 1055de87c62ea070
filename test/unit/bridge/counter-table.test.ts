import { expect, test } from "vitest";
import { CounterTable } from "../../../src/bridge/counter-table.ts";

const TABLE = new CounterTable({
  starts: { metric: "starts_total", help: "Starts." },
  ends: { metric: "ends_total", help: "Ends.", label: { name: "reason", values: ["finished", "failed"] } },
  delay: { metric: "delay_seconds", help: "Delay.", boundsMs: [1, 10] },
});

test("counts begin at 0: a number, one per label value, and the sum and classes of a histogram", () => {
  expect(TABLE.zero()).toEqual({ starts: 0, ends: { finished: 0, failed: 0 }, delay: [0, 0, 0, 0] });
});

test("what is taken is added to another record exactly once", () => {
  const counts = { starts: 3, ends: { finished: 0, failed: 2 }, delay: [12, 0, 1, 0] };
  const sum = { starts: 10, ends: { finished: 5, failed: 0 }, delay: [1, 1, 0, 0] };
  const increases = TABLE.take(counts);
  expect(counts).toEqual(TABLE.zero());
  expect(TABLE.take(counts)).toBeUndefined();
  TABLE.add(sum, increases ?? []);
  expect(sum).toEqual({ starts: 13, ends: { finished: 5, failed: 2 }, delay: [13, 1, 1, 0] });
});

test("raised counts are at least those given, and never smaller than before", () => {
  const counts = { starts: 3, ends: { finished: 1, failed: 2 }, delay: [0, 0, 0, 0] };
  TABLE.raise(counts, { starts: 2, ends: { finished: 4, failed: 1 }, delay: [0, 0, 0, 7] });
  expect(counts).toEqual({ starts: 3, ends: { finished: 4, failed: 2 }, delay: [0, 0, 0, 7] });
});
