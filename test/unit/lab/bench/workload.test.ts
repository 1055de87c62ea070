import { expect, test } from "vitest";
import { paced } from "../../../../lab/bench/compare/workload.ts";
import { WORKLOADS } from "../../../../lab/bench/compare/workloads.ts";

test("every workload has a unique name and a description", () => {
  const names = WORKLOADS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(WORKLOADS.every(({ detail }) => detail.length > 5)).toBe(true);
});

test("paced acts start one by one, without waiting for earlier ones", async () => {
  const begun: number[] = [];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const pacing = paced(5, 10, async (index) => {
    begun.push(index);
    if (index === 4) release();
    await released;
  });
  await pacing;
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

test("the failure of a paced act is reported when all have started", async () => {
  let count = 0;
  const pacing = paced(3, 0, async (index) => {
    count++;
    if (index === 0) throw new Error("refused");
  });
  await expect(pacing).rejects.toThrow("refused");
  expect(count).toBe(3);
});
