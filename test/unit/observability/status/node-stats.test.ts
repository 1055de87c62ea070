import { expect, test } from "vitest";
import { NodeStats } from "../../../../src/observability/status/node-stats.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

test("uptime counts from the start", () => {
  const clock = new FakeClock({ nowMs: 5000 });
  const stats = new NodeStats(clock);
  clock.advance(1234.4);
  expect(stats.read().uptime).toBe(1234);
});

test("memory adds up", () => {
  const { memory } = new NodeStats(new FakeClock()).read();
  expect(memory.free + memory.used).toBe(memory.allocated);
  expect(memory.allocated).toBeGreaterThan(1_000_000);
  expect(memory.reservable).toBeGreaterThan(memory.allocated);
});

test("memory is read ten times a second at most", () => {
  const clock = new FakeClock();
  const stats = new NodeStats(clock);
  const first = stats.read().memory;
  clock.advance(99);
  expect(stats.read().memory).toBe(first);
  clock.advance(1);
  expect(stats.read().memory).not.toBe(first);
});

test("processor shares are 0 at first and stand still for 30 s", () => {
  const clock = new FakeClock();
  const stats = new NodeStats(clock);
  const first = stats.read().cpu;
  expect(first).toMatchObject({ systemLoad: 0, lavalinkLoad: 0 });
  expect(first.cores).toBeGreaterThan(0);
  burn(20);
  clock.advance(29_999);
  expect(stats.read().cpu).toEqual(first);
  clock.advance(1);
  const second = stats.read().cpu;
  expect(second.lavalinkLoad).toBeGreaterThan(0);
  expect(second.lavalinkLoad).toBeLessThanOrEqual(1);
  expect(second.systemLoad).toBeLessThanOrEqual(1);
  clock.advance(10_000);
  expect(stats.read().cpu).toEqual(second);
});

/** Uses at least this much processor time. */
function burn(ms: number): void {
  const start = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(start);
    if (user + system > ms * 1000) return;
  }
}
