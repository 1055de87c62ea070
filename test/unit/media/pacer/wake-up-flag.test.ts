// How workers wake the pacer: each order in which the two can meet.
// Two threads at once: test/integration/realtime/pacer-thread.test.ts.

import { beforeEach, describe, expect, test } from "vitest";
import { WAKE_UP_FLAG_BYTES } from "../../../../src/bridge/pacer-start.ts";
import { WakeUpFlag } from "../../../../src/media/pacer/wake-up-flag.ts";

const LONG_MS = 60_000;
let worker: WakeUpFlag;
let pacer: WakeUpFlag;
let memory: SharedArrayBuffer;

beforeEach(() => {
  memory = new SharedArrayBuffer(WAKE_UP_FLAG_BYTES);
  worker = new WakeUpFlag(memory);
  pacer = new WakeUpFlag(memory);
});

/** Signals just when the pacer has said that it sleeps, and checks whether it may. */
class SignalledFlag extends WakeUpFlag {
  needsMessage: boolean | undefined;

  override get signals(): number {
    this.needsMessage ??= worker.signal(0);
    return super.signals;
  }
}

describe("a pacer in its event loop", () => {
  test("a pacer in its event loop needs one message, however many workers signal and whatever is due", () => {
    expect(pacer.sleep(pacer.signals)).toBe(true);
    expect(worker.signal(1e12)).toBe(true);
    expect([worker.signal(5), new WakeUpFlag(memory).signal(5)]).toEqual([false, false]);
  });

  test("a pacer in its event loop needs another message when it has gone to sleep again", () => {
    for (const round of [1, 2, 3]) {
      expect(pacer.sleep(pacer.signals), `round ${round}`).toBe(true);
      expect(worker.signal(5), `round ${round}`).toBe(true);
    }
  });

  test("a pacer does not go to sleep when there was a signal since it last checked", () => {
    const seen = pacer.signals;
    expect(worker.signal(5)).toBe(false);
    expect(pacer.sleep(seen)).toBe(false);
    expect(pacer.sleep(pacer.signals)).toBe(true);
  });

  test("a pacer does not stay asleep when it is signalled while it goes to sleep", () => {
    const signalled = new SignalledFlag(memory);
    const seen = pacer.signals;
    expect(signalled.sleep(seen)).toBe(false);
    // The message is one too many, and harmless.
    expect(signalled.needsMessage).toBe(true);
    expect(worker.signal(5)).toBe(false);
  });

  test("a message alone wakes the pacer, and later signals still send one", () => {
    pacer.sleep(pacer.signals);
    worker.call();
    expect(worker.signal(5)).toBe(true);
  });
});

describe("a pacer that waits for the next frame", () => {
  /** How long it stood still, of so many milliseconds. */
  function wait(seenSignals: number, waitMs: number): number {
    const startedMs = performance.now();
    pacer.wait(seenSignals, 1000, waitMs);
    return performance.now() - startedMs;
  }

  test("a pacer does not wait when there was a signal or a message since it last checked", () => {
    for (const disturb of [() => worker.signal(5), () => worker.signal(1e12), () => worker.call()]) {
      const seen = pacer.signals;
      disturb();
      expect(wait(seen, LONG_MS)).toBeLessThan(LONG_MS / 2);
    }
  });

  test("a pacer that waits continues by itself when it is time, and needs no message then", () => {
    expect(wait(pacer.signals, 5)).toBeGreaterThan(0);
    expect(worker.signal(5)).toBe(false);
  });
});

test("wake-up messages are counted separately from signals", () => {
  const before = pacer.calls;
  worker.signal(5);
  expect(pacer.calls).toBe(before);
  worker.call();
  worker.call();
  expect(pacer.calls).toBe(before + 2);
});

/** The shortest of many runs: the time without disturbance. */
function shortestMs(work: () => void): number {
  const tookMs = Array.from({ length: 30 }, () => {
    const startedMs = performance.now();
    work();
    return performance.now() - startedMs;
  });
  return Math.min(...tookMs);
}

describe("a worker between two frames", () => {
  test("a worker between two frames yields its processor to a pacer that is overdue, and to no other", () => {
    const nowMs = 1_000_000;
    const yieldToPacer = () => worker.yieldToPacer(nowMs);
    // What the pacer writes before it waits; a real wait would block this thread.
    const plan = new Float64Array(memory, 16, 1);
    plan[0] = nowMs - 2;
    const overdueMs = shortestMs(yieldToPacer);
    plan[0] = nowMs + 2;
    const plannedMs = shortestMs(yieldToPacer);
    pacer.sleep(pacer.signals);
    const asleepMs = shortestMs(yieldToPacer);
    pacer.wait(pacer.signals - 1, nowMs - 2, 1000);
    const awakeMs = shortestMs(yieldToPacer);
    expect(overdueMs).toBeGreaterThanOrEqual(0.1);
    for (const otherMs of [plannedMs, asleepMs, awakeMs]) expect(otherMs).toBeLessThan(0.1);
  });
});
