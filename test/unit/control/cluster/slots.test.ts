import { expect, test } from "vitest";
import { Slots } from "../../../../src/control/cluster/slots.ts";
import { untilSettled } from "../../../support/until-settled.ts";

test("work beyond the slots waits for its turn, in order, also after work that has failed", async () => {
  const slots = new Slots(2);
  const begun: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const results = [0, 1, 2, 3].map((index) =>
    slots.run(
      () =>
        new Promise<number>((resolve, reject) => {
          begun.push(index);
          ends[index] = (error) => (error === undefined ? resolve(index) : reject(error));
        }),
    ),
  );
  for (const result of results) result.catch(() => undefined);
  await untilSettled();
  expect(begun).toEqual([0, 1]);

  ends[1]?.(new Error("failed"));
  await untilSettled();
  expect(begun).toEqual([0, 1, 2]);
  ends[0]?.();
  await untilSettled();
  ends[2]?.();
  ends[3]?.();

  expect((await Promise.allSettled(results)).map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
    "fulfilled",
  ]);
  await expect(slots.run(async () => "free again")).resolves.toBe("free again");
});
