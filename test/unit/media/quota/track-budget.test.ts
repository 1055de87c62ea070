import { describe, expect, test } from "vitest";
import { Heartbeat } from "../../../../src/bridge/heartbeat.ts";
import { BudgetedSource } from "../../../../src/media/input/budgeted-source.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

describe("a time slice", () => {
  test("a time slice is over when its time is used, and a new one begins after the yield", async () => {
    const clock = new FakeClock();
    const budget = createTrackBudget({ clock });
    expect(budget.isSpent).toBe(false);
    clock.stall(0.9);
    expect(budget.isSpent).toBe(false);
    clock.stall(0.2);
    expect(budget.isSpent).toBe(true);
    await budget.yield();
    expect(budget.isSpent).toBe(false);
  });

  test("a time slice is over after a fixed number of steps when the clock stands still", () => {
    const budget = createTrackBudget({ clock: new FakeClock() });
    let steps = 1;
    while (!budget.isSpent) steps++;
    expect(steps).toBe(512);
  });

  test("a time slice continues over a wait that was none", async () => {
    const clock = new FakeClock();
    const budget = createTrackBudget({ clock });
    for (let step = 1; step < 512; step++) {
      expect(budget.isSpent).toBe(false);
      budget.pause();
      await Promise.resolve();
      budget.resume();
    }
    expect(budget.isSpent).toBe(true);
    budget.pause();
    clock.stall(1);
    budget.resume();
    expect(budget.isSpent).toBe(false);
  });

  test("more urgent work comes before work that resumes after a wait, but not between its steps", async () => {
    let urgentCount = 0;
    const budget = createTrackBudget({ clock: new FakeClock(), beforeWork: () => (urgentCount += 1) });
    expect(budget.isSpent).toBe(false);
    expect(urgentCount).toBe(0);
    await budget.yield();
    expect(urgentCount).toBe(1);
    budget.pause();
    budget.resume();
    expect(urgentCount).toBe(2);
    await budget.nextSlice();
    expect(urgentCount).toBe(3);
  });

  test("a time slice counts as used, without the waits in between", async () => {
    const clock = new FakeClock();
    const budget = createTrackBudget({ clock });
    budget.resume();
    clock.stall(3);
    budget.pause();
    clock.stall(100);
    budget.resume();
    clock.stall(4);
    await budget.yield();
    budget.addUsedMs(5);
    expect(budget.usedMs).toBe(12);
  });

  test("a time slice runs under its owner's task", async () => {
    const heartbeat = new Heartbeat(Heartbeat.allocate());
    const budget = createTrackBudget({ clock: new FakeClock(), heartbeat, taskId: 7 });
    expect(budget.isSpent).toBe(false);
    expect(heartbeat.currentTask).toEqual({ owner: 7, activity: "read" });
    budget.pause();
    expect(heartbeat.currentTask).toBeUndefined();
  });
});

test("a source whose end has arrived by the time it is read stays what it was when it was opened", () => {
  const bytes = {
    sizeBytes: 1000,
    isRandomAccess: true,
    mimeType: undefined,
    declared: { sizeBytes: undefined, isRandomAccess: false },
    read: async () => new Uint8Array(0),
    readBuffered: () => undefined,
    close: () => undefined,
  };
  const source = new BudgetedSource(bytes, createTrackBudget({ clock: new FakeClock() }), () => undefined);
  expect([source.sizeBytes, source.isRandomAccess]).toEqual([undefined, false]);
});
