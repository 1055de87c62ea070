import { beforeEach, expect, test } from "vitest";
import type { Incident } from "../../../../src/bridge/audio-report.ts";
import { SharedIncidents } from "../../../../src/control/players/shared-incidents.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const START = 1_700_000_000_000;

let clock: FakeClock;
let lines: string[];
let shared: SharedIncidents;

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  const logger = createLogger((_level, message, { players, lengthMs, framesLost, unreported = 0 }) => {
    lines.push(`${message.slice(0, 44)} ${players} ${lengthMs} ${framesLost} ${unreported}`);
  });
  shared = new SharedIncidents({ clock, logger });
});

const owners = new Map<string, object>();

/** An incident of the player `name`. */
function late(name: string, startMs: number, { lengthMs = 100, framesLost = 4, line = name } = {}): void {
  const owner = owners.get(name) ?? {};
  owners.set(name, owner);
  const incident: Incident = {
    cause: "workerLate",
    startEpochMs: START + startMs,
    lengthMs,
    framesLost,
    repair: undefined,
  };
  shared.add(owner, incident, () => lines.push(line));
}

test("players that were late at the same time make one line and one entry, however many they are", () => {
  for (let player = 0; player < 500; player++) late(`player ${player}`, player % 50, { lengthMs: 100 + (player % 7) });
  clock.advance(1500);
  expect(lines).toEqual(["audio of several players interrupted at once 500 155 2000 0"]);
  expect(shared.recent).toEqual([{ start: START, length: 155, players: 500, framesLost: 2000 }]);
});

test("reports of other threads that come a second later are of the same moment", () => {
  late("one", 0);
  clock.advance(1000);
  late("two", 90);
  clock.advance(500);
  expect(lines).toEqual(["audio of several players interrupted at once 2 190 8 0"]);
  expect(clock.pendingCount).toBe(0);
});

test("players that were late at other times have a line each", () => {
  for (const [index, name] of ["one", "two", "three", "four", "five"].entries()) late(name, index * 1000);
  expect(lines).toEqual(["one", "two"]);
  expect(clock.pendingCount).toBe(3);
  clock.advance(1500);
  expect(lines).toEqual(["one", "two", "three", "four", "five"]);
  expect(shared.recent).toEqual([]);
});

test("two moments that players report one after the other are two lines", () => {
  for (const name of ["one", "two", "three"]) {
    late(name, 0);
    late(name, 1200, { framesLost: 5 });
  }
  clock.advance(1500);
  expect(lines).toEqual([
    "audio of several players interrupted at once 3 100 12 0",
    "audio of several players interrupted at once 3 100 15 0",
  ]);
});

test("what is not logged yet when the node ends is logged then", () => {
  late("one", 0);
  late("two", 1000);
  late("three", 1000);
  shared.close();
  expect(lines).toEqual(["one", "audio of several players interrupted at once 2 100 8 0"]);
  expect(clock.pendingCount).toBe(0);
});

test("one player whose incident lasts and then ends is one player, with a line for each", () => {
  late("one", 0, { lengthMs: 5200, framesLost: 260, line: "one lasts" });
  clock.advance(1000);
  late("one", 0, { lengthMs: 5400, framesLost: 270, line: "one ends" });
  late("one", 5450, { line: "one again" });
  clock.advance(500);
  expect(lines).toEqual(["one lasts", "one ends", "one again"]);
  expect(shared.recent).toEqual([]);
});

test("an incident that lasts and then ends counts once among those of several players", () => {
  late("one", 0, { lengthMs: 5200, framesLost: 260 });
  late("two", 10, { lengthMs: 5200, framesLost: 260 });
  late("one", 0, { lengthMs: 5400, framesLost: 270 });
  late("one", 5450);
  clock.advance(1500);
  expect(lines).toEqual(["audio of several players interrupted at once 2 5550 534 0"]);
  expect(shared.recent).toMatchObject([{ players: 2, framesLost: 534 }]);
});

test("a machine that stands still all the time leaves a few lines and the last twenty entries", () => {
  for (let second = 0; second < 60; second++) {
    late("one", second * 1000);
    late("two", second * 1000);
    clock.advance(1500);
  }
  expect(lines.length).toBeGreaterThanOrEqual(6);
  expect(lines.length).toBeLessThanOrEqual(8);
  expect(lines.at(-1)).toMatch(/ [1-9]\d*$/);
  expect(shared.recent).toHaveLength(20);
  expect(shared.recent[0]?.start).toBe(START + 59_000);
});
