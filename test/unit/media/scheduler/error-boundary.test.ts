import { expect, test } from "vitest";
import { Heartbeat } from "../../../../src/bridge/heartbeat.ts";
import { ErrorBoundary } from "../../../../src/media/scheduler/error-boundary.ts";
import { createErrorBoundary } from "../../../support/error-boundaries.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

test("an exception in a player's work is that player's fault, and the caller continues", () => {
  const { boundary, faults, heartbeat } = createErrorBoundary();
  const error = new Error("thrown");
  const result = boundary.run(5, "command", () => {
    expect(heartbeat.currentTask).toEqual({ owner: 5, activity: "command" });
    throw error;
  });
  expect(result).toBeUndefined();
  expect(faults).toEqual([{ playerId: 5, error }]);
  expect(heartbeat.currentTask).toBeUndefined();
  expect(boundary.run(5, "command", () => "done")).toBe("done");
});

test("an exception in a timer of a player's clock affects that player alone", () => {
  const clock = new FakeClock();
  const { boundary, faults } = createErrorBoundary();
  const fired: string[] = [];
  boundary.clockOf(5, clock).after(10, () => {
    throw new Error("late");
  });
  clock.after(10, () => fired.push("other"));
  clock.advance(10);
  expect(fired).toEqual(["other"]);
  expect(faults.map(({ playerId }) => playerId)).toEqual([5]);
});

test("an uncaught error is attributed to the player the thread was working for", () => {
  const { boundary, faults, heartbeat } = createErrorBoundary();
  const error = new Error("stray");
  expect(boundary.attribute(error)).toBe(false);
  heartbeat.enter(9, "read");
  expect(boundary.attribute(error)).toBe(true);
  expect(faults).toEqual([{ playerId: 9, error }]);
});

test("work of another player within a player's work does not end its name", () => {
  const { boundary, heartbeat } = createErrorBoundary();
  const seen = boundary.run(5, "command", () => [
    boundary.run(6, "voice", () => heartbeat.currentTask),
    heartbeat.currentTask,
  ]);
  expect(seen).toEqual([
    { owner: 6, activity: "voice" },
    { owner: 5, activity: "command" },
  ]);
  expect(heartbeat.currentTask).toBeUndefined();
});

test.each(["prepare", "send"] as const)("a fault in %s that cannot be handled leaves no name behind", (activity) => {
  const heartbeat = new Heartbeat(Heartbeat.allocate());
  const onFault = (): never => {
    throw new Error("not handled");
  };
  const fail = (): never => {
    throw new Error("of the player");
  };
  const boundary = new ErrorBoundary({ heartbeat, onFault });
  const player = { playerId: 5, prepare: fail, send: fail };
  expect(() => (activity === "prepare" ? boundary.prepare(player) : boundary.send(player, 0))).toThrow("not handled");
  expect(heartbeat.currentTask).toBeUndefined();
});

test("more urgent work may come before each piece of work, but not within one", () => {
  const calls: string[] = [];
  const heartbeat = new Heartbeat(Heartbeat.allocate());
  const onFault = (): void => void calls.push("fault");
  const boundary = new ErrorBoundary({ heartbeat, onFault, beforeWork: () => calls.push("before") });
  const within = (name: string) => (): boolean => {
    boundary.beforeWork();
    boundary.run(6, "voice", () => calls.push(name));
    return true;
  };
  const player = { playerId: 5, prepare: within("prepare"), send: within("send") };
  boundary.run(5, "command", within("command"));
  boundary.prepare(player);
  boundary.send(player, 0);
  boundary.run(5, "timer", () => {
    throw new Error("of the player");
  });
  boundary.beforeWork();
  expect(calls).toEqual(["before", "command", "prepare", "send", "before", "fault", "before"]);
});
