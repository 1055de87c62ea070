import { beforeEach, expect, test } from "vitest";
import { WorkMark } from "../../../src/bridge/work-mark.ts";

let mark: WorkMark;

beforeEach(() => {
  mark = new WorkMark(WorkMark.allocate());
});

test("the mark names work from enter to leave", () => {
  mark.enter(5, "command");
  expect(mark.work).toEqual({ owner: 5, activity: "command" });
  mark.leave();
  expect(mark.work).toBeUndefined();
});

test("the outer work is named again when the work within it is left", () => {
  mark.enter(2 ** 31 - 1, "prepare");
  mark.enter(6, "voice");
  mark.enter(7, "timer");
  mark.leave();
  expect(mark.work).toEqual({ owner: 6, activity: "voice" });
  mark.leave();
  expect(mark.work).toEqual({ owner: 2 ** 31 - 1, activity: "prepare" });
  mark.leave();
  expect(mark.work).toBeUndefined();
});

test("work that was resumed is named again after other work, until it pauses", () => {
  mark.resume(5, "read");
  mark.enter(6, "send");
  mark.leave();
  expect(mark.work).toEqual({ owner: 5, activity: "read" });
  mark.pause(5);
  expect(mark.work).toBeUndefined();
});

test("work that pauses within other work leaves the name of that", () => {
  mark.enter(6, "prepare");
  mark.resume(6, "read");
  expect(mark.work).toEqual({ owner: 6, activity: "read" });
  mark.pause(6);
  expect(mark.work).toEqual({ owner: 6, activity: "prepare" });
});

test("work that was resumed within other work keeps its name after that", () => {
  mark.enter(6, "command");
  mark.resume(6, "read");
  mark.leave();
  expect(mark.work).toEqual({ owner: 6, activity: "read" });
});

test("a pause of one owner leaves the work that was resumed for another", () => {
  mark.resume(5, "read");
  mark.resume(6, "read");
  mark.pause(5);
  expect(mark.work).toEqual({ owner: 6, activity: "read" });
});

test("each piece of work that begins is a step, and none that ends", () => {
  mark.enter(5, "command");
  mark.resume(5, "read");
  mark.pause(5);
  mark.leave();
  expect(mark.steps).toBe(2);
});
