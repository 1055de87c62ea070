import { beforeEach, expect, test } from "vitest";
import { Heartbeat } from "../../../src/bridge/heartbeat.ts";

let heartbeat: Heartbeat;

beforeEach(() => {
  heartbeat = new Heartbeat(Heartbeat.allocate());
});

test("the heartbeat names the current work from enter to leave", () => {
  heartbeat.enter(5, "command");
  expect(heartbeat.currentTask).toEqual({ owner: 5, activity: "command" });
  heartbeat.leave();
  expect(heartbeat.currentTask).toBeUndefined();
});

test("the outer work is named again when the work within it is left", () => {
  heartbeat.enter(2 ** 31 - 1, "prepare");
  heartbeat.enter(6, "voice");
  heartbeat.enter(7, "timer");
  heartbeat.leave();
  expect(heartbeat.currentTask).toEqual({ owner: 6, activity: "voice" });
  heartbeat.leave();
  expect(heartbeat.currentTask).toEqual({ owner: 2 ** 31 - 1, activity: "prepare" });
  heartbeat.leave();
  expect(heartbeat.currentTask).toBeUndefined();
});

test("work that was resumed is named again after other work, until it pauses", () => {
  heartbeat.resume(5, "read");
  heartbeat.enter(6, "send");
  heartbeat.leave();
  expect(heartbeat.currentTask).toEqual({ owner: 5, activity: "read" });
  heartbeat.pause(5);
  expect(heartbeat.currentTask).toBeUndefined();
});

test("work that pauses within other work leaves the name of that", () => {
  heartbeat.enter(6, "prepare");
  heartbeat.resume(6, "read");
  expect(heartbeat.currentTask).toEqual({ owner: 6, activity: "read" });
  heartbeat.pause(6);
  expect(heartbeat.currentTask).toEqual({ owner: 6, activity: "prepare" });
});

test("work that was resumed within other work keeps its name after that", () => {
  heartbeat.enter(6, "command");
  heartbeat.resume(6, "read");
  heartbeat.leave();
  expect(heartbeat.currentTask).toEqual({ owner: 6, activity: "read" });
});

test("a pause of one owner leaves the work that was resumed for another", () => {
  heartbeat.resume(5, "read");
  heartbeat.resume(6, "read");
  heartbeat.pause(5);
  expect(heartbeat.currentTask).toEqual({ owner: 6, activity: "read" });
});

test("each piece of work that begins is a step, and none that ends", () => {
  heartbeat.enter(5, "command");
  heartbeat.resume(5, "read");
  heartbeat.pause(5);
  heartbeat.leave();
  expect(heartbeat.steps).toBe(2);
});
