import { beforeEach, expect, test } from "vitest";
import { UpdateTimer } from "../../../../src/control/players/update-timer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

let clock: FakeClock;
let timer: UpdateTimer;
let served: string[];

beforeEach(() => {
  clock = new FakeClock();
  timer = new UpdateTimer({ clock, intervalMs: 5000 });
  served = [];
});

function target(name: string) {
  return { sendPlayerUpdate: () => served.push(`${name} ${clock.now()}`) };
}

test("each player is served every interval from its own start, by one timer", () => {
  timer.start(target("a"));
  clock.advance(1000);
  timer.start(target("b"));
  expect(clock.pendingCount).toBe(1);
  clock.advance(10_000);
  expect(served).toEqual(["a 5000", "b 6000", "a 10000", "b 11000"]);
  expect(clock.pendingCount).toBe(1);
});

test("players due within 10 ms are served together", () => {
  timer.start(target("a"));
  clock.advance(10);
  timer.start(target("b"));
  clock.advance(1);
  timer.start(target("c"));
  clock.advance(5000);
  expect(served).toEqual(["a 5000", "b 5000", "c 5011"]);
});

test("starting again counts from then", () => {
  const a = target("a");
  timer.start(a);
  clock.advance(3000);
  timer.start(a);
  clock.advance(7000);
  expect(served).toEqual(["a 8000"]);
});

test("a stopped player is served no more, also when stopped while others are served", () => {
  const b = target("b");
  const a = { sendPlayerUpdate: () => timer.stop(b) };
  timer.start(a);
  timer.start(b);
  clock.advance(20_000);
  expect(served).toEqual([]);
});

test("after a stall each player is served once, and its interval restarts", () => {
  timer.start(target("a"));
  clock.stall(17_000);
  clock.advance(0);
  expect(served).toEqual(["a 17000"]);
  clock.advance(5000);
  expect(served).toEqual(["a 17000", "a 22000"]);
});

test("no timer runs without players", () => {
  const a = target("a");
  timer.start(a);
  timer.stop(a);
  clock.advance(5000);
  expect(clock.pendingCount).toBe(0);
  timer.start(a);
  timer.close();
  expect(clock.pendingCount).toBe(0);
});

test("very many players that are due together are served in batches, and each once", () => {
  const counts = new Map<number, number>();
  for (let index = 0; index < 1000; index++) {
    timer.start({ sendPlayerUpdate: () => counts.set(index, (counts.get(index) ?? 0) + 1) });
  }
  const before = clock.setCount;
  clock.advance(5000);
  expect(counts.size).toBe(1000);
  expect([...counts.values()].every((count) => count === 1)).toBe(true);
  expect(clock.setCount - before).toBeGreaterThanOrEqual(10);
});
