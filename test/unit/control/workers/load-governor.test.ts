import { expect, test } from "vitest";
import { holdsMost, LoadGovernor } from "../../../../src/control/workers/load-governor.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const REPORT_MS = 500;

function setup({ complexityMax = 10, canLower = true, isOn = true } = {}) {
  const clock = new FakeClock();
  const steps: number[] = [];
  const onComplexity = (complexity: number) => steps.push(complexity);
  const governor = new LoadGovernor({ complexityMax, canLower, isOn, clock, logger: silentLogger, onComplexity });
  const report = (load: number, seconds: number) => {
    for (let passedMs = 0; passedMs < seconds * 1000; passedMs += REPORT_MS) {
      clock.advance(REPORT_MS);
      governor.judge(load);
    }
  };
  return { governor, steps, report };
}

test("while there is capacity, nothing changes and every player is admitted", () => {
  const { governor, steps, report } = setup();
  report(0.59, 600);
  expect(steps).toEqual([]);
  expect(governor.hasCapacity(0.59)).toBe(true);
});

test("encoders go down a step at a time, each given time to show, and then new players are refused", () => {
  const { governor, steps, report } = setup();
  report(0.7, 1);
  expect(steps).toEqual([7]);
  expect(governor.hasCapacity(0.7)).toBe(true);
  report(0.7, 60);
  expect(steps).toEqual([7, 5, 4, 1, 0]);
  expect(governor.hasCapacity(0.7)).toBe(false);
  expect(governor.refuse(0.7)).toMatchObject({ code: "node-overloaded" });
  expect(governor.refusedCount).toBe(1);
  expect(governor.hasCapacity(0.6)).toBe(true);
});

test("a thread that is nearly full admits no player, whatever encoders could save", () => {
  const { governor } = setup();
  expect(governor.hasCapacity(0.85)).toBe(false);
});

test("where encoders have one complexity, further players are refused where it would be the lowest", () => {
  const { governor, steps, report } = setup({ canLower: false });
  expect(governor.hasCapacity(0.69)).toBe(true);
  report(0.7, 60);
  expect(governor.hasCapacity(0.7)).toBe(false);
  report(0.1, 60);
  expect(steps).toEqual([]);
  expect(governor.hasCapacity(0.1)).toBe(true);
});

test("the configured complexity is never exceeded", () => {
  const { steps, report } = setup({ complexityMax: 5 });
  report(0.9, 60);
  report(0.1, 600);
  expect(steps).toEqual([4, 1, 0, 1, 4, 5]);
});

test("complexity is raised when there has been capacity for ten seconds, one step each", () => {
  const { governor, steps, report } = setup();
  report(0.9, 10);
  expect(governor.complexity).toBe(0);
  steps.length = 0;
  report(0.3, 9);
  expect(steps).toEqual([]);
  report(0.3, 60);
  expect(steps).toEqual([1, 4, 5, 7, 10]);
});

test("load between the limits changes nothing, and a moment of it restarts the ten seconds", () => {
  const { governor, steps, report } = setup();
  report(0.9, 2);
  const { complexity } = governor;
  steps.length = 0;
  report(0.5, 600);
  for (let round = 0; round < 10; round++) {
    report(0.3, 9);
    report(0.5, 0.5);
  }
  expect(steps).toEqual([]);
  expect(governor.complexity).toBe(complexity);
});

test("a raise that has to be undone makes the next attempt wait twice as long", () => {
  const { steps, report } = setup();
  report(0.9, 1);
  report(0.3, 11);
  expect(steps).toEqual([7, 10]);
  report(0.9, 1);
  expect(steps).toEqual([7, 10, 7]);
  report(0.3, 15);
  expect(steps).toEqual([7, 10, 7]);
  report(0.3, 6);
  expect(steps).toEqual([7, 10, 7, 10]);
});

test("a governor that is switched off does nothing and refuses no player", () => {
  const { governor, steps, report } = setup({ isOn: false });
  report(0.99, 60);
  expect(steps).toEqual([]);
  expect(governor.hasCapacity(2)).toBe(true);
});

test("the owner of most players is refused a little earlier, so that others can still start some", () => {
  const { governor } = setup({ canLower: false });
  expect(governor.hasCapacityFor(0.67, () => true)).toBe(false);
  expect(governor.hasCapacityFor(0.67, () => false)).toBe(true);
  expect(governor.hasCapacityFor(0.64, () => true)).toBe(true);
  expect(governor.hasCapacityFor(0.71, () => false)).toBe(false);
});

test("the owner of most players is the account with more than half, or among its own the client with more than half", () => {
  const [greedy, honest, client] = [
    ["a", "a, 1"],
    ["b", "b, 1"],
    ["a", "a, 2"],
  ];
  const playing = [greedy, greedy, honest].map((owner) => owner ?? []);
  expect([greedy, client, honest].map((owner = []) => holdsMost(owner, playing))).toEqual([true, true, false]);
  const ofOne = [greedy, greedy, client].map((owner) => owner ?? []);
  expect([greedy, client, honest].map((owner = []) => holdsMost(owner, ofOne))).toEqual([true, false, false]);
  expect(holdsMost(["a", "a, 1"], [])).toBe(false);
  expect(holdsMost(greedy ?? [], [greedy ?? [], greedy ?? []])).toBe(false);
});
