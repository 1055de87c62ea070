// How workers wake the pacer: each order in which the two can meet.
// Two threads at once: test/integration/realtime/pacer-thread.test.ts.

import { beforeEach, describe, expect, test } from "vitest";
import { BELL_BYTES } from "../../../../src/bridge/pacer-start.ts";
import { Bell } from "../../../../src/media/pacer/bell.ts";

const LONG_MS = 60_000;
let worker: Bell;
let pacer: Bell;
let memory: SharedArrayBuffer;

beforeEach(() => {
  memory = new SharedArrayBuffer(BELL_BYTES);
  worker = new Bell(memory);
  pacer = new Bell(memory);
});

/** Rings just when the pacer has said that it sleeps, and looks whether it may. */
class RungBell extends Bell {
  needsMessage: boolean | undefined;

  override get rings(): number {
    this.needsMessage ??= worker.ring(0);
    return super.rings;
  }
}

describe("a pacer in its event loop", () => {
  test("needs one message, whatever is due and however many ring", () => {
    expect(pacer.sleep(pacer.rings)).toBe(true);
    expect(worker.ring(1e12)).toBe(true);
    expect([worker.ring(5), new Bell(memory).ring(5)]).toEqual([false, false]);
  });

  test("needs another when it has gone to sleep again", () => {
    for (const round of [1, 2, 3]) {
      expect(pacer.sleep(pacer.rings), `round ${round}`).toBe(true);
      expect(worker.ring(5), `round ${round}`).toBe(true);
    }
  });

  test("does not go to sleep when somebody has rung since it looked", () => {
    const seen = pacer.rings;
    expect(worker.ring(5)).toBe(false);
    expect(pacer.sleep(seen)).toBe(false);
    expect(pacer.sleep(pacer.rings)).toBe(true);
  });

  test("does not stay asleep when somebody rings while it goes to sleep", () => {
    const rung = new RungBell(memory);
    const seen = pacer.rings;
    expect(rung.sleep(seen)).toBe(false);
    // The message is one too many, and harmless.
    expect(rung.needsMessage).toBe(true);
    expect(worker.ring(5)).toBe(false);
  });

  test("is called by a message alone: whoever rings after that still sends one", () => {
    pacer.sleep(pacer.rings);
    worker.call();
    expect(worker.ring(5)).toBe(true);
  });
});

describe("a pacer that waits for the next frame", () => {
  /** How long it stood still, of so many milliseconds. */
  function wait(seenRings: number, waitMs: number): number {
    const startedMs = performance.now();
    pacer.wait(seenRings, 1000, waitMs);
    return performance.now() - startedMs;
  }

  test("does not wait when somebody has rung, or called, since it looked", () => {
    for (const disturb of [() => worker.ring(5), () => worker.ring(1e12), () => worker.call()]) {
      const seen = pacer.rings;
      disturb();
      expect(wait(seen, LONG_MS)).toBeLessThan(LONG_MS / 2);
    }
  });

  test("goes on by itself when it is time, and needs no message then", () => {
    expect(wait(pacer.rings, 5)).toBeGreaterThan(0);
    expect(worker.ring(5)).toBe(false);
  });
});

test("calls are counted, rings are not taken for calls", () => {
  const before = pacer.calls;
  worker.ring(5);
  expect(pacer.calls).toBe(before);
  worker.call();
  worker.call();
  expect(pacer.calls).toBe(before + 2);
});

/** The shortest of many: what it takes where nobody disturbs it. */
function shortestMs(work: () => void): number {
  const tookMs = Array.from({ length: 30 }, () => {
    const startedMs = performance.now();
    work();
    return performance.now() - startedMs;
  });
  return Math.min(...tookMs);
}

describe("a worker between two frames", () => {
  test("leaves its processor to a pacer that is overdue, and to no other", () => {
    const nowMs = 1_000_000;
    const giveWay = () => worker.giveWay(nowMs);
    // What it writes before it waits; a wait of its own would hold this thread up.
    const plan = new Float64Array(memory, 16, 1);
    plan[0] = nowMs - 2;
    const overdueMs = shortestMs(giveWay);
    plan[0] = nowMs + 2;
    const plannedMs = shortestMs(giveWay);
    pacer.sleep(pacer.rings);
    const asleepMs = shortestMs(giveWay);
    pacer.wait(pacer.rings - 1, nowMs - 2, 1000);
    const awakeMs = shortestMs(giveWay);
    expect(overdueMs).toBeGreaterThanOrEqual(0.1);
    for (const otherMs of [plannedMs, asleepMs, awakeMs]) expect(otherMs).toBeLessThan(0.1);
  });
});
