import { setImmediate, setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { WorkMark } from "../../../src/bridge/work-mark.ts";
import { WorkNames } from "../../../src/media/work-names.ts";

test("whatever follows from an owner's work runs under its name, however it is woken", async () => {
  const mark = new WorkMark(WorkMark.allocate());
  const names = new WorkNames(mark);
  onTestFinished(() => names.close());
  const seen: unknown[] = [];
  const work = async (owner: number): Promise<void> => {
    for (let round = 0; round < 20; round++) {
      // What wakes it is what is tested: the names hang on real timers, which no fake clock has.
      for (const wait of [() => Promise.resolve(), () => setImmediate(), () => setTimeout(owner % 3)]) {
        await wait();
        seen.push([owner, mark.work?.owner, mark.work?.activity, names.current]);
      }
    }
  };
  await Promise.all([1, 2, 3].map((owner) => names.run(owner, () => work(owner))));
  expect(seen).toHaveLength(180);
  expect(seen).toEqual((seen as [number][]).map(([owner]) => [owner, owner, "lookup", owner]));
});

test("what is nobody's work runs under no name", async () => {
  const mark = new WorkMark(WorkMark.allocate());
  const names = new WorkNames(mark);
  onTestFinished(() => names.close());
  const unnamed = setTimeout(1).then(() => mark.work); // a real timer, as above
  void names.run(1, () => setImmediate());
  expect(mark.work).toEqual({ owner: 1, activity: "lookup" });
  expect(await unnamed).toBeUndefined();
});
