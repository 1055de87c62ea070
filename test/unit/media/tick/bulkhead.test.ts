import { expect, test } from "vitest";
import { WorkMark } from "../../../../src/bridge/work-mark.ts";
import { Bulkhead } from "../../../../src/media/tick/bulkhead.ts";
import { createBulkhead } from "../../../support/bulkheads.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

test("what a player's work throws is its fault, and the caller goes on", () => {
  const { bulkhead, faults, mark } = createBulkhead();
  const error = new Error("thrown");
  const result = bulkhead.run(5, "command", () => {
    expect(mark.work).toEqual({ owner: 5, activity: "command" });
    throw error;
  });
  expect(result).toBeUndefined();
  expect(faults).toEqual([{ playerId: 5, error }]);
  expect(mark.work).toBeUndefined();
  expect(bulkhead.run(5, "command", () => "done")).toBe("done");
});

test("a timer of a player's clock throws for that player alone", () => {
  const clock = new FakeClock();
  const { bulkhead, faults } = createBulkhead();
  const fired: string[] = [];
  bulkhead.clockOf(5, clock).after(10, () => {
    throw new Error("late");
  });
  clock.after(10, () => fired.push("other"));
  clock.advance(10);
  expect(fired).toEqual(["other"]);
  expect(faults.map(({ playerId }) => playerId)).toEqual([5]);
});

test("what nobody has caught belongs to whoever the thread was working for", () => {
  const { bulkhead, faults, mark } = createBulkhead();
  const error = new Error("stray");
  expect(bulkhead.attribute(error)).toBe(false);
  mark.enter(9, "read");
  expect(bulkhead.attribute(error)).toBe(true);
  expect(faults).toEqual([{ playerId: 9, error }]);
});

test("work of another player within a player's work does not end its name", () => {
  const { bulkhead, mark } = createBulkhead();
  const seen = bulkhead.run(5, "command", () => [bulkhead.run(6, "voice", () => mark.work), mark.work]);
  expect(seen).toEqual([
    { owner: 6, activity: "voice" },
    { owner: 5, activity: "command" },
  ]);
  expect(mark.work).toBeUndefined();
});

test.each(["prepare", "send"] as const)("a fault in %s that cannot be handled leaves no name behind", (activity) => {
  const mark = new WorkMark(WorkMark.allocate());
  const onFault = (): never => {
    throw new Error("not handled");
  };
  const fail = (): never => {
    throw new Error("of the player");
  };
  const bulkhead = new Bulkhead({ mark, onFault });
  const player = { playerId: 5, prepare: fail, send: fail };
  expect(() => (activity === "prepare" ? bulkhead.prepare(player) : bulkhead.send(player, 0))).toThrow("not handled");
  expect(mark.work).toBeUndefined();
});
