import { setImmediate, setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { Heartbeat } from "../../../src/bridge/heartbeat.ts";
import { TaskTracker } from "../../../src/media/task-tracker.ts";

test("whatever follows from an owner's work runs under its name, however it is woken", async () => {
  const heartbeat = new Heartbeat(Heartbeat.allocate());
  const tasks = new TaskTracker(heartbeat);
  onTestFinished(() => tasks.close());
  const seen: unknown[] = [];
  const work = async (owner: number): Promise<void> => {
    for (let round = 0; round < 20; round++) {
      // The test needs real timers: the names depend on them, which no fake clock has.
      for (const wait of [() => Promise.resolve(), () => setImmediate(), () => setTimeout(owner % 3)]) {
        await wait();
        seen.push([owner, heartbeat.currentTask?.owner, heartbeat.currentTask?.activity, tasks.current]);
      }
    }
  };
  await Promise.all([1, 2, 3].map((owner) => tasks.run(owner, () => work(owner))));
  expect(seen).toHaveLength(180);
  expect(seen).toEqual((seen as [number][]).map(([owner]) => [owner, owner, "probe", owner]));
});

test("work without an owner runs under no name", async () => {
  const heartbeat = new Heartbeat(Heartbeat.allocate());
  const tasks = new TaskTracker(heartbeat);
  onTestFinished(() => tasks.close());
  const unnamed = setTimeout(1).then(() => heartbeat.currentTask); // a real timer, as above
  void tasks.run(1, () => setImmediate());
  expect(heartbeat.currentTask).toEqual({ owner: 1, activity: "probe" });
  expect(await unnamed).toBeUndefined();
});
