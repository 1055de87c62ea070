import { expect, test } from "vitest";
import { LAYERS } from "../../../../lab/isolation/cases.ts";
import { formatPlan } from "../../../../lab/isolation/report.ts";
import { expectedSeconds, type NamedCase } from "../../../../lab/isolation/run-cases.ts";

const ALL: readonly NamedCase[] = LAYERS.flatMap(({ layer, cases }) => cases.map((one) => ({ layer, ...one })));
const QUICK = ALL.filter(({ isQuick }) => isQuick);

test("the quick isolation tests take minutes, and all of them less than an hour", () => {
  const quickSeconds = expectedSeconds({ cases: QUICK, controlSeconds: 1.5, attackSecondsMax: 2 });
  expect(quickSeconds).toBeGreaterThan(60);
  expect(quickSeconds).toBeLessThan(3 * 60);
  expect(expectedSeconds({ cases: ALL })).toBeLessThan(60 * 60);
});

test("a case with longer tracks takes longer, unless they are cut", () => {
  const [first] = ALL;
  if (first === undefined) throw new Error("there are no cases");
  const of = (seconds: number, attackSecondsMax?: number) =>
    expectedSeconds({ cases: [{ ...first, seconds }], ...(attackSecondsMax !== undefined && { attackSecondsMax }) });
  expect(of(20) - of(5)).toBe(15);
  expect(of(20, 2)).toBe(of(5, 2));
});

test("the plan of the isolation tests says how long they take, and whether the machine is busy", () => {
  const plan = { cases: 14, seconds: 99, cores: 2 };
  expect(formatPlan({ ...plan, load: 0.3 })).toBe("14 cases, about 2 min on a quiet machine with 2 cores\n");
  expect(formatPlan({ ...plan, load: 11.24 })).toContain("This machine is busy (load average 11.2)");
});
